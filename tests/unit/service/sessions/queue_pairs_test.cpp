// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/queue_pairs.h"

#include <cerrno>
#include <functional>

#include <gtest/gtest.h>

#include "unit/service/sessions/session_in_memory.h"

namespace mrc::service
{
namespace
{

class queue_pairs : public testing::Test
{
protected:
    [[nodiscard]] session::qp_request request() const { return client_.qp_request(pd_, cq_); }
    answer create() { return create_qp(client_.state, request()); }

    test::daemon_in_memory daemon_{0};
    test::session_in_memory client_{daemon_};
    std::uint32_t pd_ = client_.make_pd();
    std::uint32_t cq_ = client_.make_cq();
    limit_options limits_ = client_.state.shared.config.limits;
};

TEST_F(queue_pairs, have_a_row_of_their_own_that_no_peer_may_use_yet)
{
    const answer made = create();
    ASSERT_EQ(made.reply.error, 0) << made.reply.text;
    const std::uint32_t qpn = made.reply.qp.qpn;
    const mrc_qp_row &row = client_.state.shared.tables.qps[MRC_QPN_ROW(qpn)];
    EXPECT_EQ(row.qpn, qpn);
    EXPECT_EQ(row.peer.bytes[0], 0);
    EXPECT_NE(create().reply.qp.qpn, qpn);
    const mrc_qp_in_use &listed = daemon_.queue_pairs_in_use().at(MRC_QPN_ROW(qpn));
    EXPECT_EQ(listed.qpn, qpn);
    EXPECT_EQ(listed.session, client_.state.number);
    EXPECT_STREQ(listed.peer, "");
    EXPECT_EQ(destroy_qp(client_.state, qpn).reply.error, 0);
    EXPECT_EQ(row.qpn, 0U);
    EXPECT_FALSE(daemon_.queue_pairs_in_use().contains(MRC_QPN_ROW(qpn)));
    EXPECT_EQ(destroy_qp(client_.state, qpn).reply.error, EINVAL) << "a second time";
}

TEST_F(queue_pairs, have_room_for_what_was_asked_in_powers_of_two)
{
    session::qp_request wanted = request();
    wanted.send_depth = 17;
    wanted.receive_depth = 3;
    wanted.most_inline = 20;
    const answer made = create_qp(client_.state, wanted);
    EXPECT_EQ(made.reply.qp.send_depth, 32U);
    EXPECT_EQ(made.reply.qp.receive_depth, 4U);
    EXPECT_EQ(made.reply.qp.most_inline, 32U);
    EXPECT_EQ(client_.held(resource::work_requests), 36U);
    ASSERT_EQ(made.fds.size(), 1U);
    EXPECT_TRUE(map_whole(kernel::unique_fd{::dup(made.fds[0])}, layout_of(made.reply.qp).bytes()));
}

TEST_F(queue_pairs, what_does_not_exist_or_is_too_large_is_refused_and_leaves_nothing_behind)
{
    const std::function<void(session::qp_request &)> faults[] = {
        [](auto &r) { r.pd = 999; },          [](auto &r) { r.send_cq = 999; },
        [](auto &r) { r.receive_cq = 999; },  [](auto &r) { r.events = 999; },
        [](auto &r) { r.send_depth = 0; },    [this](auto &r) { r.receive_depth = limits_.work_requests + 1; },
        [](auto &r) { r.most_pieces = 0; },   [](auto &r) { r.most_pieces = 17; },
        [](auto &r) { r.most_inline = 257; },
    };
    for (const auto &fault : faults) {
        session::qp_request wanted = request();
        fault(wanted);
        EXPECT_EQ(create_qp(client_.state, wanted).reply.error, EINVAL);
        EXPECT_EQ(client_.held(resource::queue_pairs), 0U);
        EXPECT_EQ(client_.held(resource::work_requests), 0U);
        EXPECT_EQ(daemon_.qps_in_use(), 0U);
    }
}

TEST_F(queue_pairs, of_a_user_are_limited_and_each_has_a_bell_of_its_own)
{
    std::vector<bool> bells(limits_.queue_pairs);
    while (client_.held(resource::queue_pairs) < limits_.queue_pairs) {
        const answer made = create();
        ASSERT_EQ(made.reply.error, 0) << made.reply.text;
        EXPECT_FALSE(bells[made.reply.qp.bell]);
        bells[made.reply.qp.bell] = true;
    }
    EXPECT_EQ(create().reply.error, ENOMEM);
    const auto first = client_.state.qps.begin();
    const std::uint32_t bell = first->second.numbers.bell;
    EXPECT_EQ(destroy_qp(client_.state, first->first).reply.error, 0);
    EXPECT_EQ(create().reply.qp.bell, bell);
}

TEST_F(queue_pairs, of_a_session_are_as_many_as_it_has_bells)
{
    daemon_.limits() = {};
    daemon_.limits().queue_pairs = session::bell_page::queue_pairs + 1;
    test::session_in_memory first{daemon_, 2, client_.state.account};
    const session::qp_request wanted = first.qp_request(first.make_pd(), first.make_cq());
    while (first.state.qps.size() < session::bell_page::queue_pairs) {
        const answer made = create_qp(first.state, wanted);
        ASSERT_EQ(made.reply.error, 0) << made.reply.text;
    }
    const answer one_more = create_qp(first.state, wanted);
    EXPECT_EQ(one_more.reply.error, ENOMEM);
    EXPECT_EQ(std::string{one_more.reply.text}, "all 4096 queue pairs of a session are in use");
    EXPECT_EQ(create().reply.error, 0) << "another session of the user";
}

TEST_F(queue_pairs, requests_of_a_user_are_limited_over_all_of_its_sessions)
{
    test::session_in_memory second{daemon_, 2, client_.state.account};
    session::qp_request deep = request();
    deep.send_depth = deep.receive_depth = limits_.work_requests;
    while (client_.held(resource::work_requests) + 2ULL * limits_.work_requests <= limits_.total_requests)
        ASSERT_EQ(create_qp(client_.state, deep).reply.error, 0);
    session::qp_request there = second.qp_request(second.make_pd(), second.make_cq());
    there.send_depth = there.receive_depth = limits_.work_requests;
    EXPECT_EQ(create_qp(second.state, there).reply.error, ENOMEM);
    release_qps(client_.state);
    EXPECT_EQ(create_qp(second.state, there).reply.error, 0);
    EXPECT_EQ(daemon_.qps_in_use(), 1U);
}

} // namespace
} // namespace mrc::service
