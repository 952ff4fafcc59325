// SPDX-License-Identifier: Apache-2.0
// The kinds of values that options take. Each kind says what it allows, reads a value of the file, and writes TOML.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/config/config_options.h"
#include <fmt/format.h>

namespace mrc::service::kinds
{

// A TOML basic string.
[[nodiscard]] std::string quoted(std::string_view text);

// nullptr when the value is no string.
[[nodiscard]] inline const std::string *text_of(const file_value &value)
{
    return std::get_if<std::string>(&value);
}

struct whole {
    std::int64_t min;
    std::int64_t max;
    std::int64_t multiple = 1;

    [[nodiscard]] std::string allowed() const
    {
        return multiple == 1 ? fmt::format("{} to {}", min, max)
                             : fmt::format("{} to {} in steps of {}", min, max, multiple);
    }
    template <class T>
    [[nodiscard]] bool read(const file_value &value, T &to) const
    {
        const auto *number = std::get_if<std::int64_t>(&value);
        if (number == nullptr || *number < min || *number > max || *number % multiple != 0)
            return false;
        to = static_cast<T>(*number);
        return true;
    }
    template <class T>
    [[nodiscard]] std::string write(const T &from) const
    {
        return fmt::format("{}", from);
    }
};

// One of two numbers.
struct either {
    std::int64_t first;
    std::int64_t second;

    [[nodiscard]] std::string allowed() const { return fmt::format("{} or {}", first, second); }
    template <class T>
    [[nodiscard]] bool read(const file_value &value, T &to) const
    {
        const auto *number = std::get_if<std::int64_t>(&value);
        if (number == nullptr || (*number != first && *number != second))
            return false;
        to = static_cast<T>(*number);
        return true;
    }
    template <class T>
    [[nodiscard]] std::string write(const T &from) const
    {
        return fmt::format("{}", from);
    }
};

// A number with or without a fraction.
struct real {
    double min;
    double max;

    [[nodiscard]] std::string allowed() const { return fmt::format("a number from {} to {}", min, max); }
    [[nodiscard]] bool read(const file_value &value, float &to) const;
    [[nodiscard]] static std::string write(float from) { return fmt::format("{}", from); }
};

// A list of whole numbers.
struct numbers {
    std::int64_t min;
    std::int64_t max;

    [[nodiscard]] std::string allowed() const { return fmt::format("a list of numbers from {} to {}", min, max); }
    [[nodiscard]] bool read(const file_value &value, number_list &to) const;
    [[nodiscard]] static std::string write(const number_list &from);
};

// A list of lists, each of which has so many 32-bit numbers.
struct number_rows {
    std::string_view columns;
    std::size_t width;

    [[nodiscard]] std::string allowed() const { return fmt::format("a list of [{}]", columns); }
    [[nodiscard]] bool read(const file_value &value, std::vector<number_list> &to) const;
    [[nodiscard]] static std::string write(const std::vector<number_list> &from);
};

// The inner kind or a word, which is the empty optional.
template <class Inner>
struct automatic {
    Inner inner;
    std::string_view word = "auto";

    [[nodiscard]] std::string allowed() const { return quoted(word) + " or " + inner.allowed(); }
    template <class T>
    [[nodiscard]] bool read(const file_value &value, std::optional<T> &to) const
    {
        const auto *text = text_of(value);
        if (text != nullptr && *text == word) {
            to.reset();
            return true;
        }
        T number{};
        if (!inner.read(value, number))
            return false;
        to = number;
        return true;
    }
    template <class T>
    [[nodiscard]] std::string write(const std::optional<T> &from) const
    {
        return from ? inner.write(*from) : quoted(word);
    }
};
template <class Inner>
automatic(Inner) -> automatic<Inner>;
template <class Inner>
automatic(Inner, std::string_view) -> automatic<Inner>;

// One of a few words, each an enumerator.
template <class Enum, std::size_t count>
struct choice {
    std::array<std::pair<std::string_view, Enum>, count> words;

