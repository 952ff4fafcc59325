// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/probe_faults.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/mrcctl/diagnose/evidence.h"

namespace mrc::ctl::diagnose
{

namespace
{

tally probes_to(const snapshot &at, std::uint32_t plane, std::uint32_t peer)
{
    return sum_of(at, trip_kind::probe,
                  [&](const trip_key &key) { return key.plane == plane && (peer == nowhere || key.peer == peer); });
}

bool is_down(const snapshot &at, std::uint32_t peer)
{
    std::size_t judged = 0;
    for (const port_seen &port : at.ports) {
        const condition state = condition_of(probes_to(at, port.plane, peer));
        judged += state == condition::unknown ? 0 : 1;
        if (state == condition::clean || state == condition::lossy)
            return false;
    }
    return judged > 1;
}

diagnosis_finding down_fault(const snapshot &at, std::uint32_t peer)
{
    const std::string &address = at.peers[peer].address;
    const tally trips = sum_of(at, trip_kind::probe, [&](const trip_key &key) { return key.peer == peer; });
    diagnosis_finding found{.what = cause::peer_down, .subject = address, .loss = 1};
    found.sentence = fmt::format("host {} does not answer on any plane: it is down, or mrcd does not run there, or "
                                 "nothing gets out of this host",
                                 address);
    found.evidence = fmt::format("{} sent there were lost", lost_in_words(trips));
    found.advice = "on that host: 'mrcctl status', 'systemctl status mrcd'";
    return found;
}

diagnosis_finding plane_fault(const snapshot &at, const port_seen &port, const std::vector<std::uint32_t> &bad)
{
    const tally trips = probes_to(at, port.plane, nowhere);
    diagnosis_finding found{
        .what = cause::plane_network, .plane = port.plane, .device = port.device, .loss = loss_of(trips)};
    found.sentence =
        bad.size() > 1
            ? fmt::format("plane {} {} toward all {} hosts that were probed: port {} of this host, its cable, or the "
                          "network of the plane",
                          port.plane, what_it_does(found.loss), bad.size(), port.device)
            : fmt::format("plane {} {} toward host {}: port {} of this host, that host's port, or what is between; "
                          "one host cannot tell which",
                          port.plane, what_it_does(found.loss), at.peers[bad.front()].address, port.device);
    if (bad.size() == 1)
        found.subject = at.peers[bad.front()].address;
    found.evidence = fmt::format("{} were not answered", lost_in_words(trips));
    found.advice =
        fmt::format("check the cable of {} and both of its ends ('ethtool -S {}')", port.device, port.device);
    return found;
}

diagnosis_finding one_peer_fault(const snapshot &at, const port_seen &port, std::uint32_t peer)
{
    const tally trips = probes_to(at, port.plane, peer);
    diagnosis_finding found{.what = cause::peer_or_network, .plane = port.plane, .subject = at.peers[peer].address};
    found.loss = loss_of(trips);
    found.sentence = fmt::format("plane {} {} toward host {} and not toward others: that host's port or cable, or what "
                                 "leads to it alone",
                                 port.plane, what_it_does(found.loss), found.subject);
    found.evidence = fmt::format("{} were not answered", lost_in_words(trips));
    found.advice =
        fmt::format("on that host: 'mrcctl port list', 'mrcctl diagnose'; check its cable on plane {}", port.plane);
    return found;
}

} // namespace

findings faults_by_probes(const snapshot &at)
{
    findings found;
    std::vector<std::uint32_t> up;
    for (std::uint32_t peer = 0; peer < at.peers.size(); ++peer)
        if (is_down(at, peer))
            found.push_back(down_fault(at, peer));
        else
            up.push_back(peer);
    for (const port_seen &port : at.ports) {
        std::vector<std::uint32_t> bad;
        std::size_t judged = 0;
        for (const std::uint32_t peer : up) {
            const bool says_no = (at.peers[peer].says_planes >> port.plane & 1) == 0;
            const condition state =
                says_no || !port.usable ? condition::unknown : condition_of(probes_to(at, port.plane, peer));
            judged += state == condition::unknown ? 0 : 1;
            if (state == condition::dead || (state == condition::lossy && !is_congested(at, at.peers[peer].leaf)))
                bad.push_back(peer);
        }
        if (!bad.empty() && bad.size() == judged)
            found.push_back(plane_fault(at, port, bad));
        else
            for (const std::uint32_t peer : bad)
                found.push_back(one_peer_fault(at, port, peer));
    }
    return found;
}

} // namespace mrc::ctl::diagnose
