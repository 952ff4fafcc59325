// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/packet_number.h"
#include "protocol/types.h"

namespace mrc::protocol
{
namespace
{

TEST(psn, compares_around_the_wrap)
{
    EXPECT_LT(psn{0xFFFFFF}, psn{0});
    EXPECT_GT(psn{5}, psn{0xFFFFF0});
    EXPECT_LT(psn{0}, psn{0x7FFFFF});
    EXPECT_EQ(psn{0} - psn{0x800000}, -(1 << 23)) << "half the circle is behind";
    EXPECT_EQ(psn{2} - psn{0xFFFFFE}, 4);
    EXPECT_EQ(psn{0xFFFFFE} - psn{2}, -4);
}

TEST(psn, adds_modulo_24_bits)
{
    EXPECT_EQ(psn{0xFFFFFF} + 1, psn{0});
    EXPECT_EQ(psn{0} + -1, psn{0xFFFFFF});
    psn counter{0xFFFFFF};
    EXPECT_EQ(++counter, psn{0});
}

TEST(psn_space, numbers_packets_without_wrap)
{
    const psn_space space{psn{0xFFFFF0}};
    EXPECT_EQ(space.at(0), psn{0xFFFFF0});
    EXPECT_EQ(space.at(-1), psn{0xFFFFEF});
    EXPECT_EQ(space.at(0x10), psn{0});
    EXPECT_EQ(space.at((std::int64_t{1} << 24) + 0x11), psn{1});
    for (const packet_number reference : {packet_number{0}, packet_number{100}, packet_number{1} << 30})
        for (const packet_number distance : {0, 1, 4095, (1 << 23) - 1, -1, -4096, -(1 << 23)})
            EXPECT_EQ(space.number_of(space.at(reference + distance), reference), reference + distance);
}

TEST(nominal_bytes, is_the_inner_packet)
{
    EXPECT_EQ(nominal_bytes(0), 40u + 8 + 12 + 4 + 4 + 16 + 4); // IPv6 UDP BTH METH TSETH RETH ICRC
    EXPECT_EQ(nominal_bytes(1), nominal_bytes(4)) << "pad counts";
    EXPECT_EQ(nominal_bytes(3072), nominal_bytes(0) + 3072);
}

TEST(wire_timestamp, counts_ticks_of_128_ns_and_wraps)
{
    const instant sent{std::chrono::microseconds{8388}};
    EXPECT_EQ(wire_timestamp(sent), 65531) << "4.75 ticks before it wraps";
    EXPECT_EQ(wire_timestamp(sent + std::chrono::microseconds{64}), 500 - 5);
}

} // namespace
} // namespace mrc::protocol
