// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/direct_judge.h"

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using std::chrono::milliseconds;

constexpr std::uint32_t peer = 3;
constexpr unsigned planes = 2;
constexpr std::uint64_t packets_per_look = 1000;

// Two planes to a peer, which carry packets and hear from it, until a test says otherwise.
struct bench {
    direct_judge judge{judge_settings{}};
    std::map<direct_way, way_look> looks;
    protocol::instant now{std::chrono::seconds{100}};
    std::vector<direct_way> changed; // by the last look

    bench()
    {
        for (unsigned plane = 0; plane < planes; ++plane)
            looks[{.leaf = peer, .plane = plane}] = {.is_usable = true, .is_good = true, .is_in_use = true};
        carry(4);
    }

    way_look &at(unsigned plane) { return looks[{.leaf = peer, .plane = plane}]; }
    [[nodiscard]] mrc_link_state state(unsigned plane) const
    {
        return judge.verdict({.leaf = peer, .plane = plane}).state;
    }
    void look()
    {
        now += direct_judge::interval;
        changed = judge.take(looks, now);
    }
    // So many looks, in each of which all planes carry packets and are heard, and `plane` loses so many.
    void carry(unsigned count, unsigned plane = 0, std::uint64_t lost = 0)
    {
        for (unsigned i = 0; i < count; ++i) {
            for (auto &[way, each] : looks) {
                each.sent += packets_per_look;
                each.heard = now + milliseconds{1};
            }
            at(plane).lost += lost;
            look();
        }
    }
    // Plane 1 is left and asked, and nothing comes; the other one carries on.
    void stay_silent(unsigned count)
    {
        at(1).is_good = at(1).is_in_use = false;
        for (unsigned i = 0; i < count; ++i) {
            at(0).sent += packets_per_look;
            at(0).heard = now + milliseconds{1};
            at(1).sent += 20;
            look();
        }
    }
};

TEST(direct_judge, planes_that_carry_are_good_and_no_news)
{
    bench to;
    EXPECT_EQ(to.state(0), MRC_LINK_GOOD);
    EXPECT_TRUE(to.changed.empty());
}

TEST(direct_judge, a_plane_on_which_nothing_comes_any_more_is_dead_until_it_does)
{
    bench to;
    to.at(1).heard = to.now + milliseconds{100};
    to.stay_silent(1);
    EXPECT_EQ(to.state(1), MRC_LINK_GOOD) << "silent for 150 ms only";
    to.stay_silent(1);
    EXPECT_EQ(to.state(1), MRC_LINK_DEAD);
    EXPECT_EQ(to.changed, (std::vector<direct_way>{{.leaf = peer, .plane = 1}}));
    const way_verdict &dead = to.judge.verdict({.leaf = peer, .plane = 1});
    EXPECT_EQ(dead.sent, 20U);
    EXPECT_EQ(dead.lost, 20U);
    to.stay_silent(20);
    EXPECT_TRUE(to.changed.empty());
    to.at(1).is_good = to.at(1).is_in_use = true;
    to.carry(1);
    EXPECT_EQ(to.state(1), MRC_LINK_GOOD);
    EXPECT_EQ(to.changed.size(), 1U);
}

// What was in flight when it was cut is inferred lost, and is no lossy plane.
TEST(direct_judge, a_cut_is_not_taken_for_loss)
{
    bench to;
    to.at(1).lost += 300;
    to.at(1).heard = to.now + milliseconds{100};
    to.stay_silent(1);
    EXPECT_EQ(to.state(1), MRC_LINK_GOOD);
    to.stay_silent(1);
    EXPECT_EQ(to.state(1), MRC_LINK_DEAD);
}

TEST(direct_judge, of_a_peer_that_is_gone_no_plane_is_blamed)
{
    bench to;
    for (unsigned i = 0; i < 12; ++i) {
        for (auto &[way, each] : to.looks) {
            each.is_good = each.is_in_use = false;
            each.sent += 20;
        }
        to.look();
        EXPECT_TRUE(to.changed.empty());
    }
}

