// SPDX-License-Identifier: Apache-2.0
// One direction of a link: the queue at its sending end and the wire behind it.
//
// class    holds                              limit                            beyond the limit
// control  control, trimmed and endpoint      control_limit                    dropped
// data     everything else                    trim_limit, when it may trim     payload cut, DSCP TRIMMED, control class
//                                             drop_limit                       dropped
// Control goes first. Packets that are ECT are marked CE when they leave the queue: never below ecn_min bytes waiting,
// always above ecn_max, with linear probability between (protocol.md §5.5).
#pragma once

#include <cmath>
#include <cstdint>

#include "protocol/random_source.h"
#include "sim/frame.h"
#include "sim/link_model.h"
#include "sim/sim_time.h"

namespace mrc::sim
{

// What is left of a trimmed frame: headers up to the time stamp (§6), plus what the wire adds.
inline constexpr std::uint32_t line_overhead_bytes = 24; // preamble, FCS, gap
inline constexpr std::uint32_t trimmed_wire_bytes = 128 + line_overhead_bytes;

// Frames waiting per port, on average, while queue pairs are asked for more: enough to keep the wire busy until the
// next is asked for, too few to delay it.
inline constexpr std::uint64_t nic_depth = 2;

struct port_limits {
    std::uint64_t control_limit = 1 << 20;
    std::uint64_t drop_limit = 1 << 22;
    std::uint64_t trim_limit = 0; // 0: this port does not trim
    std::uint64_t ecn_min = 0;
    std::uint64_t ecn_max = 0; // 0: this port does not mark
    bool last_hop = false;
};

struct port_counters {
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t marked = 0;
    std::uint64_t trimmed = 0;
    std::uint64_t dropped_full = 0;
    std::uint64_t dropped_loss = 0; // by the link's loss probability
    std::uint64_t dropped_cut = 0;  // sent into, or caught in, a link that is down
    std::uint64_t most_waiting = 0; // bytes in the data class
};

enum class admission : std::uint8_t {
    queued,
    dropped,
};

class output_port
{
public:
    output_port() = default;
    output_port(double gbps, picoseconds delay, const port_limits &limits)
        : limits_{limits}, ps_per_byte_{8000.0 / gbps}, delay_{delay}
    {
    }

    // Puts a frame into its class; may trim it.
    [[nodiscard]] admission admit(frame_pool &frames, frame_index index);
    // The next frame to send, marked if the queue says so; no_frame when empty.
    [[nodiscard]] frame_index take(frame_pool &frames, protocol::random_source &random);

    [[nodiscard]] bool idle() const { return control_.head == no_frame && data_.head == no_frame; }
    [[nodiscard]] std::uint64_t waiting_bytes() const { return data_.bytes; }
    [[nodiscard]] picoseconds serialisation(std::uint32_t bytes) const { return std::llround(ps_per_byte_ * bytes); }
    [[nodiscard]] picoseconds delay() const { return delay_; }
    [[nodiscard]] const port_limits &limits() const { return limits_; }

    // The wire.
    bool up = true;
    std::uint64_t loss_threshold = 0; // of 2^64: a random number below it loses the frame
    link_model *model = nullptr;      // outlives the port
    picoseconds busy_until = 0;
    bool wakes = false;            // a port_free event is pending
    std::int32_t pumped_host = -1; // the host whose NIC this is
    port_counters counters;

private:
    struct queue {
        frame_index head = no_frame;
        frame_index tail = no_frame;
        std::uint64_t bytes = 0;
    };

    static void append(queue &to, frame_pool &frames, frame_index index);
    static frame_index remove(queue &from, frame_pool &frames);
    [[nodiscard]] bool marks(protocol::random_source &random) const;
    [[nodiscard]] static bool trimmable(const frame &each);

    port_limits limits_;
    double ps_per_byte_ = 80;
    picoseconds delay_ = 0;
    queue control_;
    queue data_;
};

} // namespace mrc::sim
