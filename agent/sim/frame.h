// SPDX-License-Identifier: Apache-2.0
// A packet on its way through the simulated fabric, and the pool that frames live in: nothing is allocated per packet
// once a run has reached its number of packets in flight.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <variant>
#include <vector>

#include "protocol/packet.h"

namespace mrc::sim
{

using frame_index = std::uint32_t;
inline constexpr frame_index no_frame = 0xFFFFFFFF;

// Packets of the baseline transport: roce_queue_pair.h.
enum class roce_kind : std::uint8_t {
    data,
    ack,
    nak, // sequence error: `sequence` is what the receiver expects
    cnp, // congestion notification
};

struct roce_packet {
    roce_kind kind = roce_kind::data;
    bool ack_request = false;
    std::int64_t sequence = 0;
    std::uint64_t place = 0; // message << 32 | offset
    std::uint32_t flow = 0;
    std::uint32_t payload_bytes = 0;
};

// What switches need comes first, in one cache line.
struct alignas(64) frame {
    std::array<std::uint32_t, 4> route{};
    frame_index next = no_frame;  // in a port's queue, or in the pool's free list
    std::uint32_t wire_bytes = 0; // as serialised, with preamble and gap
    std::uint8_t hop = 0;
    std::uint8_t hops = 0;
    std::uint8_t dscp = 0;
    bool ect = false;
    bool congestion_experienced = false;
    bool control = false; // the high class
    bool trimmed = false;
    bool trimmed_last_hop = false;
    std::uint32_t target_queue = 0; // queue pair at the receiving host
    protocol::ev entropy;
    protocol::path_index path;
    std::uint64_t payload_address = 0; // in the sender's memory, where hosts have one
    std::variant<protocol::packet, roce_packet> content;
};
static_assert(std::is_trivially_copyable_v<frame>);

class frame_pool
{
public:
    [[nodiscard]] frame &operator[](frame_index index) { return frames_[index]; }
    [[nodiscard]] const frame &operator[](frame_index index) const { return frames_[index]; }

    [[nodiscard]] frame_index take()
    {
        ++used_;
        if (free_ == no_frame) {
            frames_.emplace_back();
            return static_cast<frame_index>(frames_.size() - 1);
        }
        const frame_index taken = free_;
        free_ = frames_[taken].next;
        return taken;
    }
    void give_back(frame_index index)
    {
        --used_;
        frames_[index].next = free_;
        free_ = index;
    }
    [[nodiscard]] std::size_t used() const { return used_; }

private:
    std::vector<frame> frames_;
    frame_index free_ = no_frame;
    std::size_t used_ = 0;
};

} // namespace mrc::sim
