// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/peer/judgement.h"

#include <gtest/gtest.h>

namespace mrc::doctor
{
namespace
{

const service::mac_address mac_a{2, 0, 0, 0, 0, 1};
const service::mac_address mac_b{2, 0, 0, 0, 0, 2};

peer_plane_evidence whole(unsigned plane)
{
    peer_plane_evidence seen;
    seen.way = {.plane = plane,
                .device = plane == 0 ? "eth0" : "eth1",
                .mtu = 3400,
                .own = *service::parse_ip("fd00::1"),
                .far = *service::parse_ip("fd00::2")};
    seen.has_carrier = true;
    seen.far_macs = {mac_b};
    seen.echoes = true;
    seen.carries = 3400;
    seen.probes = probe_count{.sent = 16, .answered = 16, .least_rtt_ns = 41'000};
    return seen;
}

// Probe and state of each finding.
std::vector<std::string> told(const std::vector<peer_plane_evidence> &planes)
{
    std::vector<std::string> all;
    for (const finding &each : judge_peer("b", planes))
        all.push_back(each.on + " " + each.probe +
                      (each.result == state::works     ? ""
                       : each.result == state::untried ? "?"
                                                       : "!"));
    return all;
}

using lines = std::vector<std::string>;

TEST(judgement, of_planes_that_work)
{
    EXPECT_EQ(told({whole(0), whole(1)}), (lines{"eth0 mrc", "eth1 mrc"}));
    EXPECT_EQ(judge_peer("b", std::vector{whole(0)}).front().found, "16 of 16 probes are answered, 41 us");
}

TEST(judgement, names_one_cause_for_each_plane)
{
    peer_plane_evidence dark = whole(0);
    dark.has_carrier = false;
    EXPECT_EQ(told({dark, whole(1)}), (lines{"eth0 carrier!", "eth1 mrc"}));
    EXPECT_EQ(told({dark}), (lines{"host carrier!", "eth0 carrier!"})) << "none anywhere";

    peer_plane_evidence silent = whole(0);
    silent.far_macs = {};
    silent.echoes = false;
    silent.probes->answered = 0;
    EXPECT_EQ(told({silent}), lines{"eth0 neighbour!"});
    silent.leads_to = 1;
    EXPECT_EQ(told({silent}), lines{"eth0 cabling!"});
    silent.leads_to.reset();
    silent.calls_routers = true;
    EXPECT_EQ(told({silent}), lines{"eth0 mode!"});

    peer_plane_evidence filtered = whole(0);
    filtered.probes->answered = 0;
    EXPECT_EQ(told({filtered}), lines{"eth0 firewall!"});
    filtered.refuses_mrc = true;
    EXPECT_EQ(told({filtered}), lines{"eth0 mode!"});
    filtered.calls_routers = true;
    EXPECT_EQ(told({filtered}), lines{"eth0 mode!"});
    filtered = whole(0);
    filtered.probes->answered = 15;
    EXPECT_EQ(told({filtered}), lines{"eth0 mrc!"});
    filtered.probes.reset();
    EXPECT_EQ(told({filtered}), lines{"eth0 mrc?"});
}

TEST(judgement, names_small_links_and_addresses_in_use)
{
    peer_plane_evidence small = whole(0);
    small.carries = 1500;
    EXPECT_EQ(told({small}), (lines{"eth0 mtu!", "eth0 mrc"}));
    EXPECT_EQ(judge_peer("b", std::vector{small}).front().found, "carries 1500 bytes of this port's 3400");
    small.echoes = false;
    EXPECT_EQ(told({small}), (lines{"eth0 mtu?", "eth0 mrc"})) << "ICMPv6 is dropped, MRC is not";

    peer_plane_evidence twice = whole(0);
    twice.far_macs = {mac_a, mac_b};
    EXPECT_EQ(told({twice}), (lines{"eth0 address_in_use!", "eth0 mrc"}));
    twice.far_macs = {mac_b};
    twice.own_macs = {mac_a};
    const auto findings = judge_peer("b", std::vector{twice});
    EXPECT_EQ(findings.front().found, "this host's fd00::1 is also that of 02:00:00:00:00:01");
}

} // namespace
} // namespace mrc::doctor
