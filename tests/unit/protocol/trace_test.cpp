// SPDX-License-Identifier: Apache-2.0
// What two queue pairs tell whoever traces them, over paths that lose what the test takes away.
#include "protocol/trace_event.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/congestion/fixed_window.h"
#include "protocol/queue_pair.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t payload_bytes = 1024;
constexpr duration one_way = 20us;

class kept_events final : public trace_sink
{
public:
    void switch_on(bool on, instant now) { set(on, now); }
    void record(const trace_event &event) override { all.push_back(event); }
    [[nodiscard]] std::vector<trace_event> of(trace_kind kind) const
    {
        std::vector<trace_event> some;
        std::ranges::copy_if(all, std::back_inserter(some), [kind](const auto &one) { return one.kind == kind; });
        return some;
    }

    std::vector<trace_event> all;
};

class any_memory final : public memory_sink
{
public:
    std::expected<void, write_refusal> write(std::uint32_t rkey, std::uint64_t, std::span<const std::byte>) override
    {
        if (rkey != 7)
            return std::unexpected{write_refusal::unknown_key};
        return {};
    }
};

struct traced_host {
    traced_host(std::uint32_t local, std::uint32_t peer)
        : qp{config_of(local, peer), {.paths = paths, .memory = memory, .control = control, .trace = &events}}
    {
    }
    static qp_config config_of(std::uint32_t local, std::uint32_t peer)
    {
        qp_config config;
        config.local = qpn{local};
        config.peer = qpn{peer};
        config.payload_bytes = payload_bytes;
        return config;
    }
    [[nodiscard]] path_group_config four_paths()
    {
        path_group_config config;
        config.planes = 2;
        config.uplinks = 2;
        config.base = path_index{1};
        config.trace = &events;
        return config;
    }

    kept_events events;
    local_ports ports{plane_mask{0x3}};
    path_group paths{four_paths(), ports};
    any_memory memory;
    fixed_window control{1 << 20};
    queue_pair qp;
};

class trace_test : public testing::Test
{
protected:
    void switch_on()
    {
        left_.events.switch_on(true, now_);
        right_.events.switch_on(true, now_);
    }
    void post(std::uint32_t bytes, std::uint32_t rkey = 7)
    {
        ASSERT_TRUE(left_.qp.post_write({.id = 1, .source = {1, 0, bytes}, .rkey = rkey}, now_));
    }
    // Until nothing moves any more; drop(packet, its number among all that left) takes packets away.
    template <typename Drop>
    void exchange(const Drop &drop)
    {
        for (bool moved = true; moved;) {
            now_ = std::max(now_ + one_way, std::min(left_.qp.next_deadline(), now_ + 10 * one_way));
            left_.qp.on_timer(now_);
            moved = carry(left_, right_, drop);
            moved = carry(right_, left_, drop) || moved || left_.qp.next_deadline() != never;
        }
    }
    template <typename Drop>
    bool carry(traced_host &from, traced_host &to, const Drop &drop)
    {
        bool moved = false;
        while (const auto packet = from.qp.next_packet(now_)) {
            moved = true;
            if (drop(*packet, number_++))
                continue;
            arrival how;
            how.entropy = packet->entropy;
            how.path = packet->path;
            how.at = now_ + one_way;
            to.qp.on_packet(packet->content, std::span{payload_}.first(packet->payload.bytes), how, now_ + one_way);
        }
        now_ += one_way;
        return moved;
    }
    static bool nothing(const outgoing &, std::size_t) { return false; }

    std::vector<std::byte> payload_{4096};
    instant now_ = start;
    std::size_t number_ = 0;
    traced_host left_{0x10, 0x20};
    traced_host right_{0x20, 0x10};
};

TEST_F(trace_test, tells_nothing_while_it_is_off)
{
    post(100 * payload_bytes);
    exchange([](const outgoing &, std::size_t number) { return number % 10 == 3; });
    EXPECT_EQ(left_.qp.outstanding(), 1U) << "done, and not told yet";
    EXPECT_TRUE(left_.events.all.empty());
    EXPECT_TRUE(right_.events.all.empty());
}

TEST_F(trace_test, every_packet_is_told_by_both_ends)
{
    switch_on();
    post(50 * payload_bytes);
    exchange(nothing);
    const auto sent = left_.events.of(trace_kind::send);
    const auto arrived = right_.events.of(trace_kind::arrive);
    ASSERT_EQ(sent.size(), left_.qp.counters().tx_packets);
    ASSERT_EQ(sent.size(), arrived.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
        EXPECT_EQ(sent[i].reason, trace_reason::first);
        EXPECT_EQ(arrived[i].reason, trace_reason::fresh);
        EXPECT_EQ(sent[i].sequence, arrived[i].sequence);
        EXPECT_EQ(sent[i].entropy, arrived[i].entropy);
        EXPECT_EQ(sent[i].value, payload_bytes);
        EXPECT_EQ(sent[i].local, arrived[i].peer);
        EXPECT_EQ(sent[i].peer, arrived[i].local);
        EXPECT_EQ(arrived[i].at - sent[i].at, one_way);
    }
}

