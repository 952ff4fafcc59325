// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/turn_scheduler.h"

namespace mrc::datapath
{
namespace
{

// What a queue pair of the test still has to do.
struct load {
    std::size_t packets = 0;
    std::uint32_t payload = 1024;
    std::size_t completions = 0;
    std::size_t requests = 0;
};

class turns : public testing::Test
{
protected:
    worker_qp &add(worker_client &client, const load &has)
    {
        worker_qp &qp = qps_.emplace_back();
        qp.client = &client;
        loads_[&qp] = has;
        scheduler_.activate(qp);
        return qp;
    }
    load &of(worker_qp &qp) { return loads_.at(&qp); }

    struct work {
        turns &test;

        [[nodiscard]] bool ready(const worker_qp &qp) const { return test.room_ != 0 && test.full_ != &qp; }
        [[nodiscard]] static protocol::instant now() { return {}; }
        std::size_t deliver(worker_qp &qp, std::size_t most) const
        {
            return test.take(qp, test.of(qp).completions, most);
        }
        std::size_t take(worker_qp &qp, std::size_t most, protocol::instant) const
        {
            return test.take(qp, test.of(qp).requests, most);
        }
        std::uint32_t send(worker_qp &qp, protocol::instant) const
        {
            load &has = test.of(qp);
            if (has.packets == 0)
                return 0;
            --has.packets;
            --test.room_;
            test.sent_.push_back(&qp);
            return packet_cost(has.payload);
        }
        void visited(worker_qp &, protocol::instant) const {}
        [[nodiscard]] bool retire(worker_qp &qp) const
        {
            const load &has = test.of(qp);
            return has.packets + has.completions + has.requests == 0;
        }
        void flush() const { test.flushed_at_.push_back(test.sent_.size()); }
        [[nodiscard]] bool others_wait(const worker_client &served) const
        {
            return test.ringing_ != nullptr && test.ringing_ != &served;
        }
    };
    std::size_t take(worker_qp &qp, std::size_t &left, std::size_t most)
    {
        const std::size_t count = std::min(left, most);
        left -= count;
        entries_[qp.client] += count;
        return count;
    }

    std::size_t round(std::size_t packets_before = 0) { return scheduler_.run(packets_before, work{*this}); }
    [[nodiscard]] std::size_t sent(const worker_client &client) const
    {
        return static_cast<std::size_t>(std::ranges::count(sent_, &client, &worker_qp::client));
    }

