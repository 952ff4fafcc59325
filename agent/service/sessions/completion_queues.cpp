// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/completion_queues.h"

#include <bit>
#include <cerrno>
#include <string>

#include "service/sessions/client_pipes.h"
#include "service/sessions/ring_memory.h"

namespace mrc::service
{

answer create_cq(session_state &state, const session::cq_request &request)
{
    const limit_options &limits = state.shared.config.limits;
    if (request.entries == 0 || request.entries > limits.completion_entries)
        return refuse(EINVAL, "a completion queue has 1 to " + std::to_string(limits.completion_entries) + " entries");
    const std::uint32_t entries = std::bit_ceil(request.entries);
    auto held = take(state, resource::completion_queues, 1, limits.completion_queues);
    auto room = take(state, resource::completion_entries, entries, limits.total_entries);
    if (!held || !room)
        return refuse(ENOMEM, "a user may have " + std::to_string(limits.completion_queues) +
                                  " completion queues with " + std::to_string(limits.total_entries) + " entries");
    owned_cq cq;
    cq.held = std::move(*held);
    cq.entries = std::move(*room);
    const auto channel = state.channels.find(request.channel);
    if (request.channel != 0 && channel == state.channels.end())
        return refuse(EINVAL, "no such completion channel in this session");
    const auto events = events_of(state, request.events);
    if (!events)
        return refuse(EINVAL, "no such event pipe in this session");
    const std::size_t bytes = session::completion_layout{entries}.bytes();
    cq.memory = sealed_memory("mrc-cq", bytes);
    kernel::mapping memory = map_whole(cq.memory, bytes);
    if (!memory)
        return refuse(ENOMEM, "cannot allocate a completion queue");

    answer result;
    result.reply.cq = {.number = ++state.last_number, .entries = entries};
    cq.channel = request.channel;
    cq.ring = std::make_unique<datapath::completion_ring>(result.reply.cq.number, std::move(memory), entries,
                                                          cq.channel != 0 ? channel->second.pipe : nullptr, events);
    if (cq.channel != 0)
        ++channel->second.users;
    result.fds = {cq.memory.get()};
    state.cqs.emplace(result.reply.cq.number, std::move(cq));
    return result;
}

answer destroy_cq(session_state &state, std::uint32_t number)
{
    const auto at = state.cqs.find(number);
    if (at == state.cqs.end())
        return refuse(EINVAL, "no such completion queue in this session");
    if (at->second.users != 0)
        return refuse(EBUSY, "queue pairs use the completion queue");
    if (at->second.channel != 0)
        --state.channels.at(at->second.channel).users;
    state.cqs.erase(at);
    return {};
}

} // namespace mrc::service
