// SPDX-License-Identifier: Apache-2.0
#include "sim/transport_parts.h"

#include "protocol/congestion/fixed_window.h"
#include "protocol/congestion/nscc.h"
#include "protocol/packet_number.h"
#include "sim/selectors/oblivious_selector.h"
#include "sim/selectors/reps_selector.h"
#include "sim/selectors/single_path_selector.h"

namespace mrc::sim
{

using namespace protocol;

std::unique_ptr<path_selector> make_selector(selector_kind kind, std::uint64_t seed)
{
    switch (kind) {
    case selector_kind::mrc:
        return nullptr; // the queue pair's own
    case selector_kind::oblivious:
        return std::make_unique<oblivious_selector>(seed);
    case selector_kind::reps:
        return std::make_unique<reps_selector>(seed);
    case selector_kind::single_path:
        return std::make_unique<single_path_selector>(seed);
    }
    return nullptr;
}

std::unique_ptr<congestion_control> make_control(const transport_config &transport, const fabric &topology,
                                                 unsigned host, unsigned peer_host)
{
    const double host_gbps = topology.config().host_gbps * topology.config().planes;
    const double bdp_bytes = topology.plane_bdp_bytes() * topology.config().planes;
    if (transport.congestion == congestion_kind::fixed)
        return std::make_unique<fixed_window>(static_cast<std::uint64_t>(transport.window * bdp_bytes));
    nscc_link link;
    link.bits_per_second = static_cast<std::uint64_t>(host_gbps * 1e9);
    link.base_rtt = duration{topology.base_rtt() / nanosecond};
    link.mtu = nominal_bytes(transport.payload);
    link.trimming = topology.config().trim;
    // A trimmed packet is back sooner than a whole one: that is not the path's RTT (protocol.md §5.6).
    link.base_rtt_floor = duration{topology.base_rtt(host, peer_host) / nanosecond};
    return std::make_unique<nscc>(derive_nscc(link));
}

} // namespace mrc::sim
