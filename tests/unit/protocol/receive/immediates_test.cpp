// SPDX-License-Identifier: Apache-2.0
// Messages with immediate: stash, receive queue, and both in a pair of QPs.
#include <gtest/gtest.h>

#include <vector>

#include "protocol/congestion/fixed_window.h"
#include "protocol/queue_pair.h"
#include "protocol/receive/immediate_stash.h"
#include "protocol/receive/receive_queue.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

TEST(immediate_stash, gives_each_rqmsn_its_place_across_the_wrap)
{
    immediate_stash stash{3};
    for (std::uint32_t n = 0; n < 70'000; ++n) {
        const auto number = static_cast<packet_number>(n) * 2;
        if (n % 2 == 0) { // of a pair the later one first: packets arrive in any order
            ASSERT_TRUE(stash.put(static_cast<std::uint16_t>(n + 1), {.number = number + 2, .immediate = n + 1}));
            ASSERT_FALSE(stash.take(number + 2)) << "not its turn";
            ASSERT_TRUE(stash.put(static_cast<std::uint16_t>(n), {.number = number, .immediate = n}));
        }
        const auto taken = stash.take(number);
        ASSERT_TRUE(taken);
        ASSERT_EQ(taken->immediate, n);
    }
}

TEST(immediate_stash, refuses_duplicates_and_more_than_it_has_room_for)
{
    immediate_stash stash{2};
    EXPECT_TRUE(stash.put(1, {.number = 5}));
    EXPECT_FALSE(stash.put(1, {.number = 6})) << "two messages with one rqmsn";
    EXPECT_FALSE(stash.put(2, {.number = 7})) << "beyond max_wimm";
    EXPECT_FALSE(stash.put(0xFFFF, {.number = 8})) << "delivered long ago";
    EXPECT_FALSE(stash.take(5)) << "rqmsn 0 comes first";
    EXPECT_TRUE(stash.put(0, {.number = 3}));
    EXPECT_TRUE(stash.take(3));
    EXPECT_TRUE(stash.take(5));
    immediate_stash none{0};
    EXPECT_FALSE(none.put(0, {.number = 1}));
    EXPECT_FALSE(none.take(1));
}

TEST(receive_queue, place_is_free_when_its_completion_was_taken)
{
    receive_queue queue{2};
    EXPECT_FALSE(queue.complete(1, 2, false)) << "nothing posted";
    EXPECT_TRUE(queue.post(1));
    EXPECT_TRUE(queue.post(2));
    EXPECT_EQ(queue.post(3).error(), post_error::queue_full);
    EXPECT_TRUE(queue.complete(100, 7, true));
    EXPECT_EQ(queue.post(3).error(), post_error::queue_full);
    const auto done = queue.next_completion();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->id, 1u);
    EXPECT_EQ(done->bytes, 100u);
    EXPECT_EQ(done->immediate, 7u);
    EXPECT_TRUE(done->solicited);
    EXPECT_TRUE(queue.post(3));
    queue.flush();
    EXPECT_EQ(queue.next_completion()->status, completion_status::flushed);
    EXPECT_EQ(queue.next_completion()->id, 3u);
    EXPECT_FALSE(queue.next_completion());
}

TEST(receive_queue, wants_as_many_requests_as_messages_may_complete_and_it_has_room_for)
{
    receive_queue queue{3};
    EXPECT_EQ(queue.wanted(2), 2u);
    EXPECT_TRUE(queue.post(1));
    EXPECT_EQ(queue.wanted(1), 0u);
    EXPECT_EQ(queue.wanted(9), 2u);
    EXPECT_TRUE(queue.complete(1, 2, false));
    EXPECT_EQ(queue.wanted(9), 2u) << "the place is taken until its completion is";
    queue.flush();
    EXPECT_FALSE(queue.complete(1, 2, false)) << "nothing is waiting any more";
}

class null_memory final : public memory_sink
{
public:
    std::expected<void, write_refusal> write(std::uint32_t, std::uint64_t, std::span<const std::byte>) override
    {
        return {};
    }
};

path_group_config two_planes()
{
    path_group_config config;
    config.planes = 2;
    config.uplinks = 2;
    config.base = path_index{1};
    return config;
}

struct end {
    explicit end(const qp_config &config) : qp{config, {paths, memory, control}} {}
    local_ports ports{plane_mask{0b11}};
    path_group paths{two_planes(), ports};
    null_memory memory;
    fixed_window control{1 << 20};
    queue_pair qp;
};

