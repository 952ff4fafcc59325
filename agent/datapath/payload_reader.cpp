// SPDX-License-Identifier: Apache-2.0
#include "datapath/payload_reader.h"

#include <algorithm>
#include <cstdint>
#include <variant>

namespace mrc::datapath
{

namespace
{

// Bytes that may leave in this turn, this packet's and those of the next ones. What is sent again goes alone.
std::uint64_t expected_bytes(const worker_qp &qp, const protocol::outgoing &packet)
{
    const auto *data = std::get_if<protocol::data_packet>(&packet.content);
    if (data == nullptr || data->retransmission)
        return 0;
    const std::int64_t allowance = std::max<std::int64_t>(std::min(qp.allowance, qp.client->allowance), 0);
    return std::min(static_cast<std::uint64_t>(allowance), packet.payload.bytes + qp.protocol->window_room());
}

} // namespace

bool payload_reader::read(const worker_qp &from, const protocol::outgoing &packet, std::span<std::byte> to)
{
    ahead_.expect(expected_bytes(from, packet));
    // The protocol's key is the slot of the request, its address the offset in the message: take_requests().
    return from.posted->read(packet.payload.lkey, packet.payload.address, to, *from.memory, ahead_);
}

} // namespace mrc::datapath
