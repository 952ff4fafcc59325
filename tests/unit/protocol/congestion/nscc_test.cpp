// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "protocol/congestion/nscc.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

// UEC's reference fabric: 100 Gb/s, 12 us, so that scaling_a is 1; with packets of 4000 bytes BDP = 150,000 bytes,
// max_wnd = 225,000, T = 9 us, fi = 20,000, eta = 600, alpha = 4/3 bytes per nanosecond.
constexpr std::uint32_t mtu = 4000;
constexpr std::uint64_t packet = mtu;
constexpr nscc_link reference{.bits_per_second = 100'000'000'000, .base_rtt = 12us, .mtu = mtu};
constexpr duration period = 12us;
constexpr duration high = 12us + 20us; // RTT with d above T
constexpr duration low = 12us + 4us;   // RTT with d below T, but not nothing
constexpr duration idle = 12us;

nscc_link untrimmed()
{
    nscc_link link = reference;
    link.trimming = false;
    return link;
}

// A controller and the clock of its sender.
struct sender {
    nscc controller;
    instant now{1s};

    explicit sender(const nscc_config &config) : controller{config} {}
    explicit sender(const nscc_link &link = reference) : sender{derive_nscc(link)} {}

    void send(std::uint32_t bytes) { controller.on_sent(bytes, now); }
    void fill()
    {
        while (controller.can_send(mtu))
            send(mtu);
    }
    void sack(std::uint64_t bytes, duration rtt, bool congested = false)
    {
        controller.on_sack({.newly_bytes = bytes, .congestion_experienced = congested, .rtt = rtt}, now);
    }
    void nack(std::uint32_t bytes, std::uint8_t reason, std::optional<duration> rtt = std::nullopt)
    {
        controller.on_nack({.bytes = bytes, .reason = reason, .rtt = rtt}, now);
    }
    void penalty(std::uint64_t bytes, std::uint8_t pen, bool restore = false)
    {
        controller.on_sack({.newly_bytes = bytes, .rtt = {}, .receiver_penalty = pen, .restore_window = restore}, now);
    }
    // Takes the first adjustment, which only the clock's epoch made due, and brings the window to `bytes`.
    void settle(double bytes)
    {
        sack(mtu, high);
        send(mtu);
        while (controller.exact_cwnd() > bytes) {
            const auto cut = static_cast<std::uint32_t>(std::min<double>(controller.exact_cwnd() - bytes, mtu));
            send(cut);
            controller.on_loss(cut, now);
        }
        ASSERT_DOUBLE_EQ(controller.exact_cwnd(), bytes);
    }
    [[nodiscard]] double cwnd() const { return controller.exact_cwnd(); }
    [[nodiscard]] const nscc_counters &counters() const { return controller.counters(); }
};

TEST(nscc_test, constants_of_the_reference_fabric_are_those_of_uec)
{
    const nscc_config config = derive_nscc(reference);
    EXPECT_EQ(config.target_delay, 9us);
    EXPECT_DOUBLE_EQ(config.alpha, 4.0 * mtu / 12'000);
    EXPECT_DOUBLE_EQ(config.fi, 5.0 * mtu);
    EXPECT_DOUBLE_EQ(config.fi_scale, 0.25);
    EXPECT_DOUBLE_EQ(config.eta, 0.15 * mtu);
    EXPECT_DOUBLE_EQ(config.gamma, 0.8);
    EXPECT_DOUBLE_EQ(config.max_md_jump, 0.5);
    EXPECT_EQ(config.qa_gate, 3);
    EXPECT_EQ(config.adjust_bytes_threshold, 8 * mtu);
    EXPECT_EQ(config.adjust_period_threshold, period);
    EXPECT_EQ(config.delay_zero, 1us);
    EXPECT_GT(config.qa_threshold, 1h) << "trims tell, delay need not";
    EXPECT_EQ(derive_nscc(untrimmed()).target_delay, 12us);
    EXPECT_EQ(derive_nscc(untrimmed()).qa_threshold, 48us);
    EXPECT_EQ(sender{}.controller.cwnd(), 225'000u);
    EXPECT_EQ(sender{}.controller.max_window(), 225'000.0);
}

TEST(nscc_test, extras_of_a_software_host)
{
    nscc_link link = reference;
    link.base_rtt = 200us;
    link.software = true;
    EXPECT_EQ(derive_nscc(link).delay_zero, 9375ns) << "T / 16";
    link.idle_jitter = 320us;
    EXPECT_EQ(derive_nscc(link).target_delay, 320us);
    link.base_rtt = 4us;
    link.idle_jitter = 0us;
    EXPECT_EQ(derive_nscc(link).delay_zero, 1us);
    link.min_window = 1'000'000;
    EXPECT_EQ(sender{link}.controller.max_window(), 1'000'000.0);
    nscc_config config = derive_nscc(link);
    config.max_cwnd = 50'000;
    EXPECT_EQ(sender{config}.controller.max_window(), 50'000.0) << "the operator's word";
}

// The quadrants, one event each. `adjustment` is due at the end of the period, with eta.
struct quadrant_case {
    const char *name;
    duration rtt;
    bool congested;
    nscc_quadrant quadrant;
    double inc; // what it adds to the next adjustment
};

class nscc_quadrant_test : public testing::TestWithParam<quadrant_case>
{
};

TEST_P(nscc_quadrant_test, moves_the_window_by_its_rule)
{
    const quadrant_case &of = GetParam();
    sender source;
    source.settle(100'000);
    const auto before = source.counters().in(of.quadrant);
    source.now += period / 2;
    source.sack(mtu, of.rtt, of.congested);
    EXPECT_EQ(source.counters().in(of.quadrant), before + 1);
    EXPECT_DOUBLE_EQ(source.cwnd(), 100'000) << "no adjustment was due";
    source.now += period / 2;
    source.sack(1, 20us, true); // d = 8 us, ECN: adds nothing of its own
    EXPECT_DOUBLE_EQ(source.cwnd(), 100'000 + of.inc / 100'000 + 600);
}

INSTANTIATE_TEST_SUITE_P(
    all, nscc_quadrant_test,
    testing::Values(quadrant_case{"proportional", low, false, nscc_quadrant::proportional_increase,
                                  4.0 / 3 * mtu * 5'000},
                    quadrant_case{"fair", high, false, nscc_quadrant::fair_increase, 20'000.0 * mtu},
                    quadrant_case{"fair_at_target", 21us, false, nscc_quadrant::fair_increase, 20'000.0 * mtu},
                    quadrant_case{"hold", low, true, nscc_quadrant::hold, 0},
                    quadrant_case{"decrease_below_average", high, true, nscc_quadrant::multiplicative_decrease, 0}),
    [](const auto &instance) { return instance.param.name; });

TEST(nscc_test, decrease_takes_the_excess_of_the_average_delay_once_per_rtt)
{
    nscc_config config = derive_nscc(reference);
    config.ewma = 1; // no memory: the average is the sample
    sender source{config};
    source.sack(mtu, 12us + 12us, true);
    EXPECT_NEAR(source.cwnd(), 225'000 * (1 - 0.8 * 3 / 12) + 600, 1e-6);
    const double after = source.cwnd();
    source.now += 11us;
    source.sack(mtu, 12us + 12us, true);
    EXPECT_DOUBLE_EQ(source.cwnd(), after) << "within one RTT";
    source.now += 2us;
    source.sack(mtu, 12us + 90us, true);
    EXPECT_DOUBLE_EQ(source.cwnd(), after * 0.5 + 600) << "not below max_md_jump at once";
    EXPECT_EQ(source.counters().decreases, 2u);
}

TEST(nscc_test, one_marked_burst_does_not_move_the_average_over_the_target)
{
    sender source;
    for (int i = 0; i < 10; ++i) {
        source.now += 13us;
        source.sack(mtu, high, true);
    }
    EXPECT_EQ(source.counters().decreases, 0u);
    for (int i = 0; i < 100; ++i) {
        source.now += 13us;
        source.sack(mtu, high, true);
    }
    EXPECT_GT(source.counters().decreases, 0u);
    EXPECT_GT(source.controller.average_delay(), 9us);
}

TEST(nscc_test, unmarked_delay_counts_as_a_quarter_rtt)
{
    nscc_config config = derive_nscc(reference);
    config.ewma = 1;
    sender source{config};
    source.sack(mtu, high);
    EXPECT_EQ(source.controller.average_delay(), 3us);
    source.sack(mtu, low);
    EXPECT_EQ(source.controller.average_delay(), 4us);
}

TEST(nscc_test, fast_increase_after_a_window_without_delay_until_delay_shows)
{
    sender source;
    source.settle(20'000);
    for (int i = 0; i < 5; ++i) {
        source.sack(mtu, idle);
        EXPECT_FALSE(source.controller.fast_increasing()) << "a whole window is needed, and more";
    }
    const double before = source.cwnd();
    source.sack(mtu, 12us + 999ns);
    EXPECT_TRUE(source.controller.fast_increasing());
    EXPECT_DOUBLE_EQ(source.cwnd(), before + mtu * 0.25);
    source.sack(mtu, idle, true);
    EXPECT_TRUE(source.controller.fast_increasing()) << "a mark with low delay only moves the path";
    source.sack(mtu, 12us + 1us);
    EXPECT_FALSE(source.controller.fast_increasing());
    source.sack(mtu, idle);
    EXPECT_FALSE(source.controller.fast_increasing()) << "the count starts again";
    EXPECT_EQ(source.counters().fast_increases, 1u);
}

TEST(nscc_test, decrease_ends_fast_increase_even_when_it_cuts_nothing)
{
    sender source;
    source.settle(8'000);
    for (int i = 0; i < 4; ++i)
        source.sack(mtu, idle);
    ASSERT_TRUE(source.controller.fast_increasing());
    source.sack(mtu, high, true);
    EXPECT_FALSE(source.controller.fast_increasing());
    EXPECT_EQ(source.counters().decreases, 0u);
}

TEST(nscc_test, window_adjusts_by_bytes_without_eta)
{
    sender source;
    source.settle(100'000);
    source.now += 1us;
    source.sack(8 * packet, high);
    EXPECT_DOUBLE_EQ(source.cwnd(), 100'000) << "the threshold itself is not above it";
    source.sack(1, high);
    EXPECT_DOUBLE_EQ(source.cwnd(), 100'000 + 20'000.0 * (8 * mtu + 1) / 100'000);
}

// Quick adapt: a period of base_rtt + T must have ended in which less than an eighth of max_wnd was achieved.
TEST(nscc_test, quick_adapt_takes_what_was_achieved_and_ignores_old_marks)
{
    sender source;
    source.fill();
    source.sack(mtu, low); // begins the period
    source.nack(mtu, MRC_NACK_TRIMMED);
    EXPECT_EQ(source.counters().nack_cuts, 1u) << "the period has not ended";
    source.sack(5 * packet, low);
    source.now += 21us;
    const auto flight = source.controller.inflight();
    source.nack(mtu, MRC_NACK_TRIMMED);
    ASSERT_EQ(source.counters().quick_adapts, 1u);
    EXPECT_DOUBLE_EQ(source.cwnd(), 5.0 * mtu);
    EXPECT_FALSE(source.controller.can_send(mtu));

    const auto marked = source.counters().in(nscc_quadrant::multiplicative_decrease);
    for (std::int64_t old = flight - mtu; old > mtu; old -= mtu)
        source.sack(mtu, high, true);
    EXPECT_EQ(source.counters().in(nscc_quadrant::multiplicative_decrease), marked) << "news from before";
    EXPECT_DOUBLE_EQ(source.cwnd(), 5.0 * mtu);
    EXPECT_GT(source.counters().quick_adapt_ignored, 30u);
    source.sack(mtu, high, true); // the last of the old ones is accounted for
    EXPECT_EQ(source.counters().in(nscc_quadrant::multiplicative_decrease), marked + 1);
}

TEST(nscc_test, quick_adapt_ignores_trims_of_what_was_in_flight)
{
    sender source;
    source.fill();
    source.sack(mtu, low);
    source.now += 21us;
    source.nack(mtu, MRC_NACK_TRIMMED);
    ASSERT_EQ(source.counters().quick_adapts, 1u);
    EXPECT_DOUBLE_EQ(source.cwnd(), mtu) << "nothing achieved: one packet";
    source.nack(mtu, MRC_NACK_TRIMMED);
    source.nack(mtu, MRC_NACK_TRIMMED_LASTHOP);
    EXPECT_EQ(source.counters().nack_cuts, 0u);
    EXPECT_EQ(source.counters().quick_adapt_ignored, 2u);
    source.sack(mtu, low);
    EXPECT_GT(source.counters().in(nscc_quadrant::proportional_increase), 1u) << "unmarked SACKs are heard";
}

TEST(nscc_test, quick_adapt_is_not_taken_when_enough_was_achieved)
{
    sender source;
    source.fill();
    source.sack(mtu, low);
    source.sack(28'125, low); // max_wnd / 8
    source.now += 21us;
    source.nack(mtu, MRC_NACK_TRIMMED);
    EXPECT_EQ(source.counters().quick_adapts, 0u);
    EXPECT_EQ(source.counters().nack_cuts, 1u);
}

TEST(nscc_test, quick_adapt_by_delay_where_nothing_is_trimmed)
{
    sender source{untrimmed()};
    source.fill();
    source.sack(mtu, low);
    source.now += 25us;
    source.sack(mtu, 12us + 48us);
    EXPECT_EQ(source.counters().quick_adapts, 0u) << "at the threshold";
    source.now += 25us;
    source.sack(mtu, 12us + 48us + 1ns);
    EXPECT_EQ(source.counters().quick_adapts, 1u);
    EXPECT_DOUBLE_EQ(source.cwnd(), mtu);
}

TEST(nscc_test, quick_adapt_can_be_disabled)
{
    nscc_config config = derive_nscc(reference);
    config.disable_qa = true;
    sender source{config};
    source.fill();
    for (int i = 0; i < 5; ++i) {
        source.now += 30us;
        source.nack(mtu, MRC_NACK_TRIMMED);
    }
    EXPECT_EQ(source.counters().quick_adapts, 0u);
    EXPECT_DOUBLE_EQ(source.cwnd(), 225'000 - 5.0 * mtu);
}

struct nack_case {
    std::uint8_t reason;
    bool cuts;
};

TEST(nscc_test, nack_reasons)
{
    constexpr nack_case reasons[] = {
        {MRC_NACK_TRIMMED, true},      {MRC_NACK_TRIMMED_LASTHOP, true},
        {MRC_NACK_NO_BITMAP, false},   {MRC_NACK_NO_PKT_BUFFER, false},
        {MRC_NACK_NO_RESOURCE, false}, {MRC_NACK_PSN_OOR_WINDOW, false},
        {MRC_NACK_UNEXP_EVENT, false}, {0x42, false},
    };
    for (const auto &[reason, cuts] : reasons) {
        SCOPED_TRACE(static_cast<int>(reason));
        sender source;
        source.send(10 * mtu);
        source.nack(mtu, reason, 11us);
        EXPECT_EQ(source.controller.inflight(), 9 * mtu);
        EXPECT_EQ(source.controller.base_rtt(), 11us) << "a sample is a sample";
        EXPECT_DOUBLE_EQ(source.cwnd(), cuts ? 225'000.0 - mtu : 225'000.0);
        EXPECT_EQ(source.controller.average_delay(), cuts ? 150ns : 0ns) << "0.0125 of config_base_rtt";
        EXPECT_EQ(source.counters().nack_cuts, cuts ? 1u : 0u);
    }
}

TEST(nscc_test, inferred_loss_cuts_the_packet_and_leaves_the_flight)
{
    sender source;
    source.send(4 * mtu);
    source.controller.on_loss(mtu, source.now);
    EXPECT_EQ(source.controller.inflight(), 3 * mtu);
    EXPECT_DOUBLE_EQ(source.cwnd(), 225'000.0 - mtu);
    EXPECT_EQ(source.counters().loss_cuts, 1u);
    for (int i = 0; i < 100; ++i)
        source.controller.on_loss(mtu, source.now);
    EXPECT_DOUBLE_EQ(source.cwnd(), mtu) << "never below a packet";
}

TEST(nscc_test, abandoned_packets_say_nothing)
{
    sender source;
    source.send(4 * mtu);
    source.controller.on_abandoned(3 * mtu);
    EXPECT_EQ(source.controller.inflight(), mtu);
    EXPECT_DOUBLE_EQ(source.cwnd(), 225'000);
}

// One round trip of SACKs that all carry the penalty, the sender filling its window again after each.
double after_one_rtt_of(std::uint8_t pen)
{
    sender source;
    source.fill();
    for (std::int64_t left = source.controller.inflight(); left > 0; left -= mtu) {
        source.penalty(mtu, pen);
        source.fill();
    }
    return source.cwnd();
}

TEST(nscc_test, penalty_of_64_halves_the_window_in_a_round_trip)
{
    EXPECT_NEAR(after_one_rtt_of(64), 225'000 / 2.0, 225'000 * 0.02);
    EXPECT_LE(after_one_rtt_of(127), 2.0 * mtu) << "about a packet per round trip";
    EXPECT_GE(after_one_rtt_of(127), 1.0 * mtu);
    EXPECT_GT(after_one_rtt_of(1), 0.96 * 225'000) << "a light hint stays light";
}

TEST(nscc_test, penalty_starts_from_what_is_in_flight)
{
    sender source;
    source.send(10 * mtu);
    source.penalty(mtu, 64);
    EXPECT_DOUBLE_EQ(source.cwnd(), 9.0 * mtu - mtu / 2.0) << "an idle window would hide the penalty";
}

TEST(nscc_test, every_episode_of_the_penalty_starts_from_what_is_in_flight)
{
    sender source;
    source.send(30 * mtu);
    source.penalty(mtu, 64);
    EXPECT_DOUBLE_EQ(source.cwnd(), 29.0 * mtu - mtu / 2.0);
    source.now += 13us;
    source.penalty(mtu, 0); // over
    source.controller.on_abandoned(18 * mtu);
    source.penalty(mtu, 64);
    EXPECT_DOUBLE_EQ(source.cwnd(), 9.0 * mtu - mtu / 2.0);
    source.controller.on_abandoned(5 * mtu);
    source.penalty(mtu, 64);
    EXPECT_DOUBLE_EQ(source.cwnd(), 9.0 * mtu - mtu) << "once in an episode";
    source.penalty(mtu, 0, true);
    EXPECT_DOUBLE_EQ(source.cwnd(), 225'000) << "before the first penalty";
}

// One window serves queue pairs of several receivers' workers, of which only some are short of breath.
TEST(nscc_test, penalty_of_some_queue_pairs_is_one_episode)
{
    sender source;
    source.fill();
    for (std::int64_t left = source.controller.inflight(); left > 0; left -= mtu) {
        source.now += 100ns;
        source.penalty(mtu, left / mtu % 2 == 0 ? 64 : 0);
        source.fill();
    }
    EXPECT_NEAR(source.cwnd(), 225'000 * 0.75, 225'000 * 0.03) << "half of the SACKs, half of the effect";
}

TEST(nscc_test, limited_window_does_not_grow_and_is_restored_at_once)
{
    sender source;
    source.settle(100'000);
    source.fill();
    source.now += 1us;
    for (const duration rtt : {idle, low, high})
        source.controller.on_sack({.newly_bytes = mtu, .rtt = rtt, .receiver_penalty = 32}, source.now);
    EXPECT_LT(source.cwnd(), 100'000);
    EXPECT_EQ(source.counters().penalties, 3u);
    source.now += period;
    const double limited = source.cwnd();
    source.sack(1, low, true);
    EXPECT_DOUBLE_EQ(source.cwnd(), limited + 600) << "no increase had been collected";

    source.controller.on_sack({.newly_bytes = mtu, .rtt = {}, .receiver_penalty = 1, .restore_window = true},
                              source.now);
    EXPECT_EQ(source.counters().restores, 0u) << "not while the penalty lasts";
    source.penalty(mtu, 0, true);
    EXPECT_DOUBLE_EQ(source.cwnd(), 100'000);
    EXPECT_EQ(source.counters().restores, 1u);
    source.controller.on_loss(mtu, source.now);
    source.penalty(mtu, 0, true);
    EXPECT_DOUBLE_EQ(source.cwnd(), 100'000.0 - mtu) << "nothing is saved any more";
}

TEST(nscc_test, shorter_rtt_derives_the_largest_window_anew)
{
    sender source;
    source.now += period;
    source.sack(mtu, 8us);
    EXPECT_EQ(source.controller.base_rtt(), 8us);
    EXPECT_DOUBLE_EQ(source.controller.max_window(), 150'000);
    EXPECT_DOUBLE_EQ(source.cwnd(), 150'000);
    source.sack(mtu, 9us);
    EXPECT_EQ(source.controller.base_rtt(), 8us);
    EXPECT_EQ(source.counters().base_rtt_drops, 1u);
}

TEST(nscc_test, one_lucky_sample_does_not_pass_the_floors)
{
    nscc_link link = reference;
    link.base_rtt_floor = 10us;
    link.min_window = 200'000;
    sender source{link};
    source.sack(mtu, 1us);
    EXPECT_EQ(source.controller.base_rtt(), 10us);
    EXPECT_DOUBLE_EQ(source.controller.max_window(), 200'000) << "1.5 BDP would be 187,500";
    link.base_rtt_floor = 0us;
    link.min_window = 0;
    sender naive{link};
    naive.sack(mtu, 0us);
    EXPECT_DOUBLE_EQ(naive.controller.max_window(), mtu) << "a packet always fits";
    naive.sack(mtu, 12us);
    EXPECT_GE(naive.cwnd(), mtu);
}

TEST(nscc_test, window_stays_between_a_packet_and_its_maximum)
{
    sender source;
    for (int i = 0; i < 1000; ++i) {
        source.now += period;
        source.sack(10 * packet, idle);
        ASSERT_LE(source.cwnd(), 225'000);
    }
    EXPECT_DOUBLE_EQ(source.cwnd(), 225'000);
    nscc_config config = derive_nscc(reference);
    config.ewma = 1;
    config.eta = 0;
    sender congested{config};
    for (int i = 0; i < 100; ++i) {
        congested.now += 2 * period;
        congested.sack(mtu, 12us + 1ms, true);
        ASSERT_GE(congested.cwnd(), mtu);
    }
    EXPECT_DOUBLE_EQ(congested.cwnd(), mtu);
}

TEST(nscc_test, flight_may_be_negative_and_one_packet_may_always_fly)
{
    sender source;
    source.send(mtu);
    source.sack(mtu + 256, idle); // rcvd_bytes is rounded up
    EXPECT_EQ(source.controller.inflight(), -256);
    EXPECT_TRUE(source.controller.can_send(1'000'000)) << "nothing is in flight";
    source.send(mtu);
    EXPECT_TRUE(source.controller.can_send(225'000 - mtu + 256));
    EXPECT_FALSE(source.controller.can_send(225'000 - mtu + 257));
}

TEST(nscc_test, sack_without_news_or_sample_moves_no_window)
{
    sender source;
    source.send(2 * mtu);
    source.sack(0, 1us, true);
    EXPECT_EQ(source.controller.base_rtt(), 12us);
    source.controller.on_sack({.newly_bytes = mtu, .congestion_experienced = true, .rtt = {}}, source.now);
    EXPECT_EQ(source.controller.inflight(), mtu);
    EXPECT_DOUBLE_EQ(source.cwnd(), 225'000);
    EXPECT_EQ(source.counters().quadrants, (nscc_counters{}.quadrants));
}

TEST(nscc, begins_with_its_share_of_a_destination_and_moves_as_ever)
{
    sender one;
    one.controller.begin_with(1.0 / 9);
    EXPECT_EQ(one.controller.cwnd(), 25'000U);
    one.fill();
    one.controller.begin_with(1);
    EXPECT_EQ(one.controller.cwnd(), 25'000U) << "advice for the beginning only";
    for (int round = 0; round < 40; ++round) {
        one.now += period;
        one.sack(packet, idle);
        one.send(mtu);
    }
    EXPECT_GT(one.controller.cwnd(), 25'000U) << "an empty path may be filled";
}

TEST(nscc, begins_with_one_packet_at_least)
{
    sender one;
    one.controller.begin_with(1e-6);
    EXPECT_EQ(one.controller.cwnd(), packet);
}

} // namespace
} // namespace mrc::protocol
