// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "datapath/map_reporter.h"
#include "unit/datapath/queue_pair_in_memory.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::datapath
{
namespace
{

TEST(verdict_report, a_row_is_written_when_its_count_has_changed_and_again_until_it_is)
{
    std::map<std::uint32_t, std::uint64_t> rows;
    bool works = true;
    verdict_report report{[&](std::uint32_t row, std::uint64_t count) {
        if (works)
            rows[row] = count;
        return works;
    }};
    verdict_counts counts{};
    counts[MRC_AGENT_ACCEPTED] = 7;
    report.publish(counts);
    EXPECT_EQ(rows, (std::map<std::uint32_t, std::uint64_t>{{MRC_AGENT_ACCEPTED, 7}}));
    rows.clear();
    report.publish(counts);
    EXPECT_TRUE(rows.empty()) << "nothing has changed";
    works = false;
    counts[MRC_AGENT_DROP_UNKNOWN_QP] = 1;
    report.publish(counts);
    works = true;
    report.publish(counts);
    EXPECT_EQ(rows, (std::map<std::uint32_t, std::uint64_t>{{MRC_AGENT_DROP_UNKNOWN_QP, 1}}));
}

TEST(verdict_report, drops_are_told_without_what_was_accepted)
{
    std::map<std::uint32_t, std::uint64_t> rows;
    verdict_report report{[&](std::uint32_t row, std::uint64_t count) {
        rows[row] = count;
        return true;
    }};
    verdict_counts counts{};
    counts[MRC_AGENT_ACCEPTED] = 7;
    counts[MRC_AGENT_LOCAL] = 9;
    counts[MRC_AGENT_DROP_BAD_ICRC] = 2;
    report.publish_drops(counts);
    EXPECT_EQ(rows, (std::map<std::uint32_t, std::uint64_t>{{MRC_AGENT_DROP_BAD_ICRC, 2}}));
    report.publish(counts);
    EXPECT_EQ(rows[MRC_AGENT_ACCEPTED], 7u);
    EXPECT_EQ(rows[MRC_AGENT_LOCAL], 9u);
}

TEST(queue_pair_rows, say_for_how_long_which_limit_was_waited_for)
{
    using namespace std::chrono_literals;
    test::remote_host host{1};
    const auto client = test::client_in_memory(1);
    test::rings_in_memory rings{64};
    const auto qp = rings.connect(*client, 1, host);
    mrc_qp_row row{};
    const protocol::instant start{1s};
    write_limit(row, *qp, start);
    EXPECT_EQ(row.limit, MRC_LIMIT_NOTHING);
    ASSERT_TRUE(qp->protocol->post_write({.source = {1, 0, 64}, .remote_va = 0, .rkey = 1}, start + 1ms));
    write_limit(row, *qp, start + 1ms);
    EXPECT_EQ(row.limit, MRC_LIMIT_WORKER);
    EXPECT_EQ(row.limited_worker_ns, 0U) << "it had nothing to do";
    ASSERT_TRUE(qp->protocol->next_packet(start + 3ms));
    write_limit(row, *qp, start + 3ms);
    EXPECT_EQ(row.limited_worker_ns, 2'000'000U);
    EXPECT_EQ(row.limit, MRC_LIMIT_APPLICATION) << "the answer is awaited";
    write_limit(row, *qp, start + 7ms);
    EXPECT_EQ(row.limited_application_ns, 4'000'000U);
    EXPECT_EQ(row.limited_worker_ns, 2'000'000U);
    qp->protocol->fail(protocol::completion_status::flushed);
    write_limit(row, *qp, start + 9ms);
    EXPECT_EQ(row.limit, MRC_LIMIT_NOTHING);
    write_limit(row, *qp, start + 20ms);
    EXPECT_EQ(row.limited_application_ns, 6'000'000U) << "it ended with the request";
}

TEST(path_rows, are_written_when_their_counters_have_grown)
{
    const auto rows = test::table_in_memory<mrc_path_row>(MRC_USUAL_PATHS);
    test::remote_host host{1, 8};
    EXPECT_EQ(write_counts(rows, host.group), 0u);
    for (unsigned slot = 0; slot < 8; ++slot)
        host.group.on_sent(slot, false);
    EXPECT_EQ(write_counts(rows, host.group), 0u) << "first transmissions are the engines' to count";
    for (unsigned time = 0; time < 3; ++time) {
        host.group.on_sent(1, true);
        host.group.on_loss(6, protocol::instant{});
    }
    EXPECT_EQ(write_counts(rows, host.group), 2u) << "each once, however often it has changed";
    EXPECT_EQ(rows[2].retransmits, 3u);
    EXPECT_EQ(rows[7].losses, 3u);
    EXPECT_EQ(write_counts(rows, host.group), 0u);
    host.group.on_sent(1, true);
    EXPECT_EQ(write_counts(rows, host.group), 1u);
    EXPECT_EQ(rows[2].retransmits, 4u);
}

TEST(changed_queue_pairs, are_reported_while_they_are_active_and_once_more)
{
    const auto rows = test::table_in_memory<mrc_qp_row>(MRC_MAX_QPS);
    test::remote_host host{1};
    const auto client = test::client_in_memory(1);
    std::deque<test::rings_in_memory> rings;
    std::vector<std::unique_ptr<worker_qp>> qps;
    for (std::uint32_t number = 16; number < 16 + 40; ++number)
        qps.push_back(rings.emplace_back(16).connect(*client, number, host));
    changed_queue_pairs changed;
    EXPECT_EQ(changed.write_all(rows), 0u);
    for (const std::size_t number : {3u, 7u, 3u}) {
        qps[number]->active = true;
        changed.note(*qps[number]);
    }
    EXPECT_EQ(changed.write_all(rows), 2u) << "of forty";
    EXPECT_EQ(rows[16 + 7].state, MRC_QP_READY_TO_SEND);
    qps[3]->active = false;
    EXPECT_EQ(changed.write_all(rows), 2u) << "what its last turn has done";
    EXPECT_EQ(changed.write_all(rows), 1u);
    changed.forget(*qps[7]);
    EXPECT_EQ(changed.write_all(rows), 0u);
}

TEST(queue_pair_rows, hold_the_largest_number_where_a_window_has_no_bound)
{
    test::remote_host host{1};
    const auto client = test::client_in_memory(1);
    test::rings_in_memory rings{16};
    const auto qp = rings.connect(*client, 16, host);
    protocol::fixed_window boundless{std::uint64_t{1} << 40};
    qp->congestion = &boundless;
    mrc_qp_row row{};
    write_row(row, *qp);
    EXPECT_EQ(row.cwnd_bytes, UINT32_MAX);
}

TEST(queue_pair_rows, count_round_trips_beyond_what_the_estimator_holds)
{
    using namespace std::chrono_literals;
    mrc_qp_row row{};
    row.rtt_log2[3] = 0xFFFF'FFFFULL;
    protocol::rtt_estimator rtt;
    write_round_trips(row, rtt);
    EXPECT_EQ(row.rtt_ns, 0U) << "none yet";
    EXPECT_EQ(row.rtt_log2[3], 0xFFFF'FFFFULL);
    rtt.on_sample(20us, {});
    rtt.on_sample(5us, {});
    write_round_trips(row, rtt);
    write_round_trips(row, rtt);
    EXPECT_EQ(row.rtt_min_ns, 5'000U);
    EXPECT_EQ(row.rtt_log2[1], 1U) << "however often it is written";
    EXPECT_EQ(row.rtt_log2[3], 0x1'0000'0001ULL) << "2^32 and one";
}

TEST(worker_rows, say_what_the_worker_does_and_for_how_long_packets_wait_for_it)
{
    using namespace std::chrono_literals;
    mrc_worker_row row{};
    worker_report report{&row};
    report.begin();
    EXPECT_EQ(row.thread, static_cast<__u32>(::gettid()));
    worker_counters counters;
    counters.received = 3;
    for (const protocol::duration lag : {-5us, 3us, 20us})
        counters.lag.add(lag);
    report.write(counters, 7, protocol::instant{1s});
    EXPECT_EQ(row.rx_packets, 3U);
    EXPECT_EQ(row.rx_dropped, 7U);
    EXPECT_EQ(row.lag_log2[0], 2U) << "one came while the round was under way";
    EXPECT_EQ(row.lag_log2[3], 1U);
    EXPECT_GT(row.ran_ns, 0U);
    EXPECT_EQ(row.looked_ns, 1'000'000'000U);
    report.write(counters, 7, protocol::instant{1050ms});
    EXPECT_EQ(row.looked_ns, 1'000'000'000U) << "the kernel is asked ten times a second at most";
    report.write(counters, 7, protocol::instant{1100ms});
    EXPECT_EQ(row.looked_ns, 1'100'000'000U);
    worker_report{nullptr}.write(counters, 7, protocol::instant{2s});
}

TEST(idle_queue_pairs, are_all_reported_in_turns)
{
    const auto rows = test::table_in_memory<mrc_qp_row>(MRC_MAX_QPS);
    test::remote_host host{1};
    const auto client = test::client_in_memory(1);
    std::deque<test::rings_in_memory> rings;
    std::vector<std::unique_ptr<worker_qp>> qps;
    for (std::uint32_t number = 16; number < 16 + 40; ++number)
        qps.push_back(rings.emplace_back(16).connect(*client, number, host));
    idle_reports reports;
    for (unsigned n = 0; n < 3; ++n)
        reports.write_some(rows, qps);
    for (const auto &qp : qps)
        EXPECT_EQ(rows[qp->number.value].state, MRC_QP_READY_TO_SEND);
    reports.write_some(rows, {});
}

} // namespace
} // namespace mrc::datapath
