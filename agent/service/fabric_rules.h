// SPDX-License-Identifier: Apache-2.0
// Which hosts a fabric has, by which addresses they are known, and which paths lead to them. A host stands at a place:
// a leaf switch (T0) and one of its downlinks. What differs is how places become addresses and carriers:
//
//   srv6_fabric.h     leaf and downlink stand in the addresses; paths are uSIDs of switches
//   direct_fabric.h   hosts are listed with an address on each plane; each is a leaf by itself, its EVs are the uplinks
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mrc/abi/maps.h"
#include "protocol/types.h"
#include "service/config/config.h"

namespace mrc::service
{

// A host by its place: which T0 leaf (the same on all planes), and which downlink of it.
struct host_place {
    std::uint32_t leaf = 0;
    std::uint32_t downlink = 0;
    friend constexpr auto operator<=>(const host_place &, const host_place &) = default;
};

// The path rows of one remote leaf: row = base + plane * uplinks + uplink % uplinks (path_group.h).
struct path_group_rows {
    std::uint32_t leaf = 0;
    std::uint32_t base = 0; // first row, never 0
    std::uint32_t planes = 0;
    std::uint32_t uplinks = 0; // rows per plane; 1 for the host's own leaf
    [[nodiscard]] std::uint32_t rows() const { return planes * uplinks; }
};

// An EV whose entropy is zero would be 0 on (plane 0, uplink 0), which is no EV (include/mrc/abi/srv6.h).
inline constexpr std::uint32_t first_entropy = 1;

class fabric_rules
{
public:
    fabric_rules() = default;
    fabric_rules(const fabric_rules &) = delete;
    fabric_rules &operator=(const fabric_rules &) = delete;
    virtual ~fabric_rules() = default;

    [[nodiscard]] virtual host_place self() const = 0;
    [[nodiscard]] virtual std::uint8_t planes() const = 0;
    [[nodiscard]] virtual std::uint32_t leaves() const = 0;

    // By which a host is known: to clients, in the log, to controllers.
    [[nodiscard]] virtual mrc_ip address_of(host_place host) const = 0;
    // Of one plane; nullopt: the host is not on it.
    [[nodiscard]] virtual std::optional<mrc_ip> address_of(host_place host, protocol::plane_index plane) const = 0;
    // A common address in IPv4 beside the other, as ::ffff:a.b.c.d; nullopt when the fabric has none.
    [[nodiscard]] virtual std::optional<mrc_ip> address4_of(host_place host) const = 0;
    // All of these, at most MRC_RX_ADDRESSES, the most used first.
    [[nodiscard]] virtual std::vector<mrc_ip> addresses_of(host_place host) const = 0;
    // Addresses of a host that speak for each other have the same number, from 0 to 15: a queue pair that is connected
    // to one of them takes packets from all.
    [[nodiscard]] virtual unsigned speaker_of(const mrc_ip &address) const = 0;
    // What the packets of a queue pair come from, by plane, that is connected to this address of a host.
    [[nodiscard]] virtual std::vector<mrc_ip> sources_of(const mrc_ip &connected) const = 0;
    // Bits of an EV: IPv4 packets carry 16 (protocol.md §1.9), and one path group serves both families.
    [[nodiscard]] virtual unsigned ev_bits() const = 0;
    // Whose address it is; nullopt for addresses that this fabric cannot contain.
    [[nodiscard]] virtual std::optional<host_place> host_of(const mrc_ip &address) const = 0;
    // "no address of this fabric (…)": why host_of() knows no host.
    [[nodiscard]] virtual std::string refusal_of(const mrc_ip &address) const = 0;

    // The one host that the paths to a leaf lead to; zero where several may stand behind it.
    [[nodiscard]] virtual mrc_ip sole_host(std::uint32_t leaf) const = 0;

    // The uplink whose spine a carrier leads over; 0 where that is none of the fabric's, and where paths are direct.
    [[nodiscard]] virtual std::uint32_t uplink_in(const mrc_carrier &, protocol::plane_index) const { return 0; }
    // Of the uSID block in carriers; 0 where paths are direct.
    [[nodiscard]] virtual std::uint8_t block_bytes() const { return 0; }
    // The uSID that ends a carrier to this host, on plane 0; 0 where paths are direct.
    [[nodiscard]] virtual std::uint16_t host_usid(host_place host) const = 0;
    // The outer destination that is popped on the plane's port; zero: none is.
    [[nodiscard]] virtual mrc_ip outer_destination(protocol::plane_index plane) const = 0;
    // Of paths and of what arrives.
    [[nodiscard]] virtual mrc_carrier_kind carrier_kind() const = 0;
    // Where ordinary sockets reach hosts by the overlay; none: it has no overlay.
    [[nodiscard]] virtual std::vector<ip_prefix> overlay_routes() const = 0;

    // Rows per plane toward a leaf, for EV profile 0.
    [[nodiscard]] virtual std::uint32_t uplinks_to(std::uint32_t leaf) const = 0;
    // Whether these are not all uplinks of the fabric, or are in another order; their number is a power of 2 then.
    [[nodiscard]] virtual bool chooses_uplinks_to(std::uint32_t) const { return false; }
    // Which uplink that row of a plane is.
    [[nodiscard]] virtual std::uint32_t uplink_of(const path_group_rows &, protocol::plane_index,
                                                  std::uint32_t row) const
    {
        return row;
    }
    // The row of one (plane, uplink) toward a group's leaf: configuration set, state GOOD, counters zero.
    [[nodiscard]] virtual mrc_path_row path_of(const path_group_rows &group, protocol::plane_index plane,
                                               std::uint32_t uplink) const = 0;
    // All rows of a group of profile 0, in the order of the `paths` map.
    [[nodiscard]] std::vector<mrc_path_row> paths_of(const path_group_rows &group) const;
};

// Of a configuration that is complete, and names this host's addresses where paths are direct.
[[nodiscard]] std::unique_ptr<fabric_rules> make_fabric_rules(const daemon_config &config);

// As fabric_rules::ev_bits(), of any configuration.
[[nodiscard]] unsigned ev_bits_of(const daemon_config &config);

} // namespace mrc::service
