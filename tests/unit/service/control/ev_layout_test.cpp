// SPDX-License-Identifier: Apache-2.0
#include "service/control/ev_layout.h"

#include <bit>
#include <cerrno>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace mrc::service::control
{
namespace
{

using fields = std::vector<mrc_ev_field>;
using widths = std::vector<std::uint8_t>;
const session::profile_limits limits;

ev_format format_of(session::ev_format_mode mode, widths of)
{
    return {.state = session::profile_state::online, .mode = mode, .widths = std::move(of)};
}

std::uint32_t ones(unsigned bits)
{
    return bits >= 32 ? ~0U : (1U << bits) - 1;
}

mrc_ev_field field(std::uint32_t width, std::uint32_t init, std::uint32_t mask)
{
    return {
        .width = width, .init = init, .min = 0, .max = ones(static_cast<unsigned>(std::popcount(mask))), .mask = mask};
}

session::ev_value from_hex(std::string_view digits, std::uint8_t port = 1)
{
    session::ev_value ev;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        ev.bits.at(i / 2) = static_cast<std::uint8_t>(std::stoul(std::string{digits.substr(i, 2)}, nullptr, 16));
    ev.port = port;
    return ev;
}

std::string to_hex(const std::array<std::uint8_t, MRC_EV_BYTES> &bits, std::size_t bytes)
{
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i)
        text += fmt::format("{:02x}", bits.at(i));
    return text;
}

// The vectors of the API's reference program.
TEST(ev_layout, expands_as_the_reference_program)
{
    struct vector {
        session::ev_format_mode mode;
        widths format;
        fields of;
        std::string_view ev;
        std::string_view packet;
    };
    const vector vectors[] = {
        {session::ev_format_mode::stev, {16, 16}, {field(16, 0x100, 0xf), field(16, 0x200, 0xf)}, "a4", "010a0204"},
        {session::ev_format_mode::stev,
         {16, 16},
         {field(16, 0x1000, 0xf0f), field(16, 0x2000, 0xf0f)},
         "3312",
         "13032102"},
        {session::ev_format_mode::srv6,
         {32, 16, 16, 16, 16},
         {field(32, 0xcafecafe, 0), field(16, 0, 0xffff), field(16, 0, 0xffff), field(16, 0, 0xffff),
          field(16, 0, 0xffff)},
         "43ba48d6a43de086",
         "cafecafe43ba48d6a43de086"},
        {session::ev_format_mode::srv6,
         {32, 16, 16, 16, 16},
         {field(32, 0xdeaddead, 0), field(16, 0, 0xffff), field(16, 0, 0xffff)},
         "e298f115",
         "deaddeade298f11500000000"},
        {session::ev_format_mode::srv6,
         {32, 16, 16, 16, 16},
         {field(32, 0x42424242, 0), field(4, 0, 0xf), field(4, 0, 0xf), field(4, 0, 0xf), field(4, 0, 0xf)},
         "78ba",
         "4242424200070008000b000a"},
    };
    for (const auto &[mode, format, of, ev, packet] : vectors) {
        const auto layout = ev_layout::make(format_of(mode, format), of, limits);
        ASSERT_TRUE(layout) << packet << layout.error().text;
        EXPECT_TRUE(layout->check(from_hex(ev), 1)) << packet;
        EXPECT_EQ(to_hex(layout->expand(from_hex(ev)), packet.size() / 2), packet);
    }
}

// Narrow EVs end at bit 0, where the source port's last bit is.
TEST(ev_layout, narrow_evs_end_with_the_packets_last_bit)
{
    const auto layout = ev_layout::make(format_of(session::ev_format_mode::udp, {8, 8}), std::nullopt, limits);
    ASSERT_TRUE(layout);
    EXPECT_EQ(to_hex(layout->expand(from_hex("ab17")), 4), "0000ab17");
}

TEST(ev_layout, refuses_fields_that_the_format_does_not_take)
{
    struct row {
        std::string_view what;
        fields of;
        int error;
    };
    const row table[] = {
        {"right", {field(16, 0, 0xffff), field(16, 0, 0xffff)}, 0},
        {"fewer than the format", {field(16, 0, 0xffff)}, 0},
        {"none", {}, EINVAL},
        {"more than the format", fields(3, field(4, 0, 0xf)), EINVAL},
        {"more than any format", fields(17, field(1, 0, 1)), E2BIG},
        {"no width", {field(0, 0, 0)}, EINVAL},
        {"wider than the format's", {field(17, 0, 0)}, EINVAL},
        {"init too wide", {field(8, 0x100, 0)}, EINVAL},
        {"mask outside", {field(8, 0, 0x100)}, EINVAL},
        {"max too large", {{.width = 8, .init = 0, .min = 0, .max = 4, .mask = 3}}, EINVAL},
        {"min above max", {{.width = 8, .init = 0, .min = 3, .max = 2, .mask = 3}}, EINVAL},
    };
    for (const auto &[what, of, error] : table) {
        const auto layout = ev_layout::make(format_of(session::ev_format_mode::stev, {16, 16}), of, limits);
        EXPECT_EQ(layout ? 0 : layout.error().code, error) << what;
    }
    const auto wide =
        ev_layout::make(format_of(session::ev_format_mode::stev, {16, 16}), std::nullopt, {.ev_width = 31});
    EXPECT_EQ(wide ? 0 : wide.error().code, E2BIG);
    EXPECT_FALSE(ev_layout::make({}, std::nullopt, limits));
}

TEST(ev_layout, an_ev_has_no_bits_behind_its_fields)
{
    const auto layout = ev_layout::make(format_of(session::ev_format_mode::stev, {21, 8, 3}), std::nullopt, limits);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->bits(), 32U);
    EXPECT_TRUE(layout->check(from_hex("ffffffff"), 8));
    EXPECT_FALSE(layout->check(from_hex("0000000180"), 8));
    EXPECT_FALSE(layout->check(from_hex("00000801", 0), 8));
    EXPECT_TRUE(layout->check(from_hex("00000801", 8), 8));
    EXPECT_FALSE(layout->check(from_hex("00000801", 9), 8));
}

