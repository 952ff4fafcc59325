// SPDX-License-Identifier: Apache-2.0
// Tables of snapshots: what is broken, and whom that may be blamed on, and nobody else.
#include "tools/mrcctl/diagnose/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::ctl::diagnose
{
namespace
{

constexpr std::uint32_t packets = 400;
constexpr std::uint32_t planes = 2;
constexpr std::uint32_t spines = 2;
constexpr std::uint32_t own = 0;

// Shares that get through a directed link: out, away from this host; in, toward it.
struct link {
    double out = 1;
    double in = 1;
    [[nodiscard]] double both() const { return out * in; }
};

// Two planes of two spines; this host behind leaf 0, peers behind leaves 1 and 2.
struct fabric {
    link host[planes];           // this host and leaf 0
    link near[planes][spines];   // leaf 0 and a spine
    link far[planes][spines][3]; // a spine and a leaf
    link peer[planes][2];        // a peer and its leaf
    double spine[planes][spines] = {{1, 1}, {1, 1}};
    double leaf[planes][3] = {{1, 1, 1}, {1, 1, 1}};
    bool answers_echoes = true;
};

tally of(double share)
{
    return {.sent = packets, .back = static_cast<std::uint32_t>(std::lround(packets * share))};
}

// The same from this host to a leaf by a spine, and back.
double way_out(const fabric &at, std::uint32_t plane, std::uint32_t leaf, std::uint32_t spine)
{
    return at.host[plane].out * at.leaf[plane][own] * at.near[plane][spine].out * at.spine[plane][spine] *
           at.far[plane][spine][leaf].out * at.leaf[plane][leaf];
}

double way_in(const fabric &at, std::uint32_t plane, std::uint32_t leaf, std::uint32_t spine)
{
    return at.far[plane][spine][leaf].in * at.spine[plane][spine] * at.near[plane][spine].in * at.leaf[plane][own] *
           at.host[plane].in;
}

void add_peer_trips(snapshot &to, const fabric &at, std::uint32_t plane, std::uint32_t peer)
{
    const std::uint32_t leaf = peer + 1;
    for (std::uint32_t spine = 0; spine < spines; ++spine) {
        const double out = way_out(at, plane, leaf, spine) * at.peer[plane][peer].out;
        const double there_and_back = out * at.peer[plane][peer].in * way_in(at, plane, leaf, spine);
        to.trips[{.kind = trip_kind::probe, .plane = plane, .peer = peer, .out = spine}].small = of(there_and_back);
        const std::uint32_t by = 1 - spine;
        const link &detoured = at.far[plane][by][leaf];
        const double detour = out * detoured.in * at.spine[plane][by] * detoured.out * at.leaf[plane][leaf];
        const double answered = at.answers_echoes ? 1 : 0;
        to.trips[{.kind = trip_kind::echo, .plane = plane, .peer = peer, .out = spine}].small = of(answered * out);
        to.trips[{.kind = trip_kind::detour, .plane = plane, .peer = peer, .out = spine, .back = by}].small =
            of(answered * detour);
    }
}

snapshot seen(const fabric &at)
{
    snapshot to;
    to.own_leaf = own;
    to.packet_bytes = 3204;
    to.watched_ns = 1'000'000'000;
    to.peers = {{.address = "fd6d:7263::1:1", .leaf = 1}, {.address = "fd6d:7263::2:1", .leaf = 2}};
    for (std::uint32_t plane = 0; plane < planes; ++plane) {
        to.ports.push_back({.plane = plane, .device = "p" + std::to_string(plane)});
        const double leaf = at.host[plane].both() * at.leaf[plane][own];
        to.trips[{.kind = trip_kind::own_leaf, .plane = plane}].small = of(leaf);
        for (std::uint32_t spine = 0; spine < spines; ++spine)
            to.trips[{.kind = trip_kind::spine, .plane = plane, .out = spine}].small =
                of(leaf * at.near[plane][spine].both() * at.spine[plane][spine]);
        for (std::uint32_t far = 1; far < 3; ++far)
            for (std::uint32_t out = 0; out < spines; ++out)
                for (std::uint32_t back = 0; back < spines; ++back)
                    to.trips[{.kind = trip_kind::far_leaf, .plane = plane, .leaf = far, .out = out, .back = back}]
                        .small = of(way_out(at, plane, far, out) * way_in(at, plane, far, back));
        for (std::uint32_t peer = 0; peer < 2; ++peer)
            add_peer_trips(to, at, plane, peer);
    }
    return to;
}

struct expected {
    cause what;
    std::uint32_t plane = nowhere;
    std::uint32_t leaf = nowhere;
    std::uint32_t spine = nowhere;
    direction way = direction::unknown;
    std::string subject{};
};

struct broken {
    const char *name;
    std::function<void(fabric &)> breaks;
    std::vector<expected> blamed;
};

const std::string peer_0 = "fd6d:7263::1:1";

const std::vector<broken> all_broken{
    {"nothing", [](fabric &) {}, {}},
    {"dead host link", [](fabric &at) { at.host[1] = {0, 0}; }, {{.what = cause::host_link, .plane = 1, .leaf = own}}},
    {"host link that loses",
     [](fabric &at) { at.host[0] = {0.95, 0.95}; },
     {{.what = cause::host_link, .plane = 0, .leaf = own, .way = direction::both}}},
    {"host link that loses what arrives",
     [](fabric &at) { at.host[0].in = 0.95; },
     {{.what = cause::host_link, .plane = 0, .leaf = own, .way = direction::in}}},
    {"host link that loses what leaves",
     [](fabric &at) { at.host[0].out = 0.95; },
     {{.what = cause::host_link, .plane = 0, .leaf = own, .way = direction::out}}},
    {"host link that is deaf",
     [](fabric &at) { at.host[0].in = 0; },
     {{.what = cause::host_link, .plane = 0, .leaf = own, .way = direction::in}}},
    {"dead own leaf looks like a host link",
     [](fabric &at) { at.leaf[0][own] = 0; },
     {{.what = cause::host_link, .plane = 0, .leaf = own}}},
    {"dead near link",
     [](fabric &at) { at.near[0][1] = {0, 0}; },
     {{.what = cause::leaf_spine_link, .plane = 0, .leaf = own, .spine = 1, .way = direction::both}}},
    {"near link that loses one way",
     [](fabric &at) { at.near[1][0].out = 0.95; },
     {{.what = cause::leaf_spine_link, .plane = 1, .leaf = own, .spine = 0, .way = direction::out}}},
    {"near link whose spine cannot be reached otherwise",
     [](fabric &at) {
         at.near[0][1] = {0, 0};
         at.answers_echoes = false;
     },
     {{.what = cause::spine_or_link, .plane = 0, .leaf = own, .spine = 1, .way = direction::both}}},
    {"dead spine", [](fabric &at) { at.spine[0][1] = 0; }, {{.what = cause::spine, .plane = 0, .spine = 1}}},
    {"dead far link",
     [](fabric &at) { at.far[0][1][2] = {0, 0}; },
     {{.what = cause::leaf_spine_link, .plane = 0, .leaf = 2, .spine = 1, .way = direction::both}}},
    {"far link that loses what comes back",
     [](fabric &at) { at.far[0][1][2].in = 0.95; },
     {{.what = cause::leaf_spine_link, .plane = 0, .leaf = 2, .spine = 1, .way = direction::in}}},
    {"dead far leaf", [](fabric &at) { at.leaf[1][2] = 0; }, {{.what = cause::leaf, .plane = 1, .leaf = 2}}},
    {"no spine answers",
     [](fabric &at) { at.near[0][0] = at.near[0][1] = {0, 0}; },
     {{.what = cause::leaf, .plane = 0, .leaf = own}}},
    {"dead link of a peer",
     [](fabric &at) { at.peer[1][0] = {0, 0}; },
     {{.what = cause::peer_link, .plane = 1, .leaf = 1, .subject = peer_0}}},
    {"link of a peer that loses what it sends",
     [](fabric &at) { at.peer[1][0].in = 0.95; },
     {{.what = cause::peer_link, .plane = 1, .leaf = 1, .way = direction::in, .subject = peer_0}}},
    {"peer that is down",
     [](fabric &at) { at.peer[0][0] = at.peer[1][0] = {0, 0}; },
     {{.what = cause::peer_down, .leaf = 1, .subject = peer_0}}},
    {"peer that is too busy", [](fabric &at) { at.peer[0][0] = at.peer[1][0] = {0.95, 1}; }, {}},
    {"two at once",
     [](fabric &at) {
         at.host[0] = {0, 0};
         at.spine[1][0] = 0;
     },
     {{.what = cause::host_link, .plane = 0, .leaf = own}, {.what = cause::spine, .plane = 1, .spine = 0}}},
    {"a host that is too busy",
     [](fabric &at) { at.host[0] = at.host[1] = {0.9, 0.9}; },
     {{.what = cause::host_losses}}},
};

TEST(diagnosis, blames_what_is_broken_and_nothing_else)
{
    for (const broken &one : all_broken) {
        SCOPED_TRACE(one.name);
        fabric at;
        one.breaks(at);
        const findings found = findings_of(seen(at));
        ASSERT_EQ(found.size(), one.blamed.size()) << (found.empty() ? "" : found.back().sentence);
        for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(name_of(found[i].what), name_of(one.blamed[i].what)) << found[i].sentence;
            EXPECT_EQ(found[i].plane, one.blamed[i].plane);
            EXPECT_EQ(found[i].leaf, one.blamed[i].leaf);
            EXPECT_EQ(found[i].spine, one.blamed[i].spine);
            EXPECT_EQ(name_of(found[i].way), name_of(one.blamed[i].way)) << found[i].sentence;
            EXPECT_EQ(found[i].subject, one.blamed[i].subject);
            EXPECT_TRUE(found[i].is_fault);
            EXPECT_FALSE(found[i].evidence.empty());
            EXPECT_FALSE(found[i].advice.empty());
        }
    }
}

cause only_cause(const snapshot &at)
{
    const findings found = findings_of(at);
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? cause::peer_or_network : found.front().what;
}

TEST(diagnosis, says_what_the_host_knows_of_itself)
{
    snapshot at = seen({});
    at.daemon.stopped = true;
    EXPECT_EQ(only_cause(at), cause::daemon);
    at = seen({});
    at.ports[1].usable = false;
    at.ports[1].reason = MRC_PORT_NO_CARRIER;
    std::erase_if(at.trips, [](const auto &one) { return one.first.plane == 1; });
    EXPECT_EQ(only_cause(at), cause::port);
    at.ports[1].reason = MRC_PORT_SMALL_MTU;
    EXPECT_EQ(only_cause(at), cause::mtu);
    at.ports[1].times_lost = 3;
    EXPECT_EQ(only_cause(at), cause::flapping_port);
    at = seen({});
    at.peers[0].says_planes = 0b01;
    EXPECT_EQ(only_cause(at), cause::peer_port);
}

TEST(diagnosis, finds_an_mtu_by_packets_of_both_lengths)
{
    snapshot at = seen({});
    for (auto &[key, trip] : at.trips)
        if (key.plane == 0 && (key.kind == trip_kind::spine || key.kind == trip_kind::far_leaf))
            trip.full = {.sent = 50, .back = key.out == 1 || key.back == 1 ? 0U : 50U};
        else if (key.kind == trip_kind::own_leaf)
            trip.full = {.sent = 50, .back = 50};
    const findings found = findings_of(at);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].what, cause::mtu);
    EXPECT_EQ(found[0].plane, 0U);
    EXPECT_EQ(found[0].spine, 1U);
}

