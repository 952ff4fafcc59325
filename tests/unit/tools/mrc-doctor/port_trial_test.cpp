// SPDX-License-Identifier: Apache-2.0
// What mrc-doctor makes of a port's trial, above all where it ends without a program on the port.
#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/mrc-doctor/port_trial.h"

namespace mrc::doctor
{
namespace
{

class port_trial : public testing::Test
{
protected:
    port_trial()
    {
        outcome.as_mrcd = {.native = kernel::probes::worked(), .generic = kernel::probes::untried("not asked for")};
        outcome.attached = true;
        outcome.alone = {.native = kernel::probes::worked(), .generic = kernel::probes::worked()};
        outcome.redirect = kernel::probes::worked();
        outcome.queues = {
            {kernel::probes::worked("copy"), kernel::probes::worked("zero copy"), kernel::probes::worked("copy")}};
    }

    std::vector<finding> judged(const std::string &driver = "veth")
    {
        subject of{.config = config, .port = port, .device = "eth0", .mtu = 9000, .driver = driver, .findings = {}};
        judge_outcome(outcome, of);
        return of.findings;
    }

    static finding only(const std::vector<finding> &findings, const std::string &probe)
    {
        EXPECT_EQ(std::ranges::count(findings, probe, &finding::probe), 1) << probe;
        return *std::ranges::find(findings, probe, &finding::probe);
    }

    service::daemon_config config;
    service::port_options port;
    port_outcome outcome;
};

TEST_F(port_trial, all_works)
{
    const auto findings = judged();
    EXPECT_EQ(findings.size(), 6U);
    for (const finding &each : findings)
        EXPECT_EQ(each.result, state::works) << each.probe;
}

TEST_F(port_trial, native_xdp_is_that_of_mrcds_own_trial)
{
    outcome.as_mrcd = {.native = kernel::probes::refused(ERANGE, "Peer MTU is too large"),
                       .generic = kernel::probes::worked()};
    const finding native = only(judged(), "xdp_native");
    EXPECT_EQ(native.result, state::slower);
    EXPECT_EQ(native.found, "Numerical result out of range: Peer MTU is too large");
    EXPECT_EQ(native.remedy,
              "ip link set dev eth0 mtu 3400; ip link set dev PEER mtu 3400  # PEER: the other end of the link");
    outcome.as_mrcd.native.error = EINVAL;
    EXPECT_EQ(only(judged("virtio_net"), "xdp_native").remedy, "ip link set dev eth0 mtu 3400");
    EXPECT_EQ(only(judged(), "xdp_native").remedy, "");
}

TEST_F(port_trial, a_port_without_a_program_is_broken)
{
    struct row {
        kernel::probes::xdp_support as_mrcd;
        std::string broken;
        std::string other;
    };
    const auto unasked = kernel::probes::untried("not asked for");
    const row table[] = {
        {{.native = kernel::probes::refused(ERANGE), .generic = unasked}, "xdp_native", "xdp_generic"},
        {{.native = unasked, .generic = kernel::probes::refused(EOPNOTSUPP)}, "xdp_generic", "xdp_native"},
        {{.native = kernel::probes::refused(ERANGE), .generic = kernel::probes::refused(EBUSY)},
         "xdp_generic",
         "xdp_native"},
        {{.native = kernel::probes::refused(EPERM, "cannot load an XDP program"), .generic = unasked},
         "xdp_native",
         "xdp_generic"},
    };
    outcome.attached = false;
    outcome.queues.clear();
    for (const row &entry : table) {
        outcome.as_mrcd = entry.as_mrcd;
        const auto findings = judged();
        EXPECT_EQ(only(findings, entry.broken).result, state::broken);
        EXPECT_NE(only(findings, entry.broken).cost.find("ends at its start"), std::string::npos);
        EXPECT_NE(only(findings, entry.other).result, state::broken);
        EXPECT_EQ(verdict_of({.kernel = {}, .machine = {}, .findings = findings, .ports = {}, .modes = {}}),
                  verdict::does_not_run);
    }
}

TEST_F(port_trial, a_mode_that_mrcd_does_not_ask_for_is_tried_alone)
{
    outcome.alone.generic = kernel::probes::refused(EOPNOTSUPP);
    const finding generic = only(judged(), "xdp_generic");
    EXPECT_EQ(generic.result, state::slower);
    EXPECT_EQ(generic.cost, "no fall-back if the driver's own XDP fails");
}

TEST_F(port_trial, a_refused_redirect_breaks_the_engine_that_is_forced)
{
    outcome.redirect = kernel::probes::refused(EINVAL, "the kernel has no live frames");
    EXPECT_EQ(only(judged(), "redirect").result, state::slower);
    config.transmit.engine = service::engine_kind::xdp;
    EXPECT_EQ(only(judged(), "redirect").result, state::broken);
}

TEST_F(port_trial, redirects_that_were_not_tried_are_not_judged)
{
    outcome.redirect.reset();
    EXPECT_EQ(std::ranges::count(judged(), "redirect", &finding::probe), 0);
}

TEST_F(port_trial, queues_that_answer_alike_are_one_finding)
{
    outcome.queues.push_back(outcome.queues.front());
    outcome.queues.push_back(outcome.queues.front());
    outcome.queues[2].zero_copy = kernel::probes::refused(EOPNOTSUPP);
    const auto findings = judged();
    EXPECT_EQ(only(findings, "af_xdp_copy").found, "queues 0-2");
    EXPECT_EQ(std::ranges::count(findings, "af_xdp_zero_copy", &finding::probe), 2);
    EXPECT_EQ(std::ranges::find(findings, "queue 2: Operation not supported", &finding::found)->result, state::slower);
}

TEST_F(port_trial, answers_by_the_agent_are_slower)
{
    outcome.agent_answers = true;
    EXPECT_EQ(only(judged("virtio_net"), "xdp_tx").result, state::slower);
}

} // namespace
} // namespace mrc::doctor
