// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/fault_event.h"

#include "service/address.h"

namespace mrc::service
{

mrc_event_row event_of(const fault_change &change, const daemon_config &config, const fabric_rules &rules)
{
    constexpr int first = int{MRC_EVENT_LINK_GOOD} - int{MRC_LINK_GOOD};
    static_assert(first + int{MRC_LINK_SLOW} == int{MRC_EVENT_LINK_SLOW} &&
                  first + int{MRC_LINK_LOSSY} == int{MRC_EVENT_LINK_LOSSY} &&
                  first + int{MRC_LINK_DEAD} == int{MRC_EVENT_LINK_DEAD});
    const fabric_fault &fault = change.fault;
    const fault_place &place = fault.place;
    mrc_event_row event{};
    event.kind = static_cast<mrc_event_kind>(first + int{fault.state});
    event.reason = place.blame == MRC_BLAME_PEER ? MRC_REASON_PACKETS : MRC_REASON_LOOPS;
    event.blame = place.blame;
    event.direction = fault.direction;
    event.plane = place.plane.value;
    event.leaf = place.leaf;
    event.uplink = place.spine == MRC_FAULT_NOWHERE ? MRC_LOOP_NO_SPINE : place.spine;
    event.tx_packets = fault.loops;
    event.losses = fault.lost;
    event.extra_rtt_ns = fault.extra_rtt_ns;
    event.hosts = fault.hosts;
    event.witnesses = fault.witnesses;
    if (place.downlink == MRC_FAULT_NOWHERE)
        return event;
    const host_place host{.leaf = place.leaf, .downlink = place.downlink};
    event.peer = rules.address_of(host);
    if (host == rules.self())
        for (const port_options &port : config.ports)
            if (port.plane == place.plane)
                port.device.copy(event.name, sizeof(event.name) - 1);
    return event;
}

mrc_fault_row row_of(const fabric_fault &fault, protocol::instant since, const fabric_rules &rules)
{
    mrc_fault_row row{};
    row.state = fault.state;
    row.blame = fault.place.blame;
    row.direction = fault.direction;
    row.plane = fault.place.plane.value;
    row.leaf = fault.place.leaf;
    row.uplink = fault.place.spine;
    if (fault.place.downlink != MRC_FAULT_NOWHERE)
        row.host = rules.address_of({.leaf = fault.place.leaf, .downlink = fault.place.downlink});
    write_text(row.host_text, row.host);
    row.loops = fault.loops;
    row.lost = fault.lost;
    row.extra_rtt_ns = fault.extra_rtt_ns;
    row.hosts = fault.hosts;
    row.witnesses = fault.witnesses;
    row.since_ns = static_cast<__u64>(since.time_since_epoch().count());
    return row;
}

} // namespace mrc::service
