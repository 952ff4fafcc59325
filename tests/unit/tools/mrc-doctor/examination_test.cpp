// SPDX-License-Identifier: Apache-2.0
// mrc-doctor's report → verdict, exit status, text and JSON; and how mrcd and mrc-doctor choose ports' modes.
#include <cerrno>
#include <initializer_list>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "service/ports/port_modes.h"
#include "tools/mrc-doctor/report.h"

namespace mrc::doctor
{
namespace
{

finding with(state result)
{
    return {.where = scope::port,
            .probe = "mtu",
            .on = "eth0",
            .result = result,
            .found = "MTU 1500",
            .cost = "smaller packets",
            .remedy = "ip link set dev eth0 mtu 3204"};
}

report of(std::vector<finding> findings)
{
    return {.kernel = "6.1.0", .machine = "x86_64", .findings = std::move(findings), .ports = {}, .modes = {}};
}

TEST(mrc_doctor_verdict, follows_the_worst_finding)
{
    struct row {
        std::vector<finding> findings;
        verdict expected;
        int status;
    };
    const row table[] = {
        {{}, verdict::runs, 0},
        {{with(state::works)}, verdict::runs, 0},
        {{with(state::works), with(state::untried)}, verdict::runs, 0},
        {{with(state::works), with(state::slower)}, verdict::runs_slower, 0},
        {{with(state::broken), with(state::works)}, verdict::does_not_run, 1},
        {{with(state::slower), with(state::broken), with(state::slower)}, verdict::does_not_run, 1},
    };
    for (const row &entry : table) {
        EXPECT_EQ(verdict_of(of(entry.findings)), entry.expected);
        EXPECT_EQ(exit_status(entry.expected), entry.status);
    }
}

TEST(mrc_doctor_judge, keeps_cost_and_command_of_refusals_only)
{
    const lack otherwise{.severity = state::slower, .cost = "dear", .remedy = "true"};
    const finding good = judge(scope::host, "tap", "host", kernel::probes::worked("20 MiB"), otherwise);
    EXPECT_EQ(good.result, state::works);
    EXPECT_EQ(good.found, "20 MiB");
    EXPECT_EQ(good.cost + good.remedy, "");
    const finding unknown = judge(scope::host, "tap", "host", kernel::probes::untried("the link is down"), otherwise);
    EXPECT_EQ(unknown.result, state::untried);
    EXPECT_EQ(unknown.found, "the link is down");
    EXPECT_EQ(unknown.cost + unknown.remedy, "");
    const finding bad =
        judge(scope::host, "tap", "host", kernel::probes::refused(EPERM, "MTU is too large"), otherwise);
    EXPECT_EQ(bad.result, state::slower);
    EXPECT_EQ(bad.found, "Operation not permitted: MTU is too large");
    EXPECT_EQ(bad.cost, "dear");
    EXPECT_EQ(bad.remedy, "true");
}

TEST(mrc_doctor_by_hand, names_the_file_that_was_examined)
{
    EXPECT_EQ(by_hand("/etc/mrc/lab.toml", "transmit", "engine = \"auto\""),
              "# in /etc/mrc/lab.toml, [transmit]: engine = \"auto\"");
    EXPECT_EQ(by_hand("", "transmit", "payload = 2048"), "# in mrcd's configuration, [transmit]: payload = 2048");
}

TEST(mrc_doctor_text, names_trouble_with_its_cost_and_command)
{
    report found = of({with(state::works), with(state::broken)});
    found.findings[1].on = "eth1";
    found.findings[1].remedy.clear();
    found.modes.push_back(
        {.port = "eth0", .xdp = "native", .transmit = "xdp", .af_xdp = "copy", .buffers = "one", .reason = ""});
    EXPECT_EQ(to_text(found), "kernel 6.1.0 (x86_64)\n"
                              "\n"
                              "PROBE  ON    STATE   FOUND\n"
                              "mtu    eth0  works   MTU 1500\n"
                              "mtu    eth1  broken  MTU 1500\n"
                              "\n"
                              "mrcd would use\n"
                              "PORT  XDP     TRANSMIT  AF_XDP  BUFFERS  REASON\n"
                              "eth0  native  xdp       copy    one\n"
                              "\n"
                              "broken: mtu (eth1)\n"
                              "  costs    smaller packets\n"
                              "  remedy   nothing that is a command\n"
                              "\n"
                              "mrcd will not run: mtu (eth1)\n");
}

TEST(mrc_doctor_text, prints_each_of_the_three_verdicts)
{
    EXPECT_TRUE(to_text(of({})).ends_with("\nmrcd will run\n"));
    const std::string slower = to_text(of({with(state::slower)}));
    EXPECT_NE(slower.find("  remedy   ip link set dev eth0 mtu 3204\n"), std::string::npos);
    EXPECT_TRUE(slower.ends_with("\nmrcd will run, slower or with less for lack of: mtu (eth0)\n"));
}

TEST(mrc_doctor_text, the_verdict_names_what_was_not_tried)
{
    finding unknown = with(state::untried);
    unknown.probe = "tap";
    unknown.on = "host";
    EXPECT_TRUE(to_text(of({unknown, with(state::works)}))
                    .ends_with("\nmrcd will run, as far as could be tried; not tried: tap (host)\n"));
    EXPECT_TRUE(
        to_text(of({unknown, with(state::slower)}))
            .ends_with("\nmrcd will run, as far as could be tried, slower or with less for lack of: mtu (eth0); "
                       "not tried: tap (host)\n"));
    EXPECT_TRUE(to_text(of({unknown, with(state::broken)})).ends_with("\nmrcd will not run: mtu (eth0)\n"));
}

TEST(mrc_doctor_json, has_what_the_manual_names)
{
    report found = of({with(state::slower)});
    found.ports.push_back({.device = "eth0", .driver = "veth"});
    found.modes.push_back({.port = "eth0",
                           .xdp = "generic",
                           .transmit = "af_xdp",
                           .af_xdp = "zero copy",
                           .buffers = "several",
                           .reason = "because"});
    EXPECT_EQ(
        boost::json::serialize(to_json(found)),
        R"({"kernel":"6.1.0","machine":"x86_64","runs":true,"slower":true,"findings":[{"scope":"port",)"
        R"("probe":"mtu","on":"eth0","state":"slower","found":"MTU 1500","cost":"smaller packets",)"
        R"("remedy":"ip link set dev eth0 mtu 3204"}],"ports":[{"port":"eth0","driver":"veth"}],"modes":[{"port":"eth0","xdp":"generic",)"
        R"("transmit":"af_xdp","af_xdp":"zero copy","buffers":"several","reason":"because"}]})");
    const auto broken = to_json(of({with(state::broken), with(state::slower)}));
    EXPECT_FALSE(broken.at("runs").as_bool());
    EXPECT_FALSE(broken.at("slower").as_bool());
}

TEST(choose_engine, takes_the_fastest_that_was_not_refused)
{
    using service::engine_kind;
    struct row {
        kernel::probes::attempt live_frames;
        kernel::probes::attempt redirect;
        engine_kind configured;
        bool zero_copy;
        engine_kind expected;
        bool has_reason;
        const char *driver = "veth";
    };
    const auto yes = kernel::probes::worked();
    const auto no = kernel::probes::refused(EOPNOTSUPP);
    const auto unknown = kernel::probes::untried("the link is down");
    const row table[] = {
        {yes, yes, engine_kind::automatic, false, engine_kind::xdp, false},
        {yes, unknown, engine_kind::automatic, false, engine_kind::xdp, false},
        {yes, no, engine_kind::automatic, false, engine_kind::af_xdp, true},
        {no, unknown, engine_kind::automatic, false, engine_kind::af_xdp, true},
        {yes, yes, engine_kind::automatic, true, engine_kind::af_xdp, false},
        {no, no, engine_kind::automatic, true, engine_kind::af_xdp, false},
        {no, no, engine_kind::xdp, true, engine_kind::xdp, false},
        {yes, yes, engine_kind::af_xdp, false, engine_kind::af_xdp, false},
        // NICs, and what nothing is known of, may keep frames for long.
        {yes, yes, engine_kind::automatic, false, engine_kind::af_xdp, true, "ice"},
        {yes, yes, engine_kind::automatic, false, engine_kind::af_xdp, true, "virtio_net"},
        {yes, yes, engine_kind::automatic, false, engine_kind::af_xdp, true, "other"},
        {yes, yes, engine_kind::automatic, false, engine_kind::af_xdp, true, ""},
        {yes, yes, engine_kind::automatic, true, engine_kind::af_xdp, false, "ice"},
        {yes, yes, engine_kind::xdp, false, engine_kind::xdp, false, "ice"},
    };
    for (const row &entry : table) {
        kernel::probes::port_abilities port;
        port.driver = entry.driver;
        port.zero_copy = entry.zero_copy;
        port.redirect = entry.redirect;
        const auto chosen = service::choose_engine(entry.configured, port, entry.live_frames);
        EXPECT_EQ(chosen.engine, entry.expected);
        EXPECT_EQ(!chosen.reason.empty(), entry.has_reason) << chosen.reason;
    }
}

service::port_trials trials(std::initializer_list<std::pair<const char *, bool>> drivers_with_zero_copy)
{
    service::port_trials tried;
    for (const auto &[driver, zero_copy] : drivers_with_zero_copy) {
        tried.ports.emplace_back();
        tried.ports.back().wish.queues = static_cast<std::uint32_t>(tried.ports.size());
        tried.ports.back().abilities.driver = driver;
        tried.ports.back().abilities.zero_copy = zero_copy;
        tried.ports.back().abilities.redirect = kernel::probes::worked();
    }
    return tried;
}

TEST(settle_modes, zero_copy_is_for_all_ports_or_for_none)
{
    using enum service::engine_kind;
    struct row {
        service::port_trials tried;
        bool force_copy;
        bool some_zero_copy;
    };
    row table[] = {
        {trials({{"veth", false}, {"veth", false}}), true, false},
        {trials({{"mlx5_core", true}, {"veth", false}}), true, true},
        {trials({{"mlx5_core", true}, {"ice", true}}), false, true},
    };
    for (row &entry : table) {
        const auto modes = service::settle_modes(automatic, std::move(entry.tried), kernel::probes::worked());
        EXPECT_EQ(modes.force_copy, entry.force_copy);
        EXPECT_EQ(modes.some_zero_copy, entry.some_zero_copy);
        ASSERT_EQ(modes.ports.size(), 2U);
        EXPECT_EQ(modes.ports[1].queues, 2U);
        for (const auto &port : modes.ports) {
            EXPECT_FALSE(port.agent_answers);
        }
    }
}

// Each port has its own: a NIC beside a veth neither has its frames held nor the veth wait for them.
TEST(settle_modes, the_engine_is_chosen_by_port)
{
    using enum service::engine_kind;
    const auto engines = [](service::engine_kind configured) {
        std::vector<service::engine_kind> of;
        for (const auto &port :
             service::settle_modes(configured, trials({{"ice", true}, {"veth", false}}), kernel::probes::worked())
                 .ports)
            of.push_back(port.transmit.engine);
        return of;
    };
    EXPECT_EQ(engines(automatic), (std::vector{af_xdp, xdp}));
    EXPECT_EQ(engines(xdp), (std::vector{xdp, xdp}));
    EXPECT_EQ(engines(af_xdp), (std::vector{af_xdp, af_xdp}));
}

TEST(settle_modes, the_agent_answers_where_the_driver_would_lose_it)
{
    const auto answers = [](service::port_trials tried) {
        std::vector<bool> of;
        for (const auto &port :
             service::settle_modes(service::engine_kind::automatic, std::move(tried), kernel::probes::worked()).ports)
            of.push_back(port.agent_answers);
        return of;
    };
    EXPECT_EQ(answers(trials({{"virtio_net", true}, {"ice", true}})), (std::vector{true, false}));
    EXPECT_EQ(answers(trials({{"virtio_net", true}, {"veth", false}})), (std::vector{false, false})); // all copy
    EXPECT_EQ(answers(trials({{"virtio_net", false}})), (std::vector{false}));
}

TEST(settle_modes, keeps_why_there_is_one_buffer)
{
    service::port_trials tried = trials({{"veth", false}});
    tried.single_buffer = "'eth0': Operation not supported";
    EXPECT_EQ(
        service::settle_modes(service::engine_kind::xdp, std::move(tried), kernel::probes::worked()).single_buffer,
        "'eth0': Operation not supported");
}

} // namespace
} // namespace mrc::doctor
