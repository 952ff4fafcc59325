// SPDX-License-Identifier: Apache-2.0
// What the worker is given of a queue pair, and when; which changes of state lead here is qp_states_test.cpp's.
#include "service/sessions/qp_connection.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "unit/service/sessions/session_in_memory.h"

namespace mrc::service
{
namespace
{

class qp_connection : public testing::Test
{
protected:
    void SetUp() override
    {
        qp_.now.peer = b_.address();
        qp_.now.peer_qpn = 77;
        qp_.now.mpr = 8;
        qp_.known = session::qp_sets_peer | session::qp_sets_receive_psn | session::qp_sets_send_psn;
    }
    int connect() { return connect_qp(here_.state, qp_).reply.error; }
    [[nodiscard]] const datapath::worker_qp *in_worker() const
    {
        return here_.state.worker().find_qp(protocol::qpn{number_});
    }
    [[nodiscard]] const mrc_qp_row &row() const { return here_.state.shared.tables.qps[MRC_QPN_ROW(number_)]; }
    [[nodiscard]] static bool same(const mrc_ip &a, const mrc_ip &b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

    test::daemon_in_memory a_{0};
    test::daemon_in_memory b_{1};
    test::session_in_memory here_{a_};
    std::uint32_t number_ = here_.make_qp();
    owned_qp &qp_ = here_.state.qps.at(number_);
};

TEST_F(qp_connection, needs_the_peer_and_its_first_psn)
{
    for (const std::uint32_t lacking : {session::qp_sets_peer, session::qp_sets_receive_psn}) {
        const std::uint32_t all = qp_.known;
        qp_.known &= ~lacking;
        EXPECT_EQ(connect(), EINVAL);
        EXPECT_EQ(in_worker(), nullptr);
        EXPECT_EQ(row().peer_qpn, 0U) << "nothing comes in for it";
        qp_.known = all;
    }
}

TEST_F(qp_connection, gives_the_worker_what_attributes_say_and_the_row_what_lets_packets_in)
{
    ASSERT_EQ(connect(), 0);
    ASSERT_NE(in_worker(), nullptr);
    EXPECT_EQ(in_worker()->peer_number, protocol::qpn{77});
    EXPECT_EQ(in_worker()->client, here_.state.worker_side);
    EXPECT_EQ(in_worker()->protocol->state(), protocol::qp_state::ready_to_receive);
    EXPECT_EQ(row().peer_qpn, 77U);
    EXPECT_EQ(row().mpr, 8U * MRC_MPR_UNIT);
    EXPECT_TRUE(same(row().peer, b_.address()));
}

TEST_F(qp_connection, packets_are_no_larger_than_what_the_paths_carry)
{
    const std::uint32_t carried = here_.state.shared.payload_bytes;
    for (const auto &[asked, given] :
         {std::pair{0U, carried}, std::pair{256U, 256U}, std::pair{carried + 1, carried}}) {
        qp_.now.payload_bytes = asked;
        ASSERT_EQ(connect(), 0);
        EXPECT_EQ(qp_.now.payload_bytes, given) << asked;
        disconnect_qp(here_.state, qp_);
    }
}

TEST_F(qp_connection, sending_begins_with_a_psn_of_its_own_and_not_after_a_failure)
{
    ASSERT_EQ(connect(), 0);
    qp_.known &= ~std::uint32_t{session::qp_sets_send_psn};
    EXPECT_EQ(start_sending(here_.state, qp_).reply.error, EINVAL);
    qp_.known |= session::qp_sets_send_psn;
    EXPECT_EQ(start_sending(here_.state, qp_).reply.error, 0);
    EXPECT_EQ(in_worker()->protocol->state(), protocol::qp_state::ready_to_send);

    disconnect_qp(here_.state, qp_);
    ASSERT_EQ(connect(), 0);
    here_.state.worker().find_qp(protocol::qpn{number_})->protocol->fail(protocol::completion_status::flushed);
    EXPECT_EQ(start_sending(here_.state, qp_).reply.error, EINVAL) << "the peer's packets have made it fail";
}

TEST_F(qp_connection, holds_its_peer_as_long_as_it_is_connected)
{
    peer_directory &peers = here_.state.shared.peers;
    ASSERT_EQ(connect(), 0);
    EXPECT_TRUE(peers.release_unused(true).peers.empty());
    disconnect_qp(here_.state, qp_);
    EXPECT_EQ(peers.release_unused(true).peers.size(), 1U);
    ASSERT_EQ(connect(), 0);
    release_qps(here_.state);
    EXPECT_EQ(peers.release_unused(true).peers.size(), 1U);
}

TEST_F(qp_connection, disconnected_it_keeps_its_number_and_no_peer)
{
    ASSERT_EQ(connect(), 0);
    disconnect_qp(here_.state, qp_);
    EXPECT_EQ(in_worker(), nullptr);
    EXPECT_FALSE(qp_.in_worker);
    EXPECT_EQ(row().qpn, number_);
    EXPECT_EQ(row().peer_qpn, 0U);
    EXPECT_TRUE(same(row().peer, {}));
}

} // namespace
} // namespace mrc::service
