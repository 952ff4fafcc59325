// SPDX-License-Identifier: Apache-2.0
// mrc.h: queue pairs from creation to destruction, their attributes and their hints.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "client/api/attributes.h"
#include "client/api/objects.h"
#include "client/boundary.h"
#include "client/export.h"
#include "client/limits.h"

using namespace mrc::client;

namespace
{

constexpr std::uint64_t supported_operations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;

result<void> acceptable(const mrc_context *context, const mrc_qp_init_attr *wanted)
{
    if (context == nullptr || wanted == nullptr)
        return refused(EINVAL, "no context, or no attributes");
    if (wanted->send_cq == nullptr || wanted->recv_cq == nullptr || wanted->pd == nullptr)
        return refused(EINVAL, "a queue pair needs two completion queues and a protection domain");
    if (wanted->send_cq->context != context || wanted->recv_cq->context != context)
        return refused(EINVAL, "a completion queue belongs to another context");
    if (wanted->send_cq->subscription != 0 || wanted->recv_cq->subscription != 0)
        return refused(EINVAL, "a queue of EV events takes no completions");
    const device *owner = device_of(wanted->pd);
    if (owner == nullptr || owner->daemon() != context->daemon)
        return refused(EINVAL, "the protection domain belongs to another device");
    if ((wanted->send_ops_flags & ~supported_operations) != 0)
        return refused(EINVAL, "the only operations are WRITE and WRITE with immediate");
    if (wanted->protocol_version != MRC_PROTOCOL_VERSION_0 && wanted->protocol_version != MRC_PROTOCOL_VERSION_1)
        return refused(EINVAL, "the only protocol version is 1");
    return check_owner(context);
}

void prepare(mrc_qp &qp, shared_object<mrc::session::qp_reply> made)
{
    qp.numbers = made.reply;
    qp.rings = std::move(made.memory);
    qp.sends = qp.layout().sends(qp.rings.get());
    qp.receives = qp.layout().receives(qp.rings.get());
    qp.posted_sends.resize(qp.numbers.send_depth);
    qp.posted_receives.resize(qp.numbers.receive_depth);
    qp.granted = {.max_send_wr = qp.numbers.send_depth,
                  .max_recv_wr = qp.numbers.receive_depth,
                  .max_send_sge = qp.numbers.most_pieces,
                  .max_recv_sge = std::max(1U, qp.granted.max_recv_sge),
                  .max_inline_data = qp.numbers.most_inline};
}

void attach(mrc_cq &cq, mrc_qp &qp)
{
    const std::scoped_lock lock{cq.lock};
    cq.qps.emplace(qp.numbers.qpn, &qp);
}

void detach(mrc_cq &cq, const mrc_qp &qp)
{
    const std::scoped_lock lock{cq.lock};
    cq.qps.erase(qp.numbers.qpn);
    cq.latest = nullptr;
}

result<mrc_qp *> qp_made(mrc_context *context, mrc_qp_init_attr *wanted)
{
    if (auto fine = acceptable(context, wanted); !fine)
        return std::unexpected{fine.error()};
    auto qp = std::make_unique<mrc_qp>();
    auto made = context->daemon->create_qp({.pd = pd_number(wanted->pd),
                                            .send_cq = wanted->send_cq->number,
                                            .receive_cq = wanted->recv_cq->number,
                                            .events = context->events.number,
                                            .send_depth = std::max(1U, wanted->cap.max_send_wr),
                                            .receive_depth = std::max(1U, wanted->cap.max_recv_wr),
                                            .most_pieces = std::max(1U, wanted->cap.max_send_sge),
                                            .most_inline = wanted->cap.max_inline_data});
    if (!made)
        return std::unexpected{made.error()};
    qp->context = context;
    qp->send_cq = wanted->send_cq;
    qp->receive_cq = wanted->recv_cq;
    qp->pd = wanted->pd;
    qp->user = wanted->qp_context;
    qp->all_signaled = wanted->sq_sig_all != 0;
    qp->operations = wanted->send_ops_flags != 0 ? wanted->send_ops_flags : supported_operations;
    qp->granted = wanted->cap;
    prepare(*qp, std::move(*made));
    wanted->cap = qp->granted;
    attach(*qp->send_cq, *qp);
    attach(*qp->receive_cq, *qp);
    const std::scoped_lock lock{context->lock};
    context->qps.emplace(qp->numbers.qpn, qp.get());
    ++context->children;
    return qp.release();
}

void change_hint(mrc_qp &qp, mrc_qp_hint *to)
{
    if (mrc_qp_hint *from = qp.hint.exchange(to); from != nullptr)
        --from->users;
    if (to != nullptr)
        ++to->users;
}

result<void> qp_destroyed(mrc_qp *qp)
{
    if (qp == nullptr)
        return refused(EINVAL, "no queue pair");
    mrc_context *context = qp->context;
    if (check_owner(context))
        (void)context->daemon->act(mrc::session::request_kind::destroy_qp, qp->numbers.qpn);
    detach(*qp->send_cq, *qp);
    detach(*qp->receive_cq, *qp);
    {
        std::unique_lock lock{context->lock};
        context->qps.erase(qp->numbers.qpn);
        context->acknowledged.wait(lock, [qp] { return qp->async_given == qp->async_acked; });
    }
    change_hint(*qp, nullptr);
    --context->children;
    delete qp;
    return {};
}

// The rings are empty again, on both sides. No poll is half through with a completion from before meanwhile.
void restart(mrc_qp &qp)
{
    std::unique_lock polls_of_sends{qp.send_cq->lock, std::defer_lock};
    std::unique_lock polls_of_receives{qp.receive_cq->lock, std::defer_lock};
    if (qp.send_cq == qp.receive_cq)
        polls_of_sends.lock();
    else
        std::lock(polls_of_sends, polls_of_receives);
    const std::scoped_lock lock{qp.send_lock, qp.receive_lock};
    qp.sends.restart(false);
    qp.receives.restart(false);
    qp.sends_done = 0;
    qp.receives_done = 0;
    ++qp.resets;
}

// What MRC_QP_VENDOR_CFG asks for; `connects`: what goes with it makes the queue pair connected, or not.
result<mrc_report_control> control_of(const mrc_qp &qp, const mrc_qp_attr &mattr, std::optional<bool> connects)
{
    mrc_report_control control;
    std::memcpy(&control, mattr.vendor_cfg, sizeof(control));
    if (control.version != MRC_REPORT_VERSION || control.page > MRC_REPORT_PAGE_HOST)
        return refused(EINVAL, "vendor_cfg is not a struct mrc_report_control");
    if (control.reset_stall != 0 && !connects.value_or(qp.connected))
        return refused(EINVAL, "reset_stall needs a connected queue pair");
    return control;
}

result<void> controlled(mrc_qp &qp, const mrc_report_control &control)
{
    qp.report_page = control.page;
    return control.reset_stall == 0
               ? result<void>{}
               : qp.context->daemon->act(mrc::session::request_kind::reset_progress, qp.numbers.qpn);
}

result<void> modified(mrc_qp *qp, const ibv_qp_attr *vattr, int vmask, const mrc_qp_attr *mattr, int mmask)
{
    if (qp == nullptr || (vmask != 0 && vattr == nullptr) || (mmask != 0 && mattr == nullptr))
        return refused(EINVAL, "no queue pair, or no attributes");
    if (auto mine = check_owner(qp->context); !mine)
        return mine;
    const std::scoped_lock lock{qp->lock};
    if ((mmask & MRC_QP_HINT) != 0 && mattr->qp_hint != nullptr && mattr->qp_hint->context != qp->context)
        return refused(EINVAL, "the hint belongs to another context");
    auto wanted = request_of(*qp, vattr, vmask, mattr, mmask);
    if (!wanted)
        return std::unexpected{wanted.error()};
    std::optional<mrc_report_control> control;
    if ((mmask & MRC_QP_VENDOR_CFG) != 0) {
        std::optional<bool> connects;
        if ((vmask & IBV_QP_STATE) != 0 && (vattr->qp_state == IBV_QPS_RESET || vattr->qp_state == IBV_QPS_RTR))
            connects = vattr->qp_state == IBV_QPS_RTR;
        const auto asked = control_of(*qp, *mattr, connects);
        if (!asked)
            return std::unexpected{asked.error()};
        control = *asked;
    }
    if (wanted->mask != 0) {
        const auto now = qp->context->daemon->modify_qp(*wanted);
        if (!now)
            return std::unexpected{now.error()};
        if ((vmask & IBV_QP_STATE) != 0) {
            if (vattr->qp_state == IBV_QPS_RESET)
                restart(*qp);
            if (vattr->qp_state == IBV_QPS_RESET || vattr->qp_state == IBV_QPS_RTR)
                qp->connected = vattr->qp_state == IBV_QPS_RTR;
            qp->state = vattr->qp_state;
        }
    }
    remember(*qp, vattr, vmask);
    if ((mmask & MRC_QP_HINT) != 0)
        change_hint(*qp, mattr->qp_hint);
    return control ? controlled(*qp, *control) : result<void>{};
}

result<void> queried(mrc_qp *qp, ibv_qp_attr *vattr, int vmask, mrc_qp_attr *mattr, int mmask, mrc_qp_init_attr *init)
{
    if (qp == nullptr || (vmask != 0 && vattr == nullptr) || (mmask != 0 && mattr == nullptr))
        return refused(EINVAL, "no queue pair, or no place for its attributes");
    if (auto mine = check_owner(qp->context); !mine)
        return mine;
    const std::scoped_lock lock{qp->lock};
    const auto now = qp->context->daemon->query_qp(qp->numbers.qpn);
    if (!now)
        return std::unexpected{now.error()};
    report(*qp, *now, vattr, vmask, mattr, mmask);
    if ((mmask & MRC_QP_VENDOR_CFG) != 0)
        if (auto reported = report_vendor(*qp, mattr->vendor_cfg); !reported)
            return reported;
    if (init != nullptr)
        *init = {.qp_context = qp->user,
                 .send_cq = qp->send_cq,
                 .recv_cq = qp->receive_cq,
                 .cap = qp->granted,
                 .sq_sig_all = qp->all_signaled ? 1 : 0,
                 .pd = qp->pd,
                 .send_ops_flags = qp->operations,
                 .protocol_version = MRC_PROTOCOL_VERSION_1};
    return {};
}

constexpr unsigned int all_hint_bits = MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_NUM_SEND_PEERS |
                                       MRC_QP_HINT_NUM_REMOTE_RECV_PEERS |
                                       static_cast<unsigned int>(MRC_QP_HINT_VENDOR_CFG);

result<void> acceptable(const mrc_qp_hint_attr &hint)
{
    if (hint.num_qps_per_peer < 0 || hint.num_send_peers < 0 || hint.num_remote_recv_peers < 0)
        return refused(EINVAL, "a number of a hint is below 0");
    return {};
}

void copy(const mrc_qp_hint_attr &from, mrc_qp_hint_attr &to, unsigned int mask)
{
    if ((mask & MRC_QP_HINT_NUM_QPS_PER_PEER) != 0)
        to.num_qps_per_peer = from.num_qps_per_peer;
    if ((mask & MRC_QP_HINT_NUM_SEND_PEERS) != 0)
        to.num_send_peers = from.num_send_peers;
    if ((mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS) != 0)
        to.num_remote_recv_peers = from.num_remote_recv_peers;
    if ((mask & static_cast<unsigned int>(MRC_QP_HINT_VENDOR_CFG)) != 0)
        std::ranges::copy(from.vendor_cfg, to.vendor_cfg);
}

result<mrc_qp_hint *> hint_made(mrc_context *context, const mrc_qp_hint_init_attr *init)
{
    if (context == nullptr || init == nullptr)
        return refused(EINVAL, "no context, or no attributes");
    if (auto fine = acceptable(init->attr); !fine)
        return std::unexpected{fine.error()};
    auto hint = std::make_unique<mrc_qp_hint>();
    if (context->hints.fetch_add(1) >= static_cast<int>(max_qp_hints)) {
        --context->hints;
        return refused(ENOSPC, "all hints of the context are in use");
    }
    hint->context = context;
    hint->attributes = init->attr;
    ++context->children;
    return hint.release();
}

// Its queue pairs hear of a change. One that has gone meanwhile has no use for it.
void announce(const mrc_qp_hint &hint)
{
    std::vector<std::uint32_t> qpns;
    {
        const std::scoped_lock lock{hint.context->lock};
        for (const auto &[qpn, qp] : hint.context->qps)
            if (qp->hint == &hint)
                qpns.push_back(qpn);
    }
    for (const std::uint32_t qpn : qpns) {
        mrc::session::qp_attributes changed{};
        changed.qpn = qpn;
        take_hint(hint.now(), changed);
        (void)hint.context->daemon->modify_qp(changed);
    }
}

} // namespace

