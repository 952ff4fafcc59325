// SPDX-License-Identifier: Apache-2.0
// The public headers, current version, in C++. That this file and api_layout_c11.c compile is most of the test.
#include "api_layout.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

extern "C" int api_layout_unpopulated_c11(void);

static_assert(MRC_API_VER_USED == MRC_API_CURRENT_VERSION);
static_assert(MRC_CTL_API_VER_USED == MRC_CTL_API_CURRENT_VERSION);

TEST(api_layout, functions_of_1_0_1_are_declared)
{
    using query_device = int(ibv_context *, mrc_context *, mrc_device_attr *, int *);
    using ctl_query_device = int(ibv_context *, mrc_context *, mrc_ctl_device_attr *, int *);
    static_assert(std::is_same_v<query_device, decltype(mrc_query_device_ex)>);
    static_assert(std::is_same_v<ctl_query_device, decltype(mrc_ctl_query_device_ex)>);
}

TEST(api_layout, unpopulated_ev_is_zero)
{
    const mrc_ctl_ev ev = MRC_CTL_EV_UNPOPULATED;
    EXPECT_TRUE(std::ranges::all_of(ev.val, [](std::uint8_t byte) { return byte == 0; }));
    EXPECT_EQ(ev.port, 0);
    EXPECT_EQ(api_layout_unpopulated_c11(), 0);
}
