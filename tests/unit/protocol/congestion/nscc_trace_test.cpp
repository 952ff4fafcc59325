// SPDX-License-Identifier: Apache-2.0
// Replays the traces of tests/vectors/nscc.py: the events of each trace must move our window as they move the window of
// an independent model, which was transcribed from UEC's pseudo-code (protocol.md §5.4).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "protocol/congestion/nscc.h"

namespace mrc::protocol
{
namespace
{

struct trace_step {
    unsigned line = 0; // of the file
    std::string text;
};

struct trace {
    std::string name;
    std::map<std::string, std::string> params;
    std::vector<trace_step> steps;

    [[nodiscard]] double real(const std::string &key) const { return std::stod(params.at(key)); }
    [[nodiscard]] std::int64_t integer(const std::string &key) const { return std::stoll(params.at(key)); }
    [[nodiscard]] duration time(const std::string &key) const { return duration{integer(key)}; }
};

std::vector<trace> read_traces()
{
    std::ifstream file{MRC_NSCC_TRACES};
    if (!file)
        throw std::runtime_error("cannot open " MRC_NSCC_TRACES);
    std::vector<trace> traces;
    unsigned number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.empty() || line.starts_with('#'))
            continue;
        std::istringstream words{line};
        std::string first, second, third;
        words >> first >> second >> third;
        if (first == "trace")
            traces.push_back({.name = second, .params = {}, .steps = {}});
        else if (first == "param")
            traces.back().params[second] = third;
        else
            traces.back().steps.push_back({number, line});
    }
    return traces;
}

nscc_config config_of(const trace &of)
{
    nscc_config config;
    config.disable_qa = of.integer("disable_qa") != 0;
    config.adjust_bytes_threshold = static_cast<std::uint32_t>(of.integer("adjust_bytes"));
    config.adjust_period_threshold = of.time("adjust_period_ns");
    config.base_rtt = of.time("base_rtt_ns");
    config.eta = of.real("eta");
    config.fi = of.real("fi");
    config.fi_scale = of.real("fi_scale");
    config.gamma = of.real("gamma");
    config.max_md_jump = of.real("max_md_jump");
    config.qa_gate = static_cast<std::uint8_t>(of.integer("qa_gate"));
    config.qa_threshold = of.time("qa_threshold_ns");
    config.target_delay = of.time("target_qdelay_ns");
    config.link_bps = static_cast<std::uint64_t>(of.integer("link_bps"));
    config.mtu = static_cast<std::uint32_t>(of.integer("mtu"));
    config.alpha = of.real("alpha");
    config.delay_zero = of.time("delay_zero_ns");
    config.ewma = of.real("ewma");
    config.base_rtt_floor = of.time("base_rtt_floor_ns");
    config.min_window = static_cast<std::uint64_t>(of.integer("min_window"));
    return config;
}

std::uint8_t reason_of(const std::string &word)
{
    static const std::map<std::string, mrc_nack_reason> reasons{{"trimmed", MRC_NACK_TRIMMED},
                                                                {"trimmed_lasthop", MRC_NACK_TRIMMED_LASTHOP},
                                                                {"no_resource", MRC_NACK_NO_RESOURCE},
                                                                {"no_bitmap", MRC_NACK_NO_BITMAP},
                                                                {"no_pkt_buffer", MRC_NACK_NO_PKT_BUFFER},
                                                                {"psn_oor", MRC_NACK_PSN_OOR_WINDOW}};
    return static_cast<std::uint8_t>(reasons.at(word));
}

std::optional<duration> sample_of(const std::string &word)
{
    return word == "-" ? std::nullopt : std::optional{duration{std::stoll(word)}};
}

// Feeds the event in front of " = " and leaves the stream at what the model had after it.
void feed(nscc &controller, std::istringstream &words)
{
    std::string kind, equals;
    std::int64_t at = 0;
    std::int64_t size = 0;
    words >> kind >> at >> size;
    // The model has SACKs that confirm fewer than no bytes; ours say none, which means the same.
    const auto bytes = static_cast<std::uint32_t>(std::max<std::int64_t>(size, 0));
    const instant now{duration{at}};
    if (kind == "sent") {
        controller.on_sent(bytes, now);
    } else if (kind == "loss") {
        controller.on_loss(bytes, now);
    } else if (kind == "nack") {
        std::string reason, rtt;
        words >> reason >> rtt;
        controller.on_nack({.bytes = bytes, .reason = reason_of(reason), .rtt = sample_of(rtt)}, now);
    } else if (kind == "sack") {
        std::string rtt;
        unsigned penalty = 0;
        sack_signal signal;
        words >> signal.congestion_experienced >> rtt >> penalty >> signal.restore_window;
        signal.newly_bytes = bytes;
        signal.rtt = sample_of(rtt);
        signal.receiver_penalty = static_cast<std::uint8_t>(penalty);
        controller.on_sack(signal, now);
    } else {
        throw std::invalid_argument("unknown event: " + kind);
    }
    words >> equals;
    if (!words || equals != "=")
        throw std::invalid_argument("malformed event");
}