TEST(direct_judge, a_plane_that_loses_more_than_the_other_is_lossy_with_its_rate)
{
    bench to;
    to.carry(1, 1, 300);
    EXPECT_EQ(to.state(1), MRC_LINK_GOOD) << "one look is not enough";
    to.carry(3, 1, 300);
    EXPECT_EQ(to.state(1), MRC_LINK_LOSSY);
    EXPECT_EQ(to.state(0), MRC_LINK_GOOD);
    const way_verdict &lossy = to.judge.verdict({.leaf = peer, .plane = 1});
    EXPECT_EQ(lossy.sent, 4000U);
    EXPECT_EQ(lossy.lost, 1200U);
}

TEST(direct_judge, the_rate_of_a_lossy_plane_stays_while_it_is_not_used)
{
    bench to;
    to.carry(4, 1, 300);
    to.at(1).is_good = to.at(1).is_in_use = false;
    for (unsigned i = 0; i < 40; ++i) { // asked, and answered
        to.at(0).sent += packets_per_look;
        to.at(0).heard = to.at(1).heard = to.now + milliseconds{1};
        to.at(1).sent += 20;
        to.look();
    }
    EXPECT_EQ(to.state(1), MRC_LINK_LOSSY);
    EXPECT_EQ(to.judge.verdict({.leaf = peer, .plane = 1}).sent, 4000U);
}

TEST(direct_judge, it_is_good_again_when_it_has_lost_nothing_for_a_while)
{
    bench to;
    to.carry(4, 1, 300);
    const auto looks = static_cast<unsigned>(direct_judge::calm / direct_judge::interval);
    to.carry(looks);
    EXPECT_EQ(to.state(1), MRC_LINK_LOSSY);
    to.carry(4);
    EXPECT_EQ(to.state(1), MRC_LINK_GOOD);
}

TEST(direct_judge, where_all_planes_lose_alike_none_is_blamed)
{
    bench to;
    for (unsigned i = 0; i < 12; ++i) {
        to.at(0).lost += 290;
        to.carry(1, 1, 300);
        EXPECT_TRUE(to.changed.empty());
    }
}

TEST(direct_judge, less_than_the_limit_is_no_fault)
{
    bench to;
    to.carry(20, 1, 9); // of 1,000; the limit is 1 %
    EXPECT_EQ(to.state(1), MRC_LINK_GOOD);
}

TEST(direct_judge, a_plane_that_takes_longer_than_the_other_for_a_second_is_slow)
{
    bench to;
    to.at(0).rtt_ns = 200'000;
    to.at(1).rtt_ns = 1'500'000;
    to.carry(3);
    EXPECT_EQ(to.state(1), MRC_LINK_GOOD);
    to.carry(1);
    EXPECT_EQ(to.state(1), MRC_LINK_SLOW);
    EXPECT_EQ(to.judge.verdict({.leaf = peer, .plane = 1}).extra_rtt_ns, 1'300'000U);
    to.at(1).rtt_ns = 0;
    to.carry(8);
    EXPECT_EQ(to.state(1), MRC_LINK_SLOW) << "nothing was measured";
    to.at(1).rtt_ns = 210'000;
    to.carry(4);
    EXPECT_EQ(to.state(1), MRC_LINK_GOOD);
}

TEST(direct_judge, both_planes_slow_is_no_plane_s_fault)
{
    bench to;
    to.at(0).rtt_ns = to.at(1).rtt_ns = 5'000'000;
    to.carry(12);
    EXPECT_EQ(to.state(0), MRC_LINK_GOOD);
    EXPECT_EQ(to.state(1), MRC_LINK_GOOD);
}

TEST(direct_judge, a_plane_whose_own_port_is_out_of_use_is_not_judged)
{
    bench to;
    to.at(1).is_usable = false;
    to.stay_silent(8);
    EXPECT_EQ(to.state(1), MRC_LINK_UNKNOWN);
    to.at(1).is_usable = to.at(1).is_good = to.at(1).is_in_use = true;
    to.look();
    EXPECT_EQ(to.state(1), MRC_LINK_GOOD) << "not dead by what was sent before";
    EXPECT_TRUE(to.changed.empty());
}

} // namespace
} // namespace mrc::service
