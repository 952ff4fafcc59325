// SPDX-License-Identifier: Apache-2.0
// Where in a file an option stands, and errors that say so.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>

namespace mrc::options
{

struct position {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
};

struct error {
    std::string file;
    position at;     // line 0: the file as a whole
    std::string key; // "fabric.planes", "port[1].device"; empty for syntax errors
    std::string problem;

    // file:line:column: key: problem
    [[nodiscard]] std::string text() const;
};

template <class T>
using result = std::expected<T, error>;

// Where a file was read from, and which options and tables stand in it: "fabric", "fabric.planes", "port[0].device".
struct origins {
    std::string file;
    std::map<std::string, position, std::less<>> given;

    [[nodiscard]] bool has(std::string_view key) const { return given.contains(key); }
    // At the key, or at the table that lacks it.
    [[nodiscard]] error error_at(std::string key, std::string problem) const;
};

} // namespace mrc::options
