// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/identity.h"

#include <gtest/gtest.h>

namespace mrc::setup
{
namespace
{

TEST(identity, follows_from_the_machine_id_and_does_not_show_it)
{
    const auto host = host_of("0123456789abcdef0123456789abcdef\n");
    ASSERT_TRUE(host);
    EXPECT_EQ(host, host_of("0123456789abcdef0123456789abcdef"));
    EXPECT_NE(host, host_of("0123456789abcdef0123456789abcdee"));
    EXPECT_NE(*host, 0x0123456789abcdefU);
    // printf 'mrc setup 1 0123456789abcdef0123456789abcdef' | sha256sum
    EXPECT_EQ(*host, 0xac14d0a8bb8d7fc4U);
}

TEST(identity, what_is_no_machine_id_is_refused)
{
    for (const char *text : {"", "\n", "uninitialized\n", "0123456789abcdef0123456789abcdeg", "0123"}) {
        const auto host = host_of(text);
        ASSERT_FALSE(host) << text;
        EXPECT_NE(host.error().find("systemd-machine-id-setup"), std::string::npos);
    }
}

TEST(identity, addresses_are_of_one_network_a_plane)
{
    EXPECT_EQ(service::to_text(plane_address(0x1122334455667788, 1)), "fd6d:7263:5e70:1:1122:3344:5566:7788");
    EXPECT_EQ(service::to_text(common_address(0x1122334455667788)), "fd6d:7263:5e70:ff:1122:3344:5566:7788");
    EXPECT_TRUE(is_of_setup(plane_address(1, 7)));
    EXPECT_FALSE(is_of_setup(service::parse_ip("fd6d:7263:5e71::1").value_or(mrc_ip{})));
}

} // namespace
} // namespace mrc::setup
