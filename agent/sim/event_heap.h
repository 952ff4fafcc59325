// SPDX-License-Identifier: Apache-2.0
// Small events in order of time, and of scheduling where times are equal. A 4-ary heap: half the depth of a binary
// one, and four children share a cache line and a half.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/sim_time.h"

namespace mrc::sim
{

enum class sim_event_kind : std::uint8_t {
    arrival,      // frame `b` reaches the far end of port `a`
    port_free,    // port `a` has sent its frame
    host_pump,    // host `a` looks for something to send
    queue_pair,   // a timer of queue pair `b` of host `a`
    path_group,   // a timer of path group `b` of host `a`
    fabric_event, // entry `a` of the scenario's events
    carrier,      // host `a` learns of the state of its port `b`
    sample,       // time to measure
    workload,     // a traffic pattern's own timer `a`
};

struct event {
    picoseconds at = 0;
    std::uint64_t order_and_kind = 0; // order << 8 | kind
    std::uint32_t a = 0;
    std::uint32_t b = 0;

    [[nodiscard]] sim_event_kind kind() const { return static_cast<sim_event_kind>(order_and_kind & 0xFF); }
};

class event_heap
{
public:
    [[nodiscard]] bool empty() const { return heap_.empty(); }
    [[nodiscard]] std::size_t size() const { return heap_.size(); }
    [[nodiscard]] const event &first() const { return heap_.front(); }

    void push(const event &fresh)
    {
        std::size_t hole = heap_.size();
        heap_.push_back(fresh);
        while (hole > 0) {
            const std::size_t parent = (hole - 1) / 4;
            if (!earlier(fresh, heap_[parent]))
                break;
            heap_[hole] = heap_[parent];
            hole = parent;
        }
        heap_[hole] = fresh;
    }

    event pop()
    {
        const event first = heap_.front();
        const event last = heap_.back();
        heap_.pop_back();
        if (!heap_.empty())
            sink(0, last);
        return first;
    }

    // Takes events in any order in exchange for its memory; it must be empty.
    void exchange(std::vector<event> &unordered)
    {
        heap_.swap(unordered);
        for (std::size_t at = (heap_.size() + 2) / 4; at-- > 0;)
            sink(at, event{heap_[at]});
    }

private:
    static bool earlier(const event &x, const event &y)
    {
        return x.at != y.at ? x.at < y.at : x.order_and_kind < y.order_and_kind;
    }

    void sink(std::size_t hole, const event &what)
    {
        const std::size_t count = heap_.size();
        for (;;) {
            const std::size_t first = hole * 4 + 1;
            if (first >= count)
                break;
            const std::size_t end = first + 4 < count ? first + 4 : count;
            std::size_t least = first;
            for (std::size_t child = first + 1; child < end; ++child)
                if (earlier(heap_[child], heap_[least]))
                    least = child;
            if (!earlier(heap_[least], what))
                break;
            heap_[hole] = heap_[least];
            hole = least;
        }
        heap_[hole] = what;
    }

    std::vector<event> heap_;
};

} // namespace mrc::sim
