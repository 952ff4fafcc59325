// SPDX-License-Identifier: Apache-2.0
#include "service/control/ev_subscriptions.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace mrc::service::control
{

namespace
{

constexpr std::size_t most_subscriptions = 64; // of all sessions

} // namespace

ev_subscriptions::subscription *ev_subscriptions::find(std::uint64_t session, std::uint64_t id)
{
    const auto found = subscriptions_.find(id);
    return found == subscriptions_.end() || found->second.session != session ? nullptr : &found->second;
}

controller_answer ev_subscriptions::subscribe(std::uint64_t session, const session::control_request &request)
{
    const std::uint32_t capacity = request.events.capacity;
    if (capacity == 0 || capacity > session::most_subscription_events)
        return {EINVAL,
                fmt::format("room for {} events, allowed is 1 to {}", capacity, session::most_subscription_events)};
    if (subscriptions_.size() >= most_subscriptions)
        return {ENOMEM, fmt::format("{} subscriptions exist already", most_subscriptions)};
    controller_answer result;
    result.reply.id = next_++;
    subscriptions_.emplace(result.reply.id, subscription{session, session::ev_event_queue{capacity}});
    return result;
}

controller_answer ev_subscriptions::poll(std::uint64_t session, const session::control_request &request)
{
    subscription *const known = find(session, request.id);
    if (known == nullptr)
        return {EINVAL, fmt::format("no subscription {} of this session", request.id)};
    std::vector<session::ev_event> events;
    while (events.size() < std::min(request.capacity, session::most_entries)) {
        const auto event = known->queue.pop();
        if (!event)
            break;
        events.push_back(*event);
    }
    controller_answer result;
    result.set_array(std::span<const session::ev_event>{events});
    result.reply.total = static_cast<std::uint32_t>(known->queue.size()); // still waiting
    return result;
}

controller_answer ev_subscriptions::unsubscribe(std::uint64_t session, const session::control_request &request)
{
    if (find(session, request.id) == nullptr)
        return {EINVAL, fmt::format("no subscription {} of this session", request.id)};
    subscriptions_.erase(request.id);
    return {};
}

void ev_subscriptions::end_session(std::uint64_t session)
{
    std::erase_if(subscriptions_, [&](const auto &known) { return known.second.session == session; });
}

} // namespace mrc::service::control
