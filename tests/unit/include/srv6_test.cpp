// SPDX-License-Identifier: Apache-2.0
// uSID carriers and the expansion of entropy values (mrc/abi/srv6.h).
#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mrc/abi/srv6.h"

#include "unit/codec/vector_file.h"

namespace
{

using mrc::test::byte_string;
using mrc::test::from_hex;

mrc_carrier carrier(const char *hex)
{
    mrc_carrier result{};
    const byte_string bytes = from_hex(hex);
    std::ranges::transform(bytes, result.bytes, [](std::byte byte) { return static_cast<__u8>(byte); });
    return result;
}

std::string hex(const __u8 *bytes, std::size_t size)
{
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < size; i++) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

std::string hex(const mrc_carrier &value)
{
    return hex(value.bytes, sizeof value.bytes);
}

constexpr __u32 block_lengths[] = {2, 4, 6, 8};

// A carrier whose block is of so many bytes.
mrc_carrier with_usids(__u32 block_bytes, std::initializer_list<__u16> usids)
{
    mrc_carrier value = carrier("fcbbbb00 00010002 00000000 00000000");
    std::fill(value.bytes + block_bytes, value.bytes + sizeof value.bytes, __u8{0});
    __u32 place = 0;
    for (const __u16 usid : usids)
        mrc_usid_set(&value, block_bytes, place++, usid);
    return value;
}

// Across a fabric: each switch shifts once, the host's uSID is the last and cannot be shifted away.
TEST(usid, shift_walks_the_carrier_to_its_end)
{
    mrc_carrier at = carrier("fcbbbb00 2100 1103 2101 8100 0000 0000");
    const std::vector<std::string> hops = {"fcbbbb00110321018100000000000000", "fcbbbb00210181000000000000000000",
                                           "fcbbbb00810000000000000000000000"};
    for (const auto &hop : hops) {
        ASSERT_TRUE(mrc_usid_has_next(&at, 4));
        mrc_usid_shift(&at, 4);
        EXPECT_EQ(hex(at), hop);
    }
    EXPECT_FALSE(mrc_usid_has_next(&at, 4));
    EXPECT_EQ(mrc_usid_at(&at, 4, 0), 0x8100);
    mrc_usid_shift(&at, 4);
    EXPECT_EQ(mrc_usid_at(&at, 4, 0), 0);
}

TEST(usid, shift_keeps_a_block_of_any_length_and_fills_with_end_of_carrier)
{
    for (const __u32 block : block_lengths) {
        mrc_carrier at = with_usids(block, {0x2100, 0x1103, 0x2101, 0x8100});
        mrc_usid_shift(&at, block);
        EXPECT_EQ(hex(at), hex(with_usids(block, {0x1103, 0x2101, 0x8100}))) << block;
    }
    mrc_carrier full = carrier("fcbbbb00 0001 0002 0003 0004 0005 0006");
    EXPECT_TRUE(mrc_usid_has_next(&full, 4));
    mrc_usid_shift(&full, 4);
    EXPECT_EQ(hex(full), "fcbbbb00000200030004000500060000");
}

TEST(usid, set_and_at_address_each_of_those_that_fit)
{
    mrc_carrier value = carrier("fcbbbb00 0000 0000 0000 0000 0000 0000");
    ASSERT_EQ(mrc_usids_behind(4), 6U);
    for (__u32 i = 0; i < 6; i++)
        mrc_usid_set(&value, 4, i, static_cast<__u16>(0x1100 + i));
    EXPECT_EQ(hex(value), "fcbbbb00110011011102110311041105");
    for (__u32 i = 0; i < 6; i++)
        EXPECT_EQ(mrc_usid_at(&value, 4, i), 0x1100 + i);
    EXPECT_EQ(mrc_usids_behind(2), 7U);
    EXPECT_EQ(mrc_usids_behind(8), 4U) << "as many as a path between two leaves takes";
}

TEST(ev, default_layout_splits_into_plane_uplink_and_entropy)
{
    for (const __u32 plane : {0u, 3u, 7u}) {
        for (const __u32 uplink : {0u, 1u, 255u}) {
            const __u32 ev = mrc_ev_make(plane, uplink, 0x155555);
            EXPECT_EQ(mrc_ev_plane(ev), plane);
            EXPECT_EQ(mrc_ev_uplink(ev), uplink);
            EXPECT_EQ(ev >> MRC_EV_ENTROPY_SHIFT, 0x155555u);
        }
    }
    EXPECT_EQ(mrc_ev_make(9, 257, 0), mrc_ev_make(1, 1, 0)) << "each field keeps to its bits";
}

// The expansion of the controller API, with the vectors of its reference program.
struct expansion {
    std::vector<__u8> widths;
    std::vector<mrc_ev_field> fields;
    const char *ev;
    const char *wire;
    int ev_bits;
};

mrc_ev_field field(__u32 width, __u32 init, __u32 mask)
{
    return {.width = width, .init = init, .min = 0, .max = 0, .mask = mask};
}

int expand(const expansion &e, std::array<__u8, MRC_EV_BYTES> &out)
{
    std::array<__u8, MRC_EV_BYTES> ev{};
    std::ranges::transform(from_hex(e.ev), ev.begin(), [](std::byte byte) { return static_cast<__u8>(byte); });
    return mrc_ev_expand(ev.data(), e.fields.data(), e.widths.data(), static_cast<unsigned int>(e.fields.size()), 0,
                         out.data());
}

TEST(ev_expand, vectors_of_the_controller_api)
{
    const mrc_ev_field any16 = field(16, 0, 0xFFFF);
    const mrc_ev_field low4 = field(4, 0, 0xF);
    const expansion cases[] = {
        {{16, 16}, {field(16, 0x0100, 0x000F), field(16, 0x0200, 0x000F)}, "a4", "010a0204", 8},
        {{16, 16}, {field(16, 0x1000, 0x0F0F), field(16, 0x2000, 0x0F0F)}, "3312", "13032102", 16},
        {{32, 16, 16, 16, 16},
         {field(32, 0xCAFECAFE, 0), any16, any16, any16, any16},
         "43ba48d6a43de086",
         "cafecafe43ba48d6a43de086",
         64},
        {{32, 16, 16, 16, 16}, {field(32, 0xDEADDEAD, 0), any16, any16}, "e298f115", "deaddeade298f115", 32},
        {{32, 16, 16, 16, 16},
         {field(32, 0x42424242, 0), low4, low4, low4, low4},
         "78ba",
         "4242424200070008000b000a",
         16},
        {{32, 16, 16, 16, 16, 16, 16, 32, 16, 16},
         {field(32, 0xCAFECAFE, 0), any16, any16, any16, any16, any16, any16, field(32, 0xDECAFBAD, 0), any16, any16},
         "b8a7310e14c80962ae4b9dd6587a4c16",
         "cafecafeb8a7310e14c80962ae4b9dd6decafbad587a4c16",
         128},
    };
    for (const auto &e : cases) {
        SCOPED_TRACE(e.wire);
        std::array<__u8, MRC_EV_BYTES> out{};
        EXPECT_EQ(expand(e, out), e.ev_bits);
        std::string expected = e.wire;
        expected.resize(out.size() * 2, '0'); // fields that are absent stay zero
        EXPECT_EQ(hex(out.data(), out.size()), expected);
    }
}

TEST(ev_expand, leaves_the_template_where_no_field_reaches)
{
    std::array<__u8, MRC_EV_BYTES> out{};
    out.fill(0xEE);
    const std::array<__u8, MRC_EV_BYTES> ev{0xA0};
    const mrc_ev_field plane = field(4, 0, 0xF);
    const __u8 width = 4;
    EXPECT_EQ(mrc_ev_expand(ev.data(), &plane, &width, 1, 36, out.data()), 4);
    EXPECT_EQ(hex(out.data(), 6), "eeeeeeeeeaee");
}

TEST(ev_expand, refuses_what_does_not_fit)
{
    std::array<__u8, MRC_EV_BYTES> out{};
    const std::array<__u8, MRC_EV_BYTES> ev{};
    const std::vector<mrc_ev_field> fields(17, field(16, 0, 0xFFFF));
    const std::vector<__u8> widths(17, 16);
    EXPECT_EQ(mrc_ev_expand(ev.data(), fields.data(), widths.data(), 17, 0, out.data()), -1) << "too many fields";
    EXPECT_EQ(mrc_ev_expand(ev.data(), fields.data(), widths.data(), 16, 1, out.data()), -1) << "beyond the template";
    EXPECT_EQ(mrc_ev_expand(ev.data(), fields.data(), widths.data(), 16, 0, out.data()), 256);
    for (const __u8 width : {__u8{0}, __u8{15}, __u8{33}})
        EXPECT_EQ(mrc_ev_expand(ev.data(), fields.data(), &width, 1, 0, out.data()), -1) << int{width};
}

} // namespace
