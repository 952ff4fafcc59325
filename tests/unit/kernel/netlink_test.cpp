// SPDX-License-Identifier: Apache-2.0
#include "kernel/netlink.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <linux/if_link.h>

namespace mrc::kernel
{
namespace
{

std::span<const std::byte> bytes_of(const std::string &text)
{
    return std::as_bytes(std::span{text});
}

std::vector<std::uint16_t> types_in(const nlmsghdr &message)
{
    std::vector<std::uint16_t> types;
    for_each_attribute(message, sizeof(ifinfomsg),
                       [&](std::uint16_t type, std::span<const std::byte>) { types.push_back(type); });
    return types;
}

TEST(netlink, attributes_of_a_request_stand_behind_its_header)
{
    ifinfomsg header{};
    header.ifi_index = 7;
    netlink_request request{RTM_NEWLINK, NLM_F_ACK, header};
    request.add(IFLA_IFNAME, bytes_of("veth0"));
    auto *nest = request.begin_nest(IFLA_LINKINFO);
    request.add(IFLA_INFO_KIND, bytes_of("veth"));
    request.end_nest(nest);
    const nlmsghdr &message = request.message(5);
    EXPECT_EQ(message.nlmsg_seq, 5U);
    EXPECT_EQ(message.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
    const auto *found = header_of<ifinfomsg>(message);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->ifi_index, 7);
    EXPECT_EQ(types_in(message), (std::vector<std::uint16_t>{IFLA_IFNAME, IFLA_LINKINFO}));
}

TEST(netlink, what_does_not_fit_a_request_is_refused)
{
    netlink_request request{RTM_NEWLINK, 0, ifinfomsg{}};
    EXPECT_THROW(request.add(IFLA_IFNAME, bytes_of(std::string(2000, 'x'))), std::length_error);
    EXPECT_TRUE(types_in(request.message(1)).empty());
}

TEST(netlink, a_message_shorter_than_its_header_has_none)
{
    netlink_request request{RTM_NEWLINK, 0, std::uint32_t{0}};
    EXPECT_EQ(header_of<ifinfomsg>(request.message(1)), nullptr);
    EXPECT_TRUE(types_in(request.message(1)).empty());
}

// Of the kernel's datagrams nothing is believed that they do not hold.
TEST(netlink, an_attribute_longer_than_its_message_is_left_out)
{
    netlink_request request{RTM_NEWLINK, 0, ifinfomsg{}};
    request.add(IFLA_IFNAME, bytes_of("veth0"));
    request.add(IFLA_QDISC, bytes_of("noop"));
    nlmsghdr message_bytes[16];
    const nlmsghdr &message = request.message(1);
    ASSERT_LE(message.nlmsg_len, sizeof message_bytes);
    std::memcpy(message_bytes, &message, message.nlmsg_len);
    message_bytes[0].nlmsg_len -= 4;
    EXPECT_EQ(types_in(message_bytes[0]), (std::vector<std::uint16_t>{IFLA_IFNAME}));
}

} // namespace
} // namespace mrc::kernel