mrc_fault_row named(mrc_link_blame blame, std::uint32_t leaf, std::uint32_t spine)
{
    mrc_fault_row row{};
    row.state = MRC_LINK_DEAD;
    row.blame = blame;
    row.leaf = leaf;
    row.uplink = spine;
    row.hosts = 2;
    return row;
}

TEST(diagnosis, believes_the_hosts_of_the_fabric_where_one_host_cannot_tell)
{
    fabric broken;
    broken.host[0] = {0, 0};
    snapshot at = seen(broken);
    at.faults.push_back(named(MRC_BLAME_LEAF, own, nowhere));
    EXPECT_EQ(only_cause(at), cause::leaf) << "and not the own link";
    at.faults = {named(MRC_BLAME_HOST_LINK_OR_LEAF, own, nowhere)};
    EXPECT_EQ(only_cause(at), cause::host_link) << "they cannot tell either";
    at = seen({});
    at.faults = {named(MRC_BLAME_LEAF_SPINE_LINK, 7, 1)};
    EXPECT_EQ(only_cause(at), cause::leaf_spine_link) << "no packet of this host crosses it";
    EXPECT_NE(findings_of(at)[0].evidence.find("loops of 2 hosts"), std::string::npos);
}

TEST(diagnosis, few_packets_blame_nobody)
{
    snapshot at = seen({});
    for (auto &[key, trip] : at.trips)
        if (key.plane == 0)
            trip.small.back = trip.small.sent - 4; // by chance
    EXPECT_TRUE(findings_of(at).empty());
}

