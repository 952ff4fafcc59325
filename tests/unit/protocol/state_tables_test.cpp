// SPDX-License-Identifier: Apache-2.0
// The state tables of agent/protocol's headers, walked: each state against each event, those that change nothing too.
// Here paths, heartbeats and immediates; the others have their files:
// state_tables_peer_test.cpp       planes toward a host, ports told and being told
// state_tables_policy_test.cpp     selectors, silence of the peer, NSCC
// state_tables_qp_test.cpp         acceptance and SACK triggers of the responder, QP states
// state_tables_requester_test.cpp  fates of a packet, time-outs, silence
// Tables of functions and values alone are walked where these are tested: qp_state, sleek, retry_policy.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "protocol/paths/path_group.h"
#include "protocol/paths/path_heartbeat.h"
#include "protocol/receive/immediate_stash.h"
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

// ---- path_group.h

constexpr unsigned watched = 5;

// Up to `answers` probes of the watched path are answered, each after `delay`.
void answer_probes(path_group &group, int answers, duration delay)
{
    instant now = start + 1ms;
    for (int answered = 0; answered < answers && group.next_deadline() != never; now = group.next_deadline()) {
        const auto probe = group.next_packet(now);
        if (!probe)
            continue;
        EXPECT_EQ(probe->path, group.path(watched).index);
        arrival how;
        how.at = now + delay;
        group.on_packet({.request_id = std::get<endpoint_request_packet>(probe->content).request_id}, how);
        ++answered;
    }
}

template <typename action>
void times(int count, action act)
{
    while (count-- > 0)
        act();
}

unsigned good_paths(const path_group &group, unsigned plane)
{
    unsigned count = 0;
    for (unsigned slot = plane * group.uplinks(); slot < (plane + 1) * group.uplinks(); ++slot)
        count += group.active(slot) && group.state(slot) == path_state::good ? 1 : 0;
    return count;
}

TEST(state_tables, paths)
{
    using enum path_state;
    // In the order of a row's `next`: GOOD, retired by silence, retired by loss, DENIED.
    const std::array<std::function<void(path_group &)>, 4> states{
        [](path_group &) {}, [](path_group &g) { g.on_silence(watched, start, start); },
        [](path_group &g) { times(2, [&] { g.on_loss(watched, start); }); }, [](path_group &g) { g.deny(watched); }};
    struct row {
        const char *event;
        std::function<void(path_group &)> act;
        std::array<path_state, 4> next;
    };
    const std::vector<row> table{
        {"one loss", [](auto &g) { g.on_loss(watched, start); }, {good, assumed_bad, assumed_bad, denied}},
        {"loss_limit losses",
         [](auto &g) { times(2, [&] { g.on_loss(watched, start); }); },
         {assumed_bad, assumed_bad, assumed_bad, denied}},
        {"losses far apart",
         [](auto &g) {
             g.on_loss(watched, start);
             times(8, [&] { g.on_delivered(watched, start + 1us); });
             g.on_loss(watched, start);
         },
         {good, good, assumed_bad, denied}},
        {"one unanswered",
         [](auto &g) { g.on_unanswered(watched, start, start); },
         {good, assumed_bad, assumed_bad, denied}},
        {"loss_limit unanswered",
         [](auto &g) { times(2, [&] { g.on_unanswered(watched, start, start); }); },
         {assumed_bad, assumed_bad, assumed_bad, denied}},
        {"silence",
         [](auto &g) { g.on_silence(watched, start, start); },
         {assumed_bad, assumed_bad, assumed_bad, denied}},
        {"always_skip",
         [](auto &g) { g.on_always_skip(watched, start); },
         {assumed_bad, assumed_bad, assumed_bad, denied}},
        {"two deliveries",
         [](auto &g) { times(2, [&] { g.on_delivered(watched, start + 1us); }); },
         {good, assumed_bad, assumed_bad, denied}},
        {"three deliveries: silence is disproved, losses are not",
         [](auto &g) { times(3, [&] { g.on_delivered(watched, start + 1us); }); },
         {good, good, assumed_bad, denied}},
        {"two probes answered", [](auto &g) { answer_probes(g, 2, 1ms); }, {good, assumed_bad, assumed_bad, denied}},
        {"three probes answered", [](auto &g) { answer_probes(g, 3, 1ms); }, {good, good, good, denied}},
        {"three probes answered late",
         [](auto &g) { answer_probes(g, 3, 6ms); },
         {good, assumed_bad, assumed_bad, denied}},
        {"an answer nobody asked for",
         [](auto &g) { times(3, [&] { g.on_packet({.request_id = 1}, {}); }); },
         {good, assumed_bad, assumed_bad, denied}},
        {"deny", [](auto &g) { g.deny(watched); }, {denied, denied, denied, denied}},
        {"allow", [](auto &g) { g.allow(watched); }, {good, assumed_bad, assumed_bad, good}},
    };
    for (const row &each : table)
        for (std::size_t state = 0; state < states.size(); ++state) {
            SCOPED_TRACE(std::string{each.event} + " in state " + std::to_string(state));
            const local_ports local{plane_mask{0xF}};
            path_group group{fabric(4, 4), local};
            states[state](group);
            while (group.next_transition())
                continue;
            const path_state before = group.state(watched);
            each.act(group);
            EXPECT_EQ(group.state(watched), each.next[state]);
            EXPECT_EQ(good_paths(group, 1), each.next[state] == good ? 4u : 3u);
            const auto change = group.next_transition();
            EXPECT_EQ(change.has_value(), before != each.next[state]) << "whatever changes is told, and nothing else";
            if (change) {
                EXPECT_EQ(change->from, before);
                EXPECT_EQ(change->to, each.next[state]);
            }
            for (unsigned slot = 0; slot < group.size(); ++slot)
                EXPECT_TRUE(slot == watched || group.state(slot) == good) << slot;
        }
}

