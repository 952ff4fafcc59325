// SPDX-License-Identifier: Apache-2.0
// What waits for a time, queue pairs, path groups or hosts, the earliest first, so that neither timers nor the sleeping
// worker look at those that wait longer. A binary heap whose members know their places.
//
// A queue pair's deadline moves on with every answer, but its place is by the earliest that it has named since it came
// up last: whoever comes up is asked again, once per time-out instead of once per packet. What moves a deadline forward
// without a turn of its queue pair (a path that another has proved, protocol/send/timers.cpp) shows then, too.
#pragma once

#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "protocol/types.h"

namespace mrc::datapath
{

struct deadline_place {
    bool waits = false;
    std::size_t at = 0;
};

template <typename member, deadline_place member::*place_of>
class deadline_heap
{
public:
    // For so many: nothing is allocated as long as there are no more.
    void make_room(std::size_t most) { entries_.reserve(std::bit_ceil(most)); }

    // The member waits for no later time than this; never: for none that it has not named before.
    void expect(member &one, protocol::instant due)
    {
        deadline_place &place = one.*place_of;
        if (due == protocol::never || (place.waits && entries_[place.at].due <= due))
            return;
        if (!place.waits) {
            place = {.waits = true, .at = entries_.size()};
            entries_.push_back({due, &one});
        }
        entries_[place.at].due = due;
        rise(place.at);
    }
    // Precondition, as of first(): there is one. It waits for this time, not the one that it had named.
    void correct_first(protocol::instant due)
    {
        if (due == protocol::never) {
            remove(*entries_.front().of);
            return;
        }
        entries_.front().due = due;
        sink(0);
    }
    void remove(member &one)
    {
        if (!std::exchange((one.*place_of).waits, false))
            return;
        const std::size_t place = (one.*place_of).at;
        const entry last = entries_.back();
        entries_.pop_back();
        if (last.of == &one)
            return;
        put(place, last);
        rise(place);
        sink((last.of->*place_of).at);
    }
    // The first that there is, once each that comes up has been asked what it waits for: due_of(member &).
    template <typename Asked>
    [[nodiscard]] protocol::instant settle(Asked due_of)
    {
        while (first() != nullptr) {
            const protocol::instant due = due_of(*first());
            if (due <= first_due())
                break;
            correct_first(due);
        }
        return first_due();
    }
    [[nodiscard]] member *first() const { return entries_.empty() ? nullptr : entries_.front().of; }
    [[nodiscard]] protocol::instant first_due() const
    {
        return entries_.empty() ? protocol::never : entries_.front().due;
    }

private:
    struct entry {
        protocol::instant due;
        member *of = nullptr;
    };

    void put(std::size_t place, const entry &what)
    {
        entries_[place] = what;
        (what.of->*place_of).at = place;
    }
    void rise(std::size_t place)
    {
        const entry moving = entries_[place];
        for (std::size_t above = (place - 1) / 2; place != 0 && moving.due < entries_[above].due;
             above = (place - 1) / 2)
            put(std::exchange(place, above), entries_[above]);
        put(place, moving);
    }
    void sink(std::size_t place)
    {
        const entry moving = entries_[place];
        for (std::size_t below = 2 * place + 1; below < entries_.size(); below = 2 * place + 1) {
            if (below + 1 < entries_.size() && entries_[below + 1].due < entries_[below].due)
                ++below;
            if (entries_[below].due >= moving.due)
                break;
            put(std::exchange(place, below), entries_[below]);
        }
        put(place, moving);
    }

    std::vector<entry> entries_;
};

} // namespace mrc::datapath
