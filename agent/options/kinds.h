// SPDX-License-Identifier: Apache-2.0
// The kinds of values that options take. A kind says what it allows, reads a value of the file (false: it is not
// allowed), and, where a program prints its configuration, writes TOML.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "options/value.h"
#include <fmt/format.h>

namespace mrc::options
{

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
    [[nodiscard]] bool read(const value &from, T &to) const
    {
        const auto *number = from.whole();
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
    [[nodiscard]] bool read(const value &from, T &to) const
    {
        const auto *number = from.whole();
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
    template <class T>
    [[nodiscard]] bool read(const value &from, T &to) const
    {
        if (from.whole() == nullptr && from.fraction() == nullptr)
            return false;
        const double number = from.fraction() != nullptr ? *from.fraction() : static_cast<double>(*from.whole());
        if (!(number >= min && number <= max)) // not a number: neither
            return false;
        to = static_cast<T>(number);
        return true;
    }
    template <class T>
    [[nodiscard]] static std::string write(T from)
    {
        return fmt::format("{}", from);
    }
};

// A list whose elements are of one kind.
template <class Each>
struct list_of {
    Each each;
    std::string elements; // in words
    std::size_t least = 0;
    std::size_t most = SIZE_MAX;

    [[nodiscard]] std::string allowed() const { return "a list of " + elements; }
    template <class T>
    [[nodiscard]] bool read(const value &from, std::vector<T> &to) const
    {
        const auto *found = from.elements();
        if (found == nullptr || found->size() < least || found->size() > most)
            return false;
        to.resize(found->size());
        for (std::size_t i = 0; i < to.size(); i++)
            if (!each.read(found->at(i), to[i]))
                return false;
        return true;
    }
    template <class T>
        requires requires(const Each &kind, const T &element) { kind.write(element); }
    [[nodiscard]] std::string write(const std::vector<T> &from) const
    {
        std::string text;
        for (const T &element : from)
            text += (text.empty() ? "" : ", ") + each.write(element);
        return "[" + text + "]";
    }
};

// The inner kind or a word, which is the empty optional.
template <class Inner>
struct automatic {
    Inner inner;
    std::string_view instead = "auto";

    [[nodiscard]] std::string allowed() const { return toml_string(instead) + " or " + inner.allowed(); }
    template <class T>
    [[nodiscard]] bool read(const value &from, std::optional<T> &to) const
    {
        const auto *text = from.text();
        if (text != nullptr && *text == instead) {
            to.reset();
            return true;
        }
        T number{};
        if (!inner.read(from, number))
            return false;
        to = number;
        return true;
    }
    template <class T>
    [[nodiscard]] std::string write(const std::optional<T> &from) const
    {
        return from ? inner.write(*from) : toml_string(instead);
    }
};
template <class Inner>
automatic(Inner) -> automatic<Inner>;
template <class Inner>
automatic(Inner, std::string_view) -> automatic<Inner>;

// One of a few words, each an enumerator.
template <class Enum, std::size_t count>
struct choice {
    std::array<std::pair<std::string_view, Enum>, count> names;

    [[nodiscard]] std::string allowed() const
    {
        std::string text;
        for (std::size_t i = 0; i < count; i++)
            text += (i == 0 ? "" : i + 1 == count ? " or " : ", ") + toml_string(names[i].first);
        return text;
    }
    [[nodiscard]] bool read(const value &from, Enum &to) const
    {
        const auto *text = from.text();
        for (const auto &[name, enumerator] : names) {
            if (text != nullptr && *text == name) {
                to = enumerator;
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] std::string write(Enum from) const
    {
        for (const auto &[name, enumerator] : names)
            if (enumerator == from)
                return toml_string(name);
        return {};
    }
};
template <class Enum, std::size_t count>
constexpr choice<Enum, count> one_of(const std::pair<std::string_view, Enum> (&names)[count])
{
    return {std::to_array(names)};
}

struct flag {
    [[nodiscard]] static std::string allowed() { return "true or false"; }
    [[nodiscard]] static bool read(const value &from, bool &to)
    {
        to = from.flag() != nullptr ? *from.flag() : to;
        return from.flag() != nullptr;
    }
    [[nodiscard]] static std::string write(bool from) { return from ? "true" : "false"; }
};

// Of one character at least.
struct string_value {
    std::string_view what = "text in quotes";
    std::size_t longest = SIZE_MAX;

    [[nodiscard]] std::string allowed() const { return std::string{what}; }
    [[nodiscard]] bool read(const value &from, std::string &to) const
    {
        if (from.text() == nullptr || from.text()->empty() || from.text()->size() > longest)
            return false;
        to = *from.text();
        return true;
    }
};

// An absolute path; `longest` because a socket's path must fit sockaddr_un.
struct absolute_path {
    std::size_t longest;
    std::string_view where = "";

    [[nodiscard]] std::string allowed() const
    {
        return fmt::format("an absolute path of at most {} characters{}", longest, where);
    }
    [[nodiscard]] bool read(const value &from, std::string &to) const;
    [[nodiscard]] static std::string write(const std::string &from) { return toml_string(from); }
};

// A network device's name, by the kernel's own rule (dev_valid_name).
struct device_name {
    [[nodiscard]] static std::string allowed()
    {
        return "a device name: 1 to 15 characters, no space, / or :, not . or ..";
    }
    [[nodiscard]] static bool read(const value &from, std::string &to);
    [[nodiscard]] static std::string write(const std::string &from) { return toml_string(from); }
};

} // namespace mrc::options