// Every event in every state, as path_transitions has it. The floor (`min_active` = 1 of two paths) keeps the watched
// path while the other is denied.
TEST(state_tables, path_transitions_are_what_a_group_does)
{
    using enum path_state;
    constexpr unsigned path = 1;
    constexpr unsigned other = 0;
    const auto blame = [](path_group &group, bool floor) {
        if (floor)
            group.deny(other);
        group.on_silence(path, start, start);
        group.allow(other);
    };
    const std::array<std::function<void(path_group &)>, 4> bring_to{
        [](path_group &) {}, [&](path_group &g) { blame(g, true); }, [&](path_group &g) { blame(g, false); },
        [](path_group &g) { g.deny(path); }};
    const std::array<std::function<void(path_group &)>, 6> cause{
        [&](path_group &g) { blame(g, false); },
        [&](path_group &g) { blame(g, true); },
        [](path_group &g) {
            while (g.next_packet(start + 2s))
                continue;
        },
        [](path_group &g) { times(3, [&] { g.on_delivered(path, start + 1us); }); },
        [](path_group &g) { g.deny(path); },
        [](path_group &g) { g.allow(path); }};
    for (const path_state from : {good, kept, assumed_bad, denied})
        for (const path_event event : {path_event::retire, path_event::keep, path_event::calm, path_event::prove,
                                       path_event::deny, path_event::allow}) {
            const auto at = static_cast<std::size_t>(from);
            const auto on = static_cast<std::size_t>(event);
            SCOPED_TRACE("state " + std::to_string(at) + ", event " + std::to_string(on));
            const local_ports local{plane_mask{0b1}};
            path_group group{fabric(1, 2), local};
            bring_to[at](group);
            ASSERT_EQ(group.state(path), from);
            cause[on](group);
            const path_state to = path_transitions.next(from, event).value_or(from);
            EXPECT_EQ(group.state(path), to);
            EXPECT_EQ(group.condition(path).cause == path_cause::none, to == good && from == good)
                << "of its last change";
        }
}

// ---- path_heartbeat.h

