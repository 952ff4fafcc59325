// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/send_limit.h"

#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

class send_limit_test : public requester_test
{
protected:
    [[nodiscard]] send_limit limit() { return limit_of(requester_); }
};

TEST_F(send_limit_test, is_nothing_without_requests_and_the_application_once_all_of_them_are_on_their_way)
{
    EXPECT_EQ(limit(), send_limit::nothing);
    write(3);
    EXPECT_EQ(limit(), send_limit::worker) << "nobody has asked for them yet";
    const auto sent = send();
    EXPECT_EQ(limit(), send_limit::application);
    now_ += 50us;
    receive(sack(3, 0, sent[2]));
    acknowledge(2);
    EXPECT_EQ(limit(), send_limit::nothing);
}

TEST_F(send_limit_test, is_the_receiver_where_its_window_is_used_up)
{
    write(1000);
    ASSERT_EQ(send().size(), 127U);
    EXPECT_EQ(limit(), send_limit::receiver);
}

TEST_F(send_limit_test, is_loss_where_the_oldest_packet_had_been_lost)
{
    write(1000);
    const auto sent = send();
    now_ += 50us;
    arrival how;
    how.at = now_;
    on_nack(requester_, nack_of(sent[0], MRC_NACK_TRIMMED), how, now_);
    EXPECT_EQ(limit(), send_limit::worker) << "it may be sent again";
    ASSERT_EQ(send().size(), 1U);
    EXPECT_EQ(limit(), send_limit::loss);
}

TEST_F(send_limit_test, is_congestion_where_its_window_is_used_up)
{
    fixed_window narrow{std::uint64_t{8} * nominal_bytes(payload_bytes)};
    requester_state other{make_config(), {paths_, peer_ports_, peer_}, proofs_, selector_, narrow, counters_};
    ASSERT_TRUE(post(other, {.id = 1, .source = {5, 0, 100 * payload_bytes}, .remote_va = 0, .rkey = 7}));
    EXPECT_EQ(limit_of(other), send_limit::worker);
    while (next_packet(other, now_)) {
    }
    EXPECT_EQ(limit_of(other), send_limit::congestion);
}

TEST_F(send_limit_test, is_the_paths_where_no_plane_is_usable)
{
    write(3);
    local_.up = {};
    EXPECT_EQ(limit(), send_limit::paths);
}

TEST_F(send_limit_test, is_the_application_while_the_queue_drains)
{
    requester_.draining = true;
    write(3);
    EXPECT_TRUE(send().empty());
    EXPECT_EQ(limit(), send_limit::application);
}

} // namespace
} // namespace mrc::protocol
