// SPDX-License-Identifier: Apache-2.0
// The state tables of the requester, walked: each state against each event. A packet's fate is not to be seen from
// outside; it is told from what the requester does next.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "protocol/congestion/fixed_window.h"
#include "protocol/paths/mrc_selector.h"
#include "protocol/send/acks.h"
#include "protocol/send/next_packet.h"
#include "protocol/send/requester_state.h"
#include "protocol/send/timers.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t payload_bytes = 1024;
constexpr psn first{0xFFFFFF}; // wraps at once

path_group_config fabric(unsigned planes)
{
    path_group_config config;
    config.planes = planes;
    config.base = path_index{1};
    return config;
}

qp_config make_config()
{
    qp_config config;
    config.first_send = first;
    config.payload_bytes = payload_bytes;
    config.window_psns = 128;
    return config;
}

// ---- flight.h and the functions over requester_state.h: two packets on their way, the first is watched; the test
// plays the peer.

struct sender {
    explicit sender(unsigned planes) : paths{fabric(planes), local}
    {
        EXPECT_TRUE(post(qp, {.id = 1, .source = {5, 0, 2 * payload_bytes}, .remote_va = 0, .rkey = 7}));
        watched = next_packet(qp, now).value_or(outgoing{});
        other = next_packet(qp, now += 1us).value_or(outgoing{});
        now += 50us;
    }
    static const data_packet &data(const outgoing &from) { return std::get<data_packet>(from.content); }

    // A SACK triggered by a packet: the first, the second, …
    void sack(packet_number cack, std::uint64_t bitmap, const outgoing &trigger)
    {
        sack_packet said;
        said.cack = psn_space{first}.at(cack);
        said.bitmap = bitmap;
        said.entropy = trigger.entropy;
        said.ack_psn_offset = static_cast<std::int16_t>(data(trigger).sequence - said.cack);
        said.tx_timestamp = data(trigger).tx_timestamp.value_or(0);
        said.retransmission = data(trigger).retransmission;
        arrival how;
        how.at = now;
        on_sack(qp, said, how, now);
    }
    void nack(std::uint8_t reason)
    {
        nack_packet said;
        said.reason = reason;
        said.sequence = first;
        said.entropy = watched.entropy;
        said.tx_timestamp = data(watched).tx_timestamp.value_or(0);
        arrival how;
        how.at = now;
        on_nack(qp, said, how, now);
    }
    void acknowledge(packet_number number)
    {
        transport_ack_packet ack;
        ack.sequence = psn_space{first}.at(number);
        on_transport_ack(qp, ack, {}, now);
    }
    // One more packet, on this plane.
    outgoing send_on(unsigned plane)
    {
        EXPECT_TRUE(post(qp, {.id = 2, .source = {5, 0, payload_bytes}, .remote_va = 0, .rkey = 7}));
        local.enabled = plane_mask{1u << plane};
        const outgoing sent = next_packet(qp, now).value_or(outgoing{});
        local.enabled = plane_mask{0xFF};
        return sent;
    }
    // A packet got through, but its SACK is older than all that might be missing: it proves no loss.
    void confirm(const outgoing &sent) { sack(-2, 0, sent); }
    // A packet of another QP got through: to the same peer, or to another host behind its T0.
    void hear(unsigned plane_at, instant sent_at, bool same_peer = true)
    {
        paths.on_delivered(plane_at, sent_at);
        if (same_peer)
            peer.on_delivered(plane_index{static_cast<std::uint8_t>(plane_at)}, sent_at);
    }
    // All that is armed goes off in its time.
    void time_out()
    {
        for (const instant until = now + 20ms; next_deadline(qp) <= until;)
            on_timer(qp, now = next_deadline(qp));
    }
    bool transmit()
    {
        while (const auto packet = next_packet(qp, now)) {
            if (!std::holds_alternative<data_packet>(packet->content) || data(*packet).sequence != first)
                continue;
            watched = *packet;
            return true;
        }
        return false;
    }

    instant now{1s};
    local_ports local{plane_mask{0xFF}};
    plane_mask peer_ports{0xFF};
    path_group paths;
    sack_proofs proofs{paths.size()};
    peer_planes peer{probe_config{}, paths};
    mrc_selector selector{paths, 1};
    fixed_window control{1 << 20};
    qp_counters counters;
    requester_state qp{make_config(), {paths, peer_ports, peer}, proofs, selector, control, counters};
    outgoing watched;
    outgoing other;
};

enum class seen : std::uint8_t { inflight, refused, lost, delivered };

// What became of the watched packet, with the other one flying or not.
seen fate(sender &one, bool other_flies)
{
    const unsigned flying = one.qp.flying.packets - (other_flies ? 1 : 0);
    EXPECT_LE(flying, 1u);
    EXPECT_EQ(one.control.inflight(), one.qp.flying.packets * std::int64_t{nominal_bytes(payload_bytes)});
    if (flying == 1) {
        EXPECT_FALSE(one.transmit()) << "a packet that flies is not sent again";
        return seen::inflight;
    }
    if (one.transmit())
        return seen::lost;
    one.time_out();
    return one.transmit() ? seen::refused : seen::delivered;
}

