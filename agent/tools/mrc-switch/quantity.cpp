// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-switch/quantity.h"

#include <cmath>

#include "mrc/abi/switch_maps.h"
#include "options/quantity.h"

namespace mrc::lab_switch
{

using options::parse_quantity;

std::optional<std::uint32_t> parse_probability(std::string_view text)
{
    const auto share = parse_quantity(text, {{"", 1}, {"%", 0.01}});

    if (!share || *share > 1)
        return std::nullopt;
    return *share == 1 ? MRC_SW_ALWAYS : static_cast<std::uint32_t>(std::llround(*share * MRC_SW_ALWAYS));
}

std::optional<double> parse_rate(std::string_view text)
{
    return parse_quantity(text, {{"", 1}, {"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}});
}

std::optional<double> parse_duration_ns(std::string_view text)
{
    return parse_quantity(text, {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}});
}

std::optional<double> parse_bytes(std::string_view text, double whole)
{
    return parse_quantity(
        text, {{"", 1}, {"b", 1}, {"k", 1024}, {"kb", 1024}, {"m", 1048576}, {"mb", 1048576}, {"%", whole / 100}});
}

std::optional<bool> parse_switch(std::string_view text)
{
    if (text == "on")
        return true;
    return text == "off" ? std::optional(false) : std::nullopt;
}

} // namespace mrc::lab_switch
