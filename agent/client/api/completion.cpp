// SPDX-License-Identifier: Apache-2.0
// mrc.h: completion channels and completion queues.
#include <algorithm>
#include <cerrno>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include "client/api/objects.h"
#include "client/boundary.h"
#include "client/control/requests.h"
#include "client/export.h"
#include "protocol/qp_config.h"
#include <mrc/wait.h>

using namespace mrc::client;
using mrc::protocol::completion_status;
using mrc::session::round_for;

namespace
{

// A poller finds out that the daemon has gone after so many empty polls, tens of microseconds when it spins, or after
// so long.
constexpr std::uint32_t polls_per_look = 4096;
constexpr std::int64_t look_period_ns = 50'000'000;

// Programs that spin do so beside the daemon's worker: where cores are few, an empty poll now and then gives way to it.
constexpr std::uint32_t polls_per_yield = 64;

// Of a daemon inside this process: whoever polls so often for nothing makes the worker's rounds from then on.
constexpr std::uint32_t polls_of_a_spinner = 16;

// Of a few milliseconds' resolution, and without a system call.
std::int64_t coarse_now_ns()
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// An empty poll has been counted: is it time to look whether the daemon is there? Under the CQ's lock.
bool look_is_due(mrc_cq &cq)
{
    if (cq.empty_polls % polls_per_look == 0)
        return true;
    const std::int64_t now = coarse_now_ns();
    if (now < cq.next_look_ns)
        return false;
    cq.next_look_ns = now + look_period_ns;
    return true;
}

ibv_wc_status status_of(std::uint8_t status)
{
    switch (static_cast<completion_status>(status)) {
    case completion_status::success:
        return IBV_WC_SUCCESS;
    case completion_status::remote_access_error:
        return IBV_WC_REM_ACCESS_ERR;
    case completion_status::remote_operation_error:
        return IBV_WC_REM_OP_ERR;
    case completion_status::remote_invalid_request:
        return IBV_WC_REM_INV_REQ_ERR;
    case completion_status::retry_exceeded:
        return IBV_WC_RETRY_EXC_ERR;
    case completion_status::flushed:
        return IBV_WC_WR_FLUSH_ERR;
    case completion_status::local_protection_error:
        return IBV_WC_LOC_PROT_ERR;
    }
    return IBV_WC_GENERAL_ERR;
}

mrc_qp *owner_of(mrc_cq &cq, std::uint32_t qpn)
{
    if (cq.latest != nullptr && cq.latest->numbers.qpn == qpn)
        return cq.latest;
    const auto at = cq.qps.find(qpn);
    return cq.latest = at == cq.qps.end() ? nullptr : at->second;
}

// False: of a queue pair that is no more, or was reset since.
bool translate(mrc_cq &cq, const mrc::session::completion_entry &entry, ibv_wc &to)
{
    mrc_qp *qp = owner_of(cq, entry.qpn);
    if (qp == nullptr || entry.resets != qp->resets)
        return false;
    to = {};
    to.wr_id = entry.id;
    to.status = status_of(entry.status);
    to.byte_len = entry.bytes;
    to.qp_num = entry.qpn;
    if ((entry.flags & mrc::session::completion_receive) != 0) {
        to.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
        to.wc_flags = IBV_WC_WITH_IMM;
        to.imm_data = htobe32(entry.immediate);
        qp->receives_done.store(entry.position + 1, std::memory_order_release);
    } else {
        to.opcode = IBV_WC_RDMA_WRITE;
        qp->sends_done.store(entry.position + 1, std::memory_order_release);
    }
    return true;
}

int taken(mrc_cq &cq, int wanted, ibv_wc *to)
{
    int got = 0;
    mrc::session::completion_entry entry;
    while (got < wanted && cq.ring.pop(entry))
        if (translate(cq, entry, to[got]))
            ++got;
    return got;
}

int polled(mrc_cq *cq, int wanted, ibv_wc *to)
{
    if (cq == nullptr || cq->subscription != 0 || wanted < 0 || (to == nullptr && wanted != 0)) {
        errno = EINVAL;
        return -1;
    }
    if (is_inherited(*cq->context)) {
        errno = EPERM;
        return -1;
    }
    std::unique_lock lock{cq->lock};
    int got = taken(*cq, wanted, to);
    const round_for what = cq->empty_polls >= polls_of_a_spinner ? round_for::spin : round_for::poll;
    const bool made_round = got == 0 && wanted != 0 && cq->context->daemon->make_round(what);
    if (made_round)
        got = taken(*cq, wanted, to);
    if (got != 0 || wanted == 0) {
        cq->empty_polls = 0;
        return got;
    }
    const bool yields = ++cq->empty_polls % polls_per_yield == 0 && !made_round;
    if (look_is_due(*cq) && cq->context->daemon->gone()) {
        cq->next_look_ns = 0; // it stays gone
        return poll_orphaned(*cq, wanted, to);
    }
    lock.unlock();
    if (yields)
        cq->core.now_or_sleep();
    return 0;
}

result<mrc_comp_channel *> channel_made(mrc_context *context)
{
    if (context == nullptr)
        return refused(EINVAL, "no context");
    if (auto mine = check_owner(context); !mine)
        return std::unexpected{mine.error()};
    auto pipe = context->daemon->create_channel();
    if (!pipe)
        return std::unexpected{pipe.error()};
    auto channel = std::make_unique<mrc_comp_channel>();
    channel->context = context;
    channel->pipe = std::move(*pipe);
    ++context->children;
    return channel.release();
}

result<void> channel_destroyed(mrc_comp_channel *channel)
{
    if (channel == nullptr)
        return refused(EINVAL, "no channel");
    {
        const std::scoped_lock lock{channel->lock};
        if (!channel->cqs.empty())
            return refused(EBUSY, "completion queues use the channel");
    }
    if (check_owner(channel->context))
        (void)channel->context->daemon->act(mrc::session::request_kind::destroy_channel, channel->pipe.number);
    --channel->context->children;
    delete channel;
    return {};
}

result<mrc_cq *> cq_made(mrc_context *context, int entries, void *user, mrc_comp_channel *channel, int vector)
{
    if (context == nullptr || entries <= 0)
        return refused(EINVAL, "no context, or no entries");
    if (vector < 0 || vector >= context->verbs->num_comp_vectors)
        return refused(EINVAL, "no such completion vector");
    if (channel != nullptr && channel->context != context)
        return refused(EINVAL, "the channel belongs to another context");
    if (auto mine = check_owner(context); !mine)
        return std::unexpected{mine.error()};
    auto cq = std::make_unique<mrc_cq>();
    auto made = context->daemon->create_cq({.entries = static_cast<std::uint32_t>(entries),
                                            .channel = channel != nullptr ? channel->pipe.number : 0,
                                            .events = context->events.number,
                                            .reserved = 0});
    if (!made)
        return std::unexpected{made.error()};
    cq->context = context;
    cq->channel = channel;
    cq->user = user;
    cq->number = made->reply.number;
    cq->memory = std::move(made->memory);
    cq->ring = mrc::session::completion_layout{made->reply.entries}.completions(cq->memory.get());
    {
        const std::scoped_lock lock{context->lock};
        context->cqs.emplace(cq->number, cq.get());
    }
    if (channel != nullptr) {
        const std::scoped_lock lock{channel->lock};
        channel->cqs.emplace(cq->number, cq.get());
    }
    ++context->children;
    return cq.release();
}

result<void> cq_destroyed(mrc_cq *cq)
{
    if (cq == nullptr)
        return refused(EINVAL, "no completion queue");
    mrc_context *context = cq->context;
    {
        const std::scoped_lock lock{cq->lock};
        if (!cq->qps.empty())
            return refused(EBUSY, "queue pairs use the completion queue");
    }
    if (check_owner(context)) {
        if (cq->subscription != 0)
            mrc::client::end_subscription(*cq);
        else
            (void)context->daemon->act(mrc::session::request_kind::destroy_cq, cq->number);
    }
    if (cq->channel != nullptr) { // no new events; those given out come to an end
        std::unique_lock lock{cq->channel->lock};
        cq->channel->cqs.erase(cq->number);
        cq->channel->acknowledged.wait(lock, [cq] { return cq->events_given == cq->events_acked; });
    }
    {
        std::unique_lock lock{context->lock};
        context->cqs.erase(cq->number);
        context->acknowledged.wait(lock, [cq] { return cq->async_given == cq->async_acked; });
    }
    --context->children;
    delete cq;
    return {};
}

// Once the daemon has gone, every completion queue of the channel has an event: flushed requests may wait there.
mrc_cq *next_orphan(mrc_comp_channel &channel)
{
    if (channel.gone_turn >= channel.cqs.size())
        return nullptr;
    mrc_cq *cq = std::next(channel.cqs.begin(), static_cast<std::ptrdiff_t>(channel.gone_turn++))->second;
    const std::scoped_lock lock{cq->lock};
    cq->next_look_ns = 0; // the first poll finds them
    return cq;
}

// With the daemon inside this process the caller makes the rounds that bring the event. 0, or EINTR.
int await_event(const mrc_comp_channel &channel)
{
    const daemon_session &daemon = *channel.context->daemon;
    if (!daemon.is_inside())
        return 0;
    const int fd = channel.pipe.end.get();
    if ((::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0) {
        pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
        return daemon.poll(&waited, 1, nullptr) < 0 ? errno : 0;
    }
    (void)daemon.make_round(round_for::post);
    return 0;
}

result<mrc_cq *> next_cq_event(mrc_comp_channel *channel)
{
    for (;;) {
        if (const int error = await_event(*channel); error != 0)
            return refused(error, "waiting for completion events");
        mrc::session::event_record record;
        const ssize_t got = ::read(channel->pipe.end.get(), &record, sizeof(record));
        if (got < 0)
            return refused(errno, errno == EAGAIN ? "no event waits" : "reading completion events");
        const std::scoped_lock lock{channel->lock};
        const auto at = got != 0 ? channel->cqs.find(record.number) : channel->cqs.end();
        mrc_cq *cq = at != channel->cqs.end() ? at->second : got == 0 ? next_orphan(*channel) : nullptr;
        if (cq != nullptr && got != 0 && cq->subscription != 0 && !cq->ev_armed.exchange(false))
            continue; // EV events are told whether or not the queue is armed
        if (cq != nullptr) {
            ++cq->events_given;
            return cq;
        }
        if (got == 0)
            return refused(EIO, "mrcd has gone");
    }
}

result<void> event_taken(mrc_comp_channel *channel, mrc_cq **cq, void **user)
{
    if (channel == nullptr || cq == nullptr || user == nullptr)
        return refused(EINVAL, "no channel, or no place for the answer");
    if (auto mine = check_owner(channel->context); !mine)
        return mine;
    const auto event = next_cq_event(channel);
    if (!event)
        return std::unexpected{event.error()};
    *cq = *event;
    *user = (*event)->user;
    return {};
}

} // namespace

int mrc::client::poll_orphaned(mrc_cq &cq, int wanted, ibv_wc *to)
{
    int got = 0;
    const auto flush = [&](const mrc_qp &qp, std::uint64_t id, ibv_wc_opcode opcode) {
        to[got] = {};
        to[got].wr_id = id;
        to[got].status = IBV_WC_WR_FLUSH_ERR;
        to[got].opcode = opcode;
        to[got].qp_num = qp.numbers.qpn;
        ++got;
    };
    for (const auto &[qpn, qp] : cq.qps) {
        if (qp->send_cq == &cq) {
            const std::scoped_lock lock{qp->send_lock};
            for (; got < wanted && qp->sends_done != qp->sends.position(); ++qp->sends_done)
                flush(*qp, qp->posted_sends[qp->sends.slot(qp->sends_done)].id, IBV_WC_RDMA_WRITE);
        }
        if (qp->receive_cq == &cq) {
            const std::scoped_lock lock{qp->receive_lock};
            for (; got < wanted && qp->receives_done != qp->receives.position(); ++qp->receives_done)
                flush(*qp, qp->posted_receives[qp->receives.slot(qp->receives_done)], IBV_WC_RECV_RDMA_WITH_IMM);
        }
    }
    return got;
}

extern "C" MRC_EXPORT int mrc_create_comp_channel(mrc_context *mrc_ctx, mrc_comp_channel **channel)
{
    if (channel == nullptr) {
        errno = EINVAL;
        return -1;
    }
    *channel = value_or_errno<mrc_comp_channel *>(nullptr, [&] { return channel_made(mrc_ctx); });
    return *channel != nullptr ? 0 : -1;
}

extern "C" MRC_EXPORT int mrc_get_comp_channel_fd(mrc_comp_channel *channel, int *fd)
{
    if (channel == nullptr || fd == nullptr) {
        errno = EINVAL;
        return -1;
    }
    channel->is_polled = !channel->is_waited_for;
    *fd = channel->pipe.end.get();
    return 0;
}

extern "C" MRC_EXPORT int mrc_destroy_comp_channel(mrc_comp_channel *channel)
{
    return code_of([&] { return channel_destroyed(channel); });
}

extern "C" MRC_EXPORT mrc_cq *mrc_create_cq(mrc_context *mrc_ctx, int cqe, void *cq_context, mrc_comp_channel *channel,
                                            int comp_vector)
{
    return value_or_errno<mrc_cq *>(nullptr, [&] { return cq_made(mrc_ctx, cqe, cq_context, channel, comp_vector); });
}

extern "C" MRC_EXPORT int mrc_poll_cq(mrc_cq *cq, int num_entries, ibv_wc *wc)
{
    return polled(cq, num_entries, wc);
}

extern "C" MRC_EXPORT int mrc_destroy_cq(mrc_cq *cq)
{
    return code_of([&] { return cq_destroyed(cq); });
}

extern "C" MRC_EXPORT int mrc_req_notify_cq(mrc_cq *cq, int solicited_only)
{
    using mrc::session::arming;
    if (cq == nullptr || cq->channel == nullptr)
        return errno = EINVAL;
    if (cq->subscription != 0) {
        cq->ev_armed = true;
        return 0;
    }
    mrc::session::arm(cq->ring.header(),
                      solicited_only != 0 ? mrc::session::arming::solicited : mrc::session::arming::any);
    if (cq->channel->is_polled)
        cq->context->daemon->hand_over();
    return 0;
}

extern "C" MRC_EXPORT int mrc_poll_events(mrc_comp_channel *channel, pollfd *descriptors, nfds_t count,
                                          const timespec *limit)
{
    if (channel == nullptr) {
        errno = EINVAL;
        return -1;
    }
    if (is_inherited(*channel->context)) {
        errno = EPERM;
        return -1;
    }
    channel->is_waited_for = true;
    channel->is_polled = false;
    return channel->context->daemon->poll(descriptors, count, limit);
}

extern "C" MRC_EXPORT int mrc_get_cq_event(mrc_comp_channel *channel, mrc_cq **cq, void **cq_context)
{
    return minus_one_of([&] { return event_taken(channel, cq, cq_context); });
}

extern "C" MRC_EXPORT void mrc_ack_cq_events(mrc_cq *cq, unsigned int nevents)
{
    if (cq == nullptr || cq->channel == nullptr)
        return;
    const std::scoped_lock lock{cq->channel->lock};
    cq->events_acked += nevents;
    cq->channel->acknowledged.notify_all();
}
