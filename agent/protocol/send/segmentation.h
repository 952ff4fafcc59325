// SPDX-License-Identifier: Apache-2.0
// How a WRITE becomes packets: each describes itself (address, key, place in its message), so that the peer can place
// it without those before it.
#pragma once

#include <cstdint>

#include "protocol/packet.h"
#include "protocol/packet_number.h"
#include "protocol/send/send_queue.h"

namespace mrc::protocol
{

// Where packet `number` of the request begins in the message.
[[nodiscard]] std::uint64_t offset_of(const send_request &request, packet_number number, std::uint32_t payload_bytes);
// Bytes of the message that it carries: full packets, and what is left in the last.
[[nodiscard]] std::uint32_t payload_of(const send_request &request, packet_number number, std::uint32_t payload_bytes);
[[nodiscard]] std::uint8_t opcode_of(const send_request &request, packet_number number);
// Fills in what the request says of the packet; sequence, time and marks of this transmission are the caller's.
void describe(data_packet &data, const send_request &request, packet_number number, std::uint32_t payload_bytes);

} // namespace mrc::protocol
