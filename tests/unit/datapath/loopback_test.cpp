// SPDX-License-Identifier: Apache-2.0
// Two queue pairs of one host on simulated time, with nothing between them but the loopback.
#include "datapath/loopback.h"

#include <chrono>
#include <cstdlib>
#include <semaphore>
#include <thread>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/own_host.h"
#include "datapath/work_queues.h"
#include "unit/datapath/queue_pair_in_memory.h"

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t depth = 512;
constexpr std::uint32_t sender_number = 16;
constexpr std::uint32_t receiver_number = 17;

class loopback_test : public testing::Test
{
protected:
    [[nodiscard]] worker_qp &at(protocol::qpn number) { return number == sender_->number ? *sender_ : *receiver_; }
    // All that may be sent now and finds room; how many packets.
    std::size_t send(worker_qp &qp)
    {
        std::size_t count = 0;
        while (way_.ready()) {
            const auto packet = qp.protocol->next_packet(now_);
            if (!packet)
                break;
            EXPECT_TRUE(way_.send(qp, *packet));
            ++count;
        }
        return count;
    }
    std::size_t deliver()
    {
        return way_
            .deliver([&](const loopback::passing &packet) {
                arrived_.push_back(packet.content);
                at(packet.from == sender_->number ? receiver_->number : sender_->number)
                    .protocol->on_packet(
                        packet.content, packet.payload,
                        {.entropy = packet.entropy, .path = packet.path, .at = now_, .wire_bytes = packet.ip_bytes},
                        now_);
            })
            .packets;
    }

    protocol::instant now_{1s};
    mrc_ip address_{{0xfd, 1}};
    own_host host_{address_};
    test::any_memory memory_;
    std::unique_ptr<worker_client> client_ = test::client_in_memory(1);
    test::rings_in_memory sends_{depth};
    test::rings_in_memory receives_{depth};
    std::unique_ptr<worker_qp> sender_ =
        sends_.connect(*client_, sender_number, receiver_number, host_.peer(), nullptr, &memory_);
    std::unique_ptr<worker_qp> receiver_ =
        receives_.connect(*client_, receiver_number, sender_number, host_.peer(), nullptr, &memory_);
    loopback way_;
    std::vector<protocol::packet> arrived_;
};

TEST_F(loopback_test, has_room_for_so_many_packets_and_again_when_they_have_arrived)
{
    sends_.post_sends(depth);
    (void)take_requests(*sender_, depth, now_);
    EXPECT_EQ(send(*sender_), loopback::most_packets);
    EXPECT_FALSE(way_.ready());
    EXPECT_EQ(deliver(), loopback::most_packets);
    EXPECT_EQ(arrived_.size(), loopback::most_packets);
    EXPECT_TRUE(way_.ready());
    EXPECT_EQ(deliver(), 0u) << "each arrives once";
}

TEST_F(loopback_test, packets_arrive_in_the_order_in_which_they_were_sent)
{
    sends_.post_sends(depth);
    (void)take_requests(*sender_, depth, now_);
    protocol::psn expected{0};
    while (arrived_.size() < depth) {
        (void)send(*sender_);
        (void)send(*receiver_);
        now_ += 10us;
        ASSERT_NE(deliver(), 0u);
    }
    for (const protocol::packet &packet : arrived_)
        if (const auto *data = std::get_if<protocol::data_packet>(&packet)) {
            EXPECT_EQ(data->sequence, expected);
            ++expected;
        }
}

// The transport sees a peer that answers a round later, whatever the time that a round takes.
TEST_F(loopback_test, a_transfer_asks_for_nothing_twice_whatever_a_round_takes)
{
    for (const auto round : {1us, 20us, 100us}) {
        sends_.post_sends(depth);
        std::size_t completed = 0;
        for (unsigned rounds = 0; completed < depth; ++rounds) {
            ASSERT_LT(rounds, 1000u);
            now_ += round;
            (void)deliver();
            for (worker_qp *qp : {receiver_.get(), sender_.get()}) {
                if (qp->protocol->next_deadline() <= now_)
                    qp->protocol->on_timer(now_);
                (void)take_requests(*qp, depth, now_);
                (void)send(*qp);
                (void)deliver_completions(*qp, depth);
            }
            completed += sends_.take_completions();
        }
        while (deliver() != 0)
            (void)send(*sender_);
        EXPECT_EQ(sender_->protocol->counters().retransmits, 0u);
        EXPECT_EQ(sender_->protocol->counters().timeouts, 0u);
        EXPECT_EQ(receiver_->protocol->counters().rx_duplicates, 0u);
    }
    EXPECT_EQ(memory_.bytes, 3u * depth * 8);
}

// From one worker to another. Who found no room sleeps until it is told that there is some.
TEST_F(loopback_test, two_threads_lose_no_packet_and_no_room)
{
    constexpr std::uint32_t packets = 200'000;
    std::counting_semaphore<> room{0};
    std::thread other{[&] {
        for (std::uint32_t number = 0; number < packets; ++number) {
            while (!way_.ready())
                room.acquire();
            protocol::outgoing packet;
            packet.content = protocol::transport_ack_packet{.destination = {}, .sequence = {}, .msn = number};
            if (!way_.send(*sender_, packet))
                std::abort();
        }
    }};
    std::uint32_t next = 0;
    while (next < packets) {
        const auto done = way_.deliver([&](const loopback::passing &packet) {
            ASSERT_EQ(std::get<protocol::transport_ack_packet>(packet.content).msn, next);
            ++next;
        });
        if (done.made_room)
            room.release();
    }
    other.join();
    EXPECT_FALSE(way_.any());
}

TEST_F(loopback_test, what_cannot_be_read_under_its_local_key_is_no_packet)
{
    sends_.post_unreadable();
    (void)take_requests(*sender_, 1, now_);
    const auto next = sender_->protocol->next_packet(now_);
    ASSERT_TRUE(next);
    EXPECT_FALSE(way_.send(*sender_, *next));
    EXPECT_EQ(deliver(), 0u);
}

} // namespace
} // namespace mrc::datapath
