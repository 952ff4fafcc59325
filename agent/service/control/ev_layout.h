// SPDX-License-Identifier: Apache-2.0
// What the bits of an EV mean: a format's field widths and a profile's fields (api: mrc_ctl_ev_profile_attr) expand it
// to the bits of a packet, and these name a path of the fabric.
//
// format mode  bits in the packet                                    path
// STEV, UDP    the last of a 32-bit number: flow label 15:0, source  plane: bits 2:0, and the EV's port is plane + 1;
//              port (protocol.md §1.9)                             uplink: bits 10:3; one path has one EV
// SRv6         the outer destination address, from its first on      plane: that of the first uSID, a leaf's; uplink:
//                                                                    the spine of the second; the destination gives
//                                                                    the rest
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/paths/ev_profile.h"
#include "service/control/ev_format_store.h"
#include "service/usid_plan.h"
#include "session/values.h"

namespace mrc::service::control
{

struct fabric_shape {
    unsigned planes = 1;
    unsigned uplinks = 1;
    usid_plan usids{};
    unsigned ev_bits = 32; // that packets carry: 16 where hosts have IPv4 addresses (protocol.md §1.9)
};

struct path_place {
    unsigned plane = 0;
    unsigned uplink = 0;

    friend bool operator==(path_place, path_place) = default;
};

class ev_layout
{
public:
    // EINVAL and E2BIG as mrc_ctl_modify_ev_profile. Without fields: one for each of the format's, all bits from the
    // EV.
    [[nodiscard]] static session::outcome<ev_layout> make(const ev_format &format,
                                                          const std::optional<std::vector<mrc_ev_field>> &fields,
                                                          const session::profile_limits &limits);

    [[nodiscard]] const std::vector<mrc_ev_field> &fields() const { return fields_; }
    // Bits of an EV; those behind are zero.
    [[nodiscard]] unsigned bits() const { return bits_; }

    // EINVAL: bits beyond bits(), a port outside 1…planes.
    [[nodiscard]] session::outcome<> check(const session::ev_value &ev, unsigned planes) const;
    // As it stands in the packet.
    [[nodiscard]] std::array<std::uint8_t, MRC_EV_BYTES> expand(const session::ev_value &ev) const;
    // The first `count` combinations of the fields' masked bits from min to max, the last field changing fastest; the
    // port is left 0. EINVAL when there are fewer.
    [[nodiscard]] session::outcome<std::vector<session::ev_value>> generate(std::size_t count) const;
    // The same EVs with their ports, and their paths: EINVAL when one names none of the fabric's, two name one, or the
    // planes have not as many each.
    [[nodiscard]] session::outcome<std::vector<protocol::profile_entry>>
    paths_of(std::span<const session::ev_value> evs, const fabric_shape &fabric) const;
    // The port that an EV's plane bits name; 0: none.
    [[nodiscard]] std::uint8_t port_of(const session::ev_value &ev, const usid_plan &usids) const;

    [[nodiscard]] session::ev_format_mode mode() const { return mode_; }

private:
    [[nodiscard]] session::outcome<protocol::listed_ev> path_ev(const session::ev_value &ev, std::size_t index,
                                                                const fabric_shape &fabric) const;

    session::ev_format_mode mode_ = session::ev_format_mode::stev;
    unsigned first_bit_ = 0;
    unsigned bits_ = 0;
    std::vector<std::uint8_t> widths_;
    std::vector<mrc_ev_field> fields_;
};

} // namespace mrc::service::control
