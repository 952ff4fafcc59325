// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/client_pipes.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace mrc::service
{

answer open_events(session_state &state)
{
    int ends[2] = {-1, -1};
    auto held = take(state, resource::event_pipes, 1, state.shared.config.limits.completion_queues);
    if (!held)
        return refuse(ENOSPC, "all event pipes of a user are in use");
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return refuse(errno, "cannot open a pipe for events");
    kernel::unique_fd wait{ends[0]};
    auto pipe = std::make_shared<const datapath::client_pipe>(kernel::unique_fd{ends[1]});
    answer result;
    result.reply.number = ++state.last_number;
    result.fds = {wait.get()};
    state.events.emplace(result.reply.number, owned_events{std::move(pipe), std::move(wait), std::move(*held)});
    return result;
}

answer close_events(session_state &state, std::uint32_t number)
{
    if (state.events.erase(number) == 0) // queues that tell there keep their end
        return refuse(EINVAL, "no such event pipe in this session");
    return {};
}

std::shared_ptr<const datapath::client_pipe> events_of(const session_state &state, std::uint32_t number)
{
    const auto at = state.events.find(number);
    return at == state.events.end() ? nullptr : at->second.pipe;
}

void notify(const session_state &state, const session::event_record &event)
{
    for (const auto &[number, events] : state.events)
        events.pipe->notify(event);
}

answer create_channel(session_state &state)
{
    int ends[2] = {-1, -1};
    auto held = take(state, resource::completion_channels, 1, state.shared.config.limits.completion_queues);
    if (!held)
        return refuse(ENOMEM, "all completion channels of a user are in use");
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return refuse(errno, "cannot open a pipe for completions");
    owned_channel channel;
    channel.held = std::move(*held);
    channel.wait = kernel::unique_fd{ends[0]};
    channel.pipe = std::make_shared<const datapath::client_pipe>(kernel::unique_fd{ends[1]});
    answer result;
    result.reply.number = ++state.last_number;
    result.fds = {channel.wait.get()};
    state.channels.emplace(result.reply.number, std::move(channel));
    return result;
}

answer destroy_channel(session_state &state, std::uint32_t number)
{
    const auto at = state.channels.find(number);
    if (at == state.channels.end())
        return refuse(EINVAL, "no such completion channel in this session");
    if (at->second.users != 0)
        return refuse(EBUSY, "completion queues use the channel");
    std::erase_if(state.subscriptions, [&](const auto &one) { return one.second == at->second.pipe; });
    state.channels.erase(at);
    return {};
}

void add_subscription(session_state &state, std::uint64_t subscription, std::uint32_t channel)
{
    if (const auto at = state.channels.find(channel); at != state.channels.end())
        state.subscriptions[subscription] = at->second.pipe;
}

void notify_subscription(const session_state &state, std::uint64_t subscription)
{
    if (const auto at = state.subscriptions.find(subscription); at != state.subscriptions.end())
        at->second->notify(
            {session::event_kind{}, session::ev_event_queue_bit | static_cast<std::uint32_t>(subscription)});
}

} // namespace mrc::service