class immediates_test : public testing::Test
{
protected:
    static qp_config towards(std::uint32_t local, std::uint32_t peer)
    {
        qp_config config;
        config.local = qpn{local};
        config.peer = qpn{peer};
        config.max_wimm = 3;
        config.receive_max_wimm = 3;
        config.receive_queue_depth = 4;
        return config;
    }
    void post(std::uint64_t id, std::uint32_t bytes, std::optional<std::uint32_t> immediate, bool solicited = false)
    {
        ASSERT_TRUE(left_.qp.post_write(
            {.id = id, .source = {1, 0, bytes}, .immediate = immediate, .solicited = solicited}, now_));
    }
    std::vector<outgoing> take(end &from)
    {
        std::vector<outgoing> all;
        while (const auto packet = from.qp.next_packet(now_))
            all.push_back(*packet);
        return all;
    }
    void give(end &to, const outgoing &packet)
    {
        now_ += 1us;
        arrival how;
        how.entropy = packet.entropy;
        how.path = packet.path;
        how.at = now_;
        to.qp.on_packet(packet.content, std::span{payload_}.first(packet.payload.bytes), how, now_);
    }
    void exchange()
    {
        for (bool moved = true; moved;) {
            moved = false;
            for (auto [from, to] : {std::pair{&left_, &right_}, std::pair{&right_, &left_}})
                for (const outgoing &packet : take(*from)) {
                    give(*to, packet);
                    moved = true;
                }
        }
    }

    std::vector<std::byte> payload_{4096};
    instant now_{1s};
    end left_{towards(0x10, 0x20)};
    end right_{towards(0x20, 0x10)};
};

TEST_F(immediates_test, complete_in_sending_order_when_everything_before_has_arrived)
{
    for (const std::uint64_t id : {71, 72, 73})
        ASSERT_TRUE(right_.qp.post_receive(id));
    post(1, 3000, std::nullopt);
    post(2, 0, 0xA0, true);
    post(3, 5000, 0xB0);
    post(4, 10, std::nullopt);
    post(5, 10, 0xC0);
    const auto packets = take(left_);
    ASSERT_EQ(packets.size(), 11u);
    EXPECT_EQ(std::get<data_packet>(packets[3].content).opcode, MRC_OP_WRITE_ONLY_IMM);
    EXPECT_TRUE(std::get<data_packet>(packets[3].content).solicited);
    for (std::size_t i = 4; i < 9; ++i)
        EXPECT_EQ(std::get<data_packet>(packets[i].content).rqmsn, 1) << "in all packets of the message";
    EXPECT_EQ(std::get<data_packet>(packets[8].content).opcode, MRC_OP_WRITE_LAST_IMM);
    EXPECT_EQ(std::get<data_packet>(packets[9].content).rqmsn, 0) << "unused without immediate";

    for (std::size_t i = packets.size(); i-- > 1;)
        give(right_, packets[i]);
    EXPECT_FALSE(right_.qp.next_receive_completion()) << "the very first packet is missing";
    give(right_, packets[0]);
    const std::uint32_t immediates[] = {0xA0, 0xB0, 0xC0};
    const std::uint32_t bytes[] = {0, 5000, 10};
    for (std::size_t i = 0; i < 3; ++i) {
        const auto done = right_.qp.next_receive_completion();
        ASSERT_TRUE(done);
        EXPECT_EQ(done->id, 71 + i);
        EXPECT_EQ(done->immediate, immediates[i]);
        EXPECT_EQ(done->bytes, bytes[i]);
        EXPECT_EQ(done->solicited, i == 0);
        EXPECT_EQ(done->status, completion_status::success);
    }
    EXPECT_FALSE(right_.qp.next_receive_completion());
}

TEST_F(immediates_test, no_more_than_max_wimm_are_in_flight)
{
    for (std::uint64_t id = 0; id < 4; ++id)
        ASSERT_TRUE(right_.qp.post_receive(id));
    for (std::uint64_t id = 0; id < 5; ++id)
        post(id, 10, static_cast<std::uint32_t>(id));
    const auto packets = take(left_);
    ASSERT_EQ(packets.size(), 3u);
    for (const outgoing &packet : packets)
        give(right_, packet);
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(right_.qp.next_receive_completion());
    ASSERT_TRUE(right_.qp.post_receive(4));
    exchange();
    EXPECT_EQ(left_.qp.outstanding(), 5u);
    for (std::uint64_t id = 0; id < 5; ++id)
        EXPECT_EQ(left_.qp.next_completion()->status, completion_status::success);
}

