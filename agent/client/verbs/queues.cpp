// SPDX-License-Identifier: Apache-2.0
#include "client/verbs/queues.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>

#include <pthread.h>

#include "client/api/objects.h"
#include "client/failure_text.h"

namespace mrc::client::verbs
{

namespace
{

template <typename Object>
std::unique_ptr<Object> made()
{
    std::unique_ptr<Object> object{new (std::nothrow) Object{}};
    if (object == nullptr)
        errno = ENOMEM;
    return object;
}

// Of what has events that libibverbs acknowledges.
template <typename Object>
void prepare(Object &object)
{
    ::pthread_mutex_init(&object.mutex, nullptr);
    ::pthread_cond_init(&object.cond, nullptr);
}

template <typename Object>
void finish(Object *object)
{
    ::pthread_cond_destroy(&object->cond);
    ::pthread_mutex_destroy(&object->mutex);
    delete object;
}

template <typename Object, typename Condition>
void await(Object &object, Condition all_acknowledged)
{
    ::pthread_mutex_lock(&object.mutex);
    while (!all_acknowledged())
        ::pthread_cond_wait(&object.cond, &object.mutex);
    ::pthread_mutex_unlock(&object.mutex);
}

template <typename Object>
void count(Object &object, std::uint32_t &given)
{
    ::pthread_mutex_lock(&object.mutex);
    ++given;
    ::pthread_mutex_unlock(&object.mutex);
}

mrc_cq *inner(ibv_cq *cq)
{
    return cq == nullptr ? nullptr : static_cast<virtual_cq *>(cq)->inner;
}

mrc_qp *inner(ibv_qp *qp)
{
    return static_cast<virtual_qp *>(qp)->inner;
}

int poll_cq(ibv_cq *cq, int wanted, ibv_wc *completions)
{
    return mrc_poll_cq(inner(cq), wanted, completions);
}

int req_notify_cq(ibv_cq *cq, int solicited_only)
{
    return cq->channel == nullptr ? 0 : mrc_req_notify_cq(inner(cq), solicited_only); // nobody would be told
}

int post_send(ibv_qp *qp, ibv_send_wr *request, ibv_send_wr **bad)
{
    return mrc_post_send(inner(qp), request, bad);
}

int post_recv(ibv_qp *qp, ibv_recv_wr *request, ibv_recv_wr **bad)
{
    return mrc_post_recv(inner(qp), request, bad) == 0 ? 0 : errno;
}

// What ibv_modify_qp sets and MRC has no such attribute for; ibv_query_qp tells it all the same.
void keep_remembered(ibv_qp_attr &to, const ibv_qp_attr &from, int mask)
{
    const auto keep = [&](int bit, auto ibv_qp_attr::*member) {
        if ((mask & bit) != 0)
            to.*member = from.*member;
    };
    keep(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
    keep(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
    keep(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
    keep(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
    keep(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
    keep(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
}

constexpr std::uint8_t most_linear_retries = 7;
constexpr std::uint8_t endless = 25; // doublings: never gives up

// How often MRC doubles its own time-out until a silent peer is given up, so that this takes no less than what the
// attributes amount to: (retry_cnt + 1) * 4.096 us * 2^timeout (InfiniBand Architecture, 9.7.6.1.3), but at least half
// a second, for hosts stand still longer than NICs. `exponent`: of MRC's time-out.
std::uint8_t doublings_for(const ibv_qp_attr &wanted, unsigned int exponent)
{
    constexpr std::uint64_t least_ns = 500'000'000;
    const std::uint64_t first_ns = std::uint64_t{1024} << exponent;
    const std::uint64_t wanted_ns =
        (std::uint64_t{wanted.retry_cnt} + 1) * (std::uint64_t{4096} << (wanted.timeout & 31U));
    std::uint64_t patience_ns = most_linear_retries * first_ns;
    std::uint8_t doublings = 0;
    while (doublings < endless && patience_ns < std::max(wanted_ns, least_ns))
        patience_ns += first_ns << ++doublings;
    return wanted.timeout == 0 ? endless : doublings;
}

constexpr int queried = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN |
                        IBV_QP_DEST_QPN | IBV_QP_CAP | IBV_QP_AV | IBV_QP_ACCESS_FLAGS | IBV_QP_PORT |
                        IBV_QP_PKEY_INDEX;

} // namespace

void offer_queues(ibv_context_ops &operations) noexcept
{
    operations.poll_cq = &poll_cq;
    operations.req_notify_cq = &req_notify_cq;
    operations.post_send = &post_send;
    operations.post_recv = &post_recv;
}

ibv_comp_channel *create_comp_channel(ibv_context *context) noexcept
{
    mrc_context *queues = device_of(context)->queues(context);
    if (queues == nullptr)
        return nullptr;
    auto channel = made<virtual_channel>();
    if (channel == nullptr || mrc_create_comp_channel(queues, &channel->inner) != 0)
        return nullptr;
    channel->context = context;
    (void)mrc_get_comp_channel_fd(channel->inner, &channel->fd); // fails only without one of the two
    return channel.release();
}

int destroy_comp_channel(ibv_comp_channel *channel) noexcept
{
    std::unique_ptr<virtual_channel> memory{static_cast<virtual_channel *>(channel)};
    if (mrc_destroy_comp_channel(memory->inner) == 0)
        return 0;
    (void)memory.release();
    return errno;
}

ibv_cq *create_cq(ibv_context *context, int entries, void *user, ibv_comp_channel *channel, int vector) noexcept
{
    mrc_context *queues = device_of(context)->queues(context);
    if (queues == nullptr)
        return nullptr;
    auto cq = made<virtual_cq>();
    if (cq == nullptr)
        return nullptr;
    mrc_comp_channel *events = channel == nullptr ? nullptr : static_cast<virtual_channel *>(channel)->inner;
    cq->inner = mrc_create_cq(queues, entries, cq.get(), events, vector);
    if (cq->inner == nullptr)
        return nullptr;
    cq->context = context;
    cq->channel = channel;
    cq->cq_context = user;
    cq->cqe = entries;
    prepare(*cq);
    return cq.release();
}

int destroy_cq(ibv_cq *cq) noexcept
{
    auto *ours = static_cast<virtual_cq *>(cq);
    if (mrc_destroy_cq(ours->inner) != 0)
        return errno;
    await(*ours, [ours] {
        return ours->comp_events_completed == ours->completions_given &&
               ours->async_events_completed == ours->async_given;
    });
    finish(ours);
    return 0;
}

int get_cq_event(ibv_comp_channel *channel, ibv_cq **cq, void **user) noexcept
{
    mrc_cq *source = nullptr;
    void *ours = nullptr;
    if (mrc_get_cq_event(static_cast<virtual_channel *>(channel)->inner, &source, &ours) != 0)
        return -1;
    auto *of = static_cast<virtual_cq *>(ours);
    count(*of, of->completions_given);
    mrc_ack_cq_events(source, 1); // from here on the ibv_cq waits for its acknowledgement
    *cq = of;
    *user = of->cq_context;
    return 0;
}

ibv_qp *create_qp(ibv_pd *pd, ibv_qp_init_attr *wanted) noexcept
{
    if (wanted->qp_type != IBV_QPT_RC || wanted->srq != nullptr) {
        remember_failure("queue pairs are of type RC (IBV_QPT_RC), without a shared receive queue");
        errno = EOPNOTSUPP;
        return nullptr;
    }
    mrc_context *queues = device_of(pd)->queues(pd->context);
    if (queues == nullptr)
        return nullptr;
    auto qp = made<virtual_qp>();
    if (qp == nullptr)
        return nullptr;
    mrc_qp_init_attr attributes{};
    attributes.qp_context = qp.get();
    attributes.send_cq = inner(wanted->send_cq);
    attributes.recv_cq = inner(wanted->recv_cq);
    attributes.cap = wanted->cap;
    attributes.sq_sig_all = wanted->sq_sig_all;
    attributes.pd = pd;
    qp->inner = mrc_create_qp(queues, &attributes);
    if (qp->inner == nullptr)
        return nullptr;
    wanted->cap = attributes.cap;
    qp->context = pd->context;
    qp->qp_context = wanted->qp_context;
    qp->pd = pd;
    qp->send_cq = wanted->send_cq;
    qp->recv_cq = wanted->recv_cq;
    qp->qp_type = IBV_QPT_RC;
    (void)mrc_get_qpn(qp->inner, &qp->qp_num); // fails only without one of the two
    prepare(*qp);
    return qp.release();
}

int modify_qp(ibv_qp *qp, ibv_qp_attr *attributes, int mask) noexcept
{
    auto *ours = static_cast<virtual_qp *>(qp);
    ibv_qp_attr remembered = ours->remembered;
    keep_remembered(remembered, *attributes, mask);
    mrc_qp_attr further{};
    int further_mask = 0;
    if ((mask & IBV_QP_STATE) != 0 && attributes->qp_state == IBV_QPS_RTS && (mask & IBV_QP_TIMEOUT) != 0) {
        if (const int problem = mrc_query_qp(ours->inner, nullptr, 0, &further, MRC_QP_TIMEOUT, nullptr); problem != 0)
            return problem;
        further.retry = {.linear_cnt = most_linear_retries, .exp_cnt = doublings_for(remembered, further.timeout)};
        further_mask = MRC_QP_RETRY_CNT;
    }
    if (const int problem = mrc_modify_qp(ours->inner, attributes, mask, &further, further_mask); problem != 0)
        return problem;
    if ((mask & IBV_QP_STATE) != 0)
        ours->state = attributes->qp_state;
    ours->remembered = remembered;
    return 0;
}

int query_qp(ibv_qp *qp, ibv_qp_attr *attributes, ibv_qp_init_attr *init) noexcept
{
    auto *ours = static_cast<virtual_qp *>(qp);
    ibv_qp_attr now = ours->remembered;
    mrc_qp_init_attr at_creation{};
    if (const int problem = mrc_query_qp(ours->inner, &now, queried, nullptr, 0, &at_creation); problem != 0)
        return problem;
    ours->state = now.qp_state;
    *attributes = now;
    *init = {.qp_context = ours->qp_context,
             .send_cq = ours->send_cq,
             .recv_cq = ours->recv_cq,
             .srq = nullptr,
             .cap = at_creation.cap,
             .qp_type = IBV_QPT_RC,
             .sq_sig_all = at_creation.sq_sig_all};
    return 0;
}

int destroy_qp(ibv_qp *qp) noexcept
{
    auto *ours = static_cast<virtual_qp *>(qp);
    if (mrc_destroy_qp(ours->inner) != 0)
        return errno;
    await(*ours, [ours] { return ours->events_completed == ours->async_given; });
    finish(ours);
    return 0;
}

std::optional<ibv_async_event> next_event(mrc_context *queues) noexcept
{
    mrc_async_event happened{};
    while (mrc_get_async_event(queues, &happened) == 0) {
        ibv_async_event event{};
        event.event_type = happened.event_type;
        switch (happened.event_type) {
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_SQ_DRAINED: {
            auto *qp = static_cast<virtual_qp *>(happened.element.qp->user);
            count(*qp, qp->async_given);
            event.element.qp = qp;
            break;
        }
        case IBV_EVENT_CQ_ERR: {
            auto *cq = static_cast<virtual_cq *>(happened.element.cq->user);
            count(*cq, cq->async_given);
            event.element.cq = cq;
            break;
        }
        default: // of ports and the device, which have another source
            continue;
        }
        mrc_ack_async_event(&happened); // from here on the ibv_qp or ibv_cq waits for its acknowledgement
        return event;
    }
    return std::nullopt;
}

} // namespace mrc::client::verbs
