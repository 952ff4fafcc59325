// SPDX-License-Identifier: Apache-2.0
// What `mrcctl diagnose` judges by: rows of the maps, what they have grown by while it watched, and packets sent on
// round trips of known ways. Plain values; collect.h fills them in, diagnosis.h reads them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mrc/abi/maps.h"

namespace mrc::ctl::diagnose
{

// Packets of one way that were sent, and those that came back.
struct tally {
    std::uint32_t sent = 0;
    std::uint32_t back = 0;

    [[nodiscard]] std::uint32_t lost() const { return sent - back; }
    tally &operator+=(const tally &other)
    {
        sent += other.sent;
        back += other.back;
        return *this;
    }
};

// Where a packet goes. "Round trips" come back by the same plane; echoes are answered by the peer's kernel over its
// overlay, by any healthy plane: what they lose more on one plane than on another is lost on the way out.
//
// own_leaf   port, own leaf, port
// spine      port, own leaf, spine `out`, own leaf, port
// far_leaf   port, own leaf, spine `out`, leaf `leaf`, spine `back`, own leaf, port
// echo       port, own leaf, spine `out`, the peer's leaf, the peer; answered by any plane
// detour     port, own leaf, spine `out`, the peer's leaf, spine `back`, the peer's leaf, the peer; as an echo
// probe      an EV probe: the path by spine `out` to the peer, and back by the same path
enum class trip_kind { own_leaf, spine, far_leaf, echo, detour, probe };

inline constexpr std::uint32_t nowhere = 0xFFFFFFFF; // what a kind of trip does not have

struct trip_key {
    trip_kind kind = trip_kind::own_leaf;
    std::uint32_t plane = 0;
    std::uint32_t leaf = nowhere;
    std::uint32_t peer = nowhere; // index in snapshot::peers
    std::uint32_t out = nowhere;  // uplink, that is spine
    std::uint32_t back = nowhere;

    auto operator<=>(const trip_key &) const = default;
};

struct trip_result {
    tally small{};
    tally full{}; // as long as a full data packet
};
using trip_results = std::map<trip_key, trip_result>;

struct daemon_seen {
    bool alive = true;
    bool stopped = false;
    std::uint32_t pid = 0;
};

struct port_seen {
    std::uint32_t plane = 0;
    std::string device{};
    bool usable = true;
    mrc_port_reason reason = MRC_PORT_IN_USE;
    std::uint32_t mtu = 0;
    std::uint64_t rx_packets = 0; // frames that arrived while diagnose watched
    std::uint32_t times_lost = 0; // that it went out of use in the last ten minutes, by the history of events
};

struct peer_seen {
    std::string address{};
    std::uint32_t leaf = 0;          // in direct mode the number of its path group
    std::uint32_t says_planes = ~0U; // bit p: it does not say that its port on plane p is out of use
};

// What has grown while diagnose watched, by mrc_path_row and mrc_signal_row.
struct path_seen {
    std::uint32_t plane = 0;
    std::uint32_t leaf = 0;
    std::uint32_t uplink = 0;
    std::uint64_t tx_packets = 0;
    std::uint64_t losses = 0;
    std::uint64_t acks = 0;
    std::uint64_t echoes = 0; // of CE marks and of trimmed packets
};

struct client_seen {
    std::uint32_t session = 0;
    std::uint32_t pid = 0;
    std::string command{};
};

inline constexpr std::size_t limits = MRC_LIMIT_MEMORY + 1;

// What has grown while diagnose watched, by mrc_qp_row.
struct qp_seen {
    std::uint32_t qpn = 0;
    std::string peer{};
    std::uint32_t leaf = nowhere; // of the peer
    client_seen client{};
    std::array<std::uint64_t, limits> waited_ns{}; // by enum mrc_send_limit
    std::uint64_t tx_bytes = 0;
    std::uint64_t tx_packets = 0;
    std::uint64_t rx_bytes = 0;
    std::uint64_t rx_packets = 0;
    std::uint64_t rx_marked = 0;     // CE, or trimmed
    std::uint64_t rx_no_receive = 0; // immediates that found no receive request
    std::uint64_t penalties = 0;     // the peer's host asked to slow down
};

struct snapshot {
    bool direct = false;              // planes are ordinary networks: no leaves and spines are known
    std::uint32_t own_leaf = nowhere; // nowhere: not known, or direct
    std::uint32_t packet_bytes = 0;   // of a full data packet, from the outer IP header on
    std::uint64_t watched_ns = 0;
    std::string unprobed{}; // why probes could not be sent; empty: they were
    daemon_seen daemon{};
    std::vector<port_seen> ports{}; // by plane
    std::vector<peer_seen> peers{}; // those that were looked at
    std::vector<path_seen> paths{}; // toward their leaves
    std::vector<qp_seen> qps{};
    trip_results trips{};
    std::vector<mrc_fault_row> faults{}; // that the hosts of the fabric name
};

} // namespace mrc::ctl::diagnose
