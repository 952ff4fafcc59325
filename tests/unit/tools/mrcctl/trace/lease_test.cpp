// SPDX-License-Identifier: Apache-2.0
// What a lease is, timed_lease.h, is tested with that of captures.
#include "tools/mrcctl/trace/lease.h"

#include <optional>

#include <gtest/gtest.h>

namespace mrc::ctl
{
namespace
{

constexpr std::uint64_t now_ns = 5 * lease_ns;

std::uint64_t fixed_clock()
{
    return now_ns;
}

TEST(trace_lease, asks_for_what_the_filter_says_and_leaves_nothing_on)
{
    mrc_trace_ring ring{};
    ring.newest = 7;
    {
        const trace_lease lease{ring, {.qpn = 16, .kinds = 0x12}, fixed_clock, [] { FAIL() << "nothing to wait for"; }};
        EXPECT_EQ(ring.lease_ns, now_ns + lease_ns);
        EXPECT_EQ(ring.qpn, 16U);
        EXPECT_EQ(ring.kinds, 0x12U);
        EXPECT_EQ(ring.newest, 7U) << "the worker's";
    }
    EXPECT_EQ(ring.lease_ns, 0U);
}

TEST(trace_lease, a_second_one_is_refused_with_who_has_it)
{
    mrc_trace_ring ring{};
    ring.lease_ns = now_ns + lease_ns;
    ring.owner = 4711;
    ring.kinds = 3;
    try {
        const trace_lease lease{ring, {}, fixed_clock, [&] { ring.lease_ns += renewal_ns; }};
        FAIL() << "two traces at a time";
    } catch (const lease_taken &taken) {
        EXPECT_STREQ(taken.what(), "process 4711 traces already; allowed: one trace of an mrcd at a time");
    }
    EXPECT_EQ(ring.kinds, 3U) << "the other's";
}

} // namespace
} // namespace mrc::ctl