TEST(state_tables, fates_of_a_packet)
{
    using enum seen;
    const std::array<void (*)(sender &), 4> states{[](sender &) {}, [](sender &s) { s.nack(MRC_NACK_NO_RESOURCE); },
                                                   [](sender &s) { s.nack(MRC_NACK_TRIMMED); },
                                                   [](sender &s) { s.sack(-1, 1, s.watched); }};
    struct row {
        const char *event;
        void (*act)(sender &);
        bool other_flies; // still, afterwards
        std::array<seen, 4> next;
    };
    const std::vector<row> table{
        {"nothing", [](sender &) {}, true, {inflight, refused, lost, delivered}},
        {"ack_psn and bitmap",
         [](sender &s) { s.sack(-1, 1, s.watched); },
         true,
         {delivered, delivered, delivered, delivered}},
        {"cack", [](sender &s) { s.sack(0, 0, s.watched); }, true, {delivered, delivered, delivered, delivered}},
        {"Transport ACK", [](sender &s) { s.acknowledge(0); }, true, {delivered, delivered, delivered, delivered}},
        {"a later packet of its path",
         [](sender &s) { s.sack(-1, 2, s.other); },
         false,
         {lost, refused, lost, delivered}},
        {"time-out", [](sender &s) { s.time_out(); }, false, {lost, lost, lost, delivered}},
        {"NACK TRIMMED", [](sender &s) { s.nack(MRC_NACK_TRIMMED); }, true, {lost, refused, lost, delivered}},
        {"NACK TRIMMED_LASTHOP",
         [](sender &s) { s.nack(MRC_NACK_TRIMMED_LASTHOP); },
         true,
         {lost, refused, lost, delivered}},
        {"NACK NO_BITMAP", [](sender &s) { s.nack(MRC_NACK_NO_BITMAP); }, true, {refused, refused, lost, delivered}},
        {"NACK NO_PKT_BUFFER",
         [](sender &s) { s.nack(MRC_NACK_NO_PKT_BUFFER); },
         true,
         {refused, refused, lost, delivered}},
        {"NACK NO_RESOURCE",
         [](sender &s) { s.nack(MRC_NACK_NO_RESOURCE); },
         true,
         {refused, refused, lost, delivered}},
        {"NACK PSN_OOR_WINDOW",
         [](sender &s) { s.nack(MRC_NACK_PSN_OOR_WINDOW); },
         true,
         {refused, refused, lost, delivered}},
        {"NACK of a reason unknown to us", [](sender &s) { s.nack(0x3F); }, true, {refused, refused, lost, delivered}},
        {"its plane is lost",
         [](sender &s) {
             s.peer_ports = plane_mask{};
             on_timer(s.qp, s.now);
             s.peer_ports = plane_mask{1};
         },
         false,
         {lost, refused, lost, delivered}},
    };
    for (const row &each : table)
        for (std::size_t state = 0; state < states.size(); ++state) {
            SCOPED_TRACE(std::string{each.event} + " in state " + std::to_string(state));
            sender one{1};
            one.now += 2ms;
            const outgoing later = one.send_on(0);
            one.now += 50us;
            one.confirm(later); // so that the peer is not silent when time is out
            states[state](one);
            each.act(one);
            EXPECT_EQ(fate(one, each.other_flies), each.next[state]);
        }
}

// After a retransmission the same again: the packet flies, with rtx = 1, and what was said of its original is old.
TEST(state_tables, fates_of_a_retransmission)
{
    using enum seen;
    struct row {
        const char *event;
        void (*act)(sender &, const outgoing &original);
        seen next;
        bool other_flies = true;
    };
    const std::vector<row> table{
        {"NACK of the original",
         [](sender &s, const outgoing &original) {
             s.watched = original;
             s.nack(MRC_NACK_TRIMMED);
         },
         inflight},
        {"NACK of the copy", [](sender &s, const outgoing &) { s.nack(MRC_NACK_TRIMMED); }, lost},
        {"SACK of the original", [](sender &s, const outgoing &original) { s.sack(-1, 1, original); }, delivered},
        {"SACK of the copy", [](sender &s, const outgoing &) { s.sack(-1, 1, s.watched); }, delivered},
        {"a packet that was sent before the copy", [](sender &s, const outgoing &) { s.sack(-1, 2, s.other); },
         inflight, false},
    };
    for (const row &each : table) {
        SCOPED_TRACE(each.event);
        sender one{1};
        const outgoing original = one.watched;
        one.nack(MRC_NACK_TRIMMED);
        one.now += 1ms;
        ASSERT_TRUE(one.transmit());
        ASSERT_TRUE(sender::data(one.watched).retransmission);
        one.now += 50us;
        each.act(one, original);
        EXPECT_EQ(fate(one, each.other_flies), each.next);
    }
}

