// SPDX-License-Identifier: Apache-2.0
// How a WRITE becomes packets: each describes itself (address, key, place in its message), so that the peer can place
// it without those before it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/packet.h"
#include "protocol/packet_number.h"
#include "protocol/send/send_queue.h"

namespace mrc::protocol
{

// Where packet `number` of the request begins in the message.
[[nodiscard]] inline std::uint64_t offset_of(const send_request &request, packet_number number,
                                             std::uint32_t payload_bytes)
{
    return static_cast<std::uint64_t>(number - request.first) * payload_bytes;
}

// Bytes of the message that it carries: full packets, and what is left in the last.
[[nodiscard]] inline std::uint32_t payload_of(const send_request &request, packet_number number,
                                              std::uint32_t payload_bytes)
{
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(payload_bytes, request.work.source.bytes - offset_of(request, number, payload_bytes)));
}

[[nodiscard]] inline std::uint8_t opcode_of(const send_request &request, packet_number number)
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

// Fills in what the request says of the packet; sequence, time and marks of this transmission are the caller's.
inline void describe(data_packet &data, const send_request &request, packet_number number, std::uint32_t payload_bytes)
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
