// SPDX-License-Identifier: Apache-2.0
// A fabric of hosts that are listed, with one address on each plane. No switch is addressed: a packet's own destination
// is the peer's address on the path's plane, and what spreads a plane's paths is their EVs, in the UDP source port and
// the flow label, which routers (ECMP) and aggregated links (LAG) hash.
//
// A host is a leaf by itself, its place in the list; its "uplinks" are the EVs toward it on a plane.
#pragma once

#include <array>
#include <map>

#include "service/fabric_rules.h"

namespace mrc::service
{

class direct_fabric final : public fabric_rules
{
public:
    // Of a configuration whose ports have their addresses (own_addresses.h).
    explicit direct_fabric(const daemon_config &config);

    [[nodiscard]] host_place self() const override { return self_; }
    [[nodiscard]] std::uint8_t planes() const override { return planes_; }
    [[nodiscard]] std::uint32_t leaves() const override { return static_cast<std::uint32_t>(hosts_.size()); }

    // The one on the overlay, else that of the first plane that it is on.
    [[nodiscard]] mrc_ip address_of(host_place host) const override;
    [[nodiscard]] std::optional<mrc_ip> address_of(host_place host, protocol::plane_index plane) const override;
    [[nodiscard]] std::optional<mrc_ip> address4_of(host_place) const override { return std::nullopt; }
    [[nodiscard]] std::vector<mrc_ip> addresses_of(host_place host) const override;
    // All for each other.
    [[nodiscard]] unsigned speaker_of(const mrc_ip &) const override { return 0; }
    [[nodiscard]] std::vector<mrc_ip> sources_of(const mrc_ip &connected) const override;
    [[nodiscard]] unsigned ev_bits() const override { return ev_bits_; }
    [[nodiscard]] std::optional<host_place> host_of(const mrc_ip &address) const override;
    [[nodiscard]] std::string refusal_of(const mrc_ip &address) const override;

    [[nodiscard]] mrc_ip sole_host(std::uint32_t leaf) const override { return address_of(host_place{.leaf = leaf}); }

    [[nodiscard]] std::uint16_t host_usid(host_place) const override { return 0; }
    // What sockets send is carried to this host's address on the plane, if it has an overlay.
    [[nodiscard]] mrc_ip outer_destination(protocol::plane_index plane) const override;
    [[nodiscard]] mrc_carrier_kind carrier_kind() const override { return MRC_CARRIER_DIRECT; }
    // One for each host that has an overlay, if this one has.
    [[nodiscard]] std::vector<ip_prefix> overlay_routes() const override;

    [[nodiscard]] std::uint32_t uplinks_to(std::uint32_t) const override { return paths_; }
    [[nodiscard]] mrc_path_row path_of(const path_group_rows &group, protocol::plane_index plane,
                                       std::uint32_t uplink) const override;

private:
    struct address_less {
        bool operator()(const mrc_ip &a, const mrc_ip &b) const;
    };

    std::uint8_t planes_;
    std::uint32_t paths_; // per plane
    unsigned ev_bits_;
    std::vector<host_entry> hosts_;                         // this one is among them
    std::map<mrc_ip, std::uint32_t, address_less> host_at_; // in hosts_
    host_place self_;
};

} // namespace mrc::service
