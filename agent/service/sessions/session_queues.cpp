// SPDX-License-Identifier: Apache-2.0
// A client's completion channels, completion queues and queue pairs: how they come and go.
#include <algorithm>
#include <bit>

#include <fcntl.h>

#include "service/sessions/client_session.h"

namespace mrc::service
{

namespace
{

// Shared memory of a fixed size: no client can take it away from under the worker.
kernel::unique_fd sealed_memory(const char *name, std::size_t bytes)
{
    kernel::unique_fd file{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return {};
    return file;
}

kernel::mapping map_whole(const kernel::unique_fd &file, std::size_t bytes)
{
    void *at = file ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) : MAP_FAILED;
    return at == MAP_FAILED ? kernel::mapping{} : kernel::mapping{at, bytes};
}

} // namespace

client_session::answer client_session::create_channel()
{
    int ends[2] = {-1, -1};
    auto held = take(resource::completion_channels, 1, shared_.config.limits.completion_queues);
    if (!held)
        return {refuse(ENOMEM, "all completion channels of a user are in use"), {}};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return {refuse(errno, "cannot open a pipe for completions"), {}};
    owned_channel channel;
    channel.held = std::move(*held);
    channel.wait = kernel::unique_fd{ends[0]};
    channel.pipe = std::make_shared<const datapath::client_pipe>(kernel::unique_fd{ends[1]});
    answer result;
    result.reply.number = ++last_number_;
    result.fds = {channel.wait.get()};
    channels_.emplace(result.reply.number, std::move(channel));
    return result;
}

client_session::answer client_session::destroy_channel(std::uint32_t number)
{
    const auto at = channels_.find(number);
    if (at == channels_.end())
        return {refuse(EINVAL, "no such completion channel in this session"), {}};
    if (at->second.users != 0)
        return {refuse(EBUSY, "completion queues use the channel"), {}};
    std::erase_if(subscriptions_, [&](const auto &one) { return one.second == at->second.pipe; });
    channels_.erase(at);
    return {};
}

client_session::answer client_session::create_cq(const session::cq_request &request)
{
    const limit_options &limits = shared_.config.limits;
    if (request.entries == 0 || request.entries > limits.completion_entries)
        return {refuse(EINVAL, "a completion queue has 1 to " + std::to_string(limits.completion_entries) + " entries"),
                {}};
    const std::uint32_t entries = std::bit_ceil(request.entries);
    auto held = take(resource::completion_queues, 1, limits.completion_queues);
    auto room = take(resource::completion_entries, entries, limits.total_entries);
    if (!held || !room)
        return {refuse(ENOMEM, "a user may have " + std::to_string(limits.completion_queues) +
                                   " completion queues with " + std::to_string(limits.total_entries) + " entries"),
                {}};
    owned_cq cq;
    cq.held = std::move(*held);
    cq.entries = std::move(*room);
    const auto channel = channels_.find(request.channel);
    if (request.channel != 0 && channel == channels_.end())
        return {refuse(EINVAL, "no such completion channel in this session"), {}};
    const auto events = events_of(request.events);
    if (!events)
        return {refuse(EINVAL, "no such event pipe in this session"), {}};
    const std::size_t bytes = session::completion_layout{entries}.bytes();
    cq.memory = sealed_memory("mrc-cq", bytes);
    kernel::mapping memory = map_whole(cq.memory, bytes);
    if (!memory)
        return {refuse(ENOMEM, "cannot allocate a completion queue"), {}};

    answer result;
    result.reply.cq = {.number = ++last_number_, .entries = entries};
    cq.channel = request.channel;
    cq.ring = std::make_unique<datapath::completion_ring>(result.reply.cq.number, std::move(memory), entries,
                                                          cq.channel != 0 ? channel->second.pipe : nullptr, events);
    if (cq.channel != 0)
        ++channel->second.users;
    result.fds = {cq.memory.get()};
    cqs_.emplace(result.reply.cq.number, std::move(cq));
    return result;
}

client_session::answer client_session::destroy_cq(std::uint32_t number)
{
    const auto at = cqs_.find(number);
    if (at == cqs_.end())
        return {refuse(EINVAL, "no such completion queue in this session"), {}};
    if (at->second.users != 0)
        return {refuse(EBUSY, "queue pairs use the completion queue"), {}};
    if (at->second.channel != 0)
        --channels_.at(at->second.channel).users;
    cqs_.erase(at);
    return {};
}

session::queue_pair_layout client_session::layout_of(const session::qp_reply &numbers)
{
    return {.send_capacity = numbers.send_depth,
            .receive_capacity = numbers.receive_depth,
            .most_pieces = numbers.most_pieces,
            .most_inline = numbers.most_inline};
}

std::uint32_t client_session::free_qpn() const
{
    const std::uint32_t random = random_word() & MRC_QPN_MASK;
    for (std::uint32_t step = 0; step < MRC_MAX_QPS; ++step) { // to the next free row
        const std::uint32_t qpn = (random & ~(MRC_MAX_QPS - 1U)) | MRC_QPN_ROW(random + step);
        const bool reserved = qpn < MRC_QPN_FIRST_USABLE || qpn == MRC_QPN_MASK;
        if (!reserved && shared_.tables.qps[MRC_QPN_ROW(qpn)].qpn == 0)
            return qpn;
    }
    return 0;
}

std::uint32_t client_session::free_bell() const
{
    std::vector<bool> taken(shared_.config.limits.queue_pairs);
    for (const auto &[qpn, qp] : qps_)
        taken[qp.numbers.bell] = true;
    return static_cast<std::uint32_t>(std::ranges::find(taken, false) - taken.begin());
}

std::string client_session::refusal_of(const session::qp_request &request) const
{
    const limit_options &limits = shared_.config.limits;
    const auto depth_is_wrong = [&](std::uint32_t depth) { return depth == 0 || depth > limits.work_requests; };
    if (!domains_.contains(request.pd))
        return "no such protection domain in this session";
    if (!cqs_.contains(request.send_cq) || !cqs_.contains(request.receive_cq))
        return "no such completion queue in this session";
    if (!events_of(request.events))
        return "no such event pipe in this session";
    if (depth_is_wrong(request.send_depth) || depth_is_wrong(request.receive_depth))
        return "a queue holds 1 to " + std::to_string(limits.work_requests) + " requests";
    if (request.most_pieces == 0 || request.most_pieces > most_pieces)
        return "a request has 1 to " + std::to_string(most_pieces) + " pieces";
    if (request.most_inline > most_inline)
        return "a request has 0 to " + std::to_string(most_inline) + " inline bytes";
    return {};
}

client_session::answer client_session::create_qp(const session::qp_request &request)
{
    if (const std::string problem = refusal_of(request); !problem.empty())
        return {refuse(EINVAL, problem), {}};
    const limit_options &limits = shared_.config.limits;
    auto held = take(resource::queue_pairs, 1, limits.queue_pairs);
    if (!held)
        return {refuse(ENOMEM, "all " + std::to_string(limits.queue_pairs) + " queue pairs of a user are in use"), {}};
    owned_qp qp;
    qp.held = std::move(*held);
    qp.made = request;
    qp.numbers = {.qpn = free_qpn(),
                  .bell = free_bell(),
                  .send_depth = std::bit_ceil(request.send_depth),
                  .receive_depth = std::bit_ceil(request.receive_depth),
                  .most_pieces = request.most_pieces,
                  .most_inline = (request.most_inline + 15) / 16 * 16};
    const std::uint64_t requests = std::uint64_t{qp.numbers.send_depth} + qp.numbers.receive_depth;
    auto room = take(resource::work_requests, requests, limits.total_requests);
    if (!room)
        return {
            refuse(ENOMEM, "all queues of a user hold at most " + std::to_string(limits.total_requests) + " requests"),
            {}};
    qp.requests = std::move(*room);
    if (qp.numbers.qpn == 0)
        return {refuse(ENOMEM, "all " + std::to_string(MRC_MAX_QPS) + " queue pairs are in use"), {}};
    qp.file = sealed_memory("mrc-qp", layout_of(qp.numbers).bytes());
    qp.rings = map_whole(qp.file, layout_of(qp.numbers).bytes());
    if (!qp.rings)
        return {refuse(ENOMEM, "cannot allocate the rings of a queue pair"), {}};
    qp.now = initial_attributes(qp.numbers.qpn, shared_.config.transport.window_psns);

    // host_rx lets nothing in before the peer is known: the row stays without one, but taken.
    mrc_qp_row row{};
    row.qpn = qp.numbers.qpn;
    shared_.tables.qps[MRC_QPN_ROW(row.qpn)] = row;
    ++domains_.at(request.pd).users;
    ++cqs_.at(request.send_cq).users;
    ++cqs_.at(request.receive_cq).users;
    answer result;
    result.reply.qp = qp.numbers;
    result.fds = {qp.file.get()};
    qps_.emplace(qp.numbers.qpn, std::move(qp));
    return result;
}

void client_session::release_qp(owned_qp &qp)
{
    mrc_qp_row &row = shared_.tables.qps[MRC_QPN_ROW(qp.numbers.qpn)];
    row.qpn = 0; // nothing more comes in
    std::unique_ptr<datapath::worker_qp> gone;
    if (qp.in_worker)
        shared_.worker.call([&] { gone = shared_.worker.remove_qp(protocol::qpn{qp.numbers.qpn}); });
    qp.in_worker = false;
    row = {};
}

client_session::answer client_session::destroy_qp(std::uint32_t qpn)
{
    const auto at = qps_.find(qpn);
    if (at == qps_.end())
        return {refuse(EINVAL, "no such queue pair in this session"), {}};
    release_qp(at->second);
    let_go_of_profiles(at->second.now);
    const session::qp_request &made = at->second.made;
    --domains_.at(made.pd).users;
    --cqs_.at(made.send_cq).users;
    --cqs_.at(made.receive_cq).users;
    qps_.erase(at);
    return {};
}

} // namespace mrc::service
