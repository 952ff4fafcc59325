// SPDX-License-Identifier: Apache-2.0
// Queue pairs that have something to send and wait for room in a congestion window, which those to one peer share. At
// each of their turns they would find it full: with a thousand of them the search for who may send takes longer than
// what is sent. So they have no turns until there is room, and then only as many as it is enough for.
//
// Room goes to the clients in turn, whatever the number of their queue pairs (turn_scheduler.h), and to those of a
// client in the order in which they came.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "datapath/linked_list.h"
#include "datapath/turn_scheduler.h"
#include "datapath/worker_client.h"
#include "protocol/congestion/congestion_control.h"

namespace mrc::datapath
{

struct window_crowd;

// A client's queue pairs before one window.
struct window_line {
    window_crowd *crowd = nullptr;
    std::size_t queue_pairs = 0; // waiting or not
    linked_list<worker_qp, &worker_qp::before_window> members;
    list_links<window_line> links;
};

struct window_crowd {
    const protocol::congestion_control *window = nullptr;
    std::unordered_map<const worker_client *, window_line> lines;
    linked_list<window_line, &window_line::links> occupied;
    list_links<window_crowd> links;
};

class crowded_windows
{
public:
    // The worker gets, or loses, a queue pair, whose client and window are set; it does not wait.
    void enter(worker_qp &qp);
    void leave(worker_qp &qp);

    // The window has no room for its next packet.
    void add(worker_qp &qp, const protocol::window_wish &wish);
    void remove(worker_qp &qp);

    // Calls `admitted(worker_qp &)`, which removes it, for those that may go on.
    template <typename Visitor>
    void admit(Visitor admitted);

    // Queue pairs admitted since the beginning: what all this costs.
    [[nodiscard]] std::uint64_t admissions() const { return admissions_; }

private:
    std::unordered_map<const protocol::congestion_control *, std::unique_ptr<window_crowd>> crowds_;
    linked_list<window_crowd, &window_crowd::links> occupied_;
    std::uint64_t admissions_ = 0;
};

template <typename Visitor>
void crowded_windows::admit(Visitor admitted)
{
    window_crowd *next = nullptr;
    for (window_crowd *crowd = occupied_.front(); crowd != nullptr; crowd = next) {
        next = crowd->links.next;
        const protocol::congestion_control &window = *crowd->window;
        // Of what is left each takes what it wishes, but no more than a turn's. For the first the window itself is
        // asked: it lets one packet fly whatever its size is.
        auto room = static_cast<std::int64_t>(window.cwnd()) - window.inflight();
        for (bool first = true; window_line *line = crowd->occupied.front(); first = false) {
            worker_qp &qp = *line->members.front();
            if (first ? !window.can_send(qp.wish.next) : room < qp.wish.next)
                break;
            room -= std::min(queue_pair_quantum, static_cast<std::int64_t>(qp.wish.all));
            crowd->occupied.remove(*line); // the next client's turn
            crowd->occupied.push_back(*line);
            ++admissions_;
            admitted(qp);
        }
    }
}

} // namespace mrc::datapath
