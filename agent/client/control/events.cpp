// SPDX-License-Identifier: Apache-2.0
// mrc_ctl.h: queues of EV events, and requests to other endpoints.
#include <algorithm>
#include <cerrno>
#include <chrono>

#include "client/boundary.h"
#include "client/control/requests.h"
#include "client/export.h"

using namespace mrc::client;
using mrc::session::ep_request;

namespace
{

static_assert(sizeof(mrc_ctl_ev_event) == sizeof(mrc::session::ev_event));
static_assert(offsetof(mrc_ctl_ev_event, state) == offsetof(mrc::session::ev_event, state));
static_assert(sizeof(mrc_ctl_ep_req) == sizeof(mrc::session::ep_request));
static_assert(offsetof(mrc_ctl_ep_req, op) == offsetof(mrc::session::ep_request, port_status));

result<mrc_cq *> ev_queue_made(mrc_context *context, int entries, void *user, mrc_comp_channel *channel, int vector)
{
    if (auto right = check_context(context); !right)
        return std::unexpected{right.error()};
    if (entries <= 0 || vector < 0 || vector >= context->verbs->num_comp_vectors)
        return refused(EINVAL, "no entries, or no such completion vector");
    if (channel != nullptr && channel->context != context)
        return refused(EINVAL, "the channel belongs to another context");
    auto cq = std::make_unique<mrc_cq>();
    auto request = control_request_of(mrc::session::control_kind::subscribe_events, 0, 0);
    request.events = {.capacity = static_cast<std::uint32_t>(entries),
                      .channel = channel != nullptr ? channel->pipe.number : 0};
    const auto answer = ask(*context->daemon, request);
    if (!answer)
        return std::unexpected{answer.error()};
    if (auto done = outcome_of(*answer); !done)
        return std::unexpected{done.error()};
    cq->context = context;
    cq->channel = channel;
    cq->user = user;
    cq->subscription = answer->reply.id;
    cq->number = mrc::session::ev_event_queue_bit | static_cast<std::uint32_t>(cq->subscription);
    if (channel != nullptr) {
        const std::scoped_lock lock{channel->lock};
        channel->cqs.emplace(cq->number, cq.get());
    }
    ++context->children;
    return cq.release();
}

result<int> events_polled(const mrc_cq *queue, int wanted, mrc_ctl_ev_event *to)
{
    if (queue == nullptr || queue->subscription == 0 || wanted < 0 || (to == nullptr && wanted != 0))
        return refused(EINVAL, "no queue of EV events, or no place for them");
    if (auto mine = check_context(queue->context); !mine)
        return std::unexpected{mine.error()};
    const std::size_t stride = queue->context->ev_event_bytes;
    auto *place = reinterpret_cast<std::byte *>(to);
    int got = 0;
    while (got < wanted) {
        auto request = control_request_of(mrc::session::control_kind::poll_events, queue->subscription, 0);
        request.capacity = std::min(static_cast<std::uint32_t>(wanted - got), mrc::session::most_entries);
        const auto answer = ask(*queue->context->daemon, request, {}, sizeof(mrc::session::ev_event));
        if (!answer)
            return std::unexpected{answer.error()};
        if (auto done = outcome_of(*answer); !done)
            return std::unexpected{done.error()};
        if (answer->reply.count > request.capacity)
            return refused(EIO, "a reply of more events than were asked for");
        for (std::size_t i = 0; i < answer->reply.count; ++i, place += stride)
            std::memcpy(place, answer->array.data() + i * sizeof(mrc::session::ev_event), stride);
        got += static_cast<int>(answer->reply.count);
        if (answer->reply.count < request.capacity)
            break;
    }
    return got;
}

mrc::session::ep_request wire_of(const mrc_ctl_ep_req &from, mrc_ctl_ep_op_type type)
{
    ep_request to;
    to.id = from.req_id;
    to.source = to_address(from.sgid);
    to.destination = to_address(from.dgid);
    to.format_mode = static_cast<std::uint32_t>(from.ev_fmt_mode);
    std::ranges::copy(from.req_ev.val, to.ev.bits.begin());
    to.ev.port = from.req_ev.port;
    if (type == MRC_CTL_EP_OP_PORT_STATUS_UPDATE)
        to.port_status = from.op.port_status_update.port_status;
    return to;
}

struct ep_call {
    mrc_context *context;
    std::uint8_t traffic_class;
    mrc_ctl_ep_op_type type;
    std::span<const mrc_ctl_ep_req> requests;
    std::uint32_t timeout_ns;
    mrc_ctl_ep_rsp *responses;
    int &count; // of responses
};

// One packet's worth, answered at once but for the last one.
result<control_answer> piece_sent(const ep_call &call, const control_line &line,
                                  std::span<const mrc_ctl_ep_req> requests, bool last)
{
    std::vector<mrc::session::ep_request> wire;
    wire.reserve(requests.size());
    for (const mrc_ctl_ep_req &one : requests)
        wire.push_back(wire_of(one, call.type));
    auto request = control_request_of(mrc::session::control_kind::ep_batch, 0, 0);
    request.count = static_cast<std::uint32_t>(wire.size());
    request.ep = {.operation = static_cast<std::uint32_t>(call.type),
                  .traffic_class = call.traffic_class,
                  .timeout_ns = call.timeout_ns,
                  .more = last ? 0U : 1U};
    return ask(line, request, std::as_bytes(std::span{wire}), sizeof(mrc::session::ep_response));
}

// The responses that came are there, whatever the outcome.
result<void> responses_taken(const ep_call &call, const control_answer &answer)
{
    if (answer.reply.count > call.requests.size())
        return refused(EIO, "a reply of more responses than there were requests");
    for (std::size_t i = 0; i < answer.reply.count; ++i) {
        const auto response = answer.element<mrc::session::ep_response>(i);
        call.responses[call.count++] = {.req_id = response.id,
                                        .port = response.port,
                                        .rtt = response.rtt_ns,
                                        .adj_svc_time = response.service_time};
    }
    return outcome_of(answer);
}

result<void> batch_sent(const ep_call &call)
{
    if (call.requests.size() > mrc::session::most_batch_requests)
        return refused(EINVAL, "more requests than a batch may have");
    // Its requests' time begins when they are sent, which is when the last piece has come.
    const auto longest = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds{call.timeout_ns});
    const auto line = call.context->daemon->open_line(answer_patience + longest);
    if (!line)
        return std::unexpected{line.error()};
    for (auto left = call.requests;;) {
        const auto piece = left.first(std::min<std::size_t>(left.size(), mrc::session::most_ep_requests));
        left = left.subspan(piece.size());
        const auto answer = piece_sent(call, *line, piece, left.empty());
        if (!answer)
            return std::unexpected{answer.error()};
        if (left.empty())
            return responses_taken(call, *answer);
        if (auto staged = outcome_of(*answer); !staged)
            return staged;
    }
}

} // namespace

