// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "protocol/congestion/fixed_window.h"
#include "protocol/queue_pair.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

class bounded_memory final : public memory_sink
{
public:
    std::expected<void, write_refusal> write(std::uint32_t rkey, std::uint64_t va,
                                             std::span<const std::byte> payload) override
    {
        if (!payload.empty() && (rkey != 7 || va + payload.size() > 1 << 20))
            return std::unexpected{rkey != 7 ? write_refusal::unknown_key : write_refusal::out_of_bounds};
        bytes += payload.size();
        return {};
    }
    std::size_t bytes = 0;
};

path_group_config four_planes()
{
    path_group_config config;
    config.planes = 4;
    config.uplinks = 2;
    config.base = path_index{1};
    return config;
}

qp_config towards(std::uint32_t local, std::uint32_t peer)
{
    qp_config config;
    config.local = qpn{local};
    config.peer = qpn{peer};
    return config;
}

struct end {
    explicit end(const qp_config &config) : qp{config, {paths, memory, control}} {}
    local_ports ports{plane_mask{0xF}};
    path_group paths{four_planes(), ports};
    bounded_memory memory;
    fixed_window control{1 << 20};
    queue_pair qp;
};

class queue_pair_test : public testing::Test
{
protected:
    // Everything that can leave one end arrives at the other; `drop` takes packets away.
    template <typename dropper>
    void exchange(dropper drop)
    {
        for (bool moved = true; moved;) {
            moved = carry(left_, right_, drop);
            moved = carry(right_, left_, drop) || moved;
        }
    }
    void exchange()
    {
        exchange([](const outgoing &) { return false; });
    }
    template <typename dropper>
    bool carry(end &from, end &to, dropper drop)
    {
        bool moved = false;
        now_ += 20us;
        while (const auto packet = from.qp.next_packet(now_)) {
            moved = true;
            if (drop(*packet))
                continue;
            arrival how;
            how.entropy = packet->entropy;
            how.path = packet->path;
            how.at = now_ + 20us;
            to.qp.on_packet(packet->content, std::span{payload_}.first(packet->payload.bytes), how, now_ + 20us);
        }
        return moved;
    }
    [[nodiscard]] static write_request write(std::uint64_t id, std::uint32_t bytes, std::uint64_t va = 0,
                                             std::uint32_t rkey = 7)
    {
        return {.id = id, .source = {1, 0, bytes}, .remote_va = va, .rkey = rkey};
    }

    std::vector<std::byte> payload_{4096};
    instant now_{1s};
    end left_{towards(0x10, 0x20)};
    end right_{towards(0x20, 0x10)};
};

TEST_F(queue_pair_test, writes_both_ways)
{
    ASSERT_TRUE(left_.qp.post_write(write(1, 10'000), now_));
    ASSERT_TRUE(right_.qp.post_write(write(2, 0), now_));
    exchange();
    EXPECT_EQ(left_.qp.next_completion()->bytes, 10'000u);
    EXPECT_EQ(right_.qp.next_completion()->id, 2u);
    EXPECT_EQ(right_.memory.bytes, 10'000u);
    EXPECT_EQ(left_.qp.next_deadline(), never);
    EXPECT_EQ(left_.qp.outstanding(), 0u);
}

TEST_F(queue_pair_test, wrong_key_fails_the_request_and_flushes_the_rest)
{
    ASSERT_TRUE(left_.qp.post_write(write(1, 100), now_));
    ASSERT_TRUE(left_.qp.post_write(write(2, 100, 0, 8), now_));
    ASSERT_TRUE(left_.qp.post_write(write(3, 100), now_));
    exchange();
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::success);
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::remote_access_error);
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::flushed);
    EXPECT_FALSE(left_.qp.next_completion());
    EXPECT_EQ(left_.qp.state(), qp_state::error);
    EXPECT_EQ(left_.qp.post_write(write(4, 1), now_).error(), post_error::wrong_state);
    EXPECT_EQ(right_.memory.bytes, 100u) << "nothing behind the refusal was written";
}

TEST_F(queue_pair_test, does_not_merely_wait_while_failed_requests_are_not_told)
{
    ASSERT_TRUE(left_.qp.post_write(write(1, 100), now_));
    ASSERT_TRUE(left_.qp.next_packet(now_));
    EXPECT_TRUE(left_.qp.only_waits());
    left_.qp.fail(completion_status::local_protection_error);
    EXPECT_FALSE(left_.qp.only_waits());
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::local_protection_error);
    EXPECT_TRUE(left_.qp.only_waits());
}

TEST_F(queue_pair_test, lost_nak_is_asked_for_again)
{
    ASSERT_TRUE(left_.qp.post_write(write(1, 100, 2 << 20), now_));
    exchange([](const outgoing &packet) { return std::holds_alternative<transport_ack_packet>(packet.content); });
    EXPECT_EQ(left_.qp.state(), qp_state::ready_to_send);
    for (int i = 0; i < 5 && left_.qp.state() != qp_state::error; ++i) {
        now_ = left_.qp.next_deadline();
        left_.qp.on_timer(now_);
        exchange();
    }
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::remote_access_error);
}

