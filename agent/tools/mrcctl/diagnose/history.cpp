// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/history.h"

#include <algorithm>

#include "service/address.h"

namespace mrc::ctl::diagnose
{

namespace
{

constexpr std::uint64_t flapping_ns = 600'000'000'000; // ten minutes

bool is_loss_of_link(const mrc_event_row &event)
{
    return event.kind == MRC_EVENT_PORT_OUT_OF_USE &&
           (event.reason == MRC_REASON_NO_CARRIER || event.reason == MRC_REASON_MISSING ||
            event.reason == MRC_REASON_REPLACED);
}

} // namespace

void add_history(snapshot &to, std::span<const mrc_event_row> events, std::uint64_t now_ns)
{
    for (const mrc_event_row &event : events) {
        const bool recent = event.time_ns + flapping_ns >= now_ns;
        const auto port = std::ranges::find(to.ports, event.plane, &port_seen::plane);
        if (recent && is_loss_of_link(event) && port != to.ports.end())
            ++port->times_lost;
        if (event.kind != MRC_EVENT_PEER_PORT_OUT_OF_USE && event.kind != MRC_EVENT_PEER_PORT_USABLE)
            continue;
        const auto peer = std::ranges::find(to.peers, service::to_text(event.peer), &peer_seen::address);
        if (peer == to.peers.end())
            continue;
        const std::uint32_t bit = 1U << event.plane;
        peer->says_planes =
            event.kind == MRC_EVENT_PEER_PORT_USABLE ? peer->says_planes | bit : peer->says_planes & ~bit;
    }
}

} // namespace mrc::ctl::diagnose
