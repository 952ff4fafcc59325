// SPDX-License-Identifier: Apache-2.0
// The state tables of what one remote host is to this one, walked: planes that reach it, ports told either way.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "protocol/paths/peer_planes.h"
#include "protocol/paths/port_status.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

path_group_config fabric(unsigned planes, unsigned uplinks)
{
    path_group_config config;
    config.planes = planes;
    config.uplinks = uplinks;
    config.base = path_index{1};
    return config;
}

template <typename action>
void times(int count, action act)
{
    while (count-- > 0)
        act();
}

// ---- peer_planes.h

// Up to `answers` probes of the suspected plane are answered.
void answer_probes(peer_planes &peer, const path_group &paths, int answers)
{
    int answered = 0;
    for (instant now = start; answered < answers && peer.next_deadline() != never; now = peer.next_deadline()) {
        const auto probe = peer.next_packet(now);
        if (!probe)
            continue;
        EXPECT_EQ(paths.path(paths.slot_at(probe->path).value()).plane, plane_index{2});
        arrival how;
        how.at = now + 1ms;
        peer.on_packet({.request_id = std::get<endpoint_request_packet>(probe->content).request_id}, how);
        ++answered;
    }
}

TEST(state_tables, planes_toward_a_host)
{
    static constexpr plane_index at{2};
    static constexpr plane_mask all{0xF};
    struct row {
        const char *event;
        void (*act)(peer_planes &, const path_group &);
        bool when_used, when_suspected; // suspected afterwards?
    };
    const std::vector<row> table{
        {"nothing", [](auto &, auto &) {}, false, true},
        {"suspected", [](auto &p, auto &) { EXPECT_TRUE(p.suspect(at, all, start)); }, true, true},
        {"suspected, but it is the last plane",
         [](auto &p, auto &) { EXPECT_FALSE(p.suspect(at, plane_mask{0b100}, start)); }, false, true},
        {"two probes answered", [](auto &p, auto &g) { answer_probes(p, g, 2); }, false, true},
        {"three probes answered", [](auto &p, auto &g) { answer_probes(p, g, 3); }, false, false},
        {"an answer nobody asked for",
         [](auto &p, auto &) { times(3, [&] { p.on_packet({.request_id = plane_probe_ids.first}, {}); }); }, false,
         true},
        {"three packets delivered that were sent later",
         [](auto &p, auto &) {
             for (const duration later : {1us, 2us, 3us})
                 p.on_delivered(at, start + later);
         },
         false, false},
        {"three packets delivered that were sent before",
         [](auto &p, auto &) {
             for (const duration earlier : {3us, 2us, 1us})
                 p.on_delivered(at, start - earlier);
         },
         false, true},
        {"packets delivered on other planes",
         [](auto &p, auto &) {
             for (const duration later : {1us, 2us, 3us})
                 p.on_delivered(plane_index{1}, start + later);
         },
         false, true},
    };
    for (const row &each : table)
        for (const bool suspected : {false, true}) {
            SCOPED_TRACE(std::string{each.event} + (suspected ? " when suspected" : " when used"));
            const local_ports local{all};
            const path_group paths{fabric(4, 2), local};
            peer_planes peer{probe_config{}, paths};
            if (suspected) {
                EXPECT_TRUE(peer.suspect(at, all, start));
            }
            each.act(peer, paths);
            EXPECT_EQ(peer.suspected().bits(), (suspected ? each.when_suspected : each.when_used) ? 0b100u : 0u);
            EXPECT_EQ(peer.next_deadline() != never, !peer.suspected().empty()) << "a suspected plane is probed";
        }
}

// When a plane may be suspected: the first row of the table, one condition missing at a time.
TEST(state_tables, what_makes_a_plane_quiet)
{
    struct row {
        const char *what;
        int unanswered;
        int missing;
        duration delivered_here, delivered_elsewhere; // sent so long after the missing packet
        bool quiet;
    };
    constexpr std::array table{
        row{"all", 3, 3, -1us, 1us, true},
        row{"too few unanswered", 2, 3, -1us, 1us, false},
        row{"too few missing", 3, 2, -1us, 1us, false},
        row{"a later one of the plane got through", 3, 3, 1us, 1us, false},
        row{"nothing got through anywhere", 3, 3, -1us, -1us, false},
    };
    for (const row &each : table) {
        SCOPED_TRACE(each.what);
        const local_ports local{plane_mask{0xF}};
        const path_group paths{fabric(4, 2), local};
        peer_planes peer{probe_config{}, paths};
        peer.on_delivered(plane_index{2}, start + each.delivered_here);
        peer.on_delivered(plane_index{1}, start + each.delivered_elsewhere);
        times(each.unanswered, [&] { peer.on_sent(plane_index{2}); });
        bool quiet = false;
        times(each.missing, [&] { quiet = peer.on_missing(plane_index{2}, start); });
        EXPECT_EQ(quiet, each.quiet);
    }
}

// ---- port_status.h

enum class sent : std::uint8_t { nothing, same, fresh };

struct port_walk {

    // What leaves now, compared with the update before.
    sent look()
    {
        const auto packet = status.next_packet(now);
        if (!packet)
            return sent::nothing;
        const std::uint16_t of = std::get<endpoint_request_packet>(packet->content).request_id;
        const sent kind = of == id ? sent::same : sent::fresh;
        id = of;
        return kind;
    }
    bool respond(std::uint16_t to)
    {
        endpoint_response_packet response;
        response.request_id = to;
        return status.on_response(response);
    }
    void settled()
    {
        status.watch(start + 1h);
        EXPECT_EQ(look(), sent::fresh);
        EXPECT_TRUE(respond(id));
    }
    void telling(int updates)
    {
        status.watch(start + 1h);
        for (int n = 0; n < updates; ++n, now += 1ms)
            EXPECT_EQ(look(), n == 0 ? sent::fresh : sent::same);
        now -= 1ms; // of the last update
    }