extern "C" MRC_EXPORT mrc_qp *mrc_create_qp(mrc_context *mrc_ctx, mrc_qp_init_attr *mrc_qp_attr)
{
    return value_or_errno<mrc_qp *>(nullptr, [&] { return qp_made(mrc_ctx, mrc_qp_attr); });
}

extern "C" MRC_EXPORT int mrc_destroy_qp(mrc_qp *qp)
{
    return code_of([&] { return qp_destroyed(qp); });
}

extern "C" MRC_EXPORT int mrc_modify_qp(mrc_qp *qp, ibv_qp_attr *vattr, int vattr_mask, mrc_qp_attr *mrc_attr,
                                        int mrc_attr_mask)
{
    return code_of([&] { return modified(qp, vattr, vattr_mask, mrc_attr, mrc_attr_mask); });
}

extern "C" MRC_EXPORT int mrc_query_qp(mrc_qp *qp, ibv_qp_attr *vattr, int vattr_mask, mrc_qp_attr *mrc_attr,
                                       int mrc_attr_mask, mrc_qp_init_attr *init_attr)
{
    return code_of([&] { return queried(qp, vattr, vattr_mask, mrc_attr, mrc_attr_mask, init_attr); });
}

extern "C" MRC_EXPORT int mrc_get_qpn(mrc_qp *qp, uint32_t *qpn)
{
    if (qp == nullptr || qpn == nullptr) {
        errno = EINVAL;
        return -1;
    }
    *qpn = qp->numbers.qpn;
    return 0;
}

