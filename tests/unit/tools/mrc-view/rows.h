// SPDX-License-Identifier: Apache-2.0
// Rows of a host of a small SRv6 fabric: on leaf 0, two planes, two spines, one peer on leaf 1.
#pragma once

#include <cstdint>
#include <cstring>

#include "service/address.h"
#include "tools/mrc-view/fabric.h"

namespace mrc::view::testing
{

inline constexpr std::uint32_t planes = 2;
inline constexpr std::uint32_t spines = 2;
inline constexpr std::uint32_t base = 8; // first row of paths toward leaf 1
inline constexpr std::uint32_t qpn = 77;
inline constexpr const char *peer_address = "fd6d:7263::1:1";
inline const peer_names names{{peer_address, "h1"}};

inline mrc_ip address(const char *text)
{
    return service::parse_ip(text).value();
}

inline numbered_path path_at(std::uint32_t plane, std::uint32_t uplink)
{
    numbered_path one{.number = base + plane * spines + uplink};
    one.path.state = MRC_PATH_GOOD;
    one.path.kind = MRC_CARRIER_SRV6;
    one.path.host_usid_at = 10;
    one.path.group = 1;
    one.path.plane = static_cast<__u8>(plane);
    one.path.uplink = static_cast<__u16>(uplink);
    one.path.carrier = address("fcbb:bb00:2000:1000:2001:8000::"); // leaf 0, a spine, leaf 1
    one.signal.rtt_smoothed_ns = 100'000;
    return one;
}

// At this time, with nothing sent yet.
inline host_rows rows_at(std::uint64_t time_ns)
{
    host_rows rows;
    rows.counters.time_ns = time_ns;
    rows.daemon.alive = true;
    rows.daemon.state = "running";
    for (std::uint32_t plane = 0; plane < planes; ++plane) {
        mrc_port_row &port = rows.counters.ports[plane];
        std::strcpy(port.device, plane == 0 ? "p0" : "p1");
        port.flags = MRC_PORT_USABLE;
        for (std::uint32_t uplink = 0; uplink < spines; ++uplink)
            rows.paths.push_back(path_at(plane, uplink));
    }
    mrc_qp_row qp{};
    qp.qpn = qpn;
    qp.session = 5;
    qp.peer = address(peer_address);
    rows.counters.qps.emplace(qpn, qp);
    mrc_client_row client{};
    client.pid = 4711;
    std::strcpy(client.command, "train");
    rows.clients.emplace(5, client);
    mrc_peer_row peer{};
    peer.group_base = base;
    peer.planes = planes;
    peer.uplinks = spines;
    peer.host_usid = 0x8000;
    rows.peers.push_back({.address = address(peer_address), .row = peer});
    rows.peer_of_qp.emplace(qpn, peer);
    return rows;
}

inline numbered_path &path_in(host_rows &rows, std::uint32_t plane, std::uint32_t uplink)
{
    return rows.paths[plane * spines + uplink];
}

inline void send(host_rows &rows, std::uint32_t plane, std::uint32_t uplink, std::uint64_t packets,
                 std::uint64_t losses = 0)
{
    mrc_path_row &path = path_in(rows, plane, uplink).path;
    path.tx_packets += packets;
    path.tx_bytes += packets * 1000;
    path.losses += losses;
    path.retransmits += losses;
    rows.counters.ports[plane].tx_packets += packets;
    rows.counters.ports[plane].tx_bytes += packets * 1000;
}

} // namespace mrc::view::testing
