// SPDX-License-Identifier: Apache-2.0
// A worker without thread and sockets: what one client does, and how long another one waits for it, in counts.
#include <array>
#include <cstring>
#include <deque>
#include <span>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "codec/frame_codec.h"
#include "unit/datapath/worker_in_memory.h"

namespace mrc::datapath
{
namespace
{

constexpr std::uint32_t depth = 2048;
constexpr std::size_t first_clients_requests = std::size_t{8} * depth;
constexpr std::size_t entries_a_turn = client_quantum / entry_cost;

class worker_turns : public testing::Test
{
protected:
    void SetUp() override
    {
        worker_.add_peer(host_.peer());
        for (worker_client *&client : clients_) {
            auto made = test::client_in_memory(1);
            client = made.get();
            worker_.add_client(std::move(made));
        }
    }
    void TearDown() override
    {
        for (std::uint32_t number = first_qp; number < next_qp_; ++number)
            (void)worker_.remove_qp(protocol::qpn{number});
    }

    test::rings_in_memory &connect(worker_client &client)
    {
        test::rings_in_memory &rings = rings_.emplace_back(depth);
        worker_.add_qp(rings.connect(client, next_qp_++, host_));
        return rings;
    }
    // Eight queue pairs, each with as many requests as fit, which its worker has taken.
    void load_first_client()
    {
        for (unsigned n = 0; n < 8; ++n)
            connect(*clients_[0]).post_sends(depth);
        around_.engine.room = 0; // nothing leaves
        for (std::uint32_t number = first_qp; number < next_qp_; ++number)
            worker_.activate(*worker_.find_qp(protocol::qpn{number}));
        while (worker_.round() != 0) {
        }
        around_.engine.room = SIZE_MAX;
    }
    void fail_first_client()
    {
        for (std::uint32_t number = first_qp; number < next_qp_; ++number) {
            worker_qp &qp = *worker_.find_qp(protocol::qpn{number});
            qp.protocol->fail(protocol::completion_status::flushed);
            worker_.activate(qp);
        }
    }
    // A packet from the host, as host_rx steers it. It has no payload.
    void arrive(std::uint32_t number)
    {
        protocol::probe_packet probe;
        probe.destination = protocol::qpn{number};
        test::arrive(worker_, probe, host_, number);
    }
    [[nodiscard]] std::size_t completed()
    {
        std::size_t count = 0;
        for (test::rings_in_memory &rings : rings_)
            count += rings.take_completions();
        return count;
    }

    static constexpr std::uint32_t first_qp = 16;

    test::worker_surroundings around_;
    test::remote_host host_{1};
    std::array<worker_client *, 2> clients_{};
    std::deque<test::rings_in_memory> rings_;
    std::uint32_t next_qp_ = first_qp;
    worker worker_{test::standing_still(), around_.resources()};
};

TEST_F(worker_turns, requests_of_failed_queue_pairs_are_flushed_in_their_clients_turns)
{
    load_first_client();
    fail_first_client();
    std::size_t flushed = 0;
    for (unsigned rounds = 0; flushed < first_clients_requests; ++rounds) {
        ASSERT_LT(rounds, first_clients_requests);
        worker_.round();
        const std::size_t now = completed();
        ASSERT_LE(now, entries_a_turn) << "while whatever arrived, and every bell, waited";
        flushed += now;
    }
    EXPECT_EQ(flushed, first_clients_requests);
}

TEST_F(worker_turns, a_message_leaves_before_another_clients_failed_requests_are_flushed)
{
    load_first_client();
    test::rings_in_memory &other = connect(*clients_[1]);
    --next_qp_; // not to fail with the first client's
    fail_first_client();
    ++next_qp_;
    worker_.round();
    std::size_t flushed = completed();
    EXPECT_LT(flushed, first_clients_requests);
    const std::size_t sent = around_.engine.sent.size();
    other.post_sends(1);
    clients_[1]->bells().ring(next_qp_ - 1);
    while (around_.engine.sent.size() == sent) {
        worker_.round();
        flushed += completed();
        ASSERT_LE(flushed, 3 * entries_a_turn);
    }
}

class worker_turns_after_arrivals : public worker_turns, public testing::WithParamInterface<std::uint32_t>
{
};

// Both clients have much to send. Whose turn it would be differs, so each of them once receives.
TEST_P(worker_turns_after_arrivals, the_other_client_sends_first)
{
    for (worker_client *client : clients_)
        connect(*client).post_sends(depth);
    around_.engine.room = 0;
    for (std::uint32_t number = first_qp; number < next_qp_; ++number)
        worker_.activate(*worker_.find_qp(protocol::qpn{number}));
    while (worker_.round() != 0) {
    }
    around_.engine.room = SIZE_MAX;
    std::vector<std::uint32_t> senders;
    around_.engine.on_commit = [&](const departure &, std::span<const std::byte> bytes) {
        const auto packet = codec::decode(bytes, false);
        if (const auto *data = packet ? std::get_if<protocol::data_packet>(&packet->content) : nullptr)
            senders.push_back(data->destination.value - first_qp);
    };
    // One turn's worth it may have left, the other it then owes.
    for (std::int64_t bytes = 0; bytes < 2 * client_quantum; bytes += packet_cost(0))
        arrive(first_qp + GetParam());
    worker_.round();
    ASSERT_FALSE(senders.empty());
    EXPECT_NE(senders.front(), GetParam()) << "its turn has paid for what arrived";
}

INSTANTIATE_TEST_SUITE_P(each_client, worker_turns_after_arrivals, testing::Values(0U, 1U));

TEST_F(worker_turns, posted_receive_requests_cost_nothing_until_messages_come)
{
    for (unsigned n = 0; n < 8; ++n) {
        connect(*clients_[0]).post_receives(depth);
        clients_[0]->bells().ring(next_qp_ - 1);
    }
    EXPECT_EQ(worker_.round(), 0U);
    for (const test::rings_in_memory &rings : rings_)
        EXPECT_EQ(rings.receives_waiting(), depth);
}

TEST_F(worker_turns, receive_requests_of_failed_queue_pairs_are_flushed_in_their_clients_turns)
{
    for (unsigned n = 0; n < 8; ++n)
        connect(*clients_[0]).post_receives(depth);
    worker_.round();
    fail_first_client();
    std::size_t flushed = 0;
    while (flushed < first_clients_requests) {
        const std::size_t work = worker_.round();
        ASSERT_NE(work, 0U);
        const std::size_t now = completed();
        ASSERT_LE(now, entries_a_turn);
        flushed += now;
    }
}

} // namespace
} // namespace mrc::datapath
