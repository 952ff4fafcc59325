// SPDX-License-Identifier: Apache-2.0
#include "service/worker_setup.h"

#include <chrono>

#include <gtest/gtest.h>

#include "service/srv6_fabric.h"

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;

datapath::worker_options options_for(const std::string &more, unsigned cores, const worker_place &place = {})
{
    auto config = parse_config("[host]\nleaf = 1\ndownlink = 2\n[fabric]\nplanes = 1\nleaves = 2\nuplinks = 2\n"
                               "[[port]]\ndevice = \"lo\"\nplane = 0\n" +
                                   more,
                               "test");
    EXPECT_TRUE(config) << config.error().text();
    return worker_options_for(*config, srv6_fabric{*config}, cores, place);
}

TEST(worker_setup, spins_on_many_cores_only_unless_it_is_configured)
{
    EXPECT_EQ(options_for("", 4).spin, 20us);
    EXPECT_EQ(options_for("", 3).spin, 0us);
    EXPECT_EQ(options_for("[transmit]\nspin_us = 7\n", 1).spin, 7us);
    EXPECT_EQ(options_for("[transmit]\nspin_us = 0\n", 64).spin, 0us);
}

TEST(worker_setup, runs_on_the_cpus_that_were_chosen)
{
    EXPECT_TRUE(options_for("", 4).cpus.empty());
    EXPECT_EQ(options_for("", 4, {.cpus = {1, 3}, .reason = {}, .advice = {}}).cpus, (kernel::cpu_list{1, 3}));
}

TEST(worker_setup, packets_are_classified_by_the_configured_code_points)
{
    const auto points =
        options_for("[wire]\ndscp_control = 40\ndscp_trimmable = 41\ndscp_retx = 42\ndscp_no_trim = 43\n", 1)
            .marks.code_points;
    EXPECT_EQ(points[MRC_DSCP_CONTROL], 40);
    EXPECT_EQ(points[MRC_DSCP_TRIMMABLE], 41);
    EXPECT_EQ(points[MRC_DSCP_TRIMMABLE_RETX], 42);
    EXPECT_EQ(points[MRC_DSCP_NO_TRIM], 43);
}

TEST(worker_setup, a_turn_is_four_bursts)
{
    const auto turns = options_for("[transmit]\nburst = 16\n", 1).turns;
    EXPECT_EQ(turns.burst, 16U);
    EXPECT_EQ(turns.packets, 64U);
}

} // namespace
} // namespace mrc::service
