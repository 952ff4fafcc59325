// SPDX-License-Identifier: Apache-2.0
// The ICRC against zlib's CRC-32 over a masked copy, and against the constants of protocol.md §1.12 and §12.
#include "codec/icrc.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>
#include <zlib.h>

#include "unit/codec/vector_file.h"

#include "mrc/abi/wire.h"

namespace
{

using mrc::test::byte_string;
using mrc::test::from_hex;

std::uint32_t zlib_crc(const byte_string &bytes)
{
    return static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef *>(bytes.data()), static_cast<uInt>(bytes.size())));
}

// Written from §1.12 alone: eight bytes of ones, then the packet with its variant fields set to ones.
std::uint32_t reference_icrc(const byte_string &packet)
{
    constexpr std::byte ones{0xFF};
    byte_string masked(8 + packet.size(), ones);
    std::ranges::copy(packet, masked.begin() + 8);
    std::byte *ip = masked.data() + 8;
    const bool ipv4 = packet[0] == std::byte{0x45};
    if (ipv4) {
        ip[1] = ip[8] = ip[10] = ip[11] = ones;
    } else {
        ip[0] |= std::byte{0x0F};
        ip[1] = ip[2] = ip[3] = ip[7] = ones;
    }
    std::byte *udp = ip + (ipv4 ? 20 : 40);
    udp[6] = udp[7] = udp[12] = ones;
    return zlib_crc(masked);
}

byte_string random_packet(std::mt19937_64 &random, bool ipv4, std::size_t size)
{
    byte_string packet(size);
    for (auto &byte : packet)
        byte = static_cast<std::byte>(random());
    packet[0] = ipv4 ? std::byte{0x45} : std::byte{0x60} | (packet[0] >> 4);
    return packet;
}

TEST(icrc, seed_is_the_state_after_eight_bytes_of_ones)
{
    EXPECT_EQ(~zlib_crc(byte_string(8, std::byte{0xFF})), MRC_ICRC_SEED);
}

TEST(icrc, value_printed_in_section_12)
{
    const byte_string packet =
        from_hex("6100000300401140fd000001000000000000000000000001fd000002000000000000000000000002"
                 "c0de12b700400000ca00ffff000001239000001000000007beef0001"
                 "1122334455667788cafe000100000010000102030405060708090a0b0c0d0e0f");
    EXPECT_EQ(mrc::codec::icrc(packet), 0xf5c57c83u);
    EXPECT_EQ(reference_icrc(packet), 0xf5c57c83u);
}

TEST(icrc, equals_zlib_over_masked_bytes)
{
    std::mt19937_64 random{1};
    for (const bool ipv4 : {false, true}) {
        const std::size_t shortest = ipv4 ? 40 : 60;
        for (std::size_t size = shortest; size < shortest + 300; size++) {
            const byte_string packet = random_packet(random, ipv4, size);
            ASSERT_EQ(mrc::codec::icrc(packet), reference_icrc(packet)) << size;
        }
        const byte_string longest = random_packet(random, ipv4, 65535);
        EXPECT_EQ(mrc::codec::icrc(longest), reference_icrc(longest));
    }
}

// Bits that a router may change on the way leave the ICRC as it is; all others change it.
TEST(icrc, covers_every_bit_but_the_variant_ones)
{
    std::mt19937_64 random{2};
    for (const bool ipv4 : {false, true}) {
        byte_string packet = random_packet(random, ipv4, 100);
        const std::uint32_t before = mrc::codec::icrc(packet);
        const std::size_t udp = ipv4 ? 20 : 40;
        const auto variant = [&](std::size_t bit) {
            const std::size_t byte = bit / 8;
            const bool ip = ipv4 ? byte == 1 || byte == 8 || byte == 10 || byte == 11
                                 : (byte == 0 && bit % 8 < 4) || (byte >= 1 && byte <= 3) || byte == 7;
            return ip || byte == udp + 6 || byte == udp + 7 || byte == udp + 12;
        };
        for (std::size_t bit = 0; bit < packet.size() * 8; bit++) {
            if (bit / 8 == 0 && bit % 8 >= 4)
                continue; // the version chooses the mask
            const auto flip = static_cast<std::byte>(1u << bit % 8);
            packet[bit / 8] ^= flip;
            EXPECT_EQ(mrc::codec::icrc(packet) == before, variant(bit)) << "byte " << bit / 8 << " ipv4 " << ipv4;
            packet[bit / 8] ^= flip;
        }
    }
}

TEST(icrc, short_input_is_safe)
{
    const byte_string packet(60, std::byte{0x45});
    for (std::size_t size = 0; size < packet.size(); size++) {
        const byte_string exact(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(size));
        static_cast<void>(mrc::codec::icrc(exact)); // AddressSanitizer judges
    }
}

} // namespace
