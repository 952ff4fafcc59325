// SPDX-License-Identifier: Apache-2.0
// mrc.h: posting work requests. The fast path: one entry in shared memory, one bell, and a system call only when the
// worker sleeps.
#include <cerrno>
#include <cstring>

#include <endian.h>

#include "client/api/objects.h"
#include "client/export.h"
#include "protocol/qp_state.h"

using mrc::session::gather_entry;
using mrc::session::send_entry;

namespace
{

constexpr std::uint64_t longest_message = std::uint64_t{1} << 31;

mrc::session::gather_entry piece_of(const ibv_sge &piece)
{
    return {.address = piece.addr, .length = piece.length, .lkey = piece.lkey};
}

bool allows(const mrc_qp &qp, ibv_wr_opcode opcode)
{
    if (opcode == IBV_WR_RDMA_WRITE)
        return (qp.operations & IBV_QP_EX_WITH_RDMA_WRITE) != 0;
    return opcode == IBV_WR_RDMA_WRITE_WITH_IMM && (qp.operations & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) != 0;
}

// 0, or what is wrong with the request.
int check(const mrc_qp &qp, const ibv_send_wr &request)
{
    if (!allows(qp, request.opcode))
        return EINVAL;
    if (request.num_sge < 0 || static_cast<std::uint32_t>(request.num_sge) > qp.granted.max_send_sge ||
        (request.num_sge != 0 && request.sg_list == nullptr))
        return EINVAL;
    std::uint64_t bytes = 0;
    for (int i = 0; i < request.num_sge; ++i)
        bytes += request.sg_list[i].length;
    const bool is_inline = (request.send_flags & IBV_SEND_INLINE) != 0;
    return bytes > (is_inline ? qp.granted.max_inline_data : longest_message) ? EINVAL : 0;
}

// Inline: the bytes are the ring's from now on. Returns their number.
std::uint32_t copy_inline(mrc_qp &qp, std::uint32_t slot, const ibv_send_wr &request)
{
    std::byte *to = qp.layout().inline_bytes(qp.rings.get(), slot);
    std::uint32_t bytes = 0;
    for (int i = 0; i < request.num_sge; ++i) {
        const ibv_sge &piece = request.sg_list[i];
        if (piece.length != 0)
            std::memcpy(to + bytes, reinterpret_cast<const void *>(piece.addr), piece.length);
        bytes += piece.length;
    }
    return bytes;
}

mrc::session::send_entry entry_of(mrc_qp &qp, std::uint32_t slot, const ibv_send_wr &request)
{
    send_entry entry{
        .id = request.wr_id, .remote_address = request.wr.rdma.remote_addr, .rkey = request.wr.rdma.rkey, .first = {}};
    if (qp.all_signaled || (request.send_flags & IBV_SEND_SIGNALED) != 0)
        entry.flags |= mrc::session::send_signaled;
    if (request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        entry.flags |= mrc::session::send_immediate;
        entry.immediate = be32toh(request.imm_data);
        if ((request.send_flags & IBV_SEND_SOLICITED) != 0)
            entry.flags |= mrc::session::send_solicited;
    }
    if ((request.send_flags & IBV_SEND_INLINE) != 0) {
        entry.flags |= mrc::session::send_inline;
        entry.first.length = copy_inline(qp, slot, request);
        return entry;
    }
    entry.pieces = static_cast<std::uint32_t>(request.num_sge);
    if (request.num_sge > 0)
        entry.first = piece_of(request.sg_list[0]);
    gather_entry *further = qp.layout().further_pieces(qp.rings.get(), slot);
    for (int i = 1; i < request.num_sge; ++i)
        further[i - 1] = piece_of(request.sg_list[i]);
    return entry;
}

// 0, or why the request was not posted. Under send_lock.
int post_one(mrc_qp &qp, const ibv_send_wr &request)
{
    const int state = qp.state.load(std::memory_order_relaxed);
    if (state != IBV_QPS_RTS && state != IBV_QPS_SQD && state != IBV_QPS_ERR)
        return EINVAL;
    if (const int problem = check(qp, request); problem != 0)
        return problem;
    const std::uint32_t position = qp.sends.position();
    if (position - qp.sends_done.load(std::memory_order_acquire) >= qp.granted.max_send_wr)
        return ENOMEM;
    const std::uint32_t slot = qp.sends.slot(position);
    qp.posted_sends[slot] = {.id = request.wr_id};
    return qp.sends.push(entry_of(qp, slot, request)) ? 0 : ENOMEM;
}

// The worker looks at the rings. It does not have queue pairs that failed before they were connected: these are flushed
// by failing once more.
void notify_daemon(mrc_qp &qp, bool at_once)
{
    if (qp.state.load(std::memory_order_relaxed) != IBV_QPS_ERR || qp.connected.load(std::memory_order_relaxed)) {
        qp.context->daemon->ring(qp.numbers.bell, at_once);
        return;
    }
    mrc::session::qp_attributes again{};
    again.qpn = qp.numbers.qpn;
    again.mask = mrc::session::qp_sets_state;
    again.state = static_cast<std::uint8_t>(mrc::protocol::qp_state::error);
    (void)qp.context->daemon->modify_qp(again);
}

int post_sends(mrc_qp *qp, ibv_send_wr *request, ibv_send_wr **bad)
{
    if (qp == nullptr)
        return EINVAL;
    if (mrc::client::is_inherited(*qp->context))
        return EPERM;
    int problem = 0;
    bool posted = false;
    bool was_idle = false;
    {
        const std::scoped_lock lock{qp->send_lock};
        was_idle = qp->sends.position() == qp->sends_done.load(std::memory_order_relaxed);
        for (; request != nullptr; request = request->next) {
            problem = post_one(*qp, *request);
            if (problem != 0)
                break;
            posted = true;
        }
    }
    if (posted)
        notify_daemon(*qp, was_idle); // what follows others may wait for them, and leave in a larger burst
    if (problem != 0 && bad != nullptr)
        *bad = request;
    return problem;
}

int post_receives(mrc_qp *qp, ibv_recv_wr *request, ibv_recv_wr **bad)
{
    if (qp == nullptr)
        return EINVAL;
    if (mrc::client::is_inherited(*qp->context))
        return EPERM;
    int problem = 0;
    {
        const std::scoped_lock lock{qp->receive_lock};
        for (; request != nullptr; request = request->next) {
            const std::uint32_t position = qp->receives.position();
            if (qp->state.load(std::memory_order_relaxed) == IBV_QPS_RESET || request->num_sge < 0)
                problem = EINVAL;
            else if (position - qp->receives_done.load(std::memory_order_acquire) >= qp->granted.max_recv_wr)
                problem = ENOMEM;
            if (problem != 0)
                break;
            qp->posted_receives[qp->receives.slot(position)] = request->wr_id;
            (void)qp->receives.push({.id = request->wr_id}); // there is room: fewer are outstanding than fit
        }
    }
    notify_daemon(*qp, false); // a failed queue pair flushes them
    if (problem != 0 && bad != nullptr)
        *bad = request;
    return problem;
}

} // namespace

extern "C" MRC_EXPORT int mrc_post_send(mrc_qp *qp, ibv_send_wr *wr, ibv_send_wr **bad_wr)
{
    const int problem = post_sends(qp, wr, bad_wr);
    if (problem != 0)
        errno = problem;
    return problem;
}

extern "C" MRC_EXPORT int mrc_post_recv(mrc_qp *qp, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
    const int problem = post_receives(qp, wr, bad_wr);
    if (problem == 0)
        return 0;
    errno = problem;
    return -1;
}
