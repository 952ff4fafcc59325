// SPDX-License-Identifier: Apache-2.0
// The shared headers mean the same in C11, in C++ and, by compilation alone (wire_bpf target), for BPF.
#include <gtest/gtest.h>

#include "mrc/abi/maps.h"
#include "mrc/abi/srv6.h"
#include "mrc/abi/wire.h"

extern "C" {
__u32 mrc_c11_ev(__u32 flow_label, __u16 udp_source);
__u32 mrc_c11_24_bits(__u32 value);
void mrc_c11_shift(mrc_carrier *carrier);
__u32 mrc_c11_sizes(void);
}

namespace
{

TEST(wire, structures_have_one_size_in_both_languages)
{
    EXPECT_EQ(mrc_c11_sizes(), sizeof(mrc_bth) + sizeof(mrc_seth) + sizeof(mrc_cc_state) + sizeof(mrc_eeth) +
                                   sizeof(mrc_path_row) + sizeof(mrc_qp_row));
}

TEST(wire, twenty_four_bit_fields_keep_their_low_bits)
{
    for (const __u32 value : {0u, 1u, 0x123456u, 0xFFFFFFu, 0xFF123456u}) {
        __u8 bytes[3];
        mrc_put24(bytes, value);
        EXPECT_EQ(mrc_get24(bytes), value & 0xFFFFFF);
        EXPECT_EQ(mrc_c11_24_bits(value), value & 0xFFFFFF);
        EXPECT_EQ(bytes[0], value >> 16 & 0xFF) << "most significant first";
    }
}

TEST(wire, entropy_is_flow_label_over_source_port)
{
    EXPECT_EQ(mrc_ev_from_packet(0x0003, 0xC0DE), 0x0003C0DEu);
    EXPECT_EQ(mrc_ev_from_packet(0xF0003, 0xC0DE), 0x0003C0DEu) << "the top four label bits are unused";
    EXPECT_EQ(mrc_c11_ev(0xFFFFF, 0xFFFF), 0xFFFFFFFFu);
}

TEST(wire, opcodes_are_of_the_mrc_service)
{
    for (const int opcode : {0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xCB, 0xD1, 0xD8, 0xD9, 0xDC, 0xDD, 0xDE})
        EXPECT_EQ(opcode & MRC_OP_SERVICE_MASK, MRC_OP_SERVICE);
    EXPECT_NE(0x0A & MRC_OP_SERVICE_MASK, MRC_OP_SERVICE) << "RoCE's RDMA WRITE Only";
}

TEST(wire, traffic_class_is_dscp_over_ecn)
{
    EXPECT_EQ(MRC_TCLASS(MRC_DSCP_TRIMMABLE, MRC_ECN_NOT_ECT), 0x10) << "TC of the vectors in protocol.md §12";
    EXPECT_EQ(MRC_TCLASS(MRC_DSCP_CONTROL, MRC_ECN_CE), 0xBB);
}

TEST(wire, uapi_carrier_shift_is_the_same_in_c)
{
    mrc_carrier a{{0xfc, 0xbb, 0xbb, 0, 0x21, 0, 0x11, 3, 0x21, 1, 0x81, 0, 1, 2, 3, 4}};
    mrc_carrier b = a;
    mrc_usid_shift(&a, MRC_USID_USUAL_BLOCK);
    mrc_c11_shift(&b);
    EXPECT_TRUE(std::equal(a.bytes, a.bytes + 16, b.bytes));
}

} // namespace
