// SPDX-License-Identifier: Apache-2.0
#include "service/control/ev_layout.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "service/control/invalid.h"

namespace mrc::service::control
{

namespace
{

constexpr std::uint64_t largest_of(unsigned bits)
{
    return (std::uint64_t{1} << bits) - 1;
}

std::vector<mrc_ev_field> full_fields(const ev_format &format)
{
    std::vector<mrc_ev_field> fields;
    for (const std::uint8_t width : format.widths) {
        const auto all = static_cast<std::uint32_t>(largest_of(width));
        fields.push_back({.width = width, .init = 0, .min = 0, .max = all, .mask = all});
    }
    return fields;
}

session::outcome<> check_field(const mrc_ev_field &field, std::size_t index, unsigned format_width)
{
    if (field.width == 0 || field.width > format_width)
        return invalid("field {} is {} bits wide, allowed are 1 to {}, the format's", index, field.width, format_width);
    if (field.init > largest_of(field.width))
        return invalid("field {}: init {:#x} does not fit {} bits", index, field.init, field.width);
    if (field.mask > largest_of(field.width))
        return invalid("field {}: mask {:#x} does not fit {} bits", index, field.mask, field.width);
    if (field.max > largest_of(static_cast<unsigned>(std::popcount(field.mask))))
        return invalid("field {}: max {} does not fit the {} bits of mask {:#x}", index, field.max,
                       std::popcount(field.mask), field.mask);
    if (field.min > field.max)
        return invalid("field {}: min {} is above max {}", index, field.min, field.max);
    return {};
}

std::uint32_t number_at(const std::array<std::uint8_t, MRC_EV_BYTES> &bits)
{
    return static_cast<std::uint32_t>(bits[0]) << 24 | static_cast<std::uint32_t>(bits[1]) << 16 |
           static_cast<std::uint32_t>(bits[2]) << 8 | bits[3];
}

mrc_carrier carrier_at(const std::array<std::uint8_t, MRC_EV_BYTES> &bits)
{
    mrc_carrier carrier{};
    std::memcpy(carrier.bytes, bits.data(), sizeof(carrier.bytes));
    return carrier;
}

} // namespace

session::outcome<ev_layout> ev_layout::make(const ev_format &format,
                                            const std::optional<std::vector<mrc_ev_field>> &fields,
                                            const session::profile_limits &limits)
{
    if (format.state == session::profile_state::init || format.widths.empty())
        return invalid("the EV format has no fields yet");
    ev_layout layout;
    layout.mode_ = format.mode;
    layout.widths_ = format.widths;
    layout.fields_ = fields ? *fields : full_fields(format);
    // A carrier begins with its first bit, a number ends with its last.
    layout.first_bit_ = format.mode == session::ev_format_mode::srv6 ? 0 : 32 - format.width();
    if (layout.fields_.size() > MRC_EV_FIELDS_MAX)
        return std::unexpected{session::refusal{
            E2BIG, fmt::format("found {} fields, allowed are {}", layout.fields_.size(), MRC_EV_FIELDS_MAX)}};
    if (layout.fields_.empty() || layout.fields_.size() > format.widths.size())
        return invalid("found {} fields, allowed are 1 to {}, as many as the format has", layout.fields_.size(),
                       format.widths.size());
    for (std::size_t i = 0; i < layout.fields_.size(); ++i) {
        if (auto right = check_field(layout.fields_[i], i, format.widths[i]); !right)
            return std::unexpected{right.error()};
        layout.bits_ += static_cast<unsigned>(std::popcount(layout.fields_[i].mask));
    }
    if (layout.bits_ > limits.ev_width)
        return std::unexpected{session::refusal{
            E2BIG, fmt::format("the fields take {} bits of an EV, allowed are {}", layout.bits_, limits.ev_width)}};
    return layout;
}

session::outcome<> ev_layout::check(const session::ev_value &ev, unsigned planes) const
{
    for (unsigned bit = bits_; bit < MRC_EV_BYTES * 8; ++bit)
        if (mrc_bit_get(ev.bits.data(), bit) != 0)
            return invalid("bit {} of the EV is set; the fields take {} bits", bit, bits_);
    if (ev.port == 0 || ev.port > planes)
        return invalid("the EV is on port {}, allowed is 1 to {}", ev.port, planes);
    return {};
}

std::array<std::uint8_t, MRC_EV_BYTES> ev_layout::expand(const session::ev_value &ev) const
{
    std::array<std::uint8_t, MRC_EV_BYTES> out{};
    mrc_ev_expand(ev.bits.data(), fields_.data(), widths_.data(), static_cast<unsigned>(fields_.size()), first_bit_,
                  out.data());
    return out;
}

session::outcome<std::vector<session::ev_value>> ev_layout::generate(std::size_t count) const
{
    std::vector<std::uint32_t> values(fields_.size());
    std::ranges::transform(fields_, values.begin(), &mrc_ev_field::min);
    std::vector<session::ev_value> evs;
    evs.reserve(count);
    for (bool more = true; more && evs.size() < count;) {
        session::ev_value ev;
        unsigned position = 0;
        for (std::size_t i = 0; i < fields_.size(); ++i)
            for (int bit = std::popcount(fields_[i].mask) - 1; bit >= 0; --bit)
                mrc_bit_put(ev.bits.data(), position++, values[i] >> bit & 1U);
        evs.push_back(ev);
        std::size_t i = fields_.size();
        while (i > 0 && values[i - 1] == fields_[i - 1].max) {
            --i;
            values[i] = fields_[i].min;
        }
        more = i > 0;
        if (more)
            ++values[i - 1];
    }
    if (evs.size() < count)
        return invalid("the fields generate {} EVs, the count is {}", evs.size(), count);
    return evs;
}

std::uint8_t ev_layout::port_of(const session::ev_value &ev, const usid_plan &usids) const
{
    const auto wire = expand(ev);
    if (mode_ != session::ev_format_mode::srv6)
        return static_cast<std::uint8_t>(mrc_ev_plane(number_at(wire)) + 1);
    const mrc_carrier carrier = carrier_at(wire);
    const auto plane = usids.plane_of_leaf(mrc_usid_at(&carrier, usids.block_bytes(), 0));
    return plane ? static_cast<std::uint8_t>(plane->value + 1) : std::uint8_t{0};
}

// The EV that the path group is to use; of a carrier, that of the path it names: entropy chooses nothing there.
session::outcome<protocol::listed_ev> ev_layout::path_ev(const session::ev_value &ev, std::size_t index,
                                                         const fabric_shape &fabric) const
{
    const auto wire = expand(ev);
    if (mode_ != session::ev_format_mode::srv6)
        return protocol::listed_ev{protocol::ev{number_at(wire)}, ev.port};
    const mrc_carrier carrier = carrier_at(wire);
    if (!fabric.usids.is_in_block(carrier))
        return invalid("EV {} expands to {:02x}{:02x}:{:02x}{:02x}…, which is not in the fabric's uSID block", index,
                       wire[0], wire[1], wire[2], wire[3]);
    const std::uint16_t leaf = mrc_usid_at(&carrier, fabric.usids.block_bytes(), 0);
    const std::uint16_t spine = mrc_usid_at(&carrier, fabric.usids.block_bytes(), 1);
    // Where all planes have the same uSIDs, the port alone tells.
    const auto plane =
        fabric.usids.plane_of_leaf(leaf).value_or(protocol::plane_index{static_cast<std::uint8_t>(ev.port - 1)});
    if (plane.value >= fabric.planes)
        return invalid("EV {} names plane {}, allowed is 0 to {}", index, plane.value, fabric.planes - 1);
    const auto uplink = fabric.usids.spine_of(plane, spine, fabric.uplinks);
    if (!uplink)
        return invalid("EV {} leads over uSID {:04x}, which no spine of plane {} has", index, spine, plane.value);
    return protocol::listed_ev{protocol::ev{mrc_ev_make(plane.value, *uplink, 1)}, ev.port};
}

session::outcome<std::vector<protocol::profile_entry>> ev_layout::paths_of(std::span<const session::ev_value> evs,
                                                                           const fabric_shape &fabric) const
{
    protocol::ev_profile_spec profile{.mode = protocol::profile_mode::listed, .list = {}, .fields = {}};
    for (std::size_t i = 0; i < evs.size(); ++i) {
        const auto ev = path_ev(evs[i], i, fabric);
        if (!ev)
            return std::unexpected{ev.error()};
        profile.list.push_back(*ev);
    }
    const auto found = protocol::expand_profile(profile, fabric.planes, fabric.uplinks, fabric.ev_bits, 0);
    if (!found)
        return invalid("{}", protocol::describe(found.error()).view());
    // In the order of the EVs, not of their slots.
    std::vector<protocol::profile_entry> paths(profile.list.size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const std::uint32_t number = profile.list[i].entropy.value;
        const auto slot = static_cast<std::uint16_t>(mrc_ev_plane(number) * fabric.uplinks + mrc_ev_uplink(number));
        paths[i] = {profile.list[i].entropy, protocol::plane_index{static_cast<std::uint8_t>(mrc_ev_plane(number))},
                    slot};
    }
    return paths;
}

} // namespace mrc::service::control