extern "C" MRC_EXPORT mrc_qp_hint *mrc_create_qp_hint(mrc_context *mrc_ctx, mrc_qp_hint_init_attr *init_attr)
{
    return value_or_errno<mrc_qp_hint *>(nullptr, [&] { return hint_made(mrc_ctx, init_attr); });
}

extern "C" MRC_EXPORT int mrc_destroy_qp_hint(mrc_qp_hint *qp_hint)
{
    return minus_one_of([&]() -> result<void> {
        if (qp_hint == nullptr)
            return refused(EINVAL, "no hint");
        if (qp_hint->users != 0)
            return refused(EBUSY, "queue pairs use the hint");
        --qp_hint->context->hints;
        --qp_hint->context->children;
        delete qp_hint;
        return {};
    });
}

extern "C" MRC_EXPORT int mrc_query_qp_hint(mrc_qp_hint *qp_hint, mrc_qp_hint_attr *qp_hint_attr, int qp_hint_attr_mask)
{
    return minus_one_of([&]() -> result<void> {
        const auto mask = static_cast<unsigned int>(qp_hint_attr_mask);
        if (qp_hint == nullptr || qp_hint_attr == nullptr || (mask & ~all_hint_bits) != 0)
            return refused(EINVAL, "no hint, no place for its attributes, or an unknown one");
        const std::scoped_lock lock{qp_hint->lock};
        copy(qp_hint->attributes, *qp_hint_attr, mask);
        return {};
    });
}

extern "C" MRC_EXPORT int mrc_modify_qp_hint(mrc_qp_hint *qp_hint, mrc_qp_hint_attr *qp_hint_attr,
                                             int qp_hint_attr_mask)
{
    return minus_one_of([&]() -> result<void> {
        const auto mask = static_cast<unsigned int>(qp_hint_attr_mask);
        if (qp_hint == nullptr || qp_hint_attr == nullptr || (mask & ~all_hint_bits) != 0)
            return refused(EINVAL, "no hint, no attributes, or an unknown one");
        if (auto mine = check_owner(qp_hint->context); !mine)
            return mine;
        {
            const std::scoped_lock lock{qp_hint->lock};
            mrc_qp_hint_attr changed = qp_hint->attributes;
            copy(*qp_hint_attr, changed, mask);
            if (auto fine = acceptable(changed); !fine)
                return fine;
            qp_hint->attributes = changed;
        }
        announce(*qp_hint);
        return {};
    });
}