    [[nodiscard]] std::string allowed() const
    {
        std::string text;
        for (std::size_t i = 0; i < count; i++)
            text += (i == 0 ? "" : i + 1 == count ? " or " : ", ") + quoted(words[i].first);
        return text;
    }
    [[nodiscard]] bool read(const file_value &value, Enum &to) const
    {
        const auto *text = text_of(value);
        for (const auto &[word, enumerator] : words) {
            if (text != nullptr && *text == word) {
                to = enumerator;
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] std::string write(Enum from) const
    {
        for (const auto &[word, enumerator] : words)
            if (enumerator == from)
                return quoted(word);
        return {};
    }
};
template <class Enum, std::size_t count>
choice(std::array<std::pair<std::string_view, Enum>, count>) -> choice<Enum, count>;

struct flag {
    [[nodiscard]] static std::string allowed() { return "true or false"; }
    [[nodiscard]] static bool read(const file_value &value, bool &to);
    [[nodiscard]] static std::string write(bool from) { return from ? "true" : "false"; }
};

// 1 to 64 characters that are safe in a path and in a metric's label.
struct instance_name {
    [[nodiscard]] static std::string allowed() { return "1 to 64 of A-Z a-z 0-9 _ - and ., not starting with . or -"; }
    [[nodiscard]] static bool read(const file_value &value, std::string &to);
    [[nodiscard]] static std::string write(const std::string &from) { return quoted(from); }
};

// Of a user or a group of the system.
struct account_name {
    std::string_view of;

    [[nodiscard]] std::string allowed() const
    {
        return fmt::format("a {}'s name: 1 to 32 of A-Z a-z 0-9 _ - and ., not starting with -", of);
    }
    [[nodiscard]] static bool read(const file_value &value, std::string &to);
    [[nodiscard]] static std::string write(const std::string &from) { return quoted(from); }
};

// An absolute path; `longest` because a socket's path must fit sockaddr_un.
struct absolute_path {
    std::size_t longest;

    [[nodiscard]] std::string allowed() const
    {
        return fmt::format("an absolute path of at most {} characters", longest);
    }
    [[nodiscard]] bool read(const file_value &value, std::string &to) const;
    [[nodiscard]] static std::string write(const std::string &from) { return quoted(from); }
};

// A network device's name, by the kernel's own rule (dev_valid_name).
struct device_name {
    [[nodiscard]] static std::string allowed()
    {
        return "a device name: 1 to 15 characters, no space, / or :, not . or ..";
    }
    [[nodiscard]] static bool read(const file_value &value, std::string &to);
    [[nodiscard]] static std::string write(const std::string &from) { return quoted(from); }
};

struct ipv6_address {
    [[nodiscard]] static std::string allowed() { return "an IPv6 address"; }
    [[nodiscard]] static bool read(const file_value &value, mrc_ip &to);
    [[nodiscard]] static std::string write(const mrc_ip &from) { return quoted(to_text(from)); }
};

struct ipv6_prefix {
    unsigned shortest;
    unsigned longest;

    [[nodiscard]] std::string allowed() const;
    [[nodiscard]] bool read(const file_value &value, ip_prefix &to) const;
    [[nodiscard]] static std::string write(const ip_prefix &from) { return quoted(to_text(from)); }
};

struct ipv4_prefix {
    unsigned shortest;
    unsigned longest;

    [[nodiscard]] std::string allowed() const;
    // Kept as ::ffff:a.b.c.d, with the length counted from there.
    [[nodiscard]] bool read(const file_value &value, ip_prefix &to) const;
    [[nodiscard]] static std::string write(const ip_prefix &from) { return quoted(to_text(from)); }
};

struct gateway {
    [[nodiscard]] static std::string allowed() { return "\"auto\", a unicast IPv6 address or a unicast MAC address"; }
    [[nodiscard]] static bool read(const file_value &value, gateway_option &to);
    [[nodiscard]] static std::string write(const gateway_option &from);
};

} // namespace mrc::service::kinds
