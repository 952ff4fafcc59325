// SPDX-License-Identifier: Apache-2.0
#include "options/value.h"

#include <algorithm>

#include <fmt/format.h>

namespace mrc::options
{

std::string toml_string(std::string_view text)
{
    std::string out = "\"";
    for (const char character : text) {
        if (character == '"' || character == '\\')
            out += '\\';
        out += character;
    }
    return out + '"';
}

std::string value::shown() const
{
    if (const auto *string = text())
        return toml_string(*string);
    if (const auto *number = whole())
        return fmt::format("{}", *number);
    if (const auto *truth = flag())
        return *truth ? "true" : "false";
    if (const auto *number = fraction())
        return fmt::format("{}", *number);
    const auto *all = elements();
    if (all == nullptr)
        return std::string{std::get<foreign>(of_).name};
    if (!all->empty() && std::ranges::all_of(*all, [](const value &each) { return each.elements() != nullptr; }))
        return "a list of lists";
    std::string out;
    for (const value &each : *all)
        out += (out.empty() ? "" : ", ") + each.shown();
    return "[" + out + "]";
}

} // namespace mrc::options
