// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/segmentation.h"

#include <gtest/gtest.h>

namespace mrc::protocol
{
namespace
{

constexpr std::uint32_t payload_bytes = 1024;

send_request request(std::uint32_t bytes, bool immediate)
{
    send_request result;
    result.work = {.id = 1, .source = {5, 0x1000, bytes}, .remote_va = 0x9000, .rkey = 7};
    if (immediate)
        result.work.immediate = 0x12345678;
    result.first = 40;
    result.packets = bytes == 0 ? 1 : (bytes + payload_bytes - 1) / payload_bytes;
    result.msn = 3;
    result.immediates = 0x10002;
    return result;
}

TEST(segmentation, opcodes_give_the_place_in_the_message)
{
    struct row {
        std::uint32_t bytes;
        packet_number number;
        int plain, immediate;
    };
    for (const row &each :
         {row{0, 40, MRC_OP_WRITE_ONLY, MRC_OP_WRITE_ONLY_IMM}, row{1024, 40, MRC_OP_WRITE_ONLY, MRC_OP_WRITE_ONLY_IMM},
          row{2500, 40, MRC_OP_WRITE_FIRST, MRC_OP_WRITE_FIRST},
          row{2500, 41, MRC_OP_WRITE_MIDDLE, MRC_OP_WRITE_MIDDLE},
          row{2500, 42, MRC_OP_WRITE_LAST, MRC_OP_WRITE_LAST_IMM}}) {
        EXPECT_EQ(opcode_of(request(each.bytes, false), each.number), each.plain);
        EXPECT_EQ(opcode_of(request(each.bytes, true), each.number), each.immediate);
    }
}

TEST(segmentation, packets_cover_the_message_without_gap_or_overlap)
{
    for (const std::uint32_t bytes : {0u, 1u, 1023u, 1024u, 1025u, 2500u, 4096u}) {
        const send_request whole = request(bytes, false);
        std::uint64_t covered = 0;
        for (packet_number number = whole.first; number < whole.end(); ++number) {
            EXPECT_EQ(offset_of(whole, number, payload_bytes), covered);
            covered += payload_of(whole, number, payload_bytes);
        }
        EXPECT_EQ(covered, bytes);
    }
}

TEST(segmentation, only_the_last_packet_carries_the_immediate)
{
    const send_request whole = request(2500, true);
    for (packet_number number = whole.first; number < whole.end(); ++number) {
        data_packet data;
        describe(data, whole, number, payload_bytes);
        const bool last = number + 1 == whole.end();
        EXPECT_EQ(data.immediate.has_value(), last);
        EXPECT_EQ(data.rqmsn, 2) << "16 bits of the count of immediates, on every packet";
        EXPECT_EQ(data.msn, 3);
        EXPECT_EQ(data.va, 0x9000u + offset_of(whole, number, payload_bytes));
        EXPECT_EQ(data.payload_bytes, last ? 452u : 1024u);
        EXPECT_EQ(data.message_bytes, 2500u);
        EXPECT_EQ(data.rkey, 7u);
    }
}

} // namespace
} // namespace mrc::protocol