TEST_F(trace_test, an_answer_has_the_same_values_at_both_ends)
{
    switch_on();
    post(50 * payload_bytes);
    exchange(nothing);
    const auto answers = right_.events.of(trace_kind::answer);
    std::vector<trace_event> taken;
    for (const trace_event &event : left_.events.all)
        if (event.kind == trace_kind::sack || event.kind == trace_kind::ack)
            taken.push_back(event);
    ASSERT_FALSE(answers.empty());
    ASSERT_EQ(answers.size(), taken.size());
    std::set<trace_kind> kinds;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        kinds.insert(taken[i].kind);
        EXPECT_EQ(answers[i].reason == trace_reason::sack, taken[i].kind == trace_kind::sack);
        EXPECT_EQ(answers[i].sequence, taken[i].sequence);
        EXPECT_EQ(answers[i].entropy, taken[i].entropy);
        EXPECT_EQ(answers[i].value, taken[i].value);
    }
    EXPECT_EQ(kinds, (std::set{trace_kind::sack, trace_kind::ack}));
}

TEST_F(trace_test, each_loss_is_followed_by_the_packet_or_by_its_arrival)
{
    switch_on();
    post(400 * payload_bytes);
    exchange([](const outgoing &packet, std::size_t number) {
        return std::holds_alternative<data_packet>(packet.content) && number % 17 == 5;
    });
    const auto &all = left_.events.all;
    std::size_t losses = 0;
    for (auto at = all.begin(); at != all.end(); ++at) {
        if (at->kind != trace_kind::loss || at->reason == trace_reason::withdrawn)
            continue;
        ++losses;
        EXPECT_TRUE(
            std::any_of(at, all.end(),
                        [&](const trace_event &later) {
                            return later.sequence == at->sequence &&
                                   ((later.kind == trace_kind::send && later.reason == trace_reason::again) ||
                                    (later.kind == trace_kind::loss && later.reason == trace_reason::withdrawn));
                        }))
            << trace_reason_names[static_cast<std::size_t>(at->reason)] << " of " << at->sequence.value();
    }
    const qp_counters &counted = left_.qp.counters();
    EXPECT_GT(losses, 0U);
    const auto again = std::ranges::count(all, trace_reason::again, &trace_event::reason);
    const auto last = std::ranges::count(all, trace_reason::last, &trace_event::reason);
    EXPECT_EQ(static_cast<std::uint64_t>(again + last), counted.retransmits);
    const auto by = [&](trace_reason why) {
        return static_cast<std::uint64_t>(std::ranges::count_if(
            all, [why](const trace_event &e) { return e.kind == trace_kind::loss && e.reason == why; }));
    };
    EXPECT_EQ(by(trace_reason::same_ev), counted.losses);
    EXPECT_EQ(by(trace_reason::age), counted.losses_by_age);
    EXPECT_EQ(by(trace_reason::count), counted.losses_by_sleek);
}

TEST_F(trace_test, silence_of_the_peer_is_told_with_what_is_done_about_it)
{
    switch_on();
    post(8 * payload_bytes);
    for (const instant end = now_ + 20ms; now_ < end; now_ += one_way) {
        left_.qp.on_timer(now_);
        while (left_.qp.next_packet(now_)) {
        }
    }
    const auto timers = left_.events.of(trace_kind::timer);
    const auto has = [&](trace_reason why) {
        return std::ranges::find(timers, why, &trace_event::reason) != timers.end();
    };
    EXPECT_TRUE(has(trace_reason::quiet));
    EXPECT_TRUE(has(trace_reason::peer_silent));
    EXPECT_TRUE(has(trace_reason::silence));
    EXPECT_FALSE(has(trace_reason::heard));
    EXPECT_EQ(left_.events.of(trace_kind::probe).size(), left_.qp.counters().probes_sent);
    exchange(nothing);
    const auto later = left_.events.of(trace_kind::timer);
    EXPECT_NE(std::ranges::find(later, trace_reason::heard, &trace_event::reason), later.end());
}

TEST_F(trace_test, states_of_the_queue_pair_and_of_paths_are_told)
{
    switch_on();
    left_.paths.deny(1);
    left_.paths.allow(1);
    const auto paths = left_.events.of(trace_kind::path);
    ASSERT_EQ(paths.size(), 2U);
    EXPECT_EQ(paths[0].reason, trace_reason::controller);
    EXPECT_EQ(paths[0].value, static_cast<std::uint64_t>(path_state::denied));
    EXPECT_EQ(paths[1].value, static_cast<std::uint64_t>(path_state::good));
    EXPECT_EQ(paths[0].entropy, left_.paths.path(1).entropy);
    EXPECT_EQ(paths[0].local, qpn{0}) << "of no queue pair";

    post(payload_bytes, 8);
    exchange(nothing);
    const auto states = left_.events.of(trace_kind::state);
    ASSERT_EQ(states.size(), 1U);
    EXPECT_EQ(states[0].value, static_cast<std::uint64_t>(qp_state::error));
    EXPECT_EQ(states[0].local, qpn{0x10});
    const auto acks = left_.events.of(trace_kind::ack);
    ASSERT_FALSE(acks.empty());
    EXPECT_EQ(acks.back().reason, trace_reason::nak) << "which is why";
}

} // namespace
} // namespace mrc::protocol