// Nobody could post a request for it, so it is nobody's fault.
TEST_F(immediates_test, waits_at_its_sender_while_completions_hold_all_places)
{
    for (std::uint64_t id = 0; id < 4; ++id)
        ASSERT_TRUE(right_.qp.post_receive(id));
    for (std::uint32_t n = 0; n < 6; ++n)
        post(n, 10, n);
    exchange();
    EXPECT_EQ(left_.qp.outstanding(), 6u) << "completions, four of them successful, and two that wait";
    EXPECT_EQ(right_.qp.counters().rx_no_receive, 0u);
    EXPECT_EQ(right_.qp.counters().rx_busy, 2u);
    EXPECT_EQ(left_.qp.counters().nacks, 2u);
    for (std::uint32_t n = 0; n < 4; ++n)
        EXPECT_EQ(right_.qp.next_receive_completion()->immediate, n);
    for (std::uint64_t id = 4; id < 6; ++id)
        ASSERT_TRUE(right_.qp.post_receive(id));
    for (int timers = 0; timers < 10 && right_.qp.counters().rx_packets < 6; ++timers) {
        now_ = left_.qp.next_deadline();
        left_.qp.on_timer(now_);
        exchange();
    }
    for (std::uint32_t n = 4; n < 6; ++n)
        EXPECT_EQ(right_.qp.next_receive_completion()->immediate, n);
    for (std::uint64_t id = 0; id < 6; ++id)
        EXPECT_EQ(left_.qp.next_completion()->status, completion_status::success);
}

// The places that there are belong to those that come first: what was sent later must not keep them out.
TEST_F(immediates_test, the_next_one_finds_its_place_whatever_came_before_it)
{
    for (std::uint64_t id = 0; id < 4; ++id)
        ASSERT_TRUE(right_.qp.post_receive(id));
    for (std::uint32_t n = 0; n < 3; ++n)
        post(n, 10, n);
    exchange(); // three places hold completions
    for (std::uint32_t n = 3; n < 6; ++n)
        post(n, 10, n);
    const auto packets = take(left_);
    ASSERT_EQ(packets.size(), 3u);
    give(right_, packets[2]);
    give(right_, packets[1]);
    EXPECT_EQ(right_.qp.counters().rx_busy, 2u);
    give(right_, packets[0]);
    EXPECT_EQ(right_.qp.counters().rx_busy, 2u);
    EXPECT_EQ(right_.qp.state(), qp_state::ready_to_send);
}

TEST_F(immediates_test, without_a_receive_request_both_ends_fail)
{
    ASSERT_TRUE(right_.qp.post_receive(7));
    post(1, 10, 1);
    post(2, 10, 2);
    ASSERT_TRUE(right_.qp.post_write({.id = 9, .source = {1, 0, 1}}, now_));
    exchange();
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::success);
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::remote_operation_error);
    EXPECT_EQ(left_.qp.state(), qp_state::error);
    EXPECT_EQ(right_.qp.state(), qp_state::error);
    EXPECT_EQ(right_.qp.counters().rx_no_receive, 1u);
    EXPECT_EQ(right_.qp.next_receive_completion()->status, completion_status::success);
    EXPECT_FALSE(right_.qp.next_receive_completion());
}

TEST_F(immediates_test, sender_that_ignores_max_wimm_is_refused)
{
    qp_config greedy = towards(0x10, 0x20);
    greedy.max_wimm = 10;
    end left{greedy};
    ASSERT_TRUE(right_.qp.post_receive(7));
    for (std::uint64_t id = 0; id < 4; ++id)
        ASSERT_TRUE(left.qp.post_write({.id = id, .source = {1, 0, 1}, .immediate = 5}, now_));
    const auto packets = take(left);
    ASSERT_EQ(packets.size(), 4u);
    give(right_, packets[3]);
    EXPECT_EQ(right_.qp.counters().rx_bad_immediate, 1u);
    for (std::size_t i = 0; i < 3; ++i)
        give(right_, packets[i]);
    for (const outgoing &packet : take(right_))
        give(left, packet);
    EXPECT_EQ(left.qp.state(), qp_state::error);
    EXPECT_EQ(right_.qp.state(), qp_state::error);
}

