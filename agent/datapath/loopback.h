// SPDX-License-Identifier: Apache-2.0
// How packets get from one queue pair of this host to another. They are what they are on a network, for PSNs, windows,
// keys, acknowledgements and completions are the transport's; what only a network needs is left out: headers in bytes,
// ICRC, ports, paths. So both ends behave as two hosts do. A short cut from memory to memory would save a copy of the
// payload, into a buffer that stays in the cache; and it would have to do again all that the responder does, in its
// order and with its errors.
//
// A loopback leads from the queue pairs of one worker to those of one, itself or another: it has one thread that sends
// and one that delivers. What is sent in one round arrives in a later one: nothing recurs. Who finds no room sends once
// there is some; the engines of the ports do not wait for it, nor it for them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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
    [[nodiscard]] bool ready() const { return sent_.load() - taken_.load() != most_packets; }
    // Takes the packet with its payload, that of a request of `from`. False when it cannot be read under the request's
    // local keys. Precondition: ready().
    [[nodiscard]] bool send(const worker_qp &from, const protocol::outgoing &packet);
    // payload_reader.h
    void end_turn() { reader_.end_turn(); }
    // There is something to deliver.
    [[nodiscard]] bool any() const { return sent_.load() != taken_.load(); }
    // Hands over all that is there, in the order in which it was sent, whoever sent it. `arrive(const passing &)` sends
    // nothing.
    struct delivery {
        std::size_t packets = 0;
        bool made_room = false; // the sender may have found none
    };
    template <typename Visitor>
    delivery deliver(Visitor arrive)
    {
        const std::size_t first = taken_.load();
        const std::size_t end = sent_.load();
        for (std::size_t n = first; n != end; ++n)
            arrive(packets_[n % most_packets]);
        taken_.store(end);
        return {.packets = end - first, .made_room = end != first && sent_.load() - first >= most_packets};
    }

private:
    static constexpr std::size_t most_payload = 4096; // of any packet (protocol::qp_config)

    std::array<passing, most_packets> packets_; // each with its place among the payloads
    std::unique_ptr<std::byte[]> payloads_ = std::make_unique_for_overwrite<std::byte[]>(most_packets * most_payload);
    // How many ever, each written by one end. In one order with what the other end reads: who finds no room is told of
    // it, or the other end finds that it has.
    std::atomic<std::size_t> sent_ = 0;
    std::atomic<std::size_t> taken_ = 0;
    payload_reader reader_;
};

// Between all workers of a host.
class loopback_lanes
{
public:
    explicit loopback_lanes(unsigned workers) : workers_{workers}
    {
        for (unsigned lane = 0; lane < workers * workers; ++lane)
            lanes_.push_back(std::make_unique<loopback>());
    }
    [[nodiscard]] unsigned workers() const { return workers_; }
    [[nodiscard]] loopback &lane(unsigned from, unsigned to) const { return *lanes_[from * workers_ + to]; }

private:
    unsigned workers_;
    std::vector<std::unique_ptr<loopback>> lanes_;
};

} // namespace mrc::datapath
