// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "protocol/qp_state.h"

namespace mrc::protocol
{
namespace
{

// Written apart from qp_transitions, as verbs has it: that a queue pair follows that table is in state_tables_qp_test.
TEST(qp_state, transitions_are_those_of_verbs)
{
    using enum qp_state;
    constexpr std::array events{
        qp_event::to_init, qp_event::to_ready_to_receive, qp_event::to_ready_to_send, qp_event::drain, qp_event::fail,
        qp_event::reset};
    constexpr std::nullopt_t no = std::nullopt;
    using next = std::optional<qp_state>;
    struct row {
        qp_state from;
        std::array<next, 6> to;
    };
    const std::array table{
        row{reset, {init, no, no, no, error, reset}},
        row{init, {init, ready_to_receive, no, no, error, reset}},
        row{ready_to_receive, {no, no, ready_to_send, no, error, reset}},
        row{ready_to_send, {no, no, ready_to_send, send_queue_drained, error, reset}},
        row{send_queue_drained, {no, no, ready_to_send, send_queue_drained, error, reset}},
        row{error, {no, no, no, no, error, reset}},
    };
    for (const row &each : table)
        for (std::size_t event = 0; event < events.size(); ++event)
            EXPECT_EQ(next_state(each.from, events[event]), each.to[event])
                << static_cast<int>(each.from) << " event " << event;
}

} // namespace
} // namespace mrc::protocol
