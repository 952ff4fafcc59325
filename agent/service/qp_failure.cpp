// SPDX-License-Identifier: Apache-2.0
#include "service/qp_failure.h"

namespace mrc::service
{

namespace
{

using protocol::completion_status;

mrc_event_reason refusal_of(std::uint8_t syndrome)
{
    switch (syndrome) {
    case MRC_AETH_NAK_REMOTE_ACCESS:
        return MRC_REASON_REFUSED_ACCESS;
    case MRC_AETH_NAK_INVALID_REQUEST:
        return MRC_REASON_REFUSED_INVALID;
    default:
        return MRC_REASON_REFUSED_OPERATION;
    }
}

} // namespace

mrc_event_reason failure_of(const datapath::worker_qp &qp)
{
    if (const auto syndrome = qp.protocol->receive_failure())
        return refusal_of(*syndrome);
    switch (qp.protocol->failure().value_or(completion_status::flushed)) {
    case completion_status::remote_access_error:
        return MRC_REASON_REMOTE_ACCESS;
    case completion_status::remote_operation_error:
        return MRC_REASON_REMOTE_OPERATION;
    case completion_status::remote_invalid_request:
        return MRC_REASON_REMOTE_INVALID;
    case completion_status::retry_exceeded:
        return MRC_REASON_RETRIES;
    case completion_status::local_protection_error:
        return MRC_REASON_LOCAL_PROTECTION;
    case completion_status::success:
    case completion_status::flushed:
        break;
    }
    const bool overrun = qp.send_completions->overrun() || qp.receive_completions->overrun();
    return overrun ? MRC_REASON_OVERRUN : MRC_REASON_CLIENT;
}

queue_pair_names names_of(const datapath::worker_qp &qp)
{
    return {.qpn = qp.number.value, .peer_qpn = qp.peer_number.value, .session = qp.client->number, .peer = qp.address};
}

} // namespace mrc::service
