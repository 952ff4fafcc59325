// SPDX-License-Identifier: Apache-2.0
#include "messaging/verbs_queue.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <string>

#include <arpa/inet.h>

#include "messaging/failure.h"

namespace mrc::messaging
{

namespace
{

constexpr int completions_at_once = 32;
constexpr std::uint32_t psn_mask = 0xFFFFFF;

// 262 us; then probes at growing intervals, of 100 ms at most (agent/protocol/paths/peer_silence.h). mrcd never gives
// up: the far end may connect at any time, and whether one that did is still there is ring_connection's to say.
constexpr std::uint8_t timeout_exponent = 8;
constexpr std::uint8_t linear_retries = 7;
constexpr std::uint8_t exponential_retries = 25;

// Why requests are flushed: libmrc does it, too, once there is no daemon.
const char *reason_of_flush(mrc_qp *qp)
{
    ibv_qp_attr now{};
    return ::mrc_query_qp(qp, &now, IBV_QP_STATE, nullptr, 0, nullptr) == 0 ? "mrcd gave the queue pair up"
                                                                            : daemon_gone;
}

std::string failure_of(const ibv_wc &completion, mrc_qp *qp)
{
    switch (completion.status) {
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
        return "its memory cannot be written; its program has ended, or failed";
    case IBV_WC_REM_OP_ERR:
        return "it could not complete a WRITE";
    case IBV_WC_LOC_PROT_ERR:
        return "mrcd refused this end's own memory";
    case IBV_WC_WR_FLUSH_ERR:
        return reason_of_flush(qp);
    default:
        return "completion status " + std::to_string(completion.status);
    }
}

template <typename Handle, typename Made>
void own(Handle &handle, Made *made, const char *what)
{
    if (made == nullptr)
        throw messaging_failure{std::string{"cannot make a "} + what + ": " + failure_reason()};
    handle.reset(made);
}

} // namespace

verbs_queue::verbs_queue(mrc_context *context, ibv_pd *pd, mrc_comp_channel *channel, const ring_shape &shape)
{
    const auto entries = static_cast<int>(shape.sends() + shape.receives());
    own(cq_, ::mrc_create_cq(context, entries, nullptr, channel, 0), "completion queue");
    mrc_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = cq_.get();
    wanted.cap = {.max_send_wr = shape.sends(),
                  .max_recv_wr = shape.receives(),
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = 0};
    wanted.pd = pd;
    own(qp_, ::mrc_create_qp(context, &wanted), "queue pair");
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    constexpr int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (::mrc_modify_qp(qp_.get(), &attributes, mask, nullptr, 0) != 0 || ::mrc_get_qpn(qp_.get(), &qpn_) != 0)
        throw messaging_failure{"cannot set up a queue pair: " + failure_reason()};
    first_psn_ = std::random_device{}() & psn_mask;
    (void)::mrc_req_notify_cq(cq_.get(), 0);
}

bool verbs_queue::connect(const peer_address &peer)
{
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_4096; // an upper bound
    attributes.dest_qp_num = peer.qpn;
    attributes.rq_psn = peer.first_psn;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = 1;
    attributes.ah_attr.grh.sgid_index = primary_gid;
    std::ranges::copy(peer.gid, attributes.ah_attr.grh.dgid.raw);
    constexpr int to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_PATH_MTU;
    if (::mrc_modify_qp(qp_.get(), &attributes, to_rtr, nullptr, 0) != 0)
        return false;
    attributes = {};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = first_psn_;
    mrc_qp_attr retries{};
    retries.timeout = timeout_exponent;
    retries.retry = {.linear_cnt = linear_retries, .exp_cnt = exponential_retries};
    return ::mrc_modify_qp(qp_.get(), &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN, &retries,
                           MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT) == 0;
}

int verbs_queue::post_write(const write_order &order)
{
    ibv_sge piece{.addr = order.source, .length = order.bytes, .lkey = order.lkey};
    ibv_send_wr request{};
    request.sg_list = &piece;
    request.num_sge = order.bytes > 0 ? 1 : 0;
    request.opcode = order.imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.imm_data = htonl(order.imm.value_or(0));
    request.wr.rdma.remote_addr = order.target;
    request.wr.rdma.rkey = order.rkey;
    ibv_send_wr *refused = nullptr;
    return ::mrc_post_send(qp_.get(), &request, &refused);
}

int verbs_queue::post_receive()
{
    ibv_recv_wr request{};
    ibv_recv_wr *refused = nullptr;
    return ::mrc_post_recv(qp_.get(), &request, &refused) == 0 ? 0 : errno;
}

void verbs_queue::abandon()
{
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    (void)::mrc_modify_qp(qp_.get(), &attributes, IBV_QP_STATE, nullptr, 0); // in vain: there is no daemon any more
}

void verbs_queue::take_completions(ring_connection &connection)
{
    do {
        while (take_some(connection)) {
        }
        if (::mrc_req_notify_cq(cq_.get(), 0) != 0)
            connection.fail(daemon_gone);
    } while (take_some(connection)); // those from before the queue was armed
}

bool verbs_queue::take_some(ring_connection &connection)
{
    std::array<ibv_wc, completions_at_once> done{};
    const int count = ::mrc_poll_cq(cq_.get(), completions_at_once, done.data());
    if (count < 0)
        connection.fail(daemon_gone);
    for (int i = 0; i < count; ++i) {
        const ibv_wc &one = done.at(static_cast<std::size_t>(i));
        if (connection.failed())
            continue; // flushed after the first failure
        if (one.status != IBV_WC_SUCCESS)
            connection.fail(failure_of(one, qp_.get()));
        else if (one.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
            connection.on_received(ntohl(one.imm_data), one.byte_len);
        else
            connection.on_write_completed();
    }
    return count > 0;
}

} // namespace mrc::messaging
