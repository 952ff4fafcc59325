// SPDX-License-Identifier: Apache-2.0
#include "service/usid_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

#include <fmt/format.h>

namespace mrc::service
{

namespace
{

constexpr unsigned usid_bits = 16;
constexpr unsigned digit_bits = 4;

// The lowest bits of a number, put where a mask has its bits.
std::uint16_t scatter(std::uint32_t number, std::uint16_t mask)
{
    std::uint16_t out = 0;
    for (unsigned bit = 0; bit < usid_bits; bit++)
        if ((mask >> bit & 1U) != 0) {
            out = static_cast<std::uint16_t>(out | (number & 1U) << bit);
            number >>= 1;
        }
    return out;
}

std::uint32_t gather(std::uint16_t usid, std::uint16_t mask)
{
    std::uint32_t out = 0;
    for (unsigned bit = usid_bits; bit-- > 0;)
        if ((mask >> bit & 1U) != 0)
            out = out << 1 | (usid >> bit & 1U);
    return out;
}

// A digit of a pattern into its bits from `shift` on.
bool add_digit(usid_pattern &to, char digit, unsigned shift, unsigned bits)
{
    const auto all = static_cast<std::uint16_t>(((1U << bits) - 1) << shift);
    if (digit == 'P' || digit == 'I') {
        auto &mask = digit == 'P' ? to.plane_mask : to.index_mask;
        mask = static_cast<std::uint16_t>(mask | all);
        return true;
    }
    constexpr std::string_view digits = "0123456789abcdef";
    const auto value = digits.find(digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit);
    if (value == std::string_view::npos || value >= 1U << bits)
        return false;
    to.fixed = static_cast<std::uint16_t>(to.fixed | value << shift);
    return true;
}

// One digit of such a width, or 0 where its bits are of several kinds.
char digit_of(usid_pattern pattern, unsigned shift, unsigned bits)
{
    const unsigned all = (1U << bits) - 1;
    const unsigned plane = pattern.plane_mask >> shift & all;
    const unsigned index = pattern.index_mask >> shift & all;
    if (plane == 0 && index == 0)
        return "0123456789abcdef"[pattern.fixed >> shift & all];
    return plane == all ? 'P' : index == all ? 'I' : '\0';
}

std::string digits_of(usid_pattern pattern, unsigned bits)
{
    std::string text;
    for (unsigned shift = usid_bits; shift > 0; shift -= bits)
        text += digit_of(pattern, shift - bits, bits);
    return text;
}

std::uint16_t usid_in(const usid_patterns &patterns, protocol::plane_index plane, std::uint32_t number)
{
    for (const usid_pattern &pattern : patterns) {
        if (number < pattern.numbers())
            return pattern.usid(plane, number);
        number -= pattern.numbers();
    }
    return 0;
}

// What a role's patterns have no room for.
std::optional<usid_plan::fault> check_planes(std::string_view role, const usid_patterns &patterns, std::uint8_t planes)
{
    for (const usid_pattern &pattern : patterns)
        if (pattern.planes() < planes)
            return usid_plan::fault{
                fmt::format("{}_usid", role),
                fmt::format("found \"{}\", which has room for {} planes, allowed is room for {}, as fabric.planes is "
                            "{}, or no P: the same uSIDs on all planes",
                            to_text(pattern), pattern.planes(), planes, planes)};
    return std::nullopt;
}

// The uSIDs that a leaf of one plane has to tell apart.
class usids_of_plane
{
public:
    explicit usids_of_plane(protocol::plane_index plane) : plane_{plane} {}