// The text leaves open where rqmsn begins; a sender that begins elsewhere must not lose immediates unseen.
TEST_F(immediates_test, rqmsn_that_is_not_the_next_is_refused)
{
    ASSERT_TRUE(right_.qp.post_receive(7));
    post(1, 10, 5);
    auto packets = take(left_);
    std::get<data_packet>(packets[0].content).rqmsn = 1;
    give(right_, packets[0]);
    EXPECT_EQ(right_.qp.counters().rx_bad_immediate, 1u);
    EXPECT_EQ(right_.qp.state(), qp_state::error);
    EXPECT_EQ(right_.qp.next_receive_completion()->status, completion_status::flushed);
}

TEST_F(immediates_test, none_can_be_posted_to_a_peer_that_takes_none)
{
    qp_config config = towards(0x10, 0x20);
    config.max_wimm = 0;
    end left{config};
    EXPECT_EQ(left.qp.post_write({.id = 1, .source = {1, 0, 1}, .immediate = 5}, now_).error(),
              post_error::no_immediates);
    EXPECT_TRUE(left.qp.post_write({.id = 1, .source = {1, 0, 1}}, now_));
}

TEST_F(immediates_test, receive_requests_are_flushed_when_the_qp_fails)
{
    ASSERT_TRUE(right_.qp.post_receive(7));
    right_.qp.fail(completion_status::flushed);
    EXPECT_EQ(right_.qp.next_receive_completion()->status, completion_status::flushed);
    EXPECT_EQ(right_.qp.post_receive(8).error(), post_error::wrong_state);
}

TEST_F(immediates_test, a_failed_end_notifies_its_peer)
{
    right_.qp.fail(completion_status::flushed);
    post(1, 10, std::nullopt);
    exchange();
    EXPECT_EQ(left_.qp.next_completion()->status, completion_status::remote_operation_error);
}

TEST_F(immediates_test, states_gate_what_a_queue_pair_does)
{
    qp_config young = towards(0x20, 0x10);
    young.state = qp_state::init;
    end right{young};
    post(1, 10, 3);
    const auto early = take(left_);
    EXPECT_TRUE(right.qp.post_receive(7));
    EXPECT_EQ(right.qp.post_write({.id = 1, .source = {}}, now_).error(), post_error::wrong_state);
    give(right, early[0]);
    EXPECT_EQ(right.qp.counters().rx_wrong_state, 1u);
    EXPECT_FALSE(right.qp.next_packet(now_));
    EXPECT_FALSE(right.qp.modify(qp_event::to_ready_to_send));
    ASSERT_TRUE(right.qp.modify(qp_event::to_ready_to_receive));
    give(right, early[0]);
    EXPECT_TRUE(right.qp.next_receive_completion());
    EXPECT_TRUE(right.qp.next_packet(now_)) << "RTR answers";
    EXPECT_EQ(right.qp.post_write({.id = 1, .source = {}}, now_).error(), post_error::wrong_state);
    EXPECT_TRUE(right.qp.modify(qp_event::to_ready_to_send));
    EXPECT_FALSE(right.qp.modify(qp_event::reset));
}

TEST_F(immediates_test, draining_finishes_what_has_begun_and_starts_nothing)
{
    post(1, 5000, std::nullopt);
    (void)left_.qp.next_packet(now_);
    ASSERT_TRUE(left_.qp.modify(qp_event::drain));
    post(2, 10, std::nullopt);
    EXPECT_FALSE(left_.qp.drained());
    EXPECT_EQ(take(left_).size(), 4u);
    const instant due = left_.qp.next_deadline();
    now_ = due;
    left_.qp.on_timer(now_);
    exchange();
    for (int i = 0; i < 20 && !left_.qp.drained(); ++i) {
        now_ = left_.qp.next_deadline();
        left_.qp.on_timer(now_);
        exchange();
    }
    EXPECT_TRUE(left_.qp.drained());
    EXPECT_EQ(left_.qp.next_completion()->id, 1u);
    EXPECT_FALSE(left_.qp.next_completion());
    ASSERT_TRUE(left_.qp.modify(qp_event::to_ready_to_send));
    exchange();
    EXPECT_EQ(left_.qp.next_completion()->id, 2u);
}

} // namespace
} // namespace mrc::protocol
