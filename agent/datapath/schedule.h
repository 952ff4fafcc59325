// SPDX-License-Identifier: Apache-2.0
// Things that each have a next_deadline(): a look costs what there are that are due, or have called for attention
// since (protocol/paths/attention.h). Those that wait cost nothing, however many they are.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "datapath/deadline_heap.h"
#include "protocol/paths/attention.h"
#include "protocol/types.h"

namespace mrc::datapath
{

// What a member derives from.
struct scheduled : protocol::attention {
    deadline_place deadline;
    bool hurried = false; // it is due whatever it waits for, until it has been served
};

template <typename member>
class schedule
{
public:
    // To be looked at. It stays where it is until it is removed.
    void add(member &one)
    {
        ++size_;
        heap_.make_room(size_);
        called_.enter(one);
    }
    void remove(member &one)
    {
        --size_;
        called_.leave(one);
        heap_.remove(one);
    }
    // It is due now, whatever it is that it waits for, and stays so until it has been served.
    void hurry(member &one)
    {
        one.hurried = true;
        heap_.expect(one, protocol::instant::min());
    }

    // Calls `called(member &)` for each that has called.
    template <typename Visitor>
    void look(Visitor called)
    {
        while (protocol::attention *next = called_.take()) {
            auto &one = static_cast<member &>(*next);
            ++looks_;
            heap_.expect(one, one.next_deadline());
            called(one);
        }
    }
    // After look(): calls `serve(member &)` for those that are due, in the order in which they fell due, each once,
    // until one returns false: it has more to do, and is the first next time.
    template <typename Server>
    void serve(protocol::instant now, Server serve)
    {
        while (heap_.first_due() <= now) {
            auto &one = static_cast<member &>(*heap_.first());
            ++looks_;
            if (!serve(one))
                return;
            one.hurried = false;
            heap_.correct_first(std::max(one.next_deadline(), now + std::chrono::nanoseconds{1}));
        }
    }
    // After look().
    [[nodiscard]] protocol::instant next_deadline()
    {
        return heap_.settle([this](const scheduled &one) {
            ++looks_;
            return one.hurried ? protocol::instant::min() : static_cast<const member &>(one).next_deadline();
        });
    }

    // At one of them, since the beginning: what all this costs.
    [[nodiscard]] std::uint64_t looks() const { return looks_; }

private:
    protocol::attention_list called_;
    deadline_heap<scheduled, &scheduled::deadline> heap_;
    std::size_t size_ = 0;
    std::uint64_t looks_ = 0;
};

} // namespace mrc::datapath
