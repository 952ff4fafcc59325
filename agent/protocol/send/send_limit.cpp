// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/send_limit.h"

#include <algorithm>

#include "protocol/send/segmentation.h"

namespace mrc::protocol
{

namespace
{

bool had_been_lost(const requester_state &sender)
{
    return sender.edge() < sender.next && sender.packets[sender.edge()].transmissions > 1;
}

// Of new packets, of which there are some.
send_limit limit_of_new(requester_state &sender)
{
    if (!sender.window_open())
        return had_been_lost(sender) ? send_limit::loss : send_limit::receiver;
    if (!may_start_next(sender))
        return sender.draining ? send_limit::application : send_limit::receiver;
    if (!may_fly(sender, nominal(next_new(sender))))
        return send_limit::congestion;
    return sender.make_room() ? send_limit::worker : send_limit::memory;
}

} // namespace

// What flew into silence counts in no shared window, but still for its own QP: what was swallowed is made up for as
// answers come, not in one burst.
bool may_fly(const requester_state &sender, std::uint32_t bytes)
{
    const auto &flying = sender.flying;
    return sender.control.can_send(bytes) &&
           (flying.charged_bytes == 0 || flying.charged_bytes + flying.silent_bytes + bytes <= sender.control.cwnd());
}

std::optional<window_wish> waits_for_window(requester_state &sender)
{
    const auto &due = sender.due;
    if (sender.failure || sender.silence.active() || due.probe || due.probe_elsewhere || due.clean_probe ||
        due.last_again)
        return std::nullopt;
    window_wish wish;
    std::uint64_t packets = 0;
    if (!sender.lost.empty()) {
        wish.next = nominal(sender.packets[sender.lost.lowest()]);
        packets = sender.lost.size();
    } else if (sender.window_open() && may_start_next(sender)) {
        wish.next = nominal(next_new(sender));
        packets =
            static_cast<std::uint64_t>(std::min(sender.queue.end(), sender.edge() + sender.window - 1) - sender.next);
    }
    if (packets == 0 || sender.control.can_send(wish.next))
        return std::nullopt;
    wish.all = packets * wish.next;
    return wish;
}

transmission next_new(requester_state &sender)
{
    const std::size_t index = sender.queue.index_for_new(sender.next);
    transmission fresh;
    fresh.request = static_cast<std::uint32_t>(index);
    fresh.bytes =
        static_cast<std::uint16_t>(payload_of(sender.queue.at(index), sender.next, sender.config.payload_bytes));
    return fresh;
}

bool may_start_next(requester_state &sender)
{
    const send_request &request = sender.queue.at(sender.queue.index_for_new(sender.next));
    return request.first != sender.next ||
           (!sender.draining &&
            (!request.work.immediate || sender.queue.immediates_with(request) <= sender.config.max_wimm));
}

send_limit limit_of(requester_state &sender)
{
    const bool has_new = sender.next < sender.queue.end();
    if (sender.failure || (!has_new && !sender.waiting()))
        return send_limit::nothing;
    if (sender.silence.active() || sender.way.usable().empty())
        return send_limit::paths;
    if (!sender.lost.empty())
        return may_fly(sender, nominal(sender.packets[sender.lost.lowest()])) ? send_limit::worker
                                                                              : send_limit::congestion;
    if (has_new)
        return limit_of_new(sender);
    return had_been_lost(sender) ? send_limit::loss : send_limit::application;
}

} // namespace mrc::protocol
