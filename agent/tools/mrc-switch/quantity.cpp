// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-switch/quantity.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <string>
#include <system_error>

#include "mrc/abi/switch_maps.h"

namespace mrc::lab_switch
{
namespace
{

struct unit {
    std::string_view suffix; // lower case
    double factor;
};

// A number that is not negative, and one of the units' suffixes in upper or lower case.
std::optional<double> parse(std::string_view text, std::initializer_list<unit> units)
{
    double number = 0;
    const auto [rest, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);

    if (error != std::errc{} || number < 0 || !std::isfinite(number))
        return std::nullopt;
    std::string suffix{rest, text.data() + text.size()};
    for (char &letter : suffix)
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    for (const unit &candidate : units) {
        if (candidate.suffix == suffix)
            return number * candidate.factor;
    }
    return std::nullopt;
}

} // namespace

std::optional<std::uint32_t> parse_probability(std::string_view text)
{
    const auto share = parse(text, {{"", 1}, {"%", 0.01}});

    if (!share || *share > 1)
        return std::nullopt;
    return *share == 1 ? MRC_SW_ALWAYS : static_cast<std::uint32_t>(std::llround(*share * MRC_SW_ALWAYS));
}

std::optional<double> parse_rate(std::string_view text)
{
    return parse(text, {{"", 1}, {"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}});
}

std::optional<double> parse_duration_ns(std::string_view text)
{
    return parse(text, {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}});
}

std::optional<double> parse_bytes(std::string_view text, double whole)
{
    return parse(text,
                 {{"", 1}, {"b", 1}, {"k", 1024}, {"kb", 1024}, {"m", 1048576}, {"mb", 1048576}, {"%", whole / 100}});
}

std::optional<bool> parse_switch(std::string_view text)
{
    if (text == "on")
        return true;
    return text == "off" ? std::optional(false) : std::nullopt;
}

} // namespace mrc::lab_switch