TEST(state_tables, heartbeats)
{
    enum state { resting, awaiting, repeating, last_chance };
    struct walker {
        path_heartbeat beat{{}, 1, 1};
        instant now = start;
        std::uint16_t id = 0;

        explicit walker(state to)
        {
            beat.watch(start + 1h);
            ask();
            EXPECT_EQ(to == resting && beat.on_answer(id), to == resting);
            for (int missed = 0; missed < (to == repeating ? 1 : to == last_chance ? 2 : 0); ++missed) {
                now += 10ms;
                EXPECT_FALSE(beat.next_silence(now));
                if (to == last_chance)
                    ask();
            }
        }
        void ask()
        {
            const auto slot = beat.next_slot(now);
            EXPECT_TRUE(slot);
            id = beat.ask(slot.value_or(0), now);
        }
    };
    struct row {
        const char *event;
        bool (*act)(walker &);
        std::array<bool, 4> result;
        std::array<bool, 4> asked; // again, at once
    };
    const std::vector<row> table{
        {"nothing", [](walker &) { return true; }, {true, true, true, true}, {false, false, true, false}},
        {"answer", [](walker &w) { return w.beat.on_answer(w.id).has_value(); }, {true, true, true, true}, {}},
        {"answer to another question",
         [](walker &w) { return w.beat.on_answer(static_cast<std::uint16_t>(w.id + 1)).has_value(); },
         {},
         {false, false, true, false}},
        {"a prober's answer",
         [](walker &w) { return w.beat.on_answer(1).has_value(); },
         {},
         {false, false, true, false}},
        {"too early",
         [](walker &w) { return w.beat.next_silence(w.now += 9ms).has_value(); },
         {},
         {false, false, true, false}},
        {"patience over",
         [](walker &w) { return w.beat.next_silence(w.now += 10ms).has_value(); },
         {false, false, false, true},
         {false, true, true, false}},
        {"traffic has ended",
         [](walker &w) { return w.beat.next_silence(w.now += 2h).has_value(); },
         {false, false, false, true},
         {}},
    };
    for (const row &each : table)
        for (const state from : {resting, awaiting, repeating, last_chance}) {
            SCOPED_TRACE(std::string{each.event} + " in state " + std::to_string(from));
            walker one{from};
            EXPECT_EQ(each.act(one), each.result[from]);
            EXPECT_EQ(one.beat.next_slot(one.now).has_value(), each.asked[from]);
        }
}

// ---- immediate_stash.h

TEST(state_tables, immediates)
{
    struct row {
        const char *event;
        bool (*act)(immediate_stash &);
        bool when_empty, when_waiting; // what it returns
        bool then_empty, then_waiting; // is the immediate of packet 10 delivered afterwards?
    };
    static constexpr auto stash = [](immediate_stash &s, std::uint16_t rqmsn, packet_number number) {
        return s.put(rqmsn, {.number = number});
    };
    const std::vector<row> table{
        {"its last packet", [](auto &s) { return stash(s, 0, 10); }, true, false, true, true},
        {"another message with its rqmsn", [](auto &s) { return stash(s, 0, 11); }, true, false, false, true},
        {"the last rqmsn within max_wimm", [](auto &s) { return stash(s, 3, 20); }, true, true, false, true},
        {"the first beyond", [](auto &s) { return stash(s, 4, 20); }, false, false, false, true},
        {"one of the past", [](auto &s) { return stash(s, 0xFFFF, 20); }, false, false, false, true},
        {"the edge passes it", [](auto &s) { return s.take(10).has_value(); }, false, true, false, false},
        {"the edge passes another", [](auto &s) { return s.take(9).has_value(); }, false, false, false, true},
    };
    for (const row &each : table) {
        SCOPED_TRACE(each.event);
        immediate_stash empty{4};
        EXPECT_EQ(each.act(empty), each.when_empty);
        EXPECT_EQ(empty.take(10).has_value(), each.then_empty);
        immediate_stash waiting{4};
        ASSERT_TRUE(stash(waiting, 0, 10));
        EXPECT_EQ(each.act(waiting), each.when_waiting);
        EXPECT_EQ(waiting.take(10).has_value(), each.then_waiting);
    }
}

} // namespace
} // namespace mrc::protocol
