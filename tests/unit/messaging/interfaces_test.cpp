// SPDX-License-Identifier: Apache-2.0
#include "messaging/interfaces.h"

#include <gtest/gtest.h>

namespace mrc::messaging
{
namespace
{

host_interface ipv4(const std::string &name, std::uint8_t last)
{
    return {.name = name, .address = {.family = AF_INET, .bytes = {10, 0, 0, last}}};
}

host_interface ipv6(const std::string &name, std::uint8_t first, std::uint8_t second)
{
    return {.name = name, .address = {.family = AF_INET6, .bytes = {first, second}}};
}

TEST(interfaces, are_named_by_prefixes)
{
    EXPECT_TRUE(names_interface("eth", "eth0"));
    EXPECT_TRUE(names_interface("ens,eth1", "eth10"));
    EXPECT_FALSE(names_interface("eth1", "eth0"));
    EXPECT_TRUE(names_interface("eth0:3,ens", "eth0"));
}

TEST(interfaces, are_named_in_full_after_an_equals_sign)
{
    EXPECT_TRUE(names_interface("=eth1,eth2", "eth2"));
    EXPECT_FALSE(names_interface("=eth1", "eth10"));
}

TEST(interfaces, are_left_out_after_a_caret)
{
    EXPECT_FALSE(names_interface("^docker,lo", "docker0"));
    EXPECT_TRUE(names_interface("^docker,lo", "eth0"));
    EXPECT_TRUE(names_interface("^=eth1", "eth10"));
    EXPECT_FALSE(names_interface("^=eth1", "eth1"));
}

TEST(interfaces, are_all_named_by_an_empty_list)
{
    EXPECT_TRUE(names_interface("", "eth0"));
    EXPECT_TRUE(names_interface(",", "eth0"));
}

TEST(interfaces, of_infiniband_come_first_and_loopback_late)
{
    const std::vector<host_interface> all{ipv4("lo", 1), ipv4("docker0", 2), ipv4("eth0", 3), ipv4("ib0", 4)};
    EXPECT_EQ(choose_interface(all, "", "")->name, "ib0");
    EXPECT_EQ(choose_interface(std::span{all}.first(3), "", "")->name, "eth0");
    EXPECT_EQ(choose_interface(std::span{all}.first(2), "", "")->name, "docker0");
    EXPECT_EQ(choose_interface(std::span{all}.first(1), "", "")->name, "lo");
    EXPECT_FALSE(choose_interface({}, "", ""));
}

TEST(interfaces, that_the_user_names_are_found_or_nothing_is)
{
    const std::vector<host_interface> all{ipv4("lo", 1), ipv4("eth0", 3), ipv4("eth1", 4)};
    EXPECT_EQ(choose_interface(all, "eth1", "")->name, "eth1");
    EXPECT_EQ(choose_interface(all, "lo", "")->name, "lo");
    EXPECT_FALSE(choose_interface(all, "ens", ""));
}

TEST(interfaces, have_an_address_of_the_family_that_is_asked_for)
{
    const std::vector<host_interface> all{ipv4("eth0", 3), ipv6("eth0", 0xFD, 0)};
    EXPECT_EQ(choose_interface(all, "", "")->address.family, AF_INET);
    EXPECT_EQ(choose_interface(all, "", "AF_INET6")->address.family, AF_INET6);
    EXPECT_FALSE(choose_interface(std::span{all}.first(1), "", "AF_INET6"));
}

TEST(interfaces, with_link_local_addresses_alone_are_the_last_choice)
{
    const std::vector<host_interface> all{ipv6("eth0", 0xFE, 0x80), ipv6("eth1", 0xFD, 0)};
    EXPECT_EQ(choose_interface(all, "", "")->name, "eth1");
    EXPECT_EQ(choose_interface(std::span{all}.first(1), "", "")->name, "eth0");
}

TEST(interfaces, addresses_survive_the_way_to_the_kernel_and_back)
{
    for (const socket_address &address :
         {socket_address{.family = AF_INET, .bytes = {10, 1, 2, 3}, .port = 4711},
          socket_address{.family = AF_INET6, .bytes = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 1}, .port = 17, .scope = 3}}) {
        sockaddr_storage stored{};
        (void)address.store(stored);
        EXPECT_EQ(socket_address::from(reinterpret_cast<const sockaddr *>(&stored)), address);
    }
    EXPECT_FALSE(socket_address::from(nullptr));
    EXPECT_EQ((socket_address{.family = AF_INET, .bytes = {10, 1, 2, 3}, .port = 4711}.text()), "10.1.2.3:4711");
}

} // namespace
} // namespace mrc::messaging
