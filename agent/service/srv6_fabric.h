// SPDX-License-Identifier: Apache-2.0
// The rules that turn places in an SRv6 fabric into addresses, uSIDs and paths, and back. Nothing is listed, so a
// fabric of 131,072 endpoints (512 leaves of 256) costs no more than one of two.
//
//   uSIDs        usid_plan.h
//   address      <prefix>:0::<leaf>:<downlink + 1>, on plane P <prefix>:<P + 1>::<leaf>:<downlink + 1>, where the plane
//                stands in bits 48…63, the leaf in 96…111 and the downlink in 112…127
//   IPv4         <ipv4_prefix> | leaf << 9 | downlink + 1, the common address only
//   uplinks      where fabric.paths is n, less than there are: for each row r below n and each plane one of the uplinks
//                r, r + n, r + 2n … The same ones both ways, so that what a peer sends arrives on paths that have rows
//                here; others for each pair of leaves, so that all spines carry as much.
#pragma once

#include "service/fabric_rules.h"

namespace mrc::service
{

class srv6_fabric final : public fabric_rules
{
public:
    explicit srv6_fabric(const daemon_config &config);

    [[nodiscard]] host_place self() const override { return self_; }
    [[nodiscard]] std::uint8_t planes() const override { return options_.planes; }
    [[nodiscard]] std::uint32_t leaves() const override { return options_.leaves; }

    // The common address: inner source and destination.
    [[nodiscard]] mrc_ip address_of(host_place host) const override;
    // The address of one plane: outer source, which paths may mark (mrc_mark_source).
    [[nodiscard]] std::optional<mrc_ip> address_of(host_place host, protocol::plane_index plane) const override;
    [[nodiscard]] std::optional<mrc_ip> address4_of(host_place host) const override;
    [[nodiscard]] std::vector<mrc_ip> addresses_of(host_place host) const override;
    // Each for itself.
    [[nodiscard]] unsigned speaker_of(const mrc_ip &address) const override;
    // The common address, or the IPv4 one if that was named, on all planes.
    [[nodiscard]] std::vector<mrc_ip> sources_of(const mrc_ip &connected) const override;
    [[nodiscard]] unsigned ev_bits() const override { return ev_bits_; }
    [[nodiscard]] std::optional<host_place> host_of(const mrc_ip &address) const override;
    [[nodiscard]] std::string refusal_of(const mrc_ip &address) const override;
    [[nodiscard]] mrc_ip sole_host(std::uint32_t) const override { return {}; }
    // nullopt for a common address and for what host_of refuses.
    [[nodiscard]] std::optional<protocol::plane_index> plane_of(const mrc_ip &address) const;

    // Bits that the IPv4 addresses of such a fabric need behind their prefix: at most 20.
    [[nodiscard]] static unsigned ipv4_host_bits(const fabric_options &options);

    [[nodiscard]] const usid_plan &usids() const { return usids_; }
    [[nodiscard]] std::uint32_t uplink_in(const mrc_carrier &carrier, protocol::plane_index plane) const override;
    [[nodiscard]] std::uint8_t block_bytes() const override { return usids_.block_bytes(); }
    [[nodiscard]] std::uint16_t host_usid(host_place host) const override { return usids_.host({}, host.downlink); }
    // block:<own uSID>::
    [[nodiscard]] mrc_ip outer_destination(protocol::plane_index plane) const override;
    [[nodiscard]] mrc_carrier_kind carrier_kind() const override { return MRC_CARRIER_SRV6; }
    [[nodiscard]] std::vector<ip_prefix> overlay_routes() const override;

    [[nodiscard]] std::uint32_t uplinks_to(std::uint32_t leaf) const override;
    [[nodiscard]] bool chooses_uplinks_to(std::uint32_t leaf) const override;
    [[nodiscard]] std::uint32_t uplink_of(const path_group_rows &group, protocol::plane_index plane,
                                          std::uint32_t row) const override;
    [[nodiscard]] mrc_path_row path_of(const path_group_rows &group, protocol::plane_index plane,
                                       std::uint32_t uplink) const override;

private:
    [[nodiscard]] std::optional<host_place> host_of_ipv4(const mrc_ip &address, const ip_prefix &prefix) const;

    fabric_options options_;
    usid_plan usids_;
    host_place self_;
    unsigned ev_bits_;
    std::uint32_t outer_sources_; // toward a host on a plane, at most 256
};

} // namespace mrc::service
