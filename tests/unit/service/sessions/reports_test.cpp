// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/reports.h"

#include <cerrno>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "unit/service/sessions/session_in_memory.h"

namespace mrc::service
{
namespace
{

using enum protocol::qp_state;

class reports : public testing::Test
{
protected:
    test::daemon_in_memory a_{0};
    test::daemon_in_memory b_{1};
    test::session_in_memory here_{a_};
    test::session_in_memory there_{b_};
    std::uint32_t mine_ = here_.make_qp();
    std::uint32_t theirs_ = there_.make_qp();
};

TEST_F(reports, the_host_is_described_with_the_limits_of_the_configuration)
{
    const session::host_reply host = describe(here_.state).reply.host;
    const limit_options &limits = here_.state.shared.config.limits;
    EXPECT_EQ(std::string{host.instance}, "in-memory");
    EXPECT_EQ(host.planes, 1U);
    EXPECT_EQ(host.max_qps, limits.queue_pairs);
    EXPECT_EQ(host.max_regions, limits.memory_regions);
    EXPECT_EQ(host.max_cqs, limits.completion_queues);
    EXPECT_EQ(host.max_requests, limits.work_requests);
    EXPECT_EQ(host.payload_bytes, here_.state.shared.payload_bytes);
    EXPECT_EQ(host.process_memory, 0) << "this client has not given its memory";
}

TEST_F(reports, a_queue_pair_has_a_report_once_it_is_connected)
{
    EXPECT_EQ(report_qp(here_.state, mine_).reply.error, EINVAL);
    EXPECT_EQ(reset_progress(here_.state, mine_).reply.error, EINVAL);
    ASSERT_EQ(here_.modify(mine_, init), 0);
    ASSERT_EQ(here_.modify(mine_, ready_to_receive, &there_, theirs_), 0);
    ASSERT_EQ(here_.modify(mine_, ready_to_send), 0);
    const answer connected = report_qp(here_.state, mine_);
    ASSERT_EQ(connected.reply.error, 0);
    EXPECT_EQ(connected.reply.report.state, static_cast<std::uint32_t>(ready_to_send));
    EXPECT_EQ(connected.reply.report.tx_packets, 0U);
    EXPECT_EQ(connected.reply.report.paths_good, 2U);
    EXPECT_GT(connected.reply.report.cwnd_bytes, 0U);
    EXPECT_EQ(reset_progress(here_.state, mine_).reply.error, 0);
    EXPECT_EQ(report_qp(there_.state, mine_).reply.error, EINVAL) << "another session's";
}

// A path that lost a turn was counted as good, too, and one that a floor keeps in use as good only.
TEST_F(reports, each_path_is_counted_once_in_the_state_that_it_is_in)
{
    ASSERT_EQ(here_.modify(mine_, init), 0);
    ASSERT_EQ(here_.modify(mine_, ready_to_receive, &there_, theirs_), 0);
    ASSERT_EQ(here_.modify(mine_, ready_to_send), 0);
    here_.state.worker().call([&] {
        const protocol::instant now{std::chrono::seconds{1}};
        const datapath::worker_qp &qp = *here_.state.worker().find_qp(protocol::qpn{mine_});
        protocol::path_group &paths = *qp.peer.paths;
        paths.on_always_skip(0, now);
        paths.on_always_skip(1, now); // the last one
        paths.deny(0);
        paths.allow(0);
        ASSERT_EQ(paths.state(0), protocol::path_state::good);
        (void)here_.state.worker().memory().replenish(); // as each of its rounds begins
        ASSERT_TRUE(qp.protocol->post_write({.id = 1, .source = {.bytes = 0}}, now));
        ASSERT_TRUE(qp.protocol->next_packet(now));
        protocol::sack_packet congested;
        congested.destination = protocol::qpn{mine_};
        congested.m = MRC_SACK_M_SKIP_ONCE;
        congested.entropy = paths.path(0).entropy;
        congested.cack = protocol::psn{MRC_PSN_MASK}; // nothing yet
        congested.ack_psn_offset = 1;
        qp.protocol->on_packet(congested, {}, {.entropy = {}, .path = paths.path(0).index, .at = now}, now);
    });
    const session::qp_report report = report_qp(here_.state, mine_).reply.report;
    EXPECT_EQ(report.paths_good, 0U);
    EXPECT_EQ(report.paths_skip, 1U);
    EXPECT_EQ(report.paths_kept, 1U);
    EXPECT_EQ(report.paths_assumed_bad, 0U);
    EXPECT_EQ(report.paths_denied, 0U);
}

TEST_F(reports, the_status_counts_the_sessions_queue_pairs)
{
    EXPECT_EQ(query_status(here_.state).reply.status.qps, 1U);
    (void)here_.make_qp();
    EXPECT_EQ(query_status(here_.state).reply.status.qps, 2U);
    EXPECT_EQ(query_status(there_.state).reply.status.qps, 1U);
}

} // namespace
} // namespace mrc::service
