// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/report_exchange.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;

constexpr host_place nearby{.leaf = 0, .downlink = 1};
constexpr host_place far_off{.leaf = 3, .downlink = 0};
constexpr host_place stranger{.leaf = 7, .downlink = 7};

link_report numbered(std::uint32_t number, std::uint32_t run = 1)
{
    return {.run = run, .number = number, .planes = {}, .faults = {}};
}

struct exchange {
    report_exchange all;
    instant now{1h};

    exchange() { all.know(std::vector{nearby, far_off}); }
    std::vector<host_place> due(bool alert = false)
    {
        std::vector<host_place> to;
        all.send_due(alert, now, [&](host_place host) { to.push_back(host); });
        return to;
    }
};
using hosts = std::vector<host_place>;

TEST(report_exchange, listens_to_known_hosts_only)
{
    exchange of;
    EXPECT_FALSE(of.all.take(stranger, numbered(1), of.now));
    EXPECT_TRUE(of.all.take(nearby, numbered(1), of.now));
    ASSERT_EQ(of.all.reports().size(), 1U);
    EXPECT_EQ(of.all.reports()[0].host, nearby);
    of.all.know(std::vector{far_off});
    EXPECT_TRUE(of.all.reports().empty()) << "it is known no longer";
}

TEST(report_exchange, takes_no_report_that_is_older_than_the_last_but_those_of_another_run)
{
    exchange of;
    EXPECT_TRUE(of.all.take(nearby, numbered(5), of.now));
    EXPECT_FALSE(of.all.take(nearby, numbered(5), of.now));
    EXPECT_FALSE(of.all.take(nearby, numbered(4), of.now));
    EXPECT_TRUE(of.all.take(nearby, numbered(6), of.now));
    EXPECT_TRUE(of.all.take(nearby, numbered(1, 2), of.now));
    EXPECT_TRUE(of.all.take(far_off, numbered(0xFFFFFFFF), of.now));
    EXPECT_TRUE(of.all.take(far_off, numbered(0), of.now)) << "numbers wrap";
}

TEST(report_exchange, forgets_what_is_not_said_again)
{
    exchange of;
    EXPECT_TRUE(of.all.take(nearby, numbered(1), of.now));
    of.all.forget_old(of.now + report_exchange::forgotten_after);
    EXPECT_EQ(of.all.reports().size(), 1U);
    of.all.forget_old(of.now + report_exchange::forgotten_after + 1ms);
    EXPECT_TRUE(of.all.reports().empty());
    EXPECT_EQ(of.all.report_of(nearby), nullptr);
}

TEST(report_exchange, reports_to_all_each_second_and_to_those_who_answer_more_often_in_an_alert)
{
    exchange of;
    EXPECT_EQ(of.due(), (hosts{nearby, far_off}));
    EXPECT_TRUE(of.all.take(nearby, numbered(1), of.now));
    of.now += report_exchange::alert_interval;
    EXPECT_EQ(of.due(), hosts{});
    EXPECT_EQ(of.due(true), hosts{nearby});
    EXPECT_EQ(of.due(true), hosts{});
    of.now += report_exchange::interval;
    EXPECT_EQ(of.due(), (hosts{nearby, far_off}));
}

TEST(report_exchange, hurries_once_when_its_own_verdicts_change)
{
    exchange of;
    EXPECT_TRUE(of.all.take(nearby, numbered(1), of.now));
    EXPECT_EQ(of.due(), (hosts{nearby, far_off}));
    of.all.hurry();
    of.now += 1ms;
    EXPECT_EQ(of.due(), hosts{nearby});
    EXPECT_EQ(of.due(), hosts{});
}

TEST(report_exchange, keeps_its_budget_and_every_host_has_its_turn)
{
    exchange of;
    constexpr std::uint32_t leaves = 300;
    std::vector<host_place> many;
    many.reserve(leaves);
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
        many.push_back({.leaf = leaf, .downlink = 0});
    of.all.know(many);
    std::map<host_place, int> sent;
    EXPECT_LE(of.due().size(), std::size_t{report_exchange::burst} + 1);
    for (const host_place host : many)
        EXPECT_TRUE(of.all.take(host, numbered(1), of.now));
    for (int round = 0; round < 150; ++round, of.now += 20ms) // 3 s, of 3,000 reports, when 9,000 would be due
        for (const host_place host : of.due(true))
            ++sent[host];
    int all = 0;
    for (const host_place host : many) {
        EXPECT_GE(sent[host], 6) << host.leaf;
        all += sent[host];
    }
    EXPECT_LE(all, 3000 + 2 * static_cast<int>(report_exchange::burst));
}

} // namespace
} // namespace mrc::service
