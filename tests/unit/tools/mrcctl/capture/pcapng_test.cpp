// SPDX-License-Identifier: Apache-2.0
// Blocks of capture files, byte by byte; tshark reads whole files in tests/e2e/capture.py.
#include "tools/mrcctl/capture/pcapng.h"

#include <array>
#include <bit>
#include <cstring>

#include <gtest/gtest.h>

namespace mrc::ctl
{
namespace
{

static_assert(std::endian::native == std::endian::little, "the bytes below are those of such a machine");

std::uint32_t word_at(const std::string &bytes, std::size_t at)
{
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    return word;
}

TEST(pcapng, a_section_begins_with_its_magic_and_names_the_program)
{
    std::string file;
    append_section(file, "mrcctl");
    ASSERT_EQ(file.size(), 44U);
    EXPECT_EQ(word_at(file, 0), 0x0A0D0D0AU);
    EXPECT_EQ(word_at(file, 4), file.size());
    EXPECT_EQ(word_at(file, 8), 0x1A2B3C4DU);
    EXPECT_EQ(word_at(file, 12), 1U);
    EXPECT_EQ(file.substr(16, 8), std::string(8, '\xFF'));
    EXPECT_EQ(word_at(file, 24), 0x00060004U); // userappl, 6 bytes
    EXPECT_EQ(file.substr(28, 8), std::string("mrcctl\0\0", 8));
    EXPECT_EQ(word_at(file, 36), 0U);
    EXPECT_EQ(word_at(file, 40), file.size());
}

TEST(pcapng, an_interface_has_name_description_and_nanoseconds)
{
    std::string file;
    append_interface(file, "p0", "sent", 96);
    ASSERT_EQ(file.size(), 48U);
    EXPECT_EQ(word_at(file, 0), 1U);
    EXPECT_EQ(word_at(file, 8), 1U); // Ethernet
    EXPECT_EQ(word_at(file, 12), 96U);
    EXPECT_EQ(file.substr(16, 8), std::string("\x02\0\x02\0p0\0\0", 8));
    EXPECT_EQ(file.substr(24, 8), std::string("\x03\0\x04\0sent", 8));
    EXPECT_EQ(file.substr(32, 8), std::string("\x09\0\x01\0\x09\0\0\0", 8));
    EXPECT_EQ(word_at(file, 44), file.size());
}

TEST(pcapng, a_packet_has_its_time_both_lengths_direction_and_comment)
{
    std::array<std::byte, 5> bytes{};
    bytes.fill(std::byte{0xAB});
    std::string file;
    append_packet(file, {.interface = 3,
                         .time_ns = 0x0102030405060708,
                         .length = 1500,
                         .bytes = bytes,
                         .direction = packet_direction::outbound,
                         .comment = "push_sent"});
    ASSERT_EQ(file.size(), 28U + 8 + 8 + 16 + 4 + 4);
    EXPECT_EQ(word_at(file, 0), 6U);
    EXPECT_EQ(word_at(file, 4), file.size());
    EXPECT_EQ(word_at(file, 8), 3U);
    EXPECT_EQ(word_at(file, 12), 0x01020304U);
    EXPECT_EQ(word_at(file, 16), 0x05060708U);
    EXPECT_EQ(word_at(file, 20), bytes.size());
    EXPECT_EQ(word_at(file, 24), 1500U);
    EXPECT_EQ(file.substr(28, 8), std::string("\xAB\xAB\xAB\xAB\xAB\0\0\0", 8));
    EXPECT_EQ(file.substr(36, 8), std::string("\x02\0\x04\0\x02\0\0\0", 8));
    EXPECT_EQ(file.substr(44, 16), std::string("\x01\0\x09\0push_sent\0\0\0", 16));
    EXPECT_EQ(word_at(file, 60), 0U);
    EXPECT_EQ(word_at(file, 64), file.size());
}

} // namespace
} // namespace mrc::ctl
