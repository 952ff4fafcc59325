// SPDX-License-Identifier: Apache-2.0
// The queue pairs that wait for a time, the earliest first, so that neither timers nor the sleeping worker look at
// those that wait longer. A binary heap whose members know their places.
//
// A queue pair's deadline moves on with every answer, but its place is by the earliest that it has named since it came
// up last: whoever comes up is asked again, once per time-out instead of once per packet. What moves a deadline forward
// without a turn of its queue pair (a path that another has proved, protocol/send/timers.cpp) shows then, too.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "datapath/worker_client.h"
#include "protocol/types.h"

namespace mrc::datapath
{

class deadline_heap
{
public:
    // Room for so many: nothing is allocated as long as there are no more.
    explicit deadline_heap(std::size_t most) { entries_.reserve(most); }

    // The queue pair waits for no later time than this; never: for none that it has not named before.
    void expect(worker_qp &qp, protocol::instant due)
    {
        if (due == protocol::never || (qp.waits_for_time && entries_[qp.heap_place].due <= due))
            return;
        if (!qp.waits_for_time) {
            qp.waits_for_time = true;
            qp.heap_place = entries_.size();
            entries_.push_back({due, &qp});
        }
        entries_[qp.heap_place].due = due;
        rise(qp.heap_place);
    }
    // Precondition, as of first(): there is one. It waits for this time, not the one that it had named.
    void correct_first(protocol::instant due)
    {
        if (due == protocol::never) {
            remove(*entries_.front().qp);
            return;
        }
        entries_.front().due = due;
        sink(0);
    }
    void remove(worker_qp &qp)
    {
        if (!qp.waits_for_time)
            return;
        qp.waits_for_time = false;
        const std::size_t place = qp.heap_place;
        const entry last = entries_.back();
        entries_.pop_back();
        if (last.qp == &qp)
            return;
        put(place, last);
        rise(place);
        sink(last.qp->heap_place);
    }
    [[nodiscard]] worker_qp *first() const { return entries_.empty() ? nullptr : entries_.front().qp; }
    [[nodiscard]] protocol::instant first_due() const
    {
        return entries_.empty() ? protocol::never : entries_.front().due;
    }

private:
    struct entry {
        protocol::instant due;
        worker_qp *qp = nullptr;
    };

    void put(std::size_t place, const entry &what)
    {
        entries_[place] = what;
        what.qp->heap_place = place;
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
