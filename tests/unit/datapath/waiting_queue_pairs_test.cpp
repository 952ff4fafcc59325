// SPDX-License-Identifier: Apache-2.0
#include "datapath/waiting_queue_pairs.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "unit/datapath/queue_pair_in_memory.h"

namespace mrc::datapath
{
namespace
{

class waiting_queue_pairs_test : public testing::Test
{
protected:
    void SetUp() override
    {
        for (std::size_t n = 0; n < 4; ++n) {
            qps_.push_back(std::make_unique<worker_qp>());
            qps_[n]->peer = (n < 2 ? near_ : far_).peer();
            waiting_.enter(*qps_[n]);
        }
    }
    void TearDown() override
    {
        for (const auto &qp : qps_)
            waiting_.leave(*qp);
    }

    void all_wait()
    {
        for (const auto &qp : qps_)
            waiting_.add(*qp);
    }
    [[nodiscard]] std::vector<worker_qp *> changed()
    {
        std::vector<worker_qp *> found;
        (void)waiting_.look([&](worker_qp &qp) { found.push_back(&qp); });
        return found;
    }
    [[nodiscard]] std::size_t count() const
    {
        return static_cast<std::size_t>(std::ranges::count_if(qps_, [](const auto &qp) { return qp->waiting.listed; }));
    }

    test::remote_host near_{1, 2};
    test::remote_host far_{2, 2};
    std::vector<std::unique_ptr<worker_qp>> qps_;
    waiting_queue_pairs waiting_;
};

TEST_F(waiting_queue_pairs_test, all_wait_as_long_as_the_ways_are_as_they_were)
{
    all_wait();
    EXPECT_EQ(count(), 4u);
    EXPECT_TRUE(changed().empty());
    EXPECT_TRUE(changed().empty());
    EXPECT_EQ(count(), 4u);
}

TEST_F(waiting_queue_pairs_test, who_has_lost_a_way_waits_no_longer)
{
    all_wait();
    near_.local.up = protocol::plane_mask{0b01};
    EXPECT_EQ(changed(), (std::vector{qps_[0].get(), qps_[1].get()}));
    EXPECT_EQ(count(), 2u);
    EXPECT_TRUE(changed().empty());
    near_.local.up = protocol::plane_mask{0b11};
    waiting_.add(*qps_[0]);
    EXPECT_TRUE(changed().empty()) << "it has seen them itself before it waited";
}

TEST_F(waiting_queue_pairs_test, whose_path_has_fallen_silent_waits_no_longer)
{
    all_wait();
    const protocol::instant now{std::chrono::seconds{1}};
    far_.group.on_delivered(0, now);
    far_.group.on_silence(1, now, now);
    EXPECT_EQ(changed(), (std::vector{qps_[2].get(), qps_[3].get()}));
}

TEST_F(waiting_queue_pairs_test, looking_costs_nothing_while_nothing_happens)
{
    all_wait();
    EXPECT_TRUE(changed().empty());
    const std::uint64_t before = waiting_.looks();
    for (int round = 0; round < 1000; ++round)
        EXPECT_TRUE(changed().empty());
    EXPECT_EQ(waiting_.looks(), before);
}

// Whatever it is that changes a way, on the way there or at the peer, it is noticed.
TEST_F(waiting_queue_pairs_test, what_changes_at_the_peer_is_noticed)
{
    const protocol::instant now{std::chrono::seconds{1}};
    const protocol::plane_index plane{0};
    all_wait();
    EXPECT_TRUE(changed().empty());
    EXPECT_TRUE(near_.suspected.suspect(plane, protocol::plane_mask{0b11}, now));
    EXPECT_EQ(changed().size(), 2u) << "it is suspected toward the host";

    all_wait();
    near_.suspected.on_delivered(plane, now + std::chrono::milliseconds{1});
    near_.suspected.on_delivered(plane, now + std::chrono::milliseconds{2});
    near_.suspected.on_delivered(plane, now + std::chrono::milliseconds{3});
    ASSERT_TRUE(near_.suspected.suspected().empty());
    EXPECT_EQ(changed().size(), 2u) << "and not any more";

    all_wait();
    const protocol::endpoint_request_packet one_port{
        .request_id = 0x4001, .operation = MRC_EP_PORT_STATUS_UPDATE, .port_status_mask = 0b100};
    EXPECT_EQ(near_.ports.on_request(one_port, {}, now), protocol::port_status::outcome::taken);
    EXPECT_EQ(changed().size(), 2u) << "the peer has lost a port";
}

TEST_F(waiting_queue_pairs_test, who_goes_is_not_told)
{
    all_wait();
    waiting_.remove(*qps_[0]);
    waiting_.remove(*qps_[0]);
    near_.local.up = protocol::plane_mask{0b01};
    EXPECT_EQ(changed(), std::vector{qps_[1].get()});
}

} // namespace
} // namespace mrc::datapath
