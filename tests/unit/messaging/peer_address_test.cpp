// SPDX-License-Identifier: Apache-2.0
#include "messaging/peer_address.h"

#include <gtest/gtest.h>

namespace mrc::messaging
{
namespace
{

peer_address example()
{
    return {.ring_slots = 64,
            .slot_bytes = 4096,
            .qpn = 0xABCDEF,
            .first_psn = 0x123456,
            .gid = {0xFD, 0x6D, 0x72, 0x63, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2},
            .ring = 0x7F0012345678,
            .rkey = 0x89ABCDEF};
}

TEST(peer_address, survives_the_way)
{
    const auto bytes = example().encode();
    EXPECT_EQ(peer_address::decode(bytes), example());
}

TEST(peer_address, has_the_layout_of_its_table)
{
    const auto bytes = example().encode();
    EXPECT_EQ(std::string(bytes.data(), 4), "MRCM");
    EXPECT_EQ(bytes[5], 1);
    EXPECT_EQ(static_cast<unsigned char>(bytes[15]), 0xEF); // QPN
    EXPECT_EQ(static_cast<unsigned char>(bytes[20]), 0xFD); // GID
    EXPECT_EQ(static_cast<unsigned char>(bytes[47]), 0xEF); // rkey
}

TEST(peer_address, refuses_what_is_none)
{
    auto bytes = example().encode();
    EXPECT_FALSE(peer_address::decode(std::span{bytes}.first(47)));
    bytes[5] = 2; // a later version
    EXPECT_FALSE(peer_address::decode(bytes));
    bytes = example().encode();
    bytes[0] = 'X';
    EXPECT_FALSE(peer_address::decode(bytes));
    bytes = example().encode();
    bytes[6] = bytes[7] = 0; // no ring
    EXPECT_FALSE(peer_address::decode(bytes));
}

TEST(peer_address, is_written_as_people_know_it)
{
    peer_address address = example();
    address.qpn = 17;
    EXPECT_EQ(address.text(), "fd6d:7263::1:2 QP 17");
    address.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 1, 2, 3};
    EXPECT_EQ(address.text(), "10.1.2.3 QP 17");
}

} // namespace
} // namespace mrc::messaging