    // What is wrong with the one of this number.
    std::optional<usid_plan::fault> add(std::string_view role, std::uint32_t number, std::uint16_t usid,
                                        std::uint32_t room)
    {
        const std::string name = fmt::format("{} {}", role, number);
        const auto wrong = [&](std::string_view what) {
            return usid_plan::fault{fmt::format("{}_usid", role),
                                    fmt::format("gives {} of plane {} {}", name, plane_.value, what)};
        };
        if (usid == 0 && number >= room)
            return wrong(fmt::format("no uSID: it has room for {}; allowed are a further pattern, or a [[usid]] for "
                                     "each switch beyond",
                                     room));
        if (usid == 0)
            return wrong("uSID 0, which ends a carrier");
        const auto [first, is_new] = known_.emplace(usid, name);
        if (!is_new)
            return wrong(fmt::format("uSID {:04x}, which {} has; allowed is a uSID of its own", usid, first->second));
        return std::nullopt;
    }

private:
    protocol::plane_index plane_;
    std::map<std::uint16_t, std::string> known_;
};

} // namespace

std::uint32_t usid_pattern::numbers() const
{
    return 1U << std::popcount(index_mask);
}

std::uint32_t usid_pattern::planes() const
{
    return plane_mask == 0 ? MRC_MAX_PORTS : 1U << std::popcount(plane_mask);
}

std::uint16_t usid_pattern::usid(protocol::plane_index plane, std::uint32_t index) const
{
    return static_cast<std::uint16_t>(fixed | scatter(plane.value, plane_mask) | scatter(index, index_mask));
}

std::optional<usid_pattern> parse_usid_pattern(std::string_view text)
{
    if (text.size() != usid_bits && text.size() != usid_bits / digit_bits)
        return std::nullopt;
    const auto bits = static_cast<unsigned>(usid_bits / text.size());
    usid_pattern pattern;
    for (std::size_t i = 0; i < text.size(); i++)
        if (!add_digit(pattern, text[i], static_cast<unsigned>(text.size() - 1 - i) * bits, bits))
            return std::nullopt;
    return pattern;
}

std::string to_text(usid_pattern pattern)
{
    const std::string text = digits_of(pattern, digit_bits);
    return text.contains('\0') ? digits_of(pattern, 1) : text;
}

std::uint32_t numbers_of(const usid_patterns &patterns)
{
    std::uint32_t numbers = 0;
    for (const usid_pattern &pattern : patterns)
        numbers += pattern.numbers();
    return numbers;
}

// NOLINTNEXTLINE(modernize-pass-by-value): options outlive the plans that are made of them
usid_plan::usid_plan(const usid_options &options) : options_{options}
{
    for (const given_usid &one : options_.given) {
        if (one.leaf)
            given_leaves_[{one.plane.value, *one.leaf}] = one.usid;
        if (one.spine)
            given_spines_[{one.plane.value, *one.spine}] = one.usid;
    }
}

std::uint16_t usid_plan::leaf(protocol::plane_index plane, std::uint32_t number) const
{
    const auto given = given_leaves_.find({plane.value, number});
    return given != given_leaves_.end() ? given->second : usid_in(options_.leaf, plane, number);
}

std::uint16_t usid_plan::spine(protocol::plane_index plane, std::uint32_t number) const
{
    const auto given = given_spines_.find({plane.value, number});
    return given != given_spines_.end() ? given->second : usid_in(options_.spine, plane, number);
}

std::uint16_t usid_plan::host(protocol::plane_index plane, std::uint32_t downlink) const
{
    return usid_in({options_.host}, plane, downlink);
}

std::uint16_t usid_plan::host_plane_bits(protocol::plane_index plane) const
{
    return scatter(plane.value, options_.host.plane_mask);
}

std::optional<protocol::plane_index> usid_plan::plane_of_leaf(std::uint16_t usid) const
{
    for (const auto &[place, given] : given_leaves_)
        if (given == usid)
            return protocol::plane_index{place.first};
    for (const usid_pattern &pattern : options_.leaf) {
        const auto variable = static_cast<std::uint16_t>(pattern.plane_mask | pattern.index_mask);
        if ((usid & ~variable) == pattern.fixed && pattern.plane_mask != 0)
            return protocol::plane_index{static_cast<std::uint8_t>(gather(usid, pattern.plane_mask))};
    }
    return std::nullopt;
}

std::optional<std::uint32_t> usid_plan::spine_of(protocol::plane_index plane, std::uint16_t usid,
                                                 std::uint32_t count) const
{
    for (std::uint32_t number = 0; number < count; number++)
        if (spine(plane, number) == usid)
            return number;
    return std::nullopt;
}

mrc_ip usid_plan::carrier(std::initializer_list<std::uint16_t> usids) const
{
    mrc_carrier carrier{};
    std::ranges::copy(block().bytes, std::begin(carrier.bytes));
    std::uint32_t place = 0;
    for (const std::uint16_t usid : usids)
        mrc_usid_set(&carrier, block_bytes(), place++, usid);
    mrc_ip address{};
    std::ranges::copy(carrier.bytes, std::begin(address.bytes));
    return address;
}

bool usid_plan::is_in_block(const mrc_carrier &carrier) const
{
    return std::equal(carrier.bytes, carrier.bytes + block_bytes(), std::begin(block().bytes));
}

std::optional<usid_plan::fault> usid_plan::check(const shape &fabric) const
{
    for (const auto &fault :
         {check_planes("leaf", options_.leaf, fabric.planes), check_planes("spine", options_.spine, fabric.planes),
          check_planes("host", {options_.host}, fabric.planes)})
        if (fault)
            return fault;
    for (std::uint8_t number = 0; number < fabric.planes; number++) {
        const protocol::plane_index plane{number};
        usids_of_plane known{plane};
        for (std::uint32_t i = 0; i < fabric.leaves; i++)
            if (auto fault = known.add("leaf", i, leaf(plane, i), numbers_of(options_.leaf)))
                return fault;
        for (std::uint32_t i = 0; i < fabric.spines; i++)
            if (auto fault = known.add("spine", i, spine(plane, i), numbers_of(options_.spine)))
                return fault;
        for (std::uint32_t i = 0; i < fabric.hosts_per_leaf; i++)
            if (auto fault = known.add("host", i, host(plane, i), options_.host.numbers()))
                return fault;
    }
    return std::nullopt;
}

} // namespace mrc::service