snapshot direct(std::size_t peers)
{
    snapshot at;
    at.direct = true;
    at.watched_ns = 1'000'000'000;
    for (std::uint32_t peer = 0; peer < peers; ++peer) {
        at.peers.push_back({.address = "fd00::" + std::to_string(peer), .leaf = peer});
        for (std::uint32_t plane = 0; plane < planes; ++plane)
            at.trips[{.kind = trip_kind::probe, .plane = plane, .peer = peer, .out = 0}].small = of(1);
    }
    for (std::uint32_t plane = 0; plane < planes; ++plane)
        at.ports.push_back({.plane = plane, .device = "eth" + std::to_string(plane)});
    return at;
}

void lose(snapshot &at, std::uint32_t plane, std::uint32_t peer, double share)
{
    at.trips[{.kind = trip_kind::probe, .plane = plane, .peer = peer, .out = 0}].small = of(share);
}

TEST(diagnosis, in_direct_mode_says_what_it_cannot_tell_apart)
{
    snapshot at = direct(1);
    EXPECT_TRUE(findings_of(at).empty());
    lose(at, 1, 0, 0);
    EXPECT_EQ(only_cause(at), cause::plane_network);
    EXPECT_NE(findings_of(at)[0].sentence.find("one host cannot tell"), std::string::npos);
    at = direct(3);
    lose(at, 1, 2, 0.9);
    EXPECT_EQ(only_cause(at), cause::peer_or_network);
    lose(at, 0, 2, 0);
    lose(at, 1, 2, 0);
    EXPECT_EQ(only_cause(at), cause::peer_down);
    at = direct(3);
    for (std::uint32_t peer = 0; peer < 3; ++peer)
        lose(at, 0, peer, 0.95);
    EXPECT_EQ(only_cause(at), cause::plane_network);
}

