// SPDX-License-Identifier: Apache-2.0
// The rules that turn places in the fabric into addresses, uSIDs and paths, and back. Nothing is listed, so a fabric
// of 131,072 endpoints (512 leaves of 256) costs no more than one of two.
//
//   uSID         role (4 bits) | plane (4) | index (8):
//                spine 0x1PII; leaf 0x2PII, leaves from 256 on 0x3PII … 0x7PII; downlink 0x8PDD of its own leaf
//   carrier      other leaf: block:T0a:T1:T0b, then the host's downlink; same leaf: block:T0a, then the downlink
//   address      <prefix>:0::<leaf>:<downlink + 1>, on plane P <prefix>:<P + 1>::<leaf>:<downlink + 1>, where the plane
//                stands in bits 48…63, the leaf in 96…111 and the downlink in 112…127
//   IPv4         <ipv4_prefix> | leaf << 9 | downlink + 1, the common address only
#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
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

// The path rows of one remote leaf: row = base + plane * uplinks + uplink.
struct path_group_rows {
    std::uint32_t leaf = 0;
    std::uint32_t base = 0; // first row, never 0
    std::uint32_t planes = 0;
    std::uint32_t uplinks = 0; // rows per plane; 1 for the host's own leaf
    [[nodiscard]] std::uint32_t rows() const { return planes * uplinks; }
};

class fabric_rules
{
public:
    explicit fabric_rules(const daemon_config &config);

    [[nodiscard]] host_place self() const { return self_; }
    [[nodiscard]] std::uint8_t planes() const { return options_.planes; }
    [[nodiscard]] std::uint32_t leaves() const { return options_.leaves; }

    // The common address: inner source and destination.
    [[nodiscard]] mrc_ip address_of(host_place host) const;
    // The address of one plane: outer source.
    [[nodiscard]] mrc_ip address_of(host_place host, protocol::plane_index plane) const;
    // The common address in IPv4, as ::ffff:a.b.c.d; nullopt when the fabric has none.
    [[nodiscard]] std::optional<mrc_ip> address4_of(host_place host) const;
    // Bits of an EV: IPv4 packets carry 16 (protocol.md §1.9), and one path group serves both families.
    [[nodiscard]] unsigned ev_bits() const { return options_.ipv4_prefix ? 16 : 32; }
    // Whose address it is, common, of a plane or IPv4; nullopt for addresses that this fabric cannot contain.
    [[nodiscard]] std::optional<host_place> host_of(const mrc_ip &address) const;
    // nullopt for a common address and for what host_of refuses.
    [[nodiscard]] std::optional<protocol::plane_index> plane_of(const mrc_ip &address) const;

    // Bits that the IPv4 addresses of such a fabric need behind their prefix: at most 20.
    [[nodiscard]] static unsigned ipv4_host_bits(const fabric_options &options);

    [[nodiscard]] static std::uint16_t spine_usid(protocol::plane_index plane, std::uint32_t uplink);
    [[nodiscard]] static std::uint16_t leaf_usid(protocol::plane_index plane, std::uint32_t leaf);
    // The downlink uSID that ends a carrier to this host on a plane; on plane 0 its plane bits are zero.
    [[nodiscard]] static std::uint16_t host_usid(host_place host, protocol::plane_index plane = {});
    // block:<own downlink>::, the outer destination that is popped on the plane's port.
    [[nodiscard]] mrc_ip own_usid_address(protocol::plane_index plane) const;

    // Rows per plane toward a leaf.
    [[nodiscard]] std::uint32_t uplinks_to(std::uint32_t leaf) const;
    // The row of one (plane, uplink) toward a group's leaf: configuration set, state GOOD, counters zero.
    [[nodiscard]] mrc_path_row path_of(const path_group_rows &group, protocol::plane_index plane,
                                       std::uint32_t uplink) const;
    // All rows of a group, in the order of the `paths` map.
    [[nodiscard]] std::vector<mrc_path_row> paths_of(const path_group_rows &group) const;

private:
    [[nodiscard]] std::optional<host_place> host_of_ipv4(const mrc_ip &address, const ip_prefix &prefix) const;

    fabric_options options_;
    host_place self_;
};

// Whose rows: of an EV profile's paths toward a leaf. Profile 0 is everybody's; its rows name the paths on which
// packets arrive, too.
struct group_key {
    std::uint32_t leaf = 0;
    std::uint64_t profile = 0;

    friend auto operator<=>(const group_key &, const group_key &) = default;
};

// Gives path groups their rows of the `paths` map, on first use. Row 0 stays free: it is the unknown path.
class path_table
{
public:
    enum class refusal : std::uint8_t { no_such_leaf, full };

    explicit path_table(const fabric_rules &fabric, std::uint32_t capacity = MRC_MAX_PATHS)
        : fabric_{fabric}, capacity_{capacity}
    {
    }

    [[nodiscard]] std::expected<path_group_rows, refusal> group_of(group_key key);
    // The next group of as many rows may have them. Of a key that group_of() knows.
    void release(group_key key);
    [[nodiscard]] const std::map<group_key, path_group_rows> &groups() const { return groups_; }
    [[nodiscard]] std::uint32_t rows_used() const { return next_; } // from row 0 on, released ones too

private:
    fabric_rules fabric_;
    std::uint32_t capacity_;
    std::uint32_t next_ = 1;
    std::map<group_key, path_group_rows> groups_;
    std::multimap<std::uint32_t, std::uint32_t> released_; // rows in a row: the first
};

} // namespace mrc::service
