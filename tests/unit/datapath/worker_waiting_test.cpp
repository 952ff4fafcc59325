// SPDX-License-Identifier: Apache-2.0
// A worker without thread and sockets: queue pairs that wait for their peer take no turns, and get them again by what
// they wait for.
#include <chrono>
#include <deque>
#include <variant>

#include <gtest/gtest.h>

#include "codec/frame_codec.h"
#include "kernel/monotonic_clock.h"
#include "unit/datapath/worker_in_memory.h"

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t first_qp = 16;
constexpr std::uint32_t count = 8;

class worker_waiting_test : public testing::Test
{
protected:
    void SetUp() override
    {
        (void)worker_.memory().replenish();
        worker_.add_peer(host_.peer());
        auto made = test::client_in_memory(1);
        client_ = made.get();
        worker_.add_client(std::move(made));
        around_.engine.on_commit = [this](const departure &, std::span<const std::byte> bytes) {
            const auto packet = codec::decode(bytes, false);
            if (packet && std::holds_alternative<protocol::data_packet>(packet->content))
                ++data_sent_;
        };
        for (std::uint32_t n = 0; n < count; ++n) {
            test::rings_in_memory &rings = rings_.emplace_back(4);
            rings.post_sends(1);
            worker_.add_qp(rings.connect(*client_, first_qp + n, host_));
        }
        while (data_sent_ < count)
            worker_.round();
        worker_.round();
    }
    void TearDown() override
    {
        for (std::uint32_t n = 0; n < count; ++n)
            (void)worker_.remove_qp(protocol::qpn{first_qp + n});
    }

    [[nodiscard]] unsigned taking_turns() { return test::taking_turns(worker_, first_qp, count); }

    test::worker_surroundings around_;
    test::remote_host host_{1, 2};
    worker_client *client_ = nullptr;
    std::deque<test::rings_in_memory> rings_;
    std::size_t data_sent_ = 0;
    worker worker_{{}, around_.resources()};
};

TEST_F(worker_waiting_test, who_has_sent_all_takes_no_turns)
{
    EXPECT_EQ(taking_turns(), 0u);
    EXPECT_EQ(data_sent_, count);
}

TEST_F(worker_waiting_test, a_lost_plane_is_made_up_for_at_once)
{
    const bool on_first = around_.engine.sent.front().path == host_.group.path(0).index.value;
    host_.local.up = protocol::plane_mask{on_first ? 0b10U : 0b01U};
    worker_.round();
    EXPECT_GT(data_sent_, count) << "what flew there is sent again, without waiting for any time";
    worker_.round();
    EXPECT_EQ(taking_turns(), 0u) << "and they wait on";
}

TEST_F(worker_waiting_test, a_request_is_taken_when_its_bell_rings)
{
    rings_[3].post_sends(1);
    worker_.round();
    EXPECT_EQ(data_sent_, count);
    client_->bells().ring(first_qp + 3);
    worker_.round();
    EXPECT_EQ(data_sent_, count + 1);
}

TEST_F(worker_waiting_test, a_deadline_gives_a_turn)
{
    const std::size_t before = around_.engine.sent.size();
    const auto limit = kernel::monotonic_now() + 5s;
    while (around_.engine.sent.size() < before + count && kernel::monotonic_now() < limit)
        worker_.round();
    EXPECT_GE(around_.engine.sent.size(), before + count) << "each asks for its answer";
}

// Not in the time, in the rows that a report has to write.
TEST(worker_reports, cost_what_has_changed)
{
    constexpr std::uint32_t idle = 1000;
    test::worker_surroundings around;
    test::remote_host host{1};
    test::rings_in_memory silent{4};
    test::rings_in_memory busy{4};
    worker all{{}, around.resources()};
    (void)all.memory().replenish();
    all.add_peer(host.peer());
    auto made = test::client_in_memory(1);
    worker_client &client = *made;
    all.add_client(std::move(made));
    for (std::uint32_t n = 0; n < idle; ++n)
        all.add_qp(silent.connect(client, first_qp + n, host));
    all.add_qp(busy.connect(client, first_qp + idle, host));
    all.round();
    ASSERT_EQ(all.counters().reported, idle + 1) << "each had a turn";

    busy.post_sends(1);
    client.bells().ring(first_qp + idle);
    const auto limit = kernel::monotonic_now() + 5s;
    while (all.counters().reported == idle + 1 && kernel::monotonic_now() < limit)
        all.round();
    // Nobody answers: by the next report the packet may have been sent again, by a path that counts it.
    EXPECT_LE(all.counters().reported, idle + 4) << "its row, and those of paths";
    EXPECT_GE(around.qps[first_qp + idle].tx_packets, 1u);
    for (std::uint32_t n = 0; n <= idle; ++n)
        (void)all.remove_qp(protocol::qpn{first_qp + n});
}

} // namespace
} // namespace mrc::datapath
