// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/load.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/mrcctl/diagnose/evidence.h"

namespace mrc::ctl::diagnose
{

namespace
{

constexpr double long_wait = 0.5;       // share of the time that it watched
constexpr double lions_share = 2.0 / 3; // of all packets, by which the worker's work goes: twice what all others send
constexpr double marked_share = 0.05;   // of packets that arrived
constexpr std::uint64_t least_marked = 50;

double waited(const snapshot &at, const qp_seen &qp, mrc_send_limit limit)
{
    return at.watched_ns == 0 ? 0 : static_cast<double>(qp.waited_ns[limit]) / static_cast<double>(at.watched_ns);
}

// It has something to send, and its host is what is too slow: the worker here, or what the one there takes, whose
// penalties and late answers make the window small. Marks of switches do so, too, but then its paths show them.
bool waits_for_hosts(const snapshot &at, const qp_seen &qp)
{
    const double window = is_congested(at, qp.leaf) ? 0 : waited(at, qp, MRC_LIMIT_CONGESTION);
    return waited(at, qp, MRC_LIMIT_WORKER) + window >= long_wait;
}

std::string client_name(const client_seen &client)
{
    return client.pid == 0 && client.command.empty() ? fmt::format("the client of session {}", client.session)
                                                     : fmt::format("{} (process {})", client.command, client.pid);
}

double gbit_per_s(const snapshot &at, std::uint64_t bytes)
{
    return at.watched_ns == 0 ? 0 : static_cast<double>(bytes) * 8 / static_cast<double>(at.watched_ns);
}

struct path_sums {
    std::uint64_t acks = 0;
    std::uint64_t echoes = 0;
};
path_sums echoes_from(const snapshot &at, std::uint32_t leaf)
{
    path_sums sums;
    for (const path_seen &path : at.paths)
        if (path.leaf == leaf) {
            sums.acks += path.acks;
            sums.echoes += path.echoes;
        }
    return sums;
}

std::map<std::uint32_t, std::uint64_t> packets_by_session(const snapshot &at)
{
    std::map<std::uint32_t, std::uint64_t> sent;
    for (const qp_seen &qp : at.qps)
        sent[qp.client.session] += qp.tx_packets;
    return sent;
}

} // namespace

findings congestion_toward_peers(const snapshot &at)
{
    findings found;
    std::set<std::uint32_t> leaves;
    for (const path_seen &path : at.paths)
        leaves.insert(path.leaf);
    for (const std::uint32_t leaf : leaves) {
        if (!is_congested(at, leaf))
            continue;
        std::set<std::string> peers;
        for (const qp_seen &qp : at.qps)
            if (qp.leaf == leaf && qp.tx_bytes != 0)
                peers.insert(qp.peer);
        const path_sums sums = echoes_from(at, leaf);
        diagnosis_finding one{.what = cause::congestion, .leaf = at.direct ? nowhere : leaf};
        one.subject = fmt::format("{}", fmt::join(peers, ", "));
        one.sentence = fmt::format("queues are full on the way to {}", one.subject.empty() ? "its leaf" : one.subject);
        one.evidence = fmt::format("{} of {} answers echo a congestion mark or a trimmed packet", sums.echoes,
                                   std::max(sums.acks, sums.echoes));
        one.advice = "'mrcctl diagnose' on that host says who else sends to it";
        found.push_back(std::move(one));
    }
    return found;
}

findings incast_here(const snapshot &at)
{
    std::uint64_t packets = 0;
    std::uint64_t marked = 0;
    std::uint64_t bytes = 0;
    std::map<std::string, std::uint64_t> senders;
    for (const qp_seen &qp : at.qps) {
        packets += qp.rx_packets;
        marked += qp.rx_marked;
        bytes += qp.rx_bytes;
        if (qp.rx_packets != 0)
            senders[qp.peer] += qp.rx_bytes;
    }
    if (senders.size() < 2 || marked < least_marked ||
        static_cast<double>(marked) < marked_share * static_cast<double>(packets + marked))
        return {};
    std::vector<std::string> shares;
    shares.reserve(senders.size());
    for (const auto &[peer, sent] : senders)
        shares.push_back(fmt::format("{} {:.2f} Gbit/s", peer, gbit_per_s(at, sent)));
    diagnosis_finding found{.what = cause::incast};
    found.sentence = fmt::format("{} hosts send to this one at once, more than its links take", senders.size());
    found.evidence = fmt::format("{} data packets were marked or trimmed on the way, {} arrived; {}", marked, packets,
                                 fmt::join(shares, ", "));
    found.advice = "nothing is broken: have fewer hosts send at a time, or give this one more planes";
    return {found};
}

findings slow_receivers(const snapshot &at)
{
    findings found;
    for (const qp_seen &qp : at.qps) {
        if (qp.rx_no_receive != 0) {
            diagnosis_finding here{.what = cause::slow_receiver, .subject = client_name(qp.client)};
            here.sentence =
                fmt::format("{} on this host posts too few receive requests for what {} sends", here.subject, qp.peer);
            here.evidence = fmt::format("queue pair {}: {} immediates found none", qp.qpn, qp.rx_no_receive);
            here.advice = fmt::format("have it post more of them; 'mrcctl qp show {}'", qp.qpn);
            found.push_back(std::move(here));
        }
        const double share = waited(at, qp, MRC_LIMIT_RECEIVER);
        if (share < long_wait)
            continue;
        diagnosis_finding one{.what = cause::slow_receiver, .leaf = qp.leaf, .subject = qp.peer};
        one.sentence = fmt::format("host {} takes what {} sends too slowly", qp.peer, client_name(qp.client));
        one.evidence =
            fmt::format("queue pair {} waited {:.0f} % of the time for the receiver's window", qp.qpn, 100 * share);
        one.advice = "on that host: 'mrcctl qp list' and 'top' tell whether its program, or its CPU, is behind";
        found.push_back(std::move(one));
    }
    return found;
}

findings busy_worker(const snapshot &at)
{
    const auto sent = packets_by_session(at);
    const auto most = std::ranges::max_element(sent, {}, [](const auto &one) { return one.second; });
    const std::uint64_t all = std::accumulate(sent.begin(), sent.end(), std::uint64_t{0},
                                              [](std::uint64_t sum, const auto &one) { return sum + one.second; });
    if (all == 0)
        return {};
    const qp_seen *kept_waiting = nullptr;
    const qp_seen *limited = nullptr;
    const qp_seen *busiest = nullptr;
    for (const qp_seen &qp : at.qps) {
        if (qp.client.session == most->first)
            busiest = &qp;
        else if (waits_for_hosts(at, qp))
            kept_waiting = &qp;
        if (waited(at, qp, MRC_LIMIT_WORKER) >= long_wait)
            limited = &qp;
    }
    if (kept_waiting != nullptr && static_cast<double>(most->second) >= lions_share * static_cast<double>(all)) {
        diagnosis_finding found{.what = cause::flooding_client, .subject = client_name(busiest->client)};
        found.sentence =
            fmt::format("{} floods: it keeps mrcd, here or at its peers, busy, and others wait", found.subject);
        found.evidence = fmt::format(
            "it sent {} of {} packets; queue pair {} of {} waited {:.0f} % of the time for the "
            "worker, {:.0f} % for its window, and no switch marks its packets",
            most->second, all, kept_waiting->qpn, client_name(kept_waiting->client),
            100 * waited(at, *kept_waiting, MRC_LIMIT_WORKER), 100 * waited(at, *kept_waiting, MRC_LIMIT_CONGESTION));
        found.advice = "have it keep fewer requests outstanding, and larger ones; 'mrcctl client list', 'mrcctl top'";
        return {found};
    }
    if (limited == nullptr)
        return {};
    diagnosis_finding found{.what = cause::worker, .is_fault = false};
    found.sentence = "the worker of this host's mrcd, that is one CPU, is what limits the rate";
    found.evidence = fmt::format("queue pair {} waited {:.0f} % of the time for it", limited->qpn,
                                 100 * waited(at, *limited, MRC_LIMIT_WORKER));
    found.advice = "a faster CPU, larger packets, or memory shared with mrcd help; nothing is broken";
    return {found};
}

} // namespace mrc::ctl::diagnose
