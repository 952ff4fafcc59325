// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/host_faults.h"

#include <fmt/format.h>

#include "kernel/map_names.h"
#include "tools/mrcctl/diagnose/evidence.h"

namespace mrc::ctl::diagnose
{

namespace
{

constexpr std::uint32_t flaps = 3; // times that a port was lost, from which on it is said to flap

std::string advice_for(const port_seen &port, std::uint32_t packet_bytes)
{
    switch (port.reason) {
    case MRC_PORT_DOWN:
        return fmt::format("ip link set dev {} up", port.device);
    case MRC_PORT_NO_CARRIER:
        return fmt::format("check the cable of {} and the switch's port at its other end", port.device);
    case MRC_PORT_SMALL_MTU:
        return fmt::format("ip link set dev {} mtu {}", port.device, packet_bytes);
    case MRC_PORT_DISABLED:
        return fmt::format("mrcctl port enable {}", port.plane + 1);
    case MRC_PORT_MISSING:
        return fmt::format("look for the device: 'ip link show {}', 'dmesg'", port.device);
    case MRC_PORT_NO_NEIGHBOUR:
    case MRC_PORT_SEVERAL_NEIGHBOURS:
        return fmt::format("look at the gateway: 'ip neigh show dev {}', and gateway in mrcd.toml", port.device);
    case MRC_PORT_REPLACED:
    case MRC_PORT_IN_USE:
    case MRC_PORT_REASON_COUNT:
        break;
    }
    return "look at the daemon's log: 'mrcctl event'";
}

diagnosis_finding port_fault(const port_seen &port, std::uint32_t packet_bytes)
{
    diagnosis_finding found{.what = port.reason == MRC_PORT_SMALL_MTU ? cause::mtu : cause::port, .plane = port.plane};
    found.device = port.device;
    found.loss = 1;
    found.sentence = fmt::format("port {} of this host (plane {}) is out of use: {}", port.device, port.plane,
                                 kernel::port_reason_names[port.reason]);
    found.evidence = port.reason == MRC_PORT_SMALL_MTU
                         ? fmt::format("its MTU is {}, packets have {} bytes", port.mtu, packet_bytes)
                         : "the kernel and mrcd say so";
    found.advice = advice_for(port, packet_bytes);
    return found;
}

diagnosis_finding flapping_fault(const port_seen &port)
{
    diagnosis_finding found{.what = cause::flapping_port, .plane = port.plane, .device = port.device};
    found.sentence = fmt::format("port {} of this host (plane {}) flaps: its link goes down and comes back",
                                 port.device, port.plane);
    found.evidence = fmt::format("it went out of use {} times in the last ten minutes", port.times_lost);
    found.advice = fmt::format("replace its transceiver or cable; until then 'mrcctl port disable {}'. When it "
                               "happened: 'mrcctl event'",
                               port.plane + 1);
    return found;
}

bool only_small(const trip_result &way)
{
    return condition_of(way.full) == condition::dead && condition_of(way.small) != condition::dead &&
           condition_of(way.small) != condition::unknown;
}

diagnosis_finding mtu_fault(const snapshot &at, const trip_key &way, const std::string &where)
{
    diagnosis_finding found{.what = cause::mtu, .plane = way.plane, .leaf = way.leaf, .spine = way.out, .loss = 1};
    found.sentence = fmt::format("the MTU of {} is too small for packets of {} bytes", where, at.packet_bytes);
    found.evidence = fmt::format("all {} packets of this size were lost on it, of {} small ones {}",
                                 on(at, way).full.sent, on(at, way).small.sent, on(at, way).small.lost());
    found.advice =
        fmt::format("set the MTU of its ends to at least {}, or payload in mrcd.toml to less", at.packet_bytes);
    return found;
}

findings mtu_of_plane(const snapshot &at, const port_seen &port)
{
    const trip_key own = own_leaf_trip(port.plane);
    if (only_small(on(at, own)))
        return {mtu_fault(
            at, own, fmt::format("the link between port {} and {}", port.device, leaf_name(at.own_leaf, port.plane)))};
    findings found;
    for (const std::uint32_t uplink : uplinks_of(at, port.plane)) {
        const trip_key spine = spine_trip(port.plane, uplink);
        if (only_small(on(at, spine))) {
            found.push_back(mtu_fault(at, spine,
                                      fmt::format("the link between {} and {}", leaf_name(at.own_leaf, port.plane),
                                                  spine_name(uplink, port.plane))));
            continue;
        }
        for (const std::uint32_t leaf : far_leaves_of(at))
            if (const trip_key far = far_leaf_trip(port.plane, leaf, uplink, uplink); only_small(on(at, far)))
                found.push_back(mtu_fault(at, far,
                                          fmt::format("the link between {} and {}", spine_name(uplink, port.plane),
                                                      leaf_name(leaf, port.plane))));
    }
    return found;
}

} // namespace

findings faults_of_daemon(const snapshot &at)
{
    diagnosis_finding found{.what = cause::daemon};
    if (!at.daemon.alive) {
        found.sentence = fmt::format("mrcd is dead (it was process {}): nothing is sent", at.daemon.pid);
        found.evidence = "there is no such process; what follows are its last numbers";
        found.advice = "systemctl status mrcd; journalctl -u mrcd";
    } else if (at.daemon.stopped) {
        found.sentence = fmt::format("mrcd (process {}) is stopped: nothing is sent", at.daemon.pid);
        found.evidence = fmt::format("/proc/{}/stat says so", at.daemon.pid);
        found.advice = fmt::format("kill -CONT {}, or whoever debugs it", at.daemon.pid);
    } else {
        return {};
    }
    return {found};
}

findings faults_of_ports(const snapshot &at)
{
    findings found;
    for (const port_seen &port : at.ports) {
        if (port.times_lost >= flaps)
            found.push_back(flapping_fault(port));
        else if (!port.usable)
            found.push_back(port_fault(port, at.packet_bytes));
    }
    return found;
}

findings ports_that_peers_miss(const snapshot &at)
{
    findings found;
    for (const peer_seen &peer : at.peers)
        for (const port_seen &port : at.ports) {
            if ((peer.says_planes >> port.plane & 1) != 0)
                continue;
            diagnosis_finding one{
                .what = cause::peer_port, .plane = port.plane, .leaf = peer.leaf, .subject = peer.address};
            one.loss = 1;
            one.sentence = fmt::format("host {} cannot be reached on plane {}: its port there is out of use",
                                       peer.address, port.plane);
            one.evidence = "that host says so";
            one.advice = "on that host: 'mrcctl port list' gives the reason";
            found.push_back(std::move(one));
        }
    return found;
}

findings faults_of_mtu(const snapshot &at)
{
    findings found;
    for (const port_seen &port : at.ports)
        if (port.usable)
            for (diagnosis_finding &one : mtu_of_plane(at, port))
                found.push_back(std::move(one));
    return found;
}

} // namespace mrc::ctl::diagnose
