// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/ev_profile.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "protocol/random_source.h"

namespace mrc::protocol
{

namespace
{

using entries = std::expected<std::vector<profile_entry>, profile_error>;
using fault = std::optional<profile_error>;

struct path_layout {
    unsigned planes;
    unsigned uplinks;
    unsigned ev_bits;
};

constexpr std::uint64_t largest_of(unsigned bits)
{
    return (std::uint64_t{1} << bits) - 1;
}

// Takes EVs one by one and refuses the first that the fabric or the profile's other EVs do not allow.
class universe
{
public:
    explicit universe(const path_layout &shape)
        : shape_{shape}, taken_by_(std::size_t{shape.planes} * shape.uplinks, nobody)
    {
    }

    [[nodiscard]] fault add(ev entropy)
    {
        const unsigned plane = mrc_ev_plane(entropy.value);
        const unsigned uplink = mrc_ev_uplink(entropy.value);
        const std::size_t index = entries_.size();
        if (entropy.value == 0)
            return profile_error{profile_fault::ev_zero, index};
        if (entropy.value > largest_of(shape_.ev_bits))
            return profile_error{profile_fault::ev_too_wide, index, entropy.value, shape_.ev_bits};
        if (plane >= shape_.planes)
            return profile_error{profile_fault::plane_outside, index, plane, shape_.planes - 1};
        if (uplink >= shape_.uplinks)
            return profile_error{profile_fault::uplink_outside, index, uplink, shape_.uplinks - 1};
        const std::size_t slot = std::size_t{plane} * shape_.uplinks + uplink;
        if (taken_by_[slot] != nobody)
            return profile_error{profile_fault::same_path, index, entropy.value, taken_by_[slot]};
        taken_by_[slot] = index;
        entries_.push_back({entropy, plane_index{static_cast<std::uint8_t>(plane)}, static_cast<std::uint16_t>(slot)});
        return std::nullopt;
    }

    // What holds for all EVs together.
    [[nodiscard]] entries finish(const ev_profile_spec &profile)
    {
        const std::size_t size = entries_.size();
        if (size == 0)
            return std::unexpected{profile_error{profile_fault::no_ev}};
        if (profile.count != 0 && profile.count != size)
            return std::unexpected{profile_error{profile_fault::count_mismatch, 0, profile.count, size}};
        if (profile.min_active > size)
            return std::unexpected{profile_error{profile_fault::min_active_too_large, 0, profile.min_active, size}};
        std::array<std::uint64_t, MRC_EV_PLANE_MASK + 1> evs{};
        for (const profile_entry &entry : entries_)
            ++evs[entry.plane.value];
        for (unsigned plane = 1; plane < shape_.planes; ++plane)
            if (evs[plane] != evs[0])
                return std::unexpected{profile_error{profile_fault::unequal_planes, plane, evs[plane], evs[0]}};
        std::ranges::sort(entries_, {}, &profile_entry::slot);
        return std::move(entries_);
    }

private:
    static constexpr std::size_t nobody = SIZE_MAX;