extern "C" MRC_EXPORT mrc_cq *mrc_ctl_create_ev_event_cq(mrc_context *mrc_ctx, int cqe, void *cq_context,
                                                         mrc_comp_channel *channel, int comp_vector)
{
    return value_or_errno<mrc_cq *>(nullptr,
                                    [&] { return ev_queue_made(mrc_ctx, cqe, cq_context, channel, comp_vector); });
}

extern "C" MRC_EXPORT int mrc_ctl_poll_ev_event(mrc_cq *ev_cq, int num_entries, mrc_ctl_ev_event *ev_event)
{
    const int got = value_or_errno<int>(-1, [&] { return events_polled(ev_cq, num_entries, ev_event); });
    return got >= 0 ? got : -errno;
}

extern "C" MRC_EXPORT int mrc_ctl_ep_batch_send_wait(mrc_context *mrc_ctx, uint8_t req_tc, mrc_ctl_ep_op_type op_type,
                                                     mrc_ctl_ep_req *req, int num_req, uint32_t rsp_timeout,
                                                     mrc_ctl_ep_rsp *rsp, int *num_rsp)
{
    return minus_one_of([&]() -> result<void> {
        if (auto right = check_context(mrc_ctx); !right)
            return right;
        if (req == nullptr || num_req <= 0 || rsp == nullptr || num_rsp == nullptr)
            return refused(EINVAL, "no requests, or no place for the responses");
        *num_rsp = 0;
        return batch_sent({.context = mrc_ctx,
                           .traffic_class = req_tc,
                           .type = op_type,
                           .requests = {req, static_cast<std::size_t>(num_req)},
                           .timeout_ns = rsp_timeout,
                           .responses = rsp,
                           .count = *num_rsp});
    });
}
