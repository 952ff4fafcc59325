// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/diagnosis.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tools/mrcctl/diagnose/fabric_faults.h"
#include "tools/mrcctl/diagnose/host_faults.h"
#include "tools/mrcctl/diagnose/load.h"
#include "tools/mrcctl/diagnose/loss.h"
#include "tools/mrcctl/diagnose/named_faults.h"
#include "tools/mrcctl/diagnose/peer_faults.h"
#include "tools/mrcctl/diagnose/probe_faults.h"

namespace mrc::ctl::diagnose
{

namespace
{

void add(findings &to, findings more)
{
    std::ranges::move(more, std::back_inserter(to));
}

findings faults_of_network(const snapshot &at)
{
    if (!has_round_trips(at))
        return faults_by_probes(at);
    findings found = losses_of_host(at);
    for (const port_seen &port : at.ports)
        if (port.usable)
            add(found, faults_of_plane(at, port.plane));
    add(found, faults_of_peers(at));
    add(found, faults_of_mtu(at));
    return with_named_faults(std::move(found), at);
}

} // namespace

findings findings_of(const snapshot &at)
{
    findings found = faults_of_daemon(at);
    add(found, faults_of_ports(at));
    add(found, ports_that_peers_miss(at));
    add(found, faults_of_network(at));
    add(found, congestion_toward_peers(at));
    add(found, incast_here(at));
    add(found, slow_receivers(at));
    add(found, busy_worker(at));
    return found;
}

bool lacks_direction(const findings &found)
{
    return std::ranges::any_of(found, [](const diagnosis_finding &one) {
        return (one.what == cause::host_link || one.what == cause::peer_link) && one.way == direction::unknown &&
               one.loss < dead_loss;
    });
}

} // namespace mrc::ctl::diagnose
