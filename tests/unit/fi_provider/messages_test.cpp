// SPDX-License-Identifier: Apache-2.0
// What the ends of libfabric's provider tell each other: by TCP to connect, by the ring for each transfer.
#include <gtest/gtest.h>

#include "fi_provider/connect_message.h"
#include "fi_provider/transfer_head.h"

namespace mrc::fi_provider
{
namespace
{

transfer_head head_example()
{
    return {.kind = transfer_kind::read,
            .has_data = true,
            .id = 1,
            .size = std::uint64_t{1} << 40,
            .data = 3,
            .address = 0x7F0000001000,
            .key = 5,
            .other = 6};
}

connect_message request_example()
{
    return {
        .kind = connect_kind::request,
        .address =
            messaging::peer_address{
                .ring_slots = 64, .slot_bytes = 256, .qpn = 17, .first_psn = 3, .gid = {0xFD}, .ring = 4096, .rkey = 9},
        .data = {std::byte{1}, std::byte{2}}};
}

TEST(transfer_head, survives_the_way)
{
    EXPECT_EQ(transfer_head::decode(head_example().encode()), head_example());
}

TEST(transfer_head, of_no_kind_or_cut_short_is_refused)
{
    auto bytes = head_example().encode();
    EXPECT_FALSE(transfer_head::decode(std::span{bytes}.first(bytes.size() - 1)));
    for (const unsigned kind : {0U, 9U}) {
        bytes.at(1) = static_cast<std::byte>(kind);
        EXPECT_FALSE(transfer_head::decode(bytes)) << kind;
    }
}

TEST(connect_message, survives_the_way)
{
    const auto found = connect_message::decode(request_example().encode());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kind, connect_kind::request);
    EXPECT_EQ(found->address, request_example().address);
    EXPECT_EQ(found->data, request_example().data);
}

TEST(connect_message, that_rejects_has_no_address)
{
    const auto found =
        connect_message::decode(connect_message{.kind = connect_kind::reject, .address = {}, .data = {}}.encode());
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->address);
}

TEST(connect_message, of_strangers_is_refused)
{
    const auto right = request_example().encode();
    EXPECT_FALSE(connect_message::decode(std::span{right}.first(right.size() - 1)));
    for (const std::size_t at : {0U, 5U, 6U, 8U}) { // magic, kind, bytes of data; the address's magic
        auto bytes = right;
        bytes.at(at) ^= std::byte{0x55};
        EXPECT_FALSE(connect_message::decode(bytes)) << at;
    }
}

} // namespace
} // namespace mrc::fi_provider
