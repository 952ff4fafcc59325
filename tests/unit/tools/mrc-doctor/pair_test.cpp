// SPDX-License-Identifier: Apache-2.0
// What mrc-doctor makes of its own veth pair, and of none.
#include <algorithm>
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "tools/mrc-doctor/pair.h"

namespace mrc::doctor
{
namespace
{

pair_outcome all_works()
{
    const auto yes = kernel::probes::worked();
    return {.xdp = {.native = yes, .generic = yes},
            .live_frames = yes,
            .redirect = yes,
            .attached_ns = 400,
            .unattached_ns = 400'000,
            .af_xdp_copy = yes,
            .af_xdp_multi_buffer = yes};
}

report judged(const pair_outcome &outcome, service::engine_kind engine = service::engine_kind::automatic)
{
    service::daemon_config config;
    config.origin.file = "/etc/mrc/lab.toml";
    config.transmit.engine = engine;
    report found;
    judge_pair(outcome, config, found);
    return found;
}

finding only(const report &of, const std::string &probe)
{
    EXPECT_EQ(std::ranges::count(of.findings, probe, &finding::probe), 1) << probe;
    return *std::ranges::find(of.findings, probe, &finding::probe);
}

TEST(judge_pair, without_a_pair_each_of_its_probes_is_untried)
{
    const report found = judged({});
    EXPECT_EQ(found.findings.size(), judged(all_works()).findings.size());
    for (const finding &each : found.findings)
        EXPECT_EQ(each.result, state::untried) << each.probe;
}

TEST(judge_pair, live_frames_are_needed_by_the_engine_that_is_forced_only)
{
    pair_outcome outcome = all_works();
    outcome.live_frames = kernel::probes::refused(EINVAL);
    outcome.attached_ns.reset();
    EXPECT_EQ(only(judged(outcome), "live_frames").result, state::slower);
    const finding forced = only(judged(outcome, service::engine_kind::xdp), "live_frames");
    EXPECT_EQ(forced.result, state::broken);
    EXPECT_EQ(forced.remedy, "# in /etc/mrc/lab.toml, [transmit]: engine = \"auto\"");
}

TEST(judge_pair, costly_live_frames_are_slower)
{
    pair_outcome outcome = all_works();
    outcome.attached_ns = 400'000;
    const finding cost = only(judged(outcome), "live_frames_cost");
    EXPECT_EQ(cost.result, state::slower);
    EXPECT_EQ(cost.found, "400000 ns a packet; 400000 ns where the program is attached nowhere");
    EXPECT_EQ(cost.remedy, "# in /etc/mrc/lab.toml, [transmit]: engine = \"af_xdp\"");
}

TEST(judge_pair, a_kernel_without_af_xdp_has_no_command)
{
    pair_outcome outcome = all_works();
    outcome.af_xdp_copy = kernel::probes::refused(EAFNOSUPPORT);
    const finding copy = only(judged(outcome), "af_xdp_copy");
    EXPECT_EQ(copy.result, state::broken);
    EXPECT_EQ(copy.remedy, "");
    EXPECT_NE(copy.cost.find("CONFIG_XDP_SOCKETS"), std::string::npos);
}

} // namespace
} // namespace mrc::doctor
