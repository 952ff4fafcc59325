// SPDX-License-Identifier: Apache-2.0
#include "protocol/transition_table.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace mrc::protocol
{
namespace
{

enum class lamp : std::uint8_t { off, on };
enum class hand : std::uint8_t { press, smash };

constexpr transition_table<lamp, hand, 2, 2> lamps{
    {lamp::off, hand::press, lamp::on},
    {lamp::on, hand::press, lamp::off},
    {lamp::on, hand::smash, lamp::off},
};

static_assert(lamps.next(lamp::off, hand::press) == lamp::on, "of use where constants are");

TEST(transition_table, gives_the_next_state_and_nothing_where_there_is_no_row)
{
    EXPECT_EQ(lamps.next(lamp::on, hand::press), lamp::off);
    EXPECT_EQ(lamps.next(lamp::on, hand::smash), lamp::off);
    EXPECT_FALSE(lamps.next(lamp::off, hand::smash));
}

} // namespace
} // namespace mrc::protocol
