// SPDX-License-Identifier: Apache-2.0
//
// The host that the host programs' tests play: addresses, one remote peer with four planes of two uplinks, map access.
#ifndef MRC_TESTS_BPF_HOST_FIXTURE_H
#define MRC_TESTS_BPF_HOST_FIXTURE_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "mrc/abi/maps.h"
#include "mrc/abi/wire.h"

#include "packet_builder.h"
#include "prog_run.h"

namespace mrc::test
{

inline const ip6_address host_usid = ip6("fcbb:bb00:8201::");
inline const ip6_address host_address = ip6("fd6d:7263::0:2");
inline const ip6_address host_plane_address = ip6("fd6d:7263:0:3::0:2");
inline const ip6_address peer_address = ip6("fd6d:7263::1:1");
inline const ip6_address peer_plane_address = ip6("fd6d:7263:0:3::1:1");
inline const ip4_address host_address4 = ip4("10.0.0.2");
inline const ip4_address peer_address4 = ip4("10.0.1.1");
inline const mac_address port_mac{0x02, 0, 0, 0, 0, 0x22};
inline const mac_address gateway_mac{0x02, 0, 0, 0, 0, 0x11};

constexpr std::uint32_t host_port = 2;
constexpr std::uint32_t host_qpn = 0x012345;
constexpr std::uint32_t host_qp_row = MRC_QPN_ROW(host_qpn);
constexpr std::uint32_t peer_sender = 7;
constexpr std::uint32_t peer_sender4 = 8; // of its IPv4 address
constexpr std::uint32_t group_base = 100;
constexpr std::uint16_t peer_uplinks = 2;
constexpr std::uint8_t peer_planes = 4;

inline mrc_ip to_ip(const ip6_address &address)
{
    mrc_ip ip{};

    std::ranges::copy(address, std::begin(ip.bytes));
    return ip;
}

inline mrc_ip to_ip(const ip4_address &address)
{
    mrc_ip ip{};

    ip.bytes[10] = 0xFF;
    ip.bytes[11] = 0xFF;
    std::ranges::copy(address, std::begin(ip.bytes) + 12);
    return ip;
}

inline mrc_next_hop_row next_hop_at(const mac_address &mac)
{
    mrc_next_hop_row row{};

    std::ranges::copy(mac, std::begin(row.mac));
    row.resolved = 1;
    return row;
}

inline mrc_peer_row remote_peer()
{
    mrc_peer_row peer{};

    peer.sender = peer_sender;
    peer.group_base = group_base;
    peer.uplinks = peer_uplinks;
    peer.planes = peer_planes;
    peer.plane_mask = 0x0F;
    return peer;
}

constexpr std::uint32_t row_of(std::uint32_t plane, std::uint32_t uplink)
{
    return group_base + plane * peer_uplinks + uplink;
}

// Any map's value by key; a test without the row is a broken test.
template <typename value_type, typename key_type>
value_type lookup(const bpf_map *map, const key_type &key)
{
    value_type value{};

    EXPECT_EQ(bpf_map_lookup_elem(bpf_map__fd(map), &key, &value), 0) << bpf_map__name(map);
    return value;
}

template <typename key_type, typename value_type>
void update(const bpf_map *map, const key_type &key, const value_type &value)
{
    ASSERT_EQ(bpf_map_update_elem(bpf_map__fd(map), &key, &value, BPF_ANY), 0) << bpf_map__name(map);
}

// Packets counted by all verdicts together and by one of them, to compare before and after.
class verdict_counts
{
public:
    explicit verdict_counts(const bpf_map *map) : fd_(bpf_map__fd(map)) {}

    [[nodiscard]] std::int64_t of(mrc_verdict verdict) const { return per_cpu_sum(fd_, verdict); }

    [[nodiscard]] std::int64_t total() const
    {
        std::int64_t sum = 0;

        for (std::uint32_t row = 0; row < MRC_VERDICT_COUNT; row++)
            sum += per_cpu_sum(fd_, row);
        return sum;
    }

private:
    int fd_;
};

} // namespace mrc::test

#endif
