// SPDX-License-Identifier: Apache-2.0
// Reads tests/vectors/*.txt (format: tests/vectors/README.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>

#include "mrc/abi/maps.h"

namespace mrc::test
{

using byte_string = std::vector<std::byte>;

inline byte_string from_hex(std::string_view text)
{
    byte_string bytes;
    std::string digits;
    for (const char c : text) {
        if (c == ' ' || c == '\n')
            continue;
        digits += c;
        if (digits.size() == 2) {
            bytes.push_back(static_cast<std::byte>(std::stoul(digits, nullptr, 16)));
            digits.clear();
        }
    }
    if (!digits.empty())
        throw std::invalid_argument("odd number of hex digits");
    return bytes;
}

struct test_vector {
    std::string name;
    std::map<std::string, std::string> values;

    [[nodiscard]] bool has(const std::string &key) const { return values.contains(key); }
    [[nodiscard]] const std::string &text(const std::string &key) const { return values.at(key); }
    [[nodiscard]] byte_string bytes(const std::string &key) const { return from_hex(text(key)); }
    template <typename T>
    [[nodiscard]] T number(const std::string &key) const
    {
        const std::string &value = text(key);
        return value.starts_with('-') ? static_cast<T>(std::stoll(value, nullptr, 0))
                                      : static_cast<T>(std::stoull(value, nullptr, 0));
    }
    [[nodiscard]] bool flag(const std::string &key) const { return number<unsigned int>(key) != 0; }
    // IPv6, or IPv4 as ::ffff:a.b.c.d.
    [[nodiscard]] mrc_ip address(const std::string &key) const
    {
        const std::string &value = text(key);
        mrc_ip ip{};
        const std::string mapped = value.contains(':') ? value : "::ffff:" + value;
        if (inet_pton(AF_INET6, mapped.c_str(), ip.bytes) != 1)
            throw std::invalid_argument(name + ": not an address: " + value);
        return ip;
    }
};

inline std::vector<test_vector> read_vectors(const std::string &path)
{
    std::ifstream file{path};
    if (!file)
        throw std::runtime_error("cannot open " + path);
    std::vector<test_vector> vectors;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.starts_with('#'))
            continue;
        if (line.starts_with('[')) {
            vectors.push_back({.name = line.substr(1, line.size() - 2), .values = {}});
            continue;
        }
        const auto equals = line.find(" =");
        vectors.back().values[line.substr(0, equals)] = equals + 3 > line.size() ? "" : line.substr(equals + 3);
    }
    return vectors;
}

} // namespace mrc::test
