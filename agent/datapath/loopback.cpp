// SPDX-License-Identifier: Apache-2.0
#include "datapath/loopback.h"

#include "codec/frame_builder.h"

namespace mrc::datapath
{

bool loopback::send(const worker_qp &from, const protocol::outgoing &packet)
{
    const std::size_t number = sent_.load(std::memory_order_relaxed);
    const std::size_t place = number % most_packets;
    const std::span payload{payloads_.get() + place * most_payload, packet.payload.bytes};
    if (!payload.empty() && !reader_.read(from, packet, payload))
        return false;
    constexpr bool ipv4 = false; // sizes count as those of IPv6, whichever it is
    packets_[place] = {.from = from.number,
                       .content = packet.content,
                       .entropy = packet.entropy,
                       .path = packet.path,
                       .payload = payload,
                       .ip_bytes = static_cast<std::uint32_t>(codec::encoded_size(packet.content, ipv4))};
    sent_.store(number + 1);
    return true;
}

} // namespace mrc::datapath
