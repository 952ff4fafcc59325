// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/ev_notation.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace mrc::ctl
{

namespace
{

constexpr std::size_t fewest_bytes_shown = 4;
constexpr unsigned widest_field = 32;
constexpr std::size_t most_digits = std::size_t{2} * MRC_CTL_EV_MAX_BYTES;

std::optional<std::uint32_t> number_in(std::string_view text)
{
    const bool hexadecimal = text.starts_with("0x");
    if (hexadecimal)
        text.remove_prefix(2);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional{value} : std::nullopt;
}

// The value of a hexadecimal digit, or 16.
unsigned digit_in(char text)
{
    unsigned value = 16;
    std::from_chars(&text, &text + 1, value, 16);
    return value;
}

constexpr std::uint32_t ones(unsigned bits)
{
    return static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
}

struct field_part {
    std::string_view name;
    std::uint32_t mrc_ctl_ev_field::*member;
};
constexpr std::array field_parts{
    field_part{"width", &mrc_ctl_ev_field::width}, field_part{"init", &mrc_ctl_ev_field::init_val},
    field_part{"min", &mrc_ctl_ev_field::min_val}, field_part{"max", &mrc_ctl_ev_field::max_val},
    field_part{"mask", &mrc_ctl_ev_field::mask},
};

} // namespace

parsed<mrc_ctl_ev> parse_ev(std::string_view text)
{
    const auto wrong = [&] {
        return std::unexpected{fmt::format("'{}' is no EV; allowed: 1 to {} hexadecimal digits, @, port, such as "
                                           "00000801@2",
                                           text, most_digits)};
    };
    const std::size_t at = text.find('@');
    if (at == 0 || at == std::string_view::npos || at > most_digits)
        return wrong();
    mrc_ctl_ev ev{};
    for (std::size_t i = 0; i < at; ++i) {
        const unsigned digit = digit_in(text[i]);
        if (digit > 15)
            return wrong();
        ev.val[i / 2] = static_cast<std::uint8_t>(ev.val[i / 2] | digit << (i % 2 == 0 ? 4 : 0));
    }
    const auto port = number_in(text.substr(at + 1));
    if (!port || *port > UINT8_MAX)
        return wrong();
    ev.port = static_cast<std::uint8_t>(*port);
    return ev;
}

std::string ev_text(const mrc_ctl_ev &ev)
{
    std::size_t bytes = MRC_CTL_EV_MAX_BYTES;
    while (bytes > fewest_bytes_shown && ev.val[bytes - 1] == 0)
        --bytes;
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i)
        text += fmt::format("{:02x}", ev.val[i]);
    return text + fmt::format("@{}", ev.port);
}

parsed<std::pair<mrc_ctl_ev, mrc_ctl_ev>> parse_replacement(std::string_view text)
{
    const std::size_t at = text.find('=');
    if (at == std::string_view::npos)
        return std::unexpected{
            fmt::format("'{}' replaces nothing; allowed: OLD=NEW, such as 00000801@2=00001001@2", text)};
    const auto before = parse_ev(text.substr(0, at));
    const auto after = parse_ev(text.substr(at + 1));
    if (!before || !after)
        return std::unexpected{!before ? before.error() : after.error()};
    return std::pair{*before, *after};
}

parsed<mrc_ctl_ev_field> parse_field(std::string_view text)
{
    mrc_ctl_ev_field field{};
    bool has_mask = false;
    bool has_max = false;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view part = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), part.size() + 1));
        const std::size_t at = std::min(part.find('='), part.size());
        const auto *known = std::ranges::find(field_parts, part.substr(0, at), &field_part::name);
        const auto value = number_in(part.substr(std::min(part.size(), at + 1)));
        if (known == field_parts.end() || !value)
            return std::unexpected{fmt::format("'{}' is no part of a field; allowed: width=, init=, min=, max=, mask= "
                                               "and a number",
                                               part)};
        field.*known->member = *value;
        has_mask = has_mask || known->member == &mrc_ctl_ev_field::mask;
        has_max = has_max || known->member == &mrc_ctl_ev_field::max_val;
    }
    if (field.width == 0 || field.width > widest_field)
        return std::unexpected{
            fmt::format("field '{}' has no width; allowed: width=1 to width={}", text, widest_field)};
    if (!has_mask)
        field.mask = ones(field.width);
    if (!has_max)
        field.max_val = ones(static_cast<unsigned>(std::popcount(field.mask)));
    return field;
}

} // namespace mrc::ctl
