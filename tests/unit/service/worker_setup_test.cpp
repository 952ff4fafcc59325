// SPDX-License-Identifier: Apache-2.0
#include "service/worker_setup.h"

#include <chrono>
#include <initializer_list>

#include <gtest/gtest.h>

#include "kernel/probes/cpus.h"
#include "service/srv6_fabric.h"

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;

daemon_config configured_with(const std::string &more)
{
    auto config = parse_config("[host]\nleaf = 1\ndownlink = 2\n[fabric]\nplanes = 1\nleaves = 2\nuplinks = 2\n"
                               "[[port]]\ndevice = \"lo\"\nplane = 0\n" +
                                   more,
                               "test");
    EXPECT_TRUE(config) << config.error().text();
    return *config;
}

datapath::worker_options options_for(const std::string &more, const worker_place &place = {},
                                     protocol::asker which = {})
{
    const daemon_config config = configured_with(more);
    return worker_options_for(config, srv6_fabric{config}, place, which);
}

TEST(worker_setup, one_worker_unless_more_are_asked_for)
{
    for (const std::size_t cpus : std::initializer_list<std::size_t>{1, 16, 256})
        EXPECT_EQ(workers_of(configured_with(""), cpus), 1U) << cpus;
}

TEST(worker_setup, auto_is_one_worker_for_each_eight_cpus)
{
    const daemon_config config = configured_with("[worker]\nworkers = \"auto\"\n");
    for (const std::size_t cpus : std::initializer_list<std::size_t>{0, 1, 2, 8, 15})
        EXPECT_EQ(workers_of(config, cpus), 1U) << cpus;
    EXPECT_EQ(workers_of(config, 16), 2U);
    EXPECT_EQ(workers_of(config, 31), 3U);
    for (const std::size_t cpus : std::initializer_list<std::size_t>{32, 40, 256, 1 << 20})
        EXPECT_EQ(workers_of(config, cpus), unsigned{MRC_MAX_WORKERS}) << cpus;
}

TEST(worker_setup, as_many_workers_as_are_configured_on_however_many_cpus)
{
    const daemon_config config = configured_with("[worker]\nworkers = 3\n");
    for (const std::size_t cpus : std::initializer_list<std::size_t>{1, 16, 256})
        EXPECT_EQ(workers_of(config, cpus), 3U) << cpus;
    EXPECT_EQ(workers_of(config), 3U);
}

TEST(worker_setup, cpus_are_those_that_this_process_may_use)
{
    const daemon_config config = configured_with("[worker]\nworkers = \"auto\"\n");
    EXPECT_EQ(workers_of(config), workers_of(config, kernel::probes::usual_cpus().size()));
}

TEST(worker_setup, several_workers_share_the_cpus_out)
{
    const worker_place place{.cpus = {1, 3, 5, 7, 9}, .reason = {}, .advice = {}};
    EXPECT_EQ(options_for("", place, {.number = 0, .of = 2}).cpus, (kernel::cpu_list{1, 3}));
    EXPECT_EQ(options_for("", place, {.number = 1, .of = 2}).cpus, (kernel::cpu_list{5, 7, 9}));
    const worker_place few{.cpus = {1, 3}, .reason = {}, .advice = {}};
    EXPECT_EQ(options_for("", few, {.number = 2, .of = 3}).cpus, (kernel::cpu_list{1, 3}))
        << "where there are fewer than workers, each may have all";
}

TEST(worker_setup, spins_for_as_long_as_is_configured)
{
    EXPECT_EQ(options_for("").spin, 20us);
    EXPECT_EQ(options_for("[transmit]\nspin_us = 7\n").spin, 7us);
    EXPECT_EQ(options_for("[transmit]\nspin_us = 0\n").spin, 0us);
}

TEST(worker_setup, runs_on_the_cpus_that_were_chosen)
{
    EXPECT_TRUE(options_for("").cpus.empty());
    EXPECT_EQ(options_for("", {.cpus = {1, 3}, .reason = {}, .advice = {}}).cpus, (kernel::cpu_list{1, 3}));
}

TEST(worker_setup, packets_are_classified_by_the_configured_code_points)
{
    const auto points =
        options_for("[wire]\ndscp_control = 40\ndscp_trimmable = 41\ndscp_retx = 42\ndscp_no_trim = 43\n")
            .marks.code_points;
    EXPECT_EQ(points[MRC_DSCP_CONTROL], 40);
    EXPECT_EQ(points[MRC_DSCP_TRIMMABLE], 41);
    EXPECT_EQ(points[MRC_DSCP_TRIMMABLE_RETX], 42);
    EXPECT_EQ(points[MRC_DSCP_NO_TRIM], 43);
}

TEST(worker_setup, a_turn_is_four_bursts)
{
    const auto turns = options_for("[transmit]\nburst = 16\n").turns;
    EXPECT_EQ(turns.burst, 16U);
    EXPECT_EQ(turns.packets, 64U);
}

} // namespace
} // namespace mrc::service