TEST(state_tables, timer_of_a_refused_packet_blames_no_path)
{
    sender one{1};
    one.nack(MRC_NACK_NO_RESOURCE);
    one.sack(-1, 2, one.other);
    one.time_out();
    EXPECT_EQ(one.counters.timeouts, 0u);
    EXPECT_EQ(one.paths.counters(0).losses, 0u);
    EXPECT_TRUE(one.transmit());
}

// The three judgements of a time-out in timers.h.
TEST(state_tables, time_outs_blame_by_relative_evidence)
{
    enum class whose : std::uint8_t { own, of_another_qp, of_another_host };
    struct row {
        const char *since;
        std::array<bool, 2> delivers; // the packet's path, another one
        whose packets;
        bool silence; // of the peer's QP
        path_state path;
    };
    using enum whose;
    constexpr std::array table{
        row{"its own path delivered", {true, false}, own, false, path_state::good},
        row{"both delivered", {true, true}, own, false, path_state::good},
        row{"another path delivered", {false, true}, own, false, path_state::assumed_bad},
        row{"nothing was delivered", {false, false}, own, true, path_state::good},
        row{"its own path delivered for another QP", {true, false}, of_another_qp, true, path_state::good},
        row{"another path delivered for another QP", {false, true}, of_another_qp, true, path_state::good},
        row{"its own path delivered to another host", {true, false}, of_another_host, true, path_state::good},
        row{"another path delivered to another host", {false, true}, of_another_host, true, path_state::good},
    };
    for (const row &each : table) {
        SCOPED_TRACE(each.since);
        sender one{2};
        const unsigned plane = mrc_ev_plane(one.watched.entropy.value);
        one.now += 2ms;
        for (const unsigned at : {plane, 1 - plane}) {
            if (!each.delivers[at == plane ? 0 : 1])
                continue;
            if (each.packets == own)
                one.confirm(one.send_on(at));
            else
                one.hear(at, one.now, each.packets == of_another_qp);
            one.now += 50us;
        }
        while (one.counters.timeouts == 0) {
            one.now = next_deadline(one.qp);
            on_timer(one.qp, one.now);
        }
        EXPECT_EQ(one.counters.silences, each.silence ? 1u : 0u);
        EXPECT_EQ(one.paths.state(plane), each.path);
        EXPECT_EQ(one.transmit(), !each.silence) << "lost, it is sent again; while the peer is silent probes ask first";
    }
}

// "Later" is strictly later: what was sent in the instant in which the peer fell silent blames nobody.
TEST(state_tables, packets_of_the_instant_in_which_the_peer_fell_silent_blame_no_path)
{
    for (const bool own_path : {false, true}) {
        SCOPED_TRACE(own_path);
        sender one{own_path ? 1u : 2u};
        one.confirm(one.other); // sent a microsecond after the watched one
        while (one.counters.timeouts == 0)
            on_timer(one.qp, one.now = next_deadline(one.qp));
        EXPECT_EQ(one.counters.silences, 1u);
        for (unsigned slot = 0; slot < one.paths.size(); ++slot) {
            EXPECT_EQ(one.paths.state(slot), path_state::good);
            EXPECT_EQ(one.paths.counters(slot).losses, 0u);
        }
    }
}

// peer_silence.h, seen from the requester: what ends silence, and what does not.
TEST(state_tables, silence_ends_when_the_peer_speaks)
{
    struct row {
        const char *event;
        void (*act)(sender &);
        bool silent;
    };
    const std::vector<row> table{
        {"nothing", [](sender &) {}, true},
        {"old SACK", [](sender &s) { s.sack(-1, 0, s.other); }, false},
        {"impossible SACK", [](sender &s) { s.sack(9, 0, s.other); }, true},
        {"NACK", [](sender &s) { s.nack(MRC_NACK_TRIMMED); }, false},
        {"Transport ACK", [](sender &s) { s.acknowledge(-1); }, false},
        {"Transport ACK of what was not sent", [](sender &s) { s.acknowledge(9); }, true},
        {"another QP hears the peer",
         [](sender &s) {
             s.hear(0, s.now);
             on_timer(s.qp, s.now = next_deadline(s.qp));
         },
         true},
        {"another QP hears another host",
         [](sender &s) {
             s.hear(0, s.now, false);
             on_timer(s.qp, s.now = next_deadline(s.qp));
         },
         true},
    };
    for (const row &each : table) {
        SCOPED_TRACE(each.event);
        sender one{2};
        while (one.counters.silences == 0)
            on_timer(one.qp, one.now = next_deadline(one.qp));
        while (next_packet(one.qp, one.now))
            continue;
        one.now += 50us;
        each.act(one);
        ASSERT_TRUE(post(one.qp, {.id = 2, .source = {5, 0, 10}, .remote_va = 0, .rkey = 7}));
        bool fresh = false;
        while (const auto packet = next_packet(one.qp, one.now))
            if (const auto *data = std::get_if<data_packet>(&packet->content))
                fresh = fresh || data->msn == 1;
        EXPECT_EQ(fresh, !each.silent) << "no new data into silence";
        EXPECT_NE(next_deadline(one.qp), never);
    }
}

} // namespace
} // namespace mrc::protocol
