// SPDX-License-Identifier: Apache-2.0
// State machines as data: the rows state, event, next state, and the code steps through them. Tests go through every
// state and event, in two ways. That the rows are the right ones: against what a test has by hand, for a table that is
// compared with itself has no wrong row (qp_state_test, flight_test, paths in state_tables_test). That an object does
// what its table says: path_transitions and queue_pair_states in the state_tables tests.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>

namespace mrc::protocol
{

template <typename State, typename Event>
struct transition {
    State from;
    Event on;
    State to;
};

// `State` and `Event` are enumerations from 0 on without gaps, of so many values.
template <typename State, typename Event, std::size_t states, std::size_t events>
class transition_table
{
public:
    // At most one row for a state and an event.
    constexpr transition_table(std::initializer_list<transition<State, Event>> rows)
    {
        for (const transition<State, Event> &row : rows) {
            std::optional<State> &place = next_[static_cast<std::size_t>(row.from)][static_cast<std::size_t>(row.on)];
            if (place)
                throw "two rows for one state and event"; // ends the compilation
            place = row.to;
        }
    }

    // Nothing where the table has no row.
    [[nodiscard]] constexpr std::optional<State> next(State from, Event on) const
    {
        return next_[static_cast<std::size_t>(from)][static_cast<std::size_t>(on)];
    }

private:
    std::array<std::array<std::optional<State>, events>, states> next_{};
};

} // namespace mrc::protocol