    turn_scheduler scheduler_{turn_limits{}};
    worker_client a_;
    worker_client b_;
    std::deque<worker_qp> qps_;
    std::map<const worker_qp *, load> loads_;
    std::vector<const worker_qp *> sent_;
    std::map<const worker_client *, std::size_t> entries_;
    std::vector<std::size_t> flushed_at_;
    std::size_t room_ = SIZE_MAX;
    const worker_qp *full_ = nullptr; // there is no room where its packets leave
    const worker_client *ringing_ = nullptr;
};

constexpr std::size_t packets_a_turn = client_quantum / 1024;
constexpr std::size_t entries_a_turn = client_quantum / entry_cost;

TEST_F(turns, clients_share_by_bytes_whatever_the_number_of_their_queue_pairs)
{
    for (unsigned n = 0; n < 10; ++n)
        add(a_, {.packets = 1000});
    add(b_, {.packets = 1000});
    round();
    EXPECT_EQ(sent(a_), 128U);
    EXPECT_EQ(sent(b_), 128U);
}

TEST_F(turns, who_finds_no_room_where_its_packets_leave_keeps_nobody_else_from_sending)
{
    full_ = &add(a_, {.packets = 1000});
    add(a_, {.packets = 10});
    add(b_, {.packets = 10});
    round();
    EXPECT_EQ(sent(a_), 10U) << "its client's other queue pair";
    EXPECT_EQ(sent(b_), 10U);
    full_ = nullptr;
    round();
    EXPECT_GT(sent(a_), 10U) << "it still has its turns";
}

TEST_F(turns, queue_pairs_of_a_client_share_its_turns_by_bytes)
{
    const worker_qp &large = add(a_, {.packets = 1000, .payload = 4096});
    const worker_qp &small = add(a_, {.packets = 1000, .payload = 1024});
    for (unsigned n = 0; n < 4; ++n)
        round();
    const auto larges = std::ranges::count(sent_, &large);
    const auto smalls = std::ranges::count(sent_, &small);
    EXPECT_NEAR(static_cast<double>(smalls) / static_cast<double>(larges), 4.0, 0.5);
}

TEST_F(turns, a_message_waits_for_no_more_than_one_turn_of_each_other_client)
{
    add(a_, {.packets = 10'000});
    round();
    const worker_qp &qp = add(b_, {.packets = 1});
    sent_.clear();
    round();
    const auto at = std::ranges::find(sent_, &qp) - sent_.begin();
    EXPECT_LE(at, static_cast<std::ptrdiff_t>(packets_a_turn));
}

// Issue: thousands of flushed requests were delivered at once, while other clients' requests waited.
TEST_F(turns, flushing_is_paid_by_the_client_whose_the_requests_are)
{
    for (unsigned n = 0; n < 8; ++n)
        add(a_, {.completions = 4096, .requests = 4096});
    ringing_ = &b_; // b posts while a has its turn
    round();
    EXPECT_LE(entries_[&a_], entries_a_turn);
    ringing_ = nullptr;
    add(b_, {.packets = 1});
    round();
    EXPECT_EQ(sent(b_), 1U);
    EXPECT_LE(entries_[&a_], 2 * entries_a_turn);
}

TEST_F(turns, flushing_and_sending_clients_alternate)
{
    for (unsigned n = 0; n < 8; ++n)
        add(a_, {.completions = 100'000});
    add(b_, {.packets = 100'000});
    while (entries_[&a_] < 20 * entries_a_turn)
        round();
    EXPECT_NEAR(static_cast<double>(sent(b_)), 20.0 * packets_a_turn, 2.0 * packets_a_turn);
}

TEST_F(turns, a_round_ends_after_a_bounded_number_of_entries)
{
    add(a_, {.completions = 1'000'000});
    EXPECT_EQ(round(), turn_limits{}.entries);
}

// Both send all the time; what arrives for `a` is paid from its turns.
TEST_F(turns, arrivals_are_paid_by_the_client_that_they_are_for)
{
    add(a_, {.packets = 1'000'000});
    add(b_, {.packets = 1'000'000});
    for (unsigned n = 0; n < 100; ++n) {
        for (unsigned packet = 0; packet < 32; ++packet)
            turn_scheduler::charge_arrival(a_, 1024);
        round();
    }
    const double ratio = static_cast<double>(sent(b_)) / static_cast<double>(sent(a_));
    EXPECT_NEAR(ratio, (128.0 + 16) / (128.0 - 16), 0.05); // of 256 packets a round, 32 are a's arrivals
}

TEST_F(turns, a_client_that_receives_more_than_its_share_still_acknowledges)
{
    add(a_, {.packets = 1'000'000});
    add(b_, {.packets = 1'000'000});
    for (unsigned n = 0; n < 100; ++n) {
        for (unsigned packet = 0; packet < 10'000; ++packet)
            turn_scheduler::charge_arrival(a_, 4096);
        round();
    }
    EXPECT_GE(sent(a_), 100 * packets_a_turn / 2);
    EXPECT_GT(sent(b_), sent(a_));
}

TEST_F(turns, a_client_in_debt_is_served_at_once_when_it_is_alone)
{
    add(a_, {.packets = 5});
    for (unsigned packet = 0; packet < 1000; ++packet)
        turn_scheduler::charge_arrival(a_, 4096);
    round();
    EXPECT_EQ(sent(a_), 5U);
}

TEST_F(turns, full_engines_hold_up_packets_and_nothing_else)
{
    room_ = 3;
    worker_qp &bulk = add(a_, {.packets = 10});
    add(b_, {.packets = 10, .completions = 7});
    round();
    EXPECT_EQ(sent_.size(), 3U);
    EXPECT_EQ(entries_[&b_], 7U);
    EXPECT_EQ(round(), 0U);
    room_ = SIZE_MAX;
    round();
    EXPECT_EQ(of(bulk).packets, 0U);
    EXPECT_EQ(sent(b_), 10U);
}

TEST_F(turns, a_client_without_work_leaves_and_keeps_no_allowance)
{
    for (unsigned n = 0; n < 5; ++n)
        add(a_, {.packets = 1});
    worker_qp &waits = add(b_, {.completions = 1});
    round();
    EXPECT_EQ(sent(a_), 5U);
    EXPECT_FALSE(scheduler_.any_active([](const worker_qp &) { return true; }));
    EXPECT_LE(a_.allowance, 0);
    EXPECT_EQ(round(), 0U);
    scheduler_.activate(waits);
    EXPECT_TRUE(scheduler_.any_active([&](const worker_qp &qp) { return &qp == &waits; }));
    scheduler_.deactivate(waits);
    EXPECT_FALSE(b_.listed);
}

// None is passed over because others leave the list meanwhile.
TEST_F(turns, every_queue_pair_has_its_turn_in_the_round_in_which_others_leave)
{
    for (unsigned n = 0; n < 50; ++n)
        add(a_, {}); // with nothing to do
    add(a_, {.packets = 1});
    for (unsigned n = 0; n < 50; ++n)
        add(a_, {});
    round();
    EXPECT_EQ(sent_.size(), 1U);
}

TEST_F(turns, long_bursts_are_flushed_on_the_way)
{
    add(a_, {.packets = 256, .payload = 256});
    round();
    ASSERT_GE(flushed_at_.size(), 2U);
    EXPECT_LE(flushed_at_[0], 128U);
    EXPECT_EQ(flushed_at_.back(), 256U);
}

TEST_F(turns, endpoint_packets_count_in_the_round)
{
    add(a_, {.packets = 1000});
    EXPECT_EQ(round(250), 256U);
    EXPECT_EQ(sent_.size(), 6U);
}

} // namespace
} // namespace mrc::datapath