void replay(const trace &of, nscc_counters &total)
{
    nscc controller{config_of(of)};
    for (const auto &[line, text] : of.steps) {
        std::istringstream words{text};
        feed(controller, words);
        double cwnd = 0;
        std::int64_t inflight = 0;
        std::int64_t base_rtt = 0;
        words >> cwnd >> inflight >> base_rtt;
        ASSERT_TRUE(words) << "line " << line;
        ASSERT_NEAR(controller.exact_cwnd(), cwnd, cwnd * 1e-6) << "line " << line << ": " << text;
        ASSERT_EQ(controller.inflight(), inflight) << "line " << line << ": " << text;
        ASSERT_EQ(controller.base_rtt().count(), base_rtt) << "line " << line << ": " << text;
    }
    const nscc_counters &counters = controller.counters();
    for (std::size_t i = 0; i < nscc_quadrants; ++i)
        total.quadrants[i] += counters.quadrants[i];
    total.fast_increases += counters.fast_increases;
    total.decreases += counters.decreases;
    total.quick_adapts += counters.quick_adapts;
    total.quick_adapt_ignored += counters.quick_adapt_ignored;
    total.nack_cuts += counters.nack_cuts;
    total.loss_cuts += counters.loss_cuts;
    total.penalties += counters.penalties;
    total.restores += counters.restores;
    total.base_rtt_drops += counters.base_rtt_drops;
}

TEST(nscc_trace_test, the_window_follows_the_independent_model)
{
    const auto traces = read_traces();
    ASSERT_GE(traces.size(), 5u);
    nscc_counters total;
    for (const trace &each : traces) {
        SCOPED_TRACE(each.name);
        ASSERT_GE(each.steps.size(), 10u);
        replay(each, total);
        if (testing::Test::HasFatalFailure())
            return;
    }
    // The traces walk every branch of ours, too.
    for (std::size_t i = 0; i < nscc_quadrants; ++i)
        EXPECT_GT(total.quadrants[i], 0u) << "quadrant " << i;
    EXPECT_GT(total.fast_increases, 0u);
    EXPECT_GT(total.decreases, 0u);
    EXPECT_GT(total.quick_adapts, 0u);
    EXPECT_GT(total.quick_adapt_ignored, 0u);
    EXPECT_GT(total.nack_cuts, 0u);
    EXPECT_GT(total.loss_cuts, 0u);
    EXPECT_GT(total.penalties, 0u);
    EXPECT_GT(total.restores, 0u);
    EXPECT_GT(total.base_rtt_drops, 0u);
}

void expect_same_constants(const nscc_config &derived, const nscc_config &model)
{
    EXPECT_DOUBLE_EQ(derived.alpha, model.alpha);
    EXPECT_DOUBLE_EQ(derived.fi, model.fi);
    EXPECT_DOUBLE_EQ(derived.fi_scale, model.fi_scale);
    EXPECT_DOUBLE_EQ(derived.eta, model.eta);
    EXPECT_DOUBLE_EQ(derived.gamma, model.gamma);
    EXPECT_DOUBLE_EQ(derived.max_md_jump, model.max_md_jump);
    EXPECT_DOUBLE_EQ(derived.ewma, model.ewma);
    EXPECT_EQ(derived.qa_gate, model.qa_gate);
    EXPECT_EQ(derived.qa_threshold, model.qa_threshold);
    EXPECT_EQ(derived.target_delay, model.target_delay);
    EXPECT_EQ(derived.adjust_bytes_threshold, model.adjust_bytes_threshold);
    EXPECT_EQ(derived.adjust_period_threshold, model.adjust_period_threshold);
    EXPECT_EQ(derived.delay_zero, model.delay_zero);
}

// Both sides derive the same constants with trimming, without it, and with a software host's extras; the other traces
// override some.
TEST(nscc_trace_test, the_derived_constants_are_those_of_the_model)
{
    unsigned compared = 0;
    for (const trace &each : read_traces()) {
        if (each.name != "growth" && each.name != "delay_adapts" && each.name != "floors")
            continue;
        SCOPED_TRACE(each.name);
        ++compared;
        expect_same_constants(derive_nscc({
                                  .bits_per_second = static_cast<std::uint64_t>(each.integer("link_bps")),
                                  .base_rtt = each.time("base_rtt_ns"),
                                  .mtu = static_cast<std::uint32_t>(each.integer("mtu")),
                                  .trimming = each.integer("trimming") != 0,
                                  .target_delay = each.time("target_qdelay_ns"),
                                  .software = each.integer("software") != 0,
                              }),
                              config_of(each));
    }
    EXPECT_EQ(compared, 3u);
}

} // namespace
} // namespace mrc::protocol
