// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/held_profiles.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "unit/service/daemon_in_memory.h"

namespace mrc::service
{
namespace
{

constexpr std::uint64_t cc = 3;
constexpr std::uint64_t ev = 4;

class held_profiles : public testing::Test
{
protected:
    void SetUp() override
    {
        ASSERT_TRUE(control_.cc_profiles().modify(cc, {.state = 1, .algorithm = ""}));
        ASSERT_TRUE(control_.cc_profiles().modify(cc, {.state = 2}));
        const auto automatic = static_cast<std::uint32_t>(session::ev_mode::automatic);
        ASSERT_TRUE(control_.ev_profiles().modify(ev, {.state = 1, .mode = automatic}, {}).result);
        ASSERT_TRUE(control_.ev_profiles().modify(ev, {.state = 2, .min_active = 1, .event_mask = 0}, {}).result);
    }
    [[nodiscard]] static session::qp_attributes both(std::uint64_t ev_profile, std::uint64_t cc_profile)
    {
        session::qp_attributes wanted{};
        wanted.mask = both_profiles;
        wanted.ev_profile = ev_profile;
        wanted.cc_profile = cc_profile;
        return wanted;
    }
    [[nodiscard]] unsigned users() { return control_.cc_profiles().find(cc).queue_pairs; }

    test::daemon_in_memory daemon_{0};
    control_service &control_ = daemon_.resources().control;
};

TEST_F(held_profiles, only_what_the_mask_names_is_held_and_released)
{
    session::qp_attributes wanted = both(session::built_in_profile, cc);
    wanted.mask = session::qp_sets_ev_profile;
    EXPECT_TRUE(hold_profiles(control_, wanted));
    EXPECT_EQ(users(), 0U);
    wanted.mask = both_profiles;
    EXPECT_TRUE(hold_profiles(control_, wanted));
    EXPECT_EQ(users(), 1U);
    release_profiles(control_, wanted, session::qp_sets_ev_profile);
    EXPECT_EQ(users(), 1U);
    release_profiles(control_, wanted);
    EXPECT_EQ(users(), 0U);
}

TEST_F(held_profiles, the_built_in_ones_are_always_there_and_nobody_counts_them)
{
    EXPECT_TRUE(hold_profiles(control_, both(session::built_in_profile, session::built_in_profile)));
    EXPECT_EQ(control_.cc_profiles().find(session::built_in_profile).queue_pairs, 0U);
}

TEST_F(held_profiles, a_refused_one_releases_the_other)
{
    const auto unknown_ev = hold_profiles(control_, both(9, cc));
    ASSERT_FALSE(unknown_ev);
    EXPECT_EQ(unknown_ev.error().code, EINVAL);
    EXPECT_EQ(users(), 0U);
    const auto unknown_cc = hold_profiles(control_, both(ev, 9));
    ASSERT_FALSE(unknown_cc);
    EXPECT_EQ(unknown_cc.error().code, EINVAL);
    EXPECT_EQ(control_.ev_profiles().find(ev).queue_pairs, 0U);
    EXPECT_TRUE(hold_profiles(control_, both(ev, cc)));
    EXPECT_EQ(control_.ev_profiles().find(ev).queue_pairs, 1U);
}

} // namespace
} // namespace mrc::service