TEST_F(queue_pair_test, answers_rotate_over_all_planes)
{
    std::array<unsigned, 4> planes{};
    for (std::uint64_t id = 0; id < 400; ++id) {
        ASSERT_TRUE(left_.qp.post_write(write(id, 8), now_));
        exchange([&](const outgoing &packet) {
            planes[mrc_ev_plane(packet.entropy.value)] +=
                std::holds_alternative<sack_packet>(packet.content) ||
                        std::holds_alternative<transport_ack_packet>(packet.content)
                    ? 1
                    : 0;
            return false;
        });
        while (left_.qp.next_completion()) {
        }
    }
    const auto [least, most] = std::ranges::minmax(planes);
    EXPECT_LE(most - least, 1u);
    EXPECT_EQ(planes[0] + planes[1] + planes[2] + planes[3], 800u);
}

// Each packet in flight is answered by the EV that it was sent on, which is its path's former one by then.
TEST_F(queue_pair_test, evs_are_exchanged_under_way_and_no_packet_is_sent_twice)
{
    std::uint32_t entropy = 1;
    std::uint64_t exchanges = 0;
    const auto other_evs = [&] {
        std::vector<profile_entry> evs;
        for (std::uint8_t plane = 0; plane < 4; ++plane)
            for (std::uint16_t uplink = 0; uplink < 2; ++uplink)
                evs.push_back({ev{mrc_ev_make(plane, uplink, entropy)}, plane_index{plane},
                               static_cast<std::uint16_t>(2 * plane + uplink)});
        left_.paths.exchange(evs, {});
        ++entropy;
        ++exchanges;
    };
    other_evs();
    for (std::uint64_t id = 0; id < 20; ++id) {
        ASSERT_TRUE(left_.qp.post_write(write(id, 100'000), now_));
        exchange([&](const outgoing &packet) {
            if (std::holds_alternative<data_packet>(packet.content)) {
                EXPECT_GE(packet.entropy.value >> MRC_EV_ENTROPY_SHIFT, entropy - 1) << "new packets take the new EV";
            }
            if (std::holds_alternative<sack_packet>(packet.content) && exchanges < 2 * (id + 1))
                other_evs();
            return false;
        });
        EXPECT_EQ(left_.qp.next_completion()->status, completion_status::success);
    }
    const qp_counters &counters = left_.qp.counters();
    EXPECT_EQ(exchanges, 40u);
    EXPECT_EQ(right_.memory.bytes, 2'000'000u);
    EXPECT_EQ(counters.retransmits + counters.timeouts + counters.sacks_rejected, 0u);
}

TEST_F(queue_pair_test, answer_goes_back_the_way_its_cause_came)
{
    for (std::uint64_t id = 0; id < 50; ++id) {
        ASSERT_TRUE(left_.qp.post_write(write(id, 8), now_));
        path_index cause;
        exchange([&](const outgoing &packet) {
            if (std::holds_alternative<data_packet>(packet.content))
                cause = packet.path;
            else
                EXPECT_EQ(packet.path, cause) << "write " << id;
            return false;
        });
    }
    EXPECT_EQ(right_.qp.counters().sacks_sent, 50u);
    EXPECT_EQ(right_.qp.counters().acks_sent, 50u);
}

TEST_F(queue_pair_test, answer_takes_another_way_when_that_of_its_cause_is_denied_or_has_no_link)
{
    for (std::uint64_t id = 0; id < 50; ++id) {
        ASSERT_TRUE(left_.qp.post_write(write(id, 8), now_));
        path_index cause;
        ASSERT_TRUE(carry(left_, right_, [&](const outgoing &packet) {
            cause = packet.path;
            return false;
        }));
        const path_choice denied = right_.paths.path(cause.value - 1);
        if (id % 2 == 0)
            right_.paths.deny(denied.slot);
        else
            right_.ports.up.set(denied.plane, false);
        ASSERT_TRUE(carry(right_, left_, [&](const outgoing &packet) {
            EXPECT_NE(packet.path, cause) << "write " << id;
            if (id % 2 != 0) {
                EXPECT_NE(mrc_ev_plane(packet.entropy.value), denied.plane.value) << "write " << id;
            }
            return false;
        }));
        right_.paths.allow(denied.slot);
        right_.ports.up.set(denied.plane, true);
    }
    EXPECT_EQ(right_.qp.counters().sacks_sent, 50u);
}

TEST_F(queue_pair_test, answer_takes_another_way_when_that_of_its_cause_missed_a_question)
{
    const path_choice silent = right_.paths.path(3);
    right_.paths.watch(now_ + 1s);
    while (right_.paths.next_packet(now_)) { // nobody answers in time
    }
    now_ += 11ms;
    while (const auto question = right_.paths.next_packet(now_)) {
        endpoint_response_packet answer;
        answer.request_id = std::get<endpoint_request_packet>(question->content).request_id;
        if (question->path != silent.index) {
            EXPECT_TRUE(right_.paths.on_packet(answer, {}));
        }
    }
    unsigned causes = 0;
    for (std::uint64_t id = 0; id < 50; ++id) {
        ASSERT_TRUE(left_.qp.post_write(write(id, 8), now_));
        exchange([&](const outgoing &packet) {
            if (std::holds_alternative<data_packet>(packet.content))
                causes += packet.path == silent.index ? 1 : 0;
            else
                EXPECT_NE(packet.path, silent.index) << "write " << id;
            return false;
        });
        while (left_.qp.next_completion()) {
        }
    }
    EXPECT_GE(causes, 3u);
}

// Packets that are under way are not lost by it, and those that follow take other paths.
TEST_F(queue_pair_test, path_that_the_receivers_operator_has_denied_is_left_by_the_sender)
{
    const path_choice denied = right_.paths.path(3);
    right_.paths.deny(denied.slot);
    unsigned asked = 0;
    for (std::uint64_t id = 0; id < 50; ++id) {
        ASSERT_TRUE(left_.qp.post_write(write(id, 8), now_));
        path_index cause;
        exchange([&](const outgoing &packet) {
            if (const auto *sack = std::get_if<sack_packet>(&packet.content)) {
                EXPECT_EQ(sack->m == MRC_SACK_M_ALWAYS_SKIP, cause == denied.index) << "write " << id;
                asked += sack->m == MRC_SACK_M_ALWAYS_SKIP ? 1 : 0;
            } else if (std::holds_alternative<data_packet>(packet.content)) {
                cause = packet.path;
            }
            return false;
        });
        while (left_.qp.next_completion()) {
        }
    }
    EXPECT_EQ(asked, 1u);
    EXPECT_EQ(left_.paths.condition(denied.slot), (path_condition{path_state::assumed_bad, path_cause::always_skip}));
    for (unsigned slot = 0; slot < left_.paths.size(); ++slot)
        EXPECT_EQ(left_.paths.in_use(slot), slot != denied.slot);
    EXPECT_EQ(left_.qp.counters().retransmits, 0u);
}

// An EV profile of this end's that leaves a path out says nothing about the peer's.
TEST_F(queue_pair_test, path_without_an_ev_of_the_receivers_is_not_left_by_the_sender)
{
    std::vector<profile_entry> evs;
    for (std::uint8_t plane = 0; plane < 4; ++plane)
        evs.push_back({ev{mrc_ev_make(plane, 0, 1)}, plane_index{plane}, static_cast<std::uint16_t>(2 * plane)});
    right_.paths.exchange(evs, {});
    for (std::uint64_t id = 0; id < 50; ++id) {
        ASSERT_TRUE(left_.qp.post_write(write(id, 8), now_));
        exchange();
        while (left_.qp.next_completion()) {
        }
    }
    for (unsigned slot = 0; slot < left_.paths.size(); ++slot)
        EXPECT_EQ(left_.paths.state(slot), path_state::good);
}

// Its questions are not answered, whether or not they arrive.
TEST_F(queue_pair_test, answer_takes_another_plane_when_that_of_its_cause_is_silent)
{
    const plane_index dead{2};
    const auto ask = [&] {
        while (const auto question = right_.paths.next_packet(now_)) {
            endpoint_response_packet answer;
            answer.request_id = std::get<endpoint_request_packet>(question->content).request_id;
            if (!reverse_ids.contains(answer.request_id) || mrc_ev_plane(question->entropy.value) != dead.value)
                (void)right_.paths.on_packet(answer, {.entropy = {}, .path = {}, .at = now_ + 20us});
        }
    };
    std::set<std::uint32_t> instead;
    for (std::uint64_t id = 0; id < 400; ++id) {
        ASSERT_TRUE(left_.qp.post_write(write(id, 8), now_));
        path_choice cause;
        exchange([&](const outgoing &packet) {
            if (std::holds_alternative<data_packet>(packet.content)) {
                cause = right_.paths.path(packet.path.value - 1);
            } else if (id >= 300) {
                EXPECT_EQ(packet.path == cause.index, cause.plane != dead) << "write " << id;
                if (cause.plane == dead)
                    instead.insert(packet.entropy.value);
            }
            return false;
        });
        if (id == 0 || id == 150 || id == 299) {
            ask();
            now_ += 2ms;
            ask(); // the round is over
        }
        while (left_.qp.next_completion()) {
        }
    }
    EXPECT_EQ(instead.size(), 3u) << "the reverse EVs of the other planes";
}

TEST_F(queue_pair_test, control_packets_are_not_ect_and_high_priority)
{
    ASSERT_TRUE(left_.qp.post_write(write(1, 8), now_));
    exchange([](const outgoing &packet) {
        const bool is_data = std::holds_alternative<data_packet>(packet.content);
        EXPECT_EQ(packet.dscp, is_data ? MRC_DSCP_TRIMMABLE : MRC_DSCP_CONTROL);
        EXPECT_EQ(packet.ecn, is_data ? MRC_ECN_ECT0 : MRC_ECN_NOT_ECT);
        return false;
    });
}

TEST_F(queue_pair_test, nothing_leaves_without_a_usable_plane)
{
    left_.ports.up = plane_mask{};
    ASSERT_TRUE(left_.qp.post_write(write(1, 8), now_));
    EXPECT_FALSE(left_.qp.next_packet(now_));
    left_.ports.up = plane_mask{0b100};
    const auto packet = left_.qp.next_packet(now_);
    ASSERT_TRUE(packet);
    EXPECT_EQ(mrc_ev_plane(packet->entropy.value), 2u);
}

// The peer need not ask again for what only waited for a path.
TEST_F(queue_pair_test, answer_without_a_path_waits_until_there_is_one)
{
    ASSERT_TRUE(left_.qp.post_write(write(1, 8), now_));
    ASSERT_TRUE(carry(left_, right_, [](const outgoing &) { return false; }));
    for (unsigned slot = 0; slot < right_.paths.size(); ++slot)
        right_.paths.deny(slot);
    EXPECT_FALSE(right_.qp.next_packet(now_));
    EXPECT_TRUE(right_.qp.has_answer());
    EXPECT_EQ(right_.qp.counters().sacks_sent + right_.qp.counters().acks_sent, 0u);
    right_.paths.allow(5);
    exchange();
    EXPECT_EQ(right_.qp.counters().sacks_sent, 1u);
    EXPECT_EQ(right_.qp.counters().acks_sent, 1u);
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::success);
    EXPECT_EQ(left_.qp.counters().tx_packets, 1u);
}

TEST_F(queue_pair_test, fail_completes_everything_posted)
{
    for (std::uint64_t id = 1; id <= 3; ++id)
        ASSERT_TRUE(left_.qp.post_write(write(id, 8), now_));
    (void)left_.qp.next_packet(now_);
    left_.qp.fail(completion_status::local_protection_error);
    left_.qp.fail(completion_status::retry_exceeded);
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::local_protection_error);
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::flushed);
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::flushed);
    EXPECT_FALSE(left_.qp.next_completion());
    EXPECT_FALSE(left_.qp.next_packet(now_));
    EXPECT_EQ(left_.control.inflight(), 0);
}

} // namespace
} // namespace mrc::protocol
