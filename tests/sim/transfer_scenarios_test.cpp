// SPDX-License-Identifier: Apache-2.0
// Transfers through named failures on simulated time, each with the bound that it must meet.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "protocol/congestion/nscc.h"
#include "protocol/largest_window.h"
#include "sim_network.h"
#include "write_stream.h"

namespace mrc::sim
{
namespace
{

using namespace std::chrono_literals;
using namespace protocol;

TEST(transfer, clean_paths_need_no_retransmission_and_load_planes_equally)
{
    network net{{}, usual_qp(), memory_bytes};
    write_stream writes{net, net.left(), net.right(), 200, write_bytes};
    ASSERT_TRUE(writes.run(5s));
    writes.expect_delivered();
    EXPECT_EQ(net.left().qp().counters().retransmits, 0u);
    EXPECT_EQ(net.left().qp().counters().timeouts, 0u);
    const auto [least, most] = std::ranges::minmax(net.left().frames);
    EXPECT_LE(most - least, 1u);
}

TEST(transfer, blackholed_plane_stalls_for_about_one_timeout_and_comes_back)
{
    network net{{}, usual_qp(), memory_bytes};
    const instant start = net.now();
    const outage cut{start + 20ms, start + 120ms};
    net.each_path_of(1, [&](path_model &path) { path.outages.push_back(cut); });
    write_stream writes{net, net.left(), net.right(), 4000, write_bytes};
    ASSERT_FALSE(net.run([&] { return writes.done(); }, start + 60ms));
    for (unsigned slot : {2u, 3u})
        EXPECT_EQ(net.left().paths.state(slot), path_state::assumed_bad);
    for (unsigned slot : {0u, 1u, 4u, 5u, 6u, 7u})
        EXPECT_EQ(net.left().paths.state(slot), path_state::good);
    EXPECT_LT(net.right().qp().progress().longest_gap, 1ms);
    std::printf("longest stall %lld us\n", static_cast<long long>(net.right().qp().progress().longest_gap / 1us));
    const auto frames_before = net.left().frames;

    ASSERT_FALSE(net.run([&] { return writes.done(); }, cut.to + 100ms));
    EXPECT_GT(net.left().frames[1], frames_before[1] + 100) << "the restored plane carries its share within 100 ms";
    ASSERT_TRUE(writes.run(5s));
    writes.expect_delivered();
    for (unsigned slot = 0; slot < 8; ++slot)
        EXPECT_EQ(net.left().paths.state(slot), path_state::good);
    EXPECT_LT(net.right().qp().progress().longest_gap, 1ms);
}

TEST(transfer, plane_of_256_paths_carries_its_share_100_ms_after_its_return)
{
    network net{{.planes = 2, .uplinks = 256}, usual_qp(), memory_bytes};
    const instant start = net.now();
    const outage cut{start + 5ms, start + 50ms};
    net.each_path_of(1, [&](path_model &path) { path.outages.push_back(cut); });
    write_stream writes{net, net.left(), net.right(), 4000, write_bytes};
    ASSERT_FALSE(net.run([&] { return writes.done(); }, cut.to));
    EXPECT_FALSE(net.left().paths.good_planes().has(plane_index{1}));

    const auto paths_back = [&] {
        unsigned good = 0;
        for (unsigned slot = 256; slot < 512; ++slot)
            good += net.left().paths.state(slot) == path_state::good ? 1 : 0;
        return good;
    };
    ASSERT_TRUE(net.run([&] { return paths_back() == 256; }, cut.to + 100ms));
    std::printf("all back after %lld us\n", static_cast<long long>((net.now() - cut.to) / 1us));
    const auto before = net.left().frames;
    ASSERT_FALSE(net.run([&] { return writes.done(); }, net.now() + 5ms));
    const auto of_dead = static_cast<double>(net.left().frames[1] - before[1]);
    const auto of_other = static_cast<double>(net.left().frames[0] - before[0]);
    EXPECT_NEAR(of_dead / of_other, 1, 0.05);
}

// Planes that share a core lag behind each other by milliseconds now and then: a silence of less may be no death.
// Nothing is sent again before, but the plane is left: here after 640 us, of which its lag at that time accounts for
// 500.
TEST(transfer, plane_that_was_seen_to_lag_by_milliseconds_is_left_in_less_when_it_dies)
{
    network net{{}, usual_qp(), memory_bytes};
    const instant start = net.now();
    const auto late = [&](duration by) { net.each_path_of(1, [&](path_model &path) { path.delay = 20us + by; }); };
    instant at = start + 10ms;
    for (duration lag = 10us; lag < 2ms; lag = lag * 3 / 2, at += 5ms) // no faster than the loss rule learns
        net.at(at, [=] { late(lag); });
    net.at(at, [=] { late(0us); });
    const outage cut{at + 200ms, at + 10s};
    net.each_path_of(1, [&](path_model &path) { path.outages.push_back(cut); });
    write_stream writes{net, net.left(), net.right(), 40000, write_bytes};
    ASSERT_FALSE(net.run([&] { return writes.done(); }, cut.from));
    while (net.left().paths.next_transition())
        ;
    ASSERT_TRUE(net.left().paths.good_planes().has(plane_index{1}));
    ASSERT_FALSE(net.run([&] { return writes.done(); }, cut.from + 800us));
    EXPECT_FALSE(net.left().paths.good_planes().has(plane_index{1}));
    EXPECT_FALSE(net.left().paths.next_transition()) << "it may lag";
    ASSERT_FALSE(net.run([&] { return writes.done(); }, cut.from + 20ms));
    for (unsigned slot : {2u, 3u})
        EXPECT_EQ(net.left().paths.state(slot), path_state::assumed_bad);
}

// Nobody acknowledges answers: the side that sends data finds nothing wrong.
TEST(transfer, path_that_is_dead_on_the_way_back_loses_no_more_answers)
{
    network net{{}, usual_qp(), memory_bytes};
    const instant dies = net.now() + 20ms;
    net.right().out[5].outages.push_back({dies, dies + 10s});
    write_stream writes{net, net.left(), net.right(), 40000, write_bytes};
    ASSERT_FALSE(net.run([&] { return writes.done(); }, dies + 150ms));
    EXPECT_EQ(net.right().paths.state(5), path_state::assumed_bad);
    EXPECT_EQ(net.left().paths.state(5), path_state::good) << "data gets through";
    const std::uint64_t before = net.count(fault::flap);
    ASSERT_FALSE(net.run([&] { return writes.done(); }, dies + 250ms));
    EXPECT_LE(net.count(fault::flap) - before, 25u)
        << "probes, one in 5 ms, and answers to heartbeats of the other side";
}

// A plane in that direction: its answers go elsewhere after three rounds, whatever its number of paths, and data stays.
TEST(transfer, plane_that_is_dead_on_the_way_back_takes_no_answers_after_7_ms)
{
    network net{{.planes = 4, .uplinks = 64}, usual_qp(), memory_bytes};
    const instant dies = net.now() + 20ms;
    for (unsigned slot = 64; slot < 128; ++slot)
        net.right().out[slot].outages.push_back({dies, dies + 10s});
    write_stream writes{net, net.left(), net.right(), 40000, write_bytes};
    ASSERT_FALSE(net.run([&] { return writes.done(); }, dies + 7ms));
    const std::uint64_t lost = net.count(fault::flap);
    const std::uint64_t sacks = net.right().qp().counters().sacks_sent;
    ASSERT_FALSE(net.run([&] { return writes.done(); }, dies + 27ms));
    const std::uint64_t later = net.count(fault::flap) - lost;
    std::printf("%llu frames lost in 7 ms, %llu in the next 20, of %llu SACKs\n", static_cast<unsigned long long>(lost),
                static_cast<unsigned long long>(later),
                static_cast<unsigned long long>(net.right().qp().counters().sacks_sent - sacks));
    EXPECT_GT(lost, 0u);
    EXPECT_LE(later, 25u) << "questions, one in 2 ms, heartbeats, and answers to those of the other side";
    EXPECT_TRUE(net.left().paths.good_planes().has(plane_index{1})) << "data gets through";
    EXPECT_EQ(net.left().qp().counters().timeouts, 0u);
    EXPECT_EQ(net.needless(), 0u);
}

// The last packets of a message, on a plane that swallows them: what is missing is sent again three round trips later.
TEST(transfer, last_packets_that_a_dead_plane_swallowed_are_there_in_three_round_trips_more)
{
    qp_config config = usual_qp();
    config.retry.timeout_exponent = 12; // 4 ms: neither a time-out nor a quiet tail's probe may help
    network net{{}, config, memory_bytes};
    write_stream before{net, net.left(), net.right(), 100, write_bytes};
    ASSERT_TRUE(before.run(1s));
    const duration rtt = net.left().qp().rtt().smoothed();
    const instant dies = net.now() + 1ms;
    net.each_path_of(1, [&](path_model &path) { path.outages.push_back({dies, dies + 10s}); });
    const std::size_t had = net.left().completions().size();
    net.at(dies + 1us, [&] { net.post(net.left(), 1000, 0, 0, 16 * 3072); });
    ASSERT_TRUE(net.run([&] { return net.left().completions().size() > had; }, dies + 10ms));
    const duration took = net.now() - dies;
    std::printf("%lld us, round trip %lld us\n", static_cast<long long>(took / 1us), static_cast<long long>(rtt / 1us));
    EXPECT_LE(took, 4 * rtt) << "one of them its own";
    EXPECT_EQ(net.left().qp().counters().timeouts, 0u);
}

TEST(transfer, continues_after_an_outage_of_all_planes_of_two_seconds)
{
    network net{{}, usual_qp(), memory_bytes};
    const instant start = net.now();
    net.each_path([&](path_model &path) { path.outages.push_back({start + 10ms, start + 2010ms}); });
    write_stream writes{net, net.left(), net.right(), 400, write_bytes};
    ASSERT_TRUE(writes.run(10s));
    writes.expect_delivered();
    EXPECT_LT(net.right().qp().progress().longest_gap, 2200ms);
    for (unsigned slot = 0; slot < 8; ++slot)
        EXPECT_EQ(net.left().paths.state(slot), path_state::good) << "an outage is no path's fault";
}

TEST(transfer, continues_with_one_plane_left)
{
    network net{{}, usual_qp(), memory_bytes};
    const instant start = net.now();
    for (unsigned plane : {0u, 2u, 3u})
        net.each_path_of(plane, [&](path_model &path) { path.outages.push_back({start + 10ms, start + 10s}); });
    write_stream writes{net, net.left(), net.right(), 400, write_bytes};
    ASSERT_TRUE(writes.run(3s));
    writes.expect_delivered();
}

TEST(transfer, dead_peer_is_reported_within_ten_seconds)
{
    network net{{}, usual_qp(), memory_bytes};
    write_stream writes{net, net.left(), net.right(), 40000, write_bytes};
    const instant dies = net.now() + 10ms;
    ASSERT_FALSE(net.run([&] { return writes.done(); }, dies));
    net.right().dead = true;
    ASSERT_TRUE(writes.run(30s));
    EXPECT_EQ(net.left().qp().state(), qp_state::error);
    EXPECT_LT(net.now() - dies, 10s);
    EXPECT_GT(net.now() - dies, 8s);
    const auto &completions = net.left().completions();
    const auto failed = std::ranges::find_if(
        completions, [](const completion &each) { return each.status != completion_status::success; });
    ASSERT_NE(failed, completions.end());
    EXPECT_EQ(failed->status, completion_status::retry_exceeded);
    EXPECT_TRUE(std::all_of(failed + 1, completions.end(),
                            [](const completion &each) { return each.status == completion_status::flushed; }));
    EXPECT_EQ(net.left().qp().outstanding(), 0u);
    EXPECT_EQ(net.left().controls[0]->inflight(), 0);
}

TEST(transfer, one_percent_loss_is_repaired_without_stalls)
{
    network net{{}, usual_qp(), memory_bytes};
    net.each_path([](path_model &path) { path.loss = 0.01; });
    write_stream writes{net, net.left(), net.right(), 800, write_bytes};
    ASSERT_TRUE(writes.run(5s));
    writes.expect_delivered();
    const qp_counters &counters = net.left().qp().counters();
    EXPECT_GT(counters.retransmits, 200u);
    EXPECT_LT(counters.spurious, counters.retransmits / 20);
    EXPECT_LT(net.right().qp().progress().longest_gap, 2ms);
    const auto [least, most] = std::ranges::minmax(net.left().frames);
    EXPECT_LT(most - least, most / 20);
}

TEST(transfer, delay_of_one_ev_retransmits_nothing)
{
    network net{{}, usual_qp(), memory_bytes};
    net.each_path_at(5, [](path_model &path) { path.delay = 300us; });
    write_stream writes{net, net.left(), net.right(), 400, write_bytes};
    ASSERT_TRUE(writes.run(5s));
    writes.expect_delivered();
    EXPECT_EQ(net.left().qp().counters().losses, 0u) << "reordering between paths is no loss";
}

// The largest that SACKs can describe, over a long way.
TEST(transfer, window_of_32640_packets_fills_and_slides)
{
    qp_config config = usual_qp();
    config.payload_bytes = 256;
    config.window_psns = config.receive_window_psns = largest_window_psns;
    config.retry.timeout_exponent = 17; // until the round trip of 40 ms is known
    network net{{.serialisation = duration{500}}, config, 16 << 20, std::uint64_t{1} << 40};
    net.each_path([](path_model &path) {
        path.delay = 20ms;
        path.loss = 0.0005;
    });
    std::uint32_t most = 0;
    net.on_served([&](host &) { most = std::max(most, net.left().qp().inflight_packets()); });
    write_stream writes{net, net.left(), net.right(), 40, 1 << 20};
    ASSERT_TRUE(writes.run(60s));
    writes.expect_delivered();
    EXPECT_GE(most, 32'000u);
    EXPECT_GT(net.count(fault::loss), 20u);
    EXPECT_EQ(net.needless(), 0u);
}

TEST(transfer, psn_wraps)
{
    qp_config config = usual_qp();
    config.first_send = psn{0xFFFFF0};
    config.first_receive = psn{0xFFFFFE};
    network net{{}, config, memory_bytes};
    net.each_path([](path_model &path) { path.loss = 0.02; });
    write_stream writes{net, net.left(), net.right(), 50, write_bytes};
    write_stream back{net, net.right(), net.left(), 50, write_bytes};
    ASSERT_TRUE(
        net.run([&] { return static_cast<int>(writes.done()) + static_cast<int>(back.done()) == 2; }, net.now() + 5s));
    writes.expect_delivered();
    back.expect_delivered();
}

TEST(transfer, host_off_its_cpu_blames_no_path)
{
    network net{{}, usual_qp(), memory_bytes};
    const instant start = net.now();
    for (int i = 0; i < 20; ++i) {
        net.right().off_cpu.push_back({start + i * 20ms, start + i * 20ms + 7ms});
        net.left().off_cpu.push_back({start + i * 20ms + 11ms, start + i * 20ms + 15ms});
    }
    write_stream writes{net, net.left(), net.right(), 800, write_bytes};
    ASSERT_TRUE(writes.run(5s));
    writes.expect_delivered();
    EXPECT_FALSE(net.left().paths.next_transition()) << "a path changed its state";
    EXPECT_LT(net.left().qp().counters().retransmits, 100u);
}

TEST(transfer, local_ports_come_and_go)
{
    network net{{}, usual_qp(), memory_bytes};
    write_stream writes{net, net.left(), net.right(), 1600, write_bytes};
    for (int change = 0; change < 20; ++change) {
        const plane_index flapping{static_cast<std::uint8_t>(change % 4)};
        net.left().ports.up.set(flapping, false);
        const auto before = net.left().frames[flapping.value];
        ASSERT_FALSE(net.run([&] { return writes.done(); }, net.now() + 2ms));
        EXPECT_EQ(net.left().frames[flapping.value], before) << "a lost port is used no more";
        net.left().ports.up.set(flapping, true);
        ASSERT_FALSE(net.run([&] { return writes.done(); }, net.now() + 2ms));
        EXPECT_GT(net.left().frames[flapping.value], before) << "and at once when it is back";
    }
    ASSERT_TRUE(writes.run(5s));
    writes.expect_delivered();
    EXPECT_FALSE(net.left().paths.next_transition());
    EXPECT_LT(net.right().qp().progress().longest_gap, 300us);
}

TEST(transfer, lossy_path_is_retired_and_others_carry_its_share)
{
    network net{{}, usual_qp(), memory_bytes};
    net.each_path_at(3, [](path_model &path) { path.loss = 0.2; });
    write_stream writes{net, net.left(), net.right(), 400, write_bytes};
    ASSERT_TRUE(writes.run(5s));
    writes.expect_delivered();
    const auto first = net.left().paths.next_transition();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->path, net.left().paths.path(3).index);
    const auto [least, most] = std::ranges::minmax(net.left().frames);
    EXPECT_LT(most - least, most / 50);
}

TEST(transfer, lost_transport_ack_does_not_hang)
{
    network net{{}, usual_qp(), memory_bytes};
    const instant start = net.now();
    // The way back is cut exactly when the only write completes.
    for (path_model &path : net.right().out)
        path.outages.push_back({start, start + 500us});
    write_stream writes{net, net.left(), net.right(), 1, 1000};
    ASSERT_TRUE(writes.run(100ms));
    writes.expect_delivered();
    EXPECT_LT(net.now() - start, 10ms);
}

TEST(transfer, small_messages_survive_a_dead_plane)
{
    network net{{}, usual_qp(), memory_bytes};
    const instant start = net.now();
    net.each_path_of(2, [&](path_model &path) { path.outages.push_back({start, start + 10s}); });
    // One at a time: no traffic on other paths tells what happened.
    for (std::uint64_t id = 0; id < 400; ++id) {
        net.post(net.left(), id, id * 8, id * 8, 8);
        ASSERT_TRUE(net.run([&] { return net.left().completions().size() == id + 1; }, net.now() + 100ms));
    }
    EXPECT_FALSE(net.left().paths.good_planes().has(plane_index{2}));
    EXPECT_LT(net.left().qp().counters().timeouts, 50u);
    EXPECT_LT(net.now() - start, 400 * 60us + 50ms);
}

// Two queue pairs between the same hosts, under one controller each way, that never give up. The second is kept busy
// whenever anything is waited for.
class neighbours : public testing::TestWithParam<const char *>
{
protected:
    neighbours()
    {
        qp_config one = usual_qp();
        one.retry = {.timeout_exponent = 8, .linear = 7, .exponential = retry_policy::infinite};
        qp_config two = one;
        two.local = qpn{0x101};
        two.peer = qpn{0x201};
        two.seed = 2;
        const std::size_t control = net.add_control(make_control);
        for (const qp_config &each : {one, two})
            net.add_pair({.left = each, .right = mirrored(each), .control = control, .selector = std::nullopt});
        net.at(net.now() + never_alone, [this] { keep_busy(); });
    }
    static std::unique_ptr<congestion_control> make_control()
    {
        if (GetParam() == std::string_view{"fixed"})
            return std::make_unique<fixed_window>(512 << 10);
        const nscc_link link{.bits_per_second = 32'000'000'000, .base_rtt = 100us, .mtu = nominal_bytes(3072)};
        return std::make_unique<nscc>(derive_nscc(link));
    }
    [[nodiscard]] queue_pair &second() { return net.left().ends[1]->qp; }
    void keep_busy()
    {
        for (; busy && second().outstanding() < 16; ++posted)
            net.post(net.left(), 1,
                     {.id = posted,
                      .source = {1, 0, write_bytes},
                      .remote_va = host_memory::base,
                      .rkey = host_memory::key});
        net.at(net.now() + never_alone, [this] { keep_busy(); });
    }
    bool run(duration time)
    {
        return net.run([this] { return writes.done(); }, net.now() + time);
    }

    static constexpr duration never_alone = 50us;
    network net{{.shared_planes = true}, memory_bytes};
    write_stream writes{net, net.left(), net.right(), 2000, write_bytes};
    bool busy = true;
    std::uint64_t posted = 0;
};
INSTANTIATE_TEST_SUITE_P(transfer, neighbours, testing::Values("fixed", "nscc"),
                         [](const auto &instance) { return instance.param; });

TEST_P(neighbours, dead_queue_pair_takes_neither_window_nor_paths)
{
    ASSERT_FALSE(run(10ms));
    net.right().ends[1]->gone = true;
    ASSERT_FALSE(run(2ms)) << "what it had in flight is given up";
    const congestion_control &control = *net.left().controls[0];
    const std::uint64_t window = control.cwnd();
    net.right().qp().reset_progress();
    ASSERT_TRUE(run(2s)) << "inflight " << control.inflight() << " of " << control.cwnd();
    writes.expect_delivered();
    EXPECT_LT(net.right().qp().progress().longest_gap, 300us);
    EXPECT_EQ(second().counters().silences, 1u);
    EXPECT_EQ(control.inflight(), 0) << "a queue pair that nobody hears holds no window";
    EXPECT_GE(control.cwnd(), window / 2) << "and shrinks none";
    EXPECT_FALSE(net.left().paths.next_transition()) << "no path is to blame";
    EXPECT_TRUE(net.left().other(1).planes.suspected().empty());
}

TEST_P(neighbours, queue_pair_whose_answers_are_lost_recovers)
{
    ASSERT_FALSE(run(10ms));
    net.right().ends[1]->gone = true;
    ASSERT_FALSE(run(20ms));
    net.right().ends[1]->gone = false;
    ASSERT_FALSE(run(20ms)) << "it asks at intervals that double";
    const std::size_t before = net.left().ends[1]->completions.size();
    const std::size_t others = net.left().completions().size();
    ASSERT_FALSE(run(10ms));
    const std::size_t share = net.left().ends[1]->completions.size() - before;
    EXPECT_GT(share, (net.left().completions().size() - others) * 9 / 10) << "it has its share again";
    EXPECT_GT(share, 50u);
    busy = false;
    ASSERT_TRUE(run(2s));
    writes.expect_delivered();
    ASSERT_TRUE(net.run([this] { return second().outstanding() == 0; }, net.now() + 1s));
    EXPECT_EQ(net.left().ends[1]->completions.size(), posted);
    EXPECT_EQ(net.left().controls[0]->inflight(), 0);
    EXPECT_FALSE(net.left().paths.next_transition());
}

// What a plane swallows is noticed by each QP for itself, and told to all.
TEST_P(neighbours, blackholed_plane_is_left_at_once_by_both)
{
    const instant start = net.now();
    net.each_path_of(1, [&](path_model &path) { path.outages.push_back({start + 20ms, start + 10s}); });
    ASSERT_FALSE(run(21ms));
    for (unsigned slot : {2u, 3u})
        EXPECT_EQ(net.left().paths.state(slot), path_state::assumed_bad);
    ASSERT_TRUE(run(5s));
    writes.expect_delivered();
    for (const auto &end : net.right().ends)
        EXPECT_LT(end->qp.progress().longest_gap, 1ms);
    for (const auto &end : net.left().ends)
        EXPECT_EQ(end->qp.counters().silences, 0u);
}

} // namespace
} // namespace mrc::sim