    path_layout shape_;
    std::vector<std::size_t> taken_by_; // of each slot, the index of its EV
    std::vector<profile_entry> entries_;
};

fault check_count(unsigned count, const path_layout &shape)
{
    const unsigned paths = shape.planes * shape.uplinks;
    if (count > paths)
        return profile_error{profile_fault::count_too_large, 0, count, paths};
    if (count % shape.planes != 0)
        return profile_error{profile_fault::count_not_divisible, 0, count, shape.planes};
    return std::nullopt;
}

entries expand_automatic(const ev_profile_spec &profile, const path_layout &shape, random_source random)
{
    if (const fault wrong = check_count(profile.count, shape))
        return std::unexpected{*wrong};
    // Entropy from 1 on, so that no EV is 0.
    const auto entropies = static_cast<std::uint32_t>(largest_of(shape.ev_bits - MRC_EV_ENTROPY_SHIFT));
    std::vector<std::uint32_t> entropy(std::size_t{shape.planes} * shape.uplinks);
    std::ranges::generate(entropy, [&] { return 1 + random.below(entropies); });
    // Some uplinks of each plane at random: senders that do not talk to each other spread over all.
    const unsigned per_plane = profile.count == 0 ? shape.uplinks : profile.count / shape.planes;
    universe evs{shape};
    for (unsigned plane = 0; plane < shape.planes; ++plane)
        for (unsigned row = 0; row < per_plane; ++row) {
            const unsigned candidates = (shape.uplinks - row + per_plane - 1) / per_plane;
            const unsigned uplink = row + per_plane * random.below(candidates);
            const std::size_t slot = std::size_t{plane} * shape.uplinks + uplink;
            if (const fault wrong = evs.add(ev{mrc_ev_make(plane, uplink, entropy[slot])}))
                return std::unexpected{*wrong};
        }
    return evs.finish(profile);
}

entries expand_listed(const ev_profile_spec &profile, const path_layout &shape)
{
    universe evs{shape};
    for (std::size_t index = 0; index < profile.list.size(); ++index) {
        const auto &[entropy, port] = profile.list[index];
        if (const fault wrong = evs.add(entropy))
            return std::unexpected{*wrong};
        if (port == 0 || port > shape.planes)
            return std::unexpected{profile_error{profile_fault::port_outside, index, port, shape.planes}};
        if (const unsigned own = mrc_ev_plane(entropy.value) + 1; port != own)
            return std::unexpected{profile_error{profile_fault::port_of_another_plane, index, port, own}};
    }
    return evs.finish(profile);
}

fault check_field(const mrc_ev_field &field, std::size_t index)
{
    if (field.width == 0 || field.width > 32)
        return profile_error{profile_fault::field_width, index, field.width, 32};
    if (field.init > largest_of(field.width))
        return profile_error{profile_fault::field_init_too_wide, index, field.init, field.width};
    if (field.mask > largest_of(field.width))
        return profile_error{profile_fault::field_mask_outside, index, field.mask, field.width};
    if (field.min > field.max)
        return profile_error{profile_fault::field_min_above_max, index, field.min, field.max};
    const std::uint64_t largest = largest_of(static_cast<unsigned>(std::popcount(field.mask)));
    if (field.max > largest)
        return profile_error{profile_fault::field_max_too_large, index, field.max, largest};
    return std::nullopt;
}

fault check_fields(const std::vector<mrc_ev_field> &fields, unsigned ev_bits)
{
    if (fields.size() > MRC_EV_FIELDS_MAX)
        return profile_error{profile_fault::too_many_fields, 0, fields.size(), MRC_EV_FIELDS_MAX};
    unsigned width = 0;
    for (std::size_t index = 0; index < fields.size(); ++index) {
        if (const fault wrong = check_field(fields[index], index))
            return wrong;
        width += fields[index].width;
        if (width > ev_bits)
            return profile_error{profile_fault::fields_too_wide, index, width, ev_bits};
    }
    return std::nullopt;
}

// The EV in which the masked bits of each field have its value. Precondition: checked fields, at most 32 bits together.
ev generate(const std::vector<mrc_ev_field> &fields, const std::vector<std::uint32_t> &values)
{
    std::array<std::uint8_t, MRC_EV_BYTES> bits{};
    std::array<std::uint8_t, MRC_EV_FIELDS_MAX> widths{};
    unsigned position = 0;
    unsigned width = 0;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        for (int bit = std::popcount(fields[i].mask) - 1; bit >= 0; --bit)
            mrc_bit_put(bits.data(), position++, values[i] >> bit & 1u);
        widths[i] = static_cast<std::uint8_t>(fields[i].width);
        width += fields[i].width;
    }
    std::array<std::uint8_t, MRC_EV_BYTES> out{};
    mrc_ev_expand(bits.data(), fields.data(), widths.data(), static_cast<unsigned>(fields.size()), 32 - width,
                  out.data());
    return ev{static_cast<std::uint32_t>(out[0]) << 24 | static_cast<std::uint32_t>(out[1]) << 16 |
              static_cast<std::uint32_t>(out[2]) << 8 | out[3]};
}

// The next combination, the last field first; false after the last.
bool advance(const std::vector<mrc_ev_field> &fields, std::vector<std::uint32_t> &values)
{
    for (std::size_t i = fields.size(); i-- > 0;) {
        if (values[i] != fields[i].max) {
            ++values[i];
            return true;
        }
        values[i] = fields[i].min;
    }
    return false;
}

entries expand_generated(const ev_profile_spec &profile, const path_layout &shape)
{
    if (const fault wrong = check_fields(profile.fields, shape.ev_bits))
        return std::unexpected{*wrong};
    universe evs{shape};
    std::vector<std::uint32_t> values(profile.fields.size());
    std::ranges::transform(profile.fields, values.begin(), &mrc_ev_field::min);
    // Ends, at the latest, with one EV more than there are paths, however many combinations the fields have.
    for (bool more = !values.empty(); more; more = advance(profile.fields, values))
        if (const fault wrong = evs.add(generate(profile.fields, values)))
            return std::unexpected{*wrong};
    return evs.finish(profile);
}

// $i, $f, $a: the error's numbers; $x: found, hexadecimal.
std::string_view wording(profile_fault of)
{
    switch (of) {
    case profile_fault::ev_zero:
        return "EV $i of the profile is 0, which is never used: some NICs take it for no EV; allowed: any other value";
    case profile_fault::ev_too_wide:
        return "EV $i of the profile is $x; allowed: $a bits, as many as this peer's packets carry";
    case profile_fault::port_outside:
        return "EV $i of the profile is on port $f; allowed: 1 to $a";
    case profile_fault::port_of_another_plane:
        return "EV $i of the profile is on port $f; allowed: port $a, that of the plane in its bits 2:0";
    case profile_fault::plane_outside:
        return "EV $i of the profile names plane $f in its bits 2:0; allowed: 0 to $a";
    case profile_fault::uplink_outside:
        return "EV $i of the profile names uplink $f in its bits 10:3; allowed: 0 to $a";
    case profile_fault::same_path:
        return "EV $i of the profile, $x, names the same path as EV $a; allowed: one EV per plane and uplink";
    case profile_fault::field_width:
        return "field $i is $f bits wide; allowed: 1 to $a";
    case profile_fault::fields_too_wide:
        return "fields 0 to $i are $f bits wide together; allowed: $a, as many as this peer's packets carry";
    case profile_fault::field_init_too_wide:
        return "field $i: init is $x; allowed: $a bits, the field's width";
    case profile_fault::field_mask_outside:
        return "field $i: mask is $x; allowed: $a bits, the field's width";
    case profile_fault::field_min_above_max:
        return "field $i: min is $f; allowed: up to max, which is $a";
    case profile_fault::field_max_too_large:
        return "field $i: max is $f; allowed: up to $a, which fills the bits of the mask";
    case profile_fault::too_many_fields:
        return "the profile has $f fields; allowed: $a";
    case profile_fault::no_ev:
        return "the profile has no EV; allowed: at least one on each plane";
    case profile_fault::unequal_planes:
        return "plane $i has $f EVs; allowed: $a, as many as plane 0, for planes carry equal load";
    case profile_fault::count_mismatch:
        return "count is $f; allowed: $a, as many as the profile has EVs, or 0";
    case profile_fault::count_not_divisible:
        return "count is $f; allowed: a multiple of $a, the number of planes";
    case profile_fault::count_too_large:
        return "count is $f; allowed: up to $a, one EV per path";
    case profile_fault::min_active_too_large:
        return "min_active is $f; allowed: up to $a, as many as the profile has EVs";
    }
    return "unknown fault";
}

void append(profile_message &message, std::string_view text)
{
    const std::size_t length = std::min(text.size(), message.text.size() - message.length);
    std::ranges::copy(text.substr(0, length), message.text.begin() + static_cast<std::ptrdiff_t>(message.length));
    message.length += length;
}

void append(profile_message &message, std::uint64_t number, unsigned base)
{
    std::array<char, 20> digits{};
    std::size_t first = digits.size();
    do {
        digits[--first] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    append(message, {digits.data() + first, digits.size() - first});
}

} // namespace

entries expand_profile(const ev_profile_spec &profile, unsigned planes, unsigned uplinks, unsigned ev_bits,
                       std::uint64_t seed)
{
    const path_layout shape{.planes = planes, .uplinks = uplinks, .ev_bits = ev_bits};
    switch (profile.mode) {
    case profile_mode::automatic:
        return expand_automatic(profile, shape, random_source{seed});
    case profile_mode::listed:
        return expand_listed(profile, shape);
    case profile_mode::generated:
        return expand_generated(profile, shape);
    }
    return std::unexpected{profile_error{}};
}

std::vector<profile_entry> in_rows(std::vector<profile_entry> entries, unsigned rows)
{
    for (profile_entry &entry : entries)
        entry.slot = static_cast<std::uint16_t>(entry.plane.value * rows + mrc_ev_uplink(entry.entropy.value) % rows);
    std::ranges::sort(entries, {}, &profile_entry::slot);
    return entries;
}

// By hand: this layer has no streams and no formatting library.
profile_message describe(const profile_error &error)
{
    profile_message message;
    std::string_view rest = wording(error.fault);
    for (;;) {
        const std::size_t mark = rest.find('$');
        append(message, rest.substr(0, mark));
        if (mark == std::string_view::npos)
            return message;
        switch (rest[mark + 1]) {
        case 'i':
            append(message, error.index, 10);
            break;
        case 'f':
            append(message, error.found, 10);
            break;
        case 'x':
            append(message, "0x");
            append(message, error.found, 16);
            break;
        default:
            append(message, error.allowed, 10);
            break;
        }
        rest.remove_prefix(mark + 2);
    }
}

} // namespace mrc::protocol
