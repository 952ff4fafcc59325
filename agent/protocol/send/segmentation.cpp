// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/segmentation.h"

#include <algorithm>

namespace mrc::protocol
{

std::uint64_t offset_of(const send_request &request, packet_number number, std::uint32_t payload_bytes)
{
    return static_cast<std::uint64_t>(number - request.first) * payload_bytes;
}

std::uint32_t payload_of(const send_request &request, packet_number number, std::uint32_t payload_bytes)
{
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(payload_bytes, request.work.source.bytes - offset_of(request, number, payload_bytes)));
}

std::uint8_t opcode_of(const send_request &request, packet_number number)
{
    const bool first = number == request.first;
    const bool last = number + 1 == request.end();
    const bool immediate = request.work.immediate.has_value();
    if (!last)
        return first ? MRC_OP_WRITE_FIRST : MRC_OP_WRITE_MIDDLE;
    if (first)
        return immediate ? MRC_OP_WRITE_ONLY_IMM : MRC_OP_WRITE_ONLY;
    return immediate ? MRC_OP_WRITE_LAST_IMM : MRC_OP_WRITE_LAST;
}

void describe(data_packet &data, const send_request &request, packet_number number, std::uint32_t payload_bytes)
{
    data.opcode = opcode_of(request, number);
    data.msn = request.msn;
    if (request.work.immediate) {
        data.rqmsn = static_cast<std::uint16_t>(request.immediates);
        if (number + 1 == request.end()) {
            data.immediate = request.work.immediate;
            data.solicited = request.work.solicited;
        }
    }
    data.va = request.work.remote_va + offset_of(request, number, payload_bytes);
    data.rkey = request.work.rkey;
    data.message_bytes = request.work.source.bytes;
    data.payload_bytes = payload_of(request, number, payload_bytes);
}

} // namespace mrc::protocol