qp_seen busy_qp(std::uint32_t session, mrc_send_limit limit, double share, std::uint64_t packets)
{
    qp_seen qp{.qpn = session, .peer = peer_0, .leaf = 1};
    qp.client = {.session = session, .pid = 100 + session, .command = "trainer"};
    qp.waited_ns[limit] = static_cast<std::uint64_t>(share * 1e9);
    qp.tx_packets = packets;
    return qp;
}

TEST(diagnosis, tells_load_from_faults)
{
    snapshot at = seen({});
    at.qps = {busy_qp(1, MRC_LIMIT_APPLICATION, 0.9, 1000)};
    EXPECT_TRUE(findings_of(at).empty());
    at.qps = {busy_qp(1, MRC_LIMIT_RECEIVER, 0.9, 1000)};
    EXPECT_EQ(only_cause(at), cause::slow_receiver);
    at.qps = {busy_qp(1, MRC_LIMIT_WORKER, 0.9, 1000)};
    EXPECT_EQ(only_cause(at), cause::worker);
    EXPECT_FALSE(findings_of(at)[0].is_fault);
    at.qps.push_back(busy_qp(2, MRC_LIMIT_WORKER, 0.8, 10));
    EXPECT_EQ(only_cause(at), cause::flooding_client);
    EXPECT_EQ(findings_of(at)[0].subject, "trainer (process 101)");
    at.qps[1] = busy_qp(2, MRC_LIMIT_CONGESTION, 0.8, 10);
    EXPECT_EQ(only_cause(at), cause::flooding_client) << "no switch marks its packets: a host is too slow for it";
    at.qps[1].tx_packets = 600;
    EXPECT_EQ(only_cause(at), cause::worker) << "the other has its share";
    at.qps[1] = busy_qp(2, MRC_LIMIT_APPLICATION, 0.8, 10);
    EXPECT_EQ(only_cause(at), cause::worker) << "the other has nothing to send";
    at.qps.clear();
    at.paths = {{.plane = 0, .leaf = 1, .uplink = 0, .acks = 1000, .echoes = 49}};
    EXPECT_TRUE(findings_of(at).empty()) << "a few marks are how congestion control works";
    at.paths[0].echoes = 300;
    EXPECT_EQ(only_cause(at), cause::congestion);
}

TEST(diagnosis, names_who_sends_in_an_incast)
{
    snapshot at = seen({});
    for (std::uint32_t peer = 0; peer < 2; ++peer) {
        qp_seen qp{.qpn = peer + 1, .peer = at.peers[peer].address, .leaf = peer + 1};
        qp.rx_packets = 1000;
        qp.rx_bytes = 125'000'000;
        qp.rx_marked = 200;
        at.qps.push_back(qp);
    }
    ASSERT_EQ(only_cause(at), cause::incast);
    const std::string evidence = findings_of(at)[0].evidence;
    EXPECT_NE(evidence.find("fd6d:7263::1:1 1.00 Gbit/s"), std::string::npos) << evidence;
    EXPECT_NE(evidence.find("fd6d:7263::2:1 1.00 Gbit/s"), std::string::npos) << evidence;
}

TEST(diagnosis, a_full_queue_is_no_lossy_link)
{
    fabric at;
    at.far[0][0][1].out = at.far[0][1][1].out = 0.95;
    snapshot full = seen(at);
    full.paths = {{.plane = 0, .leaf = 1, .uplink = 0, .acks = 1000, .echoes = 300}};
    EXPECT_EQ(only_cause(full), cause::congestion);
}

} // namespace
} // namespace mrc::ctl::diagnose
