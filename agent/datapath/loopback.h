// SPDX-License-Identifier: Apache-2.0
// How packets get from one queue pair of this host to another. They are what they are on a network, for PSNs, windows,
// keys, acknowledgements and completions are the transport's; what only a network needs is left out: headers in bytes,
// ICRC, ports, paths. So both ends behave as two hosts do. A short cut from memory to memory would save a copy of the
// payload, into a buffer that stays in the cache; and it would have to do again all that the responder does, in its
// order and with its errors.
//
// What is sent in one round arrives at the beginning of the next, on the same thread: nothing recurs. Who finds no room
// sends in that next round; the engines of the ports do not wait for it, nor it for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "datapath/payload_reader.h"
#include "datapath/worker_client.h"
#include "protocol/packet.h"

namespace mrc::datapath
{

class loopback
{
public:
    // Two turns of a client and the answers to them, at 4096 bytes a packet (turn_scheduler.h).
    static constexpr std::size_t most_packets = 64;

    // A packet on its way; `payload` until deliver() returns.
    struct passing {
        protocol::qpn from;
        protocol::packet content;
        protocol::ev entropy;
        protocol::path_index path;
        std::span<const std::byte> payload;
        std::uint32_t ip_bytes = 0; // as it would have on a network: codec::decoded
    };

    // It takes another packet.
    [[nodiscard]] bool ready() const { return count_ != most_packets; }
    // Takes the packet with its payload, that of a request of `from`. False when it cannot be read under the request's
    // local keys. Precondition: ready().
    [[nodiscard]] bool send(const worker_qp &from, const protocol::outgoing &packet);
    // payload_reader.h
    void end_turn() { reader_.end_turn(); }
    // Hands over all that is there, in the order in which it was sent, whoever sent it; how many. `arrive(const passing
    // &)` sends nothing.
    template <typename Visitor>
    std::size_t deliver(Visitor arrive)
    {
        const std::size_t count = count_;
        for (std::size_t n = 0; n < count; ++n)
            arrive(packets_[n]);
        count_ = 0;
        return count;
    }

private:
    static constexpr std::size_t most_payload = 4096; // of any packet (protocol::qp_config)

    std::array<passing, most_packets> packets_; // the first `count_`, each with its place among the payloads
    std::unique_ptr<std::byte[]> payloads_ = std::make_unique_for_overwrite<std::byte[]>(most_packets * most_payload);
    std::size_t count_ = 0;
    payload_reader reader_;
};

} // namespace mrc::datapath
