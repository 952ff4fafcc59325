// SPDX-License-Identifier: Apache-2.0
// Transfers in which nothing is lost, but hosts and planes are late in the ways of real ones: what is sent twice there
// is sent for nothing. At most one packet in ten thousand may be; and where packets are lost, no more than a tenth is
// added.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "protocol/random_source.h"
#include "write_stream.h"

namespace mrc::sim
{
namespace
{

using namespace std::chrono_literals;
using namespace protocol;

// Log-uniform: as many stalls between 0.1 and 1 ms as between 1 and 10 ms.
duration stall(random_source &random, duration shortest, duration longest)
{
    const double share = static_cast<double>(random.next() >> 11) * 0x1p-53;
    const double span = std::log(static_cast<double>(longest.count()) / static_cast<double>(shortest.count()));
    return duration{static_cast<duration::rep>(static_cast<double>(shortest.count()) * std::exp(share * span))};
}

constexpr duration horizon = 4s; // of the stalls that are drawn

void pause(network &net, host &each, random_source &random, duration shortest, duration longest, duration apart)
{
    for (instant at = net.now() + 5ms; at < net.now() + horizon;) {
        const instant end = at + stall(random, shortest, longest);
        each.off_cpu.push_back({at, end});
        at = end + apart / 2 +
             duration{static_cast<duration::rep>(random.below(static_cast<std::uint32_t>(apart.count())))};
    }
}

// What arrives by a plane waits until its stall is over, as in a receive queue that the kernel does not serve.
void stall_plane(network &net, unsigned plane, instant at, duration length)
{
    const auto delay_data = [&net, plane](duration delay) {
        for (unsigned uplink = 0; uplink < net.config().uplinks; ++uplink)
            net.left().out[plane * net.config().uplinks + uplink].delay = delay;
    };
    net.at(at, [delay_data, length] { delay_data(length); });
    net.at(at + length, [delay_data] { delay_data(20us); });
}

constexpr duration longest_stall = 5ms;
constexpr duration learned = 50ms;

// The longest first. Nobody can tell it from a plane that has died without waiting for as long; but the next ones can
// be told, so they count from then on.
void stall_plane_now_and_then(network &net, random_source &random)
{
    stall_plane(net, 2, net.now() + 5ms, longest_stall);
    for (instant at = net.now() + learned; at < net.now() + horizon; at += 40ms)
        stall_plane(net, 2, at, stall(random, 100us, longest_stall));
}

struct lateness {
    const char *name;
    void (*apply)(network &net, random_source &random);
    duration counts_from{0};
};

// The receiver of a busy machine does not run for milliseconds, tens of times a second (docs/results.md, R16).
constexpr std::array latenesses{
    lateness{"planes_of_different_length",
             [](network &net, random_source &) {
                 for (unsigned plane = 0; plane < 4; ++plane)
                     net.each_path_of(plane, [&](path_model &path) { path.delay = 20us + plane * 150us; });
             }},
    lateness{"jitter_by_path",
             [](network &net, random_source &) { net.each_path([](path_model &path) { path.jitter = 200us; }); }},
    lateness{"receiver_pauses",
             [](network &net, random_source &random) { pause(net, net.right(), random, 100us, 20ms, 10ms); }},
    lateness{"sender_pauses",
             [](network &net, random_source &random) { pause(net, net.left(), random, 100us, 20ms, 10ms); }},
    lateness{"both_pause",
             [](network &net, random_source &random) {
                 pause(net, net.right(), random, 100us, 20ms, 10ms);
                 pause(net, net.left(), random, 100us, 20ms, 10ms);
             }},
    lateness{"busy_receiver",
             [](network &net, random_source &random) { pause(net, net.right(), random, 20us, 400us, 200us); }},
    lateness{"one_plane_stalls", stall_plane_now_and_then, learned},
};

constexpr std::array<std::pair<const char *, std::uint64_t qp_counters::*>, 6> reasons_of{{
    {"sent again", &qp_counters::retransmits},
    {"by same EV", &qp_counters::losses},
    {"by age", &qp_counters::losses_by_age},
    {"by SLEEK", &qp_counters::losses_by_sleek},
    {"time-outs", &qp_counters::timeouts},
    {"silences", &qp_counters::silences},
}};

class lossless : public testing::TestWithParam<std::size_t>
{
};
INSTANTIATE_TEST_SUITE_P(needless, lossless, testing::Range<std::size_t>(0, latenesses.size()),
                         [](const auto &each) { return std::string{latenesses[each.param].name}; });

TEST_P(lossless, sends_at_most_one_packet_in_ten_thousand_twice)
{
    std::uint64_t packets = 0;
    std::uint64_t again = 0;
    std::string reasons;
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        random_source random{seed};
        network_config config;
        config.seed = seed;
        network net{config, usual_qp(), memory_bytes};
        latenesses[GetParam()].apply(net, random);
        qp_counters before;
        net.at(net.now() + latenesses[GetParam()].counts_from, [&] { before = net.left().qp().counters(); });
        write_stream writes{net, net.left(), net.right(), 1600, write_bytes};
        ASSERT_TRUE(writes.run(20s));
        writes.expect_delivered();
        const auto since = [&](std::uint64_t qp_counters::*which) {
            return net.left().qp().counters().*which - before.*which;
        };
        packets += since(&qp_counters::tx_packets);
        again += since(&qp_counters::retransmits);
        reasons += " seed " + std::to_string(seed) + ":";
        for (const auto &[name, which] : reasons_of)
            reasons += " " + std::to_string(since(which)) + " " + name;
        reasons += ";";
    }
    std::printf("%llu packets, %llu sent twice;%s\n", static_cast<unsigned long long>(packets),
                static_cast<unsigned long long>(again), reasons.c_str());
    EXPECT_LE(again * 10'000, packets) << reasons;
}

TEST(needless, one_percent_loss_costs_no_more_than_a_tenth_above_what_is_lost)
{
    network net{{}, usual_qp(), memory_bytes};
    net.each_path([](path_model &path) { path.loss = 0.01; });
    write_stream writes{net, net.left(), net.right(), 3200, write_bytes};
    ASSERT_TRUE(writes.run(20s));
    writes.expect_delivered();
    const qp_counters &counters = net.left().qp().counters();
    const double lost = 0.01 * static_cast<double>(counters.tx_packets);
    std::printf("%llu sent again, about %.0f lost, %llu needlessly\n",
                static_cast<unsigned long long>(counters.retransmits), lost,
                static_cast<unsigned long long>(counters.spurious));
    EXPECT_LE(static_cast<double>(counters.retransmits), 1.1 * lost);
}

} // namespace
} // namespace mrc::sim