TEST(ev_layout, generates_the_last_field_fastest)
{
    const auto layout = ev_layout::make(format_of(session::ev_format_mode::stev, {21, 8, 3}),
                                        fields{field(21, 1, 0), {8, 0, 1, 2, 0xff}, {3, 0, 0, 1, 7}}, limits);
    ASSERT_TRUE(layout);
    const auto evs = layout->generate(4);
    ASSERT_TRUE(evs);
    std::string all;
    for (const session::ev_value &ev : *evs)
        all += to_hex(layout->expand(ev), 4) + ":" + std::to_string(layout->port_of(ev, usid_plan{})) + " ";
    EXPECT_EQ(all, "00000808:1 00000809:2 00000810:1 00000811:2 ");
    EXPECT_TRUE(layout->generate(3));
    EXPECT_FALSE(layout->generate(5));
}

const fabric_shape two_planes{.planes = 2, .uplinks = 4, .usids = usid_plan{}};

TEST(ev_layout, stev_names_its_path_by_the_low_bits)
{
    const auto layout = ev_layout::make(format_of(session::ev_format_mode::stev, {21, 8, 3}), std::nullopt, limits);
    ASSERT_TRUE(layout);
    const session::ev_value evs[] = {from_hex("00000819", 2), from_hex("00000808", 1)};
    const auto paths = layout->paths_of(evs, two_planes);
    ASSERT_TRUE(paths) << paths.error().text;
    EXPECT_EQ((*paths)[0].slot, 7U);
    EXPECT_EQ((*paths)[0].plane, protocol::plane_index{1});
    EXPECT_EQ((*paths)[1].slot, 1U);

    struct row {
        std::string_view what;
        std::vector<session::ev_value> evs;
    };
    const row wrong[] = {
        {"EV 0", {from_hex("00000000", 1), from_hex("00000801", 2)}},
        {"another plane's port", {from_hex("00000808", 2), from_hex("00000801", 2)}},
        {"no such plane", {from_hex("00000802", 1)}},
        {"no such uplink", {from_hex("00000820", 1), from_hex("00000821", 2)}},
        {"one path twice", {from_hex("00000808", 1), from_hex("00001008", 1)}},
        {"more on one plane", {from_hex("00000808", 1), from_hex("00000810", 1)}},
    };
    for (const auto &[what, of] : wrong) {
        const auto refused = layout->paths_of(of, two_planes);
        EXPECT_FALSE(refused) << what;
        EXPECT_EQ(refused ? 0 : refused.error().code, EINVAL) << what;
    }
}

TEST(ev_layout, where_packets_carry_16_bits_wider_evs_are_refused)
{
    fabric_shape with_ipv4 = two_planes;
    with_ipv4.ev_bits = 16;
    const auto layout = ev_layout::make(format_of(session::ev_format_mode::stev, {21, 8, 3}), std::nullopt, limits);
    ASSERT_TRUE(layout);
    const session::ev_value narrow[] = {from_hex("0000f819", 2), from_hex("00000808", 1)};
    EXPECT_TRUE(layout->paths_of(narrow, with_ipv4));
    const session::ev_value wide[] = {from_hex("00010819", 2), from_hex("00000808", 1)};
    EXPECT_TRUE(layout->paths_of(wide, two_planes));
    const auto refused = layout->paths_of(wide, with_ipv4);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text,
              "EV 0 of the profile is 0x10819; allowed: 16 bits, as many as this peer's packets carry");
}

TEST(ev_layout, srv6_names_its_path_by_the_first_two_usids)
{
    const auto layout =
        ev_layout::make(format_of(session::ev_format_mode::srv6, {32, 16, 16, 16}), std::nullopt, limits);
    ASSERT_TRUE(layout);
    const session::ev_value evs[] = {from_hex("fcbbbb00200110022003", 1), from_hex("fcbbbb00210111032103", 2)};
    const auto paths = layout->paths_of(evs, two_planes);
    ASSERT_TRUE(paths) << paths.error().text;
    EXPECT_EQ((*paths)[0].slot, 2U);
    EXPECT_EQ((*paths)[1].slot, 7U);
    const session::ev_value foreign[] = {from_hex("fcbbbb01200110022003", 1), from_hex("fcbbbb00210111032103", 2)};
    EXPECT_FALSE(layout->paths_of(foreign, two_planes));
    const session::ev_value third_plane[] = {from_hex("fcbbbb00220112022203", 1)};
    EXPECT_FALSE(layout->paths_of(third_plane, two_planes));
}

} // namespace
} // namespace mrc::service::control
