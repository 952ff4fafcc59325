// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/flight.h"

#include <array>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::protocol
{
namespace
{

// Written apart from packet_transitions: what the requester does with a packet of each fate is in
// state_tables_requester_test.
TEST(flight, fates_change_as_listed_and_by_nothing_else)
{
    using enum packet_fate;
    constexpr std::array events{packet_event::transmit, packet_event::confirm, packet_event::give_up,
                                packet_event::refuse, packet_event::abandon};
    struct row {
        packet_fate from;
        std::array<packet_fate, 5> to;
    };
    const std::vector<row> table{
        {unsent, {inflight, unsent, unsent, unsent, unsent}},
        {inflight, {inflight, delivered, lost, refused, unsent}},
        {refused, {refused, delivered, lost, refused, refused}},
        {lost, {inflight, delivered, lost, lost, lost}},
        {delivered, {delivered, delivered, delivered, delivered, delivered}},
    };
    for (const row &each : table)
        for (std::size_t event = 0; event < events.size(); ++event) {
            transmission sent;
            sent.fate = each.from;
            sent.step(events[event]);
            EXPECT_EQ(sent.fate, each.to[event]) << static_cast<int>(each.from) << " event " << event;
        }
}

TEST(flight, ring_remembers_a_window_of_packets)
{
    flight packets{100};
    ASSERT_EQ(packets.capacity(), 128u);
    for (packet_number number = 1000; number < 1128; ++number)
        packets[number].order = static_cast<std::uint64_t>(number);
    for (packet_number number = 1000; number < 1128; ++number) {
        EXPECT_EQ(packets[number].order, static_cast<std::uint64_t>(number));
        EXPECT_EQ(packets.number_at(packets.index(number), 1000), number);
    }
}

} // namespace
} // namespace mrc::protocol
