// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/queue_pairs.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>
#include <vector>

#include "service/sessions/client_pipes.h"
#include "service/sessions/held_profiles.h"
#include "service/sessions/qp_attributes.h"
#include "service/sessions/qp_connection.h"
#include "service/sessions/random_number.h"
#include "service/sessions/reports.h"
#include "service/sessions/ring_memory.h"

namespace mrc::service
{

session::queue_pair_layout layout_of(const session::qp_reply &numbers)
{
    return {.send_capacity = numbers.send_depth,
            .receive_capacity = numbers.receive_depth,
            .most_pieces = numbers.most_pieces,
            .most_inline = numbers.most_inline};
}

namespace
{

std::uint32_t free_qpn(const session_state &state)
{
    const std::uint32_t random = random_number() & MRC_QPN_MASK;
    for (std::uint32_t step = 0; step < MRC_MAX_QPS; ++step) { // to the next free row
        const std::uint32_t qpn = (random & ~(MRC_MAX_QPS - 1U)) | MRC_QPN_ROW(random + step);
        const bool reserved = qpn < MRC_QPN_FIRST_USABLE || qpn == MRC_QPN_MASK;
        if (!reserved && state.shared.tables.qps[MRC_QPN_ROW(qpn)].qpn == 0)
            return qpn;
    }
    return 0;
}

std::uint32_t free_bell(const session_state &state)
{
    std::vector<bool> taken(most_of_a_session(state.shared.config.limits));
    for (const auto &[qpn, qp] : state.qps)
        taken[qp.numbers.bell] = true;
    return static_cast<std::uint32_t>(std::ranges::find(taken, false) - taken.begin());
}

std::string refusal_of(const session_state &state, const session::qp_request &request)
{
    const limit_options &limits = state.shared.config.limits;
    const auto depth_is_wrong = [&](std::uint32_t depth) { return depth == 0 || depth > limits.work_requests; };
    if (!state.domains.contains(request.pd))
        return "no such protection domain in this session";
    if (!state.cqs.contains(request.send_cq) || !state.cqs.contains(request.receive_cq))
        return "no such completion queue in this session";
    if (!events_of(state, request.events))
        return "no such event pipe in this session";
    if (depth_is_wrong(request.send_depth) || depth_is_wrong(request.receive_depth))
        return "a queue holds 1 to " + std::to_string(limits.work_requests) + " requests";
    if (request.most_pieces == 0 || request.most_pieces > most_pieces)
        return "a request has 1 to " + std::to_string(most_pieces) + " pieces";
    if (request.most_inline > most_inline)
        return "a request has 0 to " + std::to_string(most_inline) + " inline bytes";
    return {};
}

void release_qp(const session_state &state, owned_qp &qp, mrc_event_reason reason)
{
    const bool was_connected = qp.in_worker;
    const queue_pair_names which = names_of(state, qp);
    mrc_qp_row &row = state.shared.tables.qps[MRC_QPN_ROW(qp.numbers.qpn)];
    row.qpn = 0; // nothing more comes in
    std::unique_ptr<datapath::worker_qp> gone;
    if (qp.in_worker)
        state.worker().call([&] { gone = state.worker().remove_qp(protocol::qpn{qp.numbers.qpn}); });
    qp.in_worker = false;
    qp.peer = {};
    row = {};
    state.shared.clients.remove_queue_pair(MRC_QPN_ROW(qp.numbers.qpn));
    if (was_connected)
        tell_closed(state, which, reason);
}

} // namespace

answer create_qp(session_state &state, const session::qp_request &request)
{
    if (const std::string problem = refusal_of(state, request); !problem.empty())
        return refuse(EINVAL, problem);
    const limit_options &limits = state.shared.config.limits;
    auto held = take(state, resource::queue_pairs, 1, limits.queue_pairs);
    if (!held)
        return refuse(ENOMEM, "all " + std::to_string(limits.queue_pairs) + " queue pairs of a user are in use");
    if (const std::uint32_t most = most_of_a_session(limits); state.qps.size() >= most)
        return refuse(ENOMEM, "all " + std::to_string(most) + " queue pairs of a session are in use");
    owned_qp qp;
    qp.held = std::move(*held);
    qp.made = request;
    qp.numbers = {.qpn = free_qpn(state),
                  .bell = free_bell(state),
                  .send_depth = std::bit_ceil(request.send_depth),
                  .receive_depth = std::bit_ceil(request.receive_depth),
                  .most_pieces = request.most_pieces,
                  .most_inline = (request.most_inline + 15) / 16 * 16};
    const std::uint64_t requests = std::uint64_t{qp.numbers.send_depth} + qp.numbers.receive_depth;
    auto room = take(state, resource::work_requests, requests, limits.total_requests);
    if (!room)
        return refuse(ENOMEM,
                      "all queues of a user hold at most " + std::to_string(limits.total_requests) + " requests");
    qp.requests = std::move(*room);
    if (qp.numbers.qpn == 0)
        return refuse(ENOMEM, "all " + std::to_string(MRC_MAX_QPS) + " queue pairs are in use");
    qp.file = sealed_memory("mrc-qp", layout_of(qp.numbers).bytes());
    qp.rings = map_whole(qp.file, layout_of(qp.numbers).bytes());
    if (!qp.rings)
        return refuse(ENOMEM, "cannot allocate the rings of a queue pair");
    qp.now = initial_attributes(qp.numbers.qpn, state.shared.config.transport.window_psns, state.shared.config.peers);

    state.shared.tables.qps[MRC_QPN_ROW(qp.numbers.qpn)] = unconnected_row(state, qp);
    list_qp(state, qp);
    ++state.domains.at(request.pd).users;
    ++state.cqs.at(request.send_cq).users;
    ++state.cqs.at(request.receive_cq).users;
    answer result;
    result.reply.qp = qp.numbers;
    result.fds = {qp.file.get()};
    state.qps.emplace(qp.numbers.qpn, std::move(qp));
    return result;
}

answer destroy_qp(session_state &state, std::uint32_t qpn)
{
    const auto at = state.qps.find(qpn);
    if (at == state.qps.end())
        return refuse(EINVAL, "no such queue pair in this session");
    release_qp(state, at->second, MRC_REASON_CLIENT);
    release_profiles(state.shared.control, at->second.now);
    const session::qp_request &made = at->second.made;
    --state.domains.at(made.pd).users;
    --state.cqs.at(made.send_cq).users;
    --state.cqs.at(made.receive_cq).users;
    state.qps.erase(at);
    return {};
}

void release_qps(session_state &state)
{
    for (auto &[qpn, qp] : state.qps) {
        release_qp(state, qp, MRC_REASON_SESSION_END);
        release_profiles(state.shared.control, qp.now);
    }
    state.qps.clear();
}

} // namespace mrc::service
