// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/capture/lease.h"

#include <optional>

#include <gtest/gtest.h>

namespace mrc::ctl
{
namespace
{

class capture_lease_test : public testing::Test
{
protected:
    // Takes the row; `wait` runs whenever the lease of another is waited for.
    void claim(const timed_lease::pause &wait = [] { FAIL() << "nothing is to be waited for"; })
    {
        mrc_capture_ring settings{};
        settings.planes = 0xFF;
        settings.sample = 3;
        lease_.emplace(ring_, settings, [this] { return now_; }, wait);
    }

    std::uint64_t now_ = 5 * lease_ns;
    mrc_capture_ring ring_{};
    std::optional<capture_lease> lease_;
};

TEST_F(capture_lease_test, is_claimed_with_settings_and_given_back)
{
    ring_.producer = 7;
    claim();
    EXPECT_EQ(ring_.lease_ns, now_ + lease_ns);
    EXPECT_EQ(ring_.consumer, 7U) << "what an earlier capture left is not this one's";
    EXPECT_EQ(ring_.sample, 3U);
    EXPECT_EQ(ring_.planes, 0xFFU);
    lease_.reset();
    EXPECT_EQ(ring_.lease_ns, 0U);
}

TEST_F(capture_lease_test, is_put_off_before_it_is_over)
{
    claim();
    now_ += renewal_ns;
    lease_->renew();
    EXPECT_EQ(ring_.lease_ns, now_ + lease_ns);
    EXPECT_EQ(lease_->lapses(), 0U);
}

TEST_F(capture_lease_test, one_that_lapsed_goes_on_and_says_so)
{
    claim();
    now_ += 2 * lease_ns;
    ring_.lease_ns = 0; // as a program does that finds it over
    lease_->renew();
    EXPECT_EQ(ring_.lease_ns, now_ + lease_ns);
    EXPECT_EQ(lease_->lapses(), 1U);
}

TEST_F(capture_lease_test, that_of_a_killed_capture_is_waited_for)
{
    ring_.lease_ns = now_ + lease_ns;
    int waits = 0;
    claim([this, &waits] {
        ++waits;
        now_ += lease_ns / 4;
    });
    EXPECT_EQ(waits, 4);
    EXPECT_EQ(ring_.lease_ns, now_ + lease_ns);
}

TEST_F(capture_lease_test, one_that_is_put_off_by_another_is_refused)
{
    ring_.lease_ns = now_ + lease_ns;
    ring_.owner = 4711;
    try {
        claim([this] { ring_.lease_ns += renewal_ns; });
        FAIL() << "two captures at a time";
    } catch (const lease_taken &taken) {
        EXPECT_STREQ(taken.what(), "process 4711 captures already; allowed: one capture of an mrcd at a time");
    }
    EXPECT_EQ(ring_.sample, 0U);
}

TEST_F(capture_lease_test, one_that_another_took_is_left_to_him)
{
    claim();
    now_ += 2 * lease_ns;
    ring_.lease_ns = now_ + lease_ns / 2;
    EXPECT_THROW(lease_->renew(), lease_taken);
    lease_.reset();
    EXPECT_EQ(ring_.lease_ns, now_ + lease_ns / 2);
}

} // namespace
} // namespace mrc::ctl
