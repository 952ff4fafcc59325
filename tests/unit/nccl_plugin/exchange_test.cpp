// SPDX-License-Identifier: Apache-2.0
// What travels between hosts before there is a connection: handles and greetings.
#include <gtest/gtest.h>

#include "nccl_plugin/connect_handle.h"
#include "nccl_plugin/greeting.h"

namespace mrc::nccl_plugin
{
namespace
{

connect_handle handle_example()
{
    return {.listener = {.family = AF_INET6, .bytes = {0xFD, 1, 2}, .port = 4711, .scope = 7},
            .token = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
            .gid = {0xFD, 0x6D},
            .attempt = 5};
}

messaging::peer_address address_example()
{
    return {.ring_slots = 64, .slot_bytes = 256, .qpn = 17, .first_psn = 3, .gid = {0xFD}, .ring = 4096, .rkey = 9};
}

using handle_array = std::array<std::byte, handle_bytes>;

TEST(exchange, handles_survive_the_way)
{
    handle_array bytes{};
    handle_example().encode(bytes);
    EXPECT_EQ(connect_handle::decode(bytes), handle_example());
    connect_handle ipv4 = handle_example();
    ipv4.listener = {.family = AF_INET, .bytes = {10, 0, 0, 1}, .port = 1};
    ipv4.encode(bytes);
    EXPECT_EQ(connect_handle::decode(bytes), ipv4);
}

TEST(exchange, handles_of_other_plug_ins_are_refused)
{
    EXPECT_FALSE(connect_handle::decode(handle_array{}));
    for (const std::size_t at : {0U, 5U, 7U}) { // magic, version, family
        handle_array bytes{};
        handle_example().encode(bytes);
        bytes.at(at) = std::byte{0x55};
        EXPECT_FALSE(connect_handle::decode(bytes)) << at;
    }
}

TEST(exchange, greetings_survive_the_way)
{
    const greeting ours{.token = handle_example().token, .address = address_example()};
    const auto found = greeting::decode(ours.encode(), ours.token);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->address, ours.address);
}

TEST(exchange, who_gives_up_has_no_address)
{
    const greeting ours{.token = handle_example().token, .address = {}};
    const auto found = greeting::decode(ours.encode(), ours.token);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->address);
}

TEST(exchange, greetings_of_strangers_are_refused)
{
    const greeting ours{.token = handle_example().token, .address = address_example()};
    token_bytes other = ours.token;
    other.back() ^= 1;
    EXPECT_FALSE(greeting::decode(ours.encode(), other));
    for (const std::size_t at :
         {0U, 5U, 7U, 8U, 24U, 29U}) { // magic, version, kind, token; the address's magic, version
        auto bytes = ours.encode();
        bytes.at(at) ^= std::byte{0x55};
        EXPECT_FALSE(greeting::decode(bytes, ours.token)) << at;
    }
}

} // namespace
} // namespace mrc::nccl_plugin
