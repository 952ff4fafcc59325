// SPDX-License-Identifier: Apache-2.0
// Where congestion control takes the base RTT from: the clean probe of UEC (§5.4) and the measurement of §5.6.
#include <algorithm>

#include "protocol/congestion/nscc.h"
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

constexpr nscc_link link_of_hosts{
    .bits_per_second = 10'000'000'000, .base_rtt = 200us, .mtu = 1000, .trimming = true, .software = true};

// A block of samples of which `fast` are 8 us and the others `usual`.
std::optional<duration> feed(base_rtt_meter &meter, duration usual, std::size_t fast, instant now)
{
    std::optional<duration> said;
    for (std::size_t i = 0; i < base_rtt_meter::block; ++i) {
        EXPECT_FALSE(said) << "before the block is full";
        said = meter.on_sample(i < fast ? 8us : usual, now);
    }
    return said;
}

TEST(base_rtt_meter_test, lucky_samples_do_not_count)
{
    base_rtt_meter meter;
    EXPECT_EQ(feed(meter, 120us, 20, instant{1s}), 120us);
}

TEST(base_rtt_meter_test, a_start_under_load_is_forgotten_when_a_median_is_less)
{
    base_rtt_meter meter;
    EXPECT_EQ(feed(meter, 900us, 0, instant{1s}), 900us);
    EXPECT_EQ(feed(meter, 120us, 0, instant{2s}), 120us);
    EXPECT_EQ(feed(meter, 400us, 0, instant{3s}), 120us) << "queues are not the path";
}

TEST(base_rtt_meter_test, a_longer_path_is_accepted_after_two_windows_at_most)
{
    base_rtt_meter meter;
    instant now{100s};
    EXPECT_EQ(feed(meter, 120us, 0, now), 120us);
    EXPECT_EQ(feed(meter, 300us, 0, now + 9s), 120us);
    EXPECT_EQ(feed(meter, 300us, 0, now + 10s), 120us) << "the window before still counts";
    EXPECT_EQ(feed(meter, 300us, 0, now + 20s), 300us);
}

TEST(base_rtt_meter_test, a_long_pause_leaves_nothing_of_before)
{
    base_rtt_meter meter;
    EXPECT_EQ(feed(meter, 120us, 0, instant{100s}), 120us);
    EXPECT_EQ(feed(meter, 300us, 0, instant{125s}), 300us);
}

// Of 100 samples one, and of 200 one, are late by so much.
void feed_jitter(base_rtt_meter &meter, duration base, duration p99, duration worst, instant now)
{
    for (int i = 0; i < 200 * 64; ++i)
        (void)meter.on_sample(i % 200 == 7 ? base + worst : i % 50 == 3 ? base + p99 : base + i % 20 * 1us, now);
}

TEST(base_rtt_meter_test, idle_jitter_is_what_one_sample_in_a_hundred_exceeds)
{
    base_rtt_meter meter;
    feed_jitter(meter, 100us, 80us, 500us, instant{1s});
    EXPECT_GT(meter.idle_jitter(), 50us);
    EXPECT_LT(meter.idle_jitter(), 120us);
    const duration idle = meter.idle_jitter();
    for (std::size_t i = 0; i < 100 * base_rtt_meter::block; ++i)
        (void)meter.on_sample(400us, instant{2s});
    EXPECT_EQ(meter.idle_jitter(), idle) << "queues are no jitter of the hosts";
}

TEST(nscc_measured_test, target_delay_is_no_less_than_the_idle_jitter)
{
    nscc controller{link_of_hosts, 0};
    base_rtt_meter same;
    for (int i = 0; i < 200 * 64; ++i) {
        const duration rtt = i % 50 == 3 ? 250us : 100us + i % 20 * 1us;
        (void)same.on_sample(rtt, instant{1s});
        controller.on_sent(1000, instant{1s});
        controller.on_sack({.newly_bytes = 1000, .rtt = rtt}, instant{1s});
    }
    EXPECT_GT(controller.config().target_delay, 100us);
    EXPECT_LE(controller.config().target_delay, 2 * controller.base_rtt()) << "whatever the hosts do";
    EXPECT_LE(std::chrono::abs(controller.config().target_delay - same.idle_jitter()), same.idle_jitter() / 7);
}

TEST(nscc_measured_test, a_target_delay_that_is_set_stays)
{
    nscc_link link = link_of_hosts;
    link.target_delay = 30us;
    nscc controller{link, 0};
    for (int i = 0; i < 200 * 64; ++i)
        controller.on_sack({.newly_bytes = 1000, .rtt = i % 50 == 3 ? 250us : 100us}, instant{1s});
    EXPECT_EQ(controller.base_rtt(), 100us);
    EXPECT_EQ(controller.config().target_delay, 30us);
}

TEST(nscc_measured_test, every_constant_follows_the_measured_rtt)
{
    nscc controller{link_of_hosts, 0};
    EXPECT_EQ(controller.base_rtt(), 200us) << "until it is measured";
    EXPECT_EQ(controller.max_window(), 1.5 * 250'000);
    for (std::size_t i = 0; i < base_rtt_meter::block; ++i) {
        controller.on_sent(1000, instant{1s});
        controller.on_sack({.newly_bytes = 1000, .rtt = 100us}, instant{1s});
    }
    EXPECT_EQ(controller.base_rtt(), 100us);
    EXPECT_EQ(controller.config().target_delay, 75us);
    EXPECT_EQ(controller.config().adjust_period_threshold, 100us);
    EXPECT_EQ(controller.max_window(), 1.5 * 125'000);
    EXPECT_LE(controller.exact_cwnd(), controller.max_window()) << "at once, not with the next quadrant";
    EXPECT_EQ(controller.counters().base_rtt_changes, 1u);
    EXPECT_EQ(controller.counters().base_rtt_drops, 0u);
}

TEST(nscc_measured_test, the_floor_and_the_fixed_window_stay)
{
    nscc_link link = link_of_hosts;
    link.base_rtt_floor = 150us;
    nscc controller{link, 64'000};
    for (std::size_t i = 0; i < base_rtt_meter::block; ++i)
        controller.on_sack({.newly_bytes = 1000, .rtt = 100us}, instant{1s});
    EXPECT_EQ(controller.base_rtt(), 150us);
    EXPECT_EQ(controller.max_window(), 64'000.0);
}

TEST(nscc_measured_test, asks_for_no_clean_probe)
{
    EXPECT_FALSE((nscc{link_of_hosts, 0}.take_clean_probe()));
}

// A requester whose congestion control is NSCC with a base RTT that nobody measured.
class clean_probe_test : public requester_test
{
protected:
    nscc controller_{derive_nscc(link_of_hosts)};
    requester_state asker_{make_config(), {paths_, peer_ports_, peer_}, proofs_, selector_, controller_, counters_};

    std::vector<outgoing> ask()
    {
        std::vector<outgoing> sent;
        while (auto next = next_packet(asker_, now_))
            sent.push_back(*next);
        return sent;
    }
    void answer(const sack_packet &said)
    {
        arrival how;
        how.at = now_;
        on_sack(asker_, said, how, now_);
    }
    // Two packets leave, and the first is acknowledged 180 us later. Returns what leaves then.
    std::vector<outgoing> first_exchange()
    {
        EXPECT_TRUE(post(asker_, {.id = 1, .source = {5, 0x1000, 2 * payload_bytes}, .remote_va = 0x9000, .rkey = 7}));
        const auto sent = ask();
        EXPECT_EQ(sent.size(), 2u) << "nothing is known yet of the peer, not even that it is there";
        now_ += 180us;
        answer(sack(0, 0, sent.at(0)));
        return ask();
    }
};

TEST_F(clean_probe_test, follows_the_first_sack_in_the_control_class_once)
{
    const auto sent = first_exchange();
    ASSERT_EQ(sent.size(), 1u);
    const auto *probe = std::get_if<probe_packet>(&sent[0].content);
    ASSERT_NE(probe, nullptr);
    EXPECT_EQ(sent[0].dscp, MRC_DSCP_CONTROL);
    EXPECT_EQ(controller_.base_rtt(), 180us);

    now_ += 40us;
    sack_packet answered;
    answered.cack = at(0);
    answered.entropy = sent[0].entropy;
    answered.probe_response = true;
    answered.probe_id = probe->probe_id;
    answered.tx_timestamp = probe->tx_timestamp;
    answer(answered);
    EXPECT_EQ(controller_.base_rtt(), 40us);
    EXPECT_TRUE(ask().empty()) << "no second one";
}

TEST_F(clean_probe_test, its_answer_overtakes_data_and_so_proves_no_loss)
{
    const auto sent = first_exchange();
    ASSERT_EQ(sent.size(), 1u);
    const auto &probe = std::get<probe_packet>(sent[0].content);
    now_ += 10us;
    sack_packet answered;
    answered.cack = at(0);
    answered.entropy = sent[0].entropy;
    answered.probe_response = true;
    answered.probe_id = probe.probe_id;
    answered.tx_timestamp = probe.tx_timestamp;
    answer(answered);
    EXPECT_EQ(counters_.losses, 0u);
    EXPECT_EQ(asker_.flying.packets, 1u);
}

} // namespace
} // namespace mrc::protocol