    instant now = start;
    std::uint16_t id = 0;
    local_ports local{plane_mask{0xF}};
    path_group paths{fabric(4, 2), local};
    port_status status{{}, paths};
};

TEST(state_tables, ports_announced_to_the_peer)
{
    struct outcome {
        sent leaves;
        bool telling;
    };
    using enum sent;
    // In the order of a row's outcomes: settled; telling, one update sent; telling, all sent.
    const std::array<void (*)(port_walk &), 3> states{
        [](port_walk &w) { w.settled(); }, [](port_walk &w) { w.telling(1); }, [](port_walk &w) { w.telling(3); }};
    struct row {
        const char *event;
        void (*act)(port_walk &);
        std::array<outcome, 3> next;
    };
    const std::vector<row> table{
        {"nothing", [](port_walk &) {}, {{{nothing, false}, {nothing, true}, {nothing, true}}}},
        {"ports changed",
         [](port_walk &w) { w.local.up = plane_mask{0b0111}; },
         {{{fresh, true}, {fresh, true}, {fresh, true}}}},
        {"a port drains",
         [](port_walk &w) { w.local.enabled = plane_mask{0b1110}; },
         {{{fresh, true}, {fresh, true}, {fresh, true}}}},
        {"all ports lost",
         [](port_walk &w) { w.local.up = plane_mask{}; },
         {{{nothing, false}, {nothing, false}, {nothing, false}}}},
        {"traffic has ended",
         [](port_walk &w) { w.now = start + 1h; },
         {{{nothing, false}, {nothing, false}, {nothing, false}}}},
        {"ports changed after the traffic",
         [](port_walk &w) {
             w.now = start + 1h;
             w.local.up = plane_mask{1};
         },
         {{{nothing, false}, {nothing, false}, {nothing, false}}}},
        {"traffic again",
         [](port_walk &w) {
             w.now = start + 1h;
             EXPECT_EQ(w.look(), nothing);
             w.status.watch(w.now + 1s);
         },
         {{{fresh, true}, {fresh, true}, {fresh, true}}}},
        {"retry passed", [](port_walk &w) { w.now += 1ms; }, {{{nothing, false}, {same, true}, {nothing, false}}}},
        {"refresh passed", [](port_walk &w) { w.now += 1100ms; }, {{{fresh, true}, {same, true}, {nothing, false}}}},
        {"response",
         [](port_walk &w) { (void)w.respond(w.id); },
         {{{nothing, false}, {nothing, false}, {nothing, false}}}},
        {"foreign response",
         [](port_walk &w) { EXPECT_FALSE(w.respond(static_cast<std::uint16_t>(w.id + 1))); },
         {{{nothing, false}, {nothing, true}, {nothing, true}}}},
    };
    for (const row &each : table)
        for (std::size_t state = 0; state < states.size(); ++state) {
            SCOPED_TRACE(std::string{each.event} + " in state " + std::to_string(state));
            port_walk one;
            states[state](one);
            each.act(one);
            EXPECT_EQ(one.look(), each.next[state].leaves);
            EXPECT_EQ(one.look(), nothing);
            EXPECT_GT(one.status.next_deadline(), one.now) << "or the worker would never sleep";
            EXPECT_EQ(one.respond(one.id), each.next[state].telling);
        }
}

TEST(state_tables, ports_announced_by_the_peer)
{
    port_walk one;
    struct row {
        const char *update;
        duration later; // than the row before
        std::uint16_t id;
        std::uint32_t mask;
        std::uint64_t port_status_counters::*counted;
        std::uint32_t peer; // afterwards
        bool answered;
    };
    constexpr auto taken = &port_status_counters::taken;
    constexpr auto overtaken = &port_status_counters::overtaken;
    constexpr auto empty = &port_status_counters::rejected_empty;
    const std::vector<row> table{
        {"the first", 0ms, 100, 0b11100, taken, 0b1110, true},
        {"newer", 10ms, 101, 0b11010, taken, 0b1101, true},
        {"the same again", 10ms, 101, 0b11010, overtaken, 0b1101, true},
        {"older", 10ms, 99, 0b11110, overtaken, 0b1101, true},
        {"no known plane", 10ms, 102, 1, empty, 0b1101, false},
        {"older, but much later: the peer began anew", 200ms, 5, 0b10010, taken, 0b1001, true},
        {"planes that the fabric does not have", 10ms, 6, 0xFFFFFF0u | 0b00010, taken, 0b1001, true},
    };
    for (const row &each : table) {
        SCOPED_TRACE(each.update);
        one.now += each.later;
        endpoint_request_packet request;
        request.request_id = each.id;
        request.operation = MRC_EP_PORT_STATUS_UPDATE;
        request.port_status_mask = each.mask;
        const std::uint64_t before = one.status.counters().*each.counted;
        one.status.on_request(request, {.entropy = ev{7}, .path = path_index{2}, .at = one.now}, one.now);
        EXPECT_EQ(one.status.counters().*each.counted, before + 1);
        EXPECT_EQ(one.status.peer_ports().bits(), each.peer);
        EXPECT_EQ(one.status.next_packet(one.now).has_value(), each.answered);
    }
}

} // namespace
} // namespace mrc::protocol
