// SPDX-License-Identifier: Apache-2.0
// Two hosts and the paths between them on simulated time: delay, jitter, loss, reordering, duplication, CE marks,
// trimming and darkness per path and direction, and hosts that leave their CPU for a while. Deterministic by seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "protocol/fixed_window.h"
#include "protocol/memory_sink.h"
#include "protocol/path_group.h"
#include "protocol/queue_pair.h"
#include "protocol/random_source.h"

namespace mrc::sim
{

using protocol::duration;
using protocol::instant;

struct interval {
    instant from;
    instant to;
    [[nodiscard]] bool holds(instant at) const { return from <= at && at < to; }
};

// One direction of one path.
struct path_model {
    duration delay = std::chrono::microseconds{20};
    duration jitter{0}; // uniform, without overtaking
    double loss = 0;
    double overtake = 0; // held back by up to five delays, so that later packets overtake it
    double duplicate = 0;
    double congested = 0; // CE
    double trimmed = 0;   // data only
    std::vector<interval> dark;
};

struct network_config {
    unsigned planes = 4;
    unsigned uplinks = 2;
    unsigned active_per_plane = 0;
    duration serialisation{3000}; // of one packet on one port
    std::uint64_t window_bytes = 512 * 1024;
    std::uint64_t seed = 1;
};

// What really happened to frames, for tests that must know that their faults took place.
struct fault_counts {
    std::uint64_t lost = 0;
    std::uint64_t swallowed = 0; // on a dark path
    std::uint64_t overtaken = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t congested = 0;
    std::uint64_t trimmed = 0;
};

// Memory under one key; writes outside are refused as a registered region would.
class host_memory final : public protocol::memory_sink
{
public:
    static constexpr std::uint32_t key = 0x1234;
    static constexpr std::uint64_t base = 0x7000'0000'0000;

    explicit host_memory(std::size_t bytes) : bytes_(bytes) {}
    std::expected<void, protocol::write_refusal> write(std::uint32_t rkey, std::uint64_t va,
                                                       std::span<const std::byte> payload) override;
    [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }
    [[nodiscard]] std::uint64_t writes() const { return writes_; }

private:
    std::vector<std::byte> bytes_;
    std::uint64_t writes_ = 0;
};

struct host {
    host(const network_config &network, const protocol::qp_config &qp, std::size_t memory_bytes, std::uint64_t seed);

    protocol::plane_mask ports;
    protocol::path_group paths;
    protocol::fixed_window control;
    host_memory memory;
    std::vector<std::byte> source; // what post() sends
    protocol::queue_pair qp;
    std::vector<protocol::completion> completions;
    std::vector<path_model> out; // by path slot
    std::vector<instant> last_out;
    std::vector<instant> port_free;
    std::vector<std::uint64_t> frames; // by plane, data packets
    std::vector<interval> off_cpu;
    instant wakes_at = protocol::never; // earliest run in the event queue
    bool dead = false;                  // answers nothing, not even probes
    struct frame {
        protocol::packet content;
        std::vector<std::byte> payload;
        protocol::arrival how;
    };
    std::vector<frame> unread; // arrived while off the CPU
};

class network
{
public:
    network(const network_config &config, const protocol::qp_config &left, std::size_t memory_bytes);

    [[nodiscard]] host &left() { return *hosts_[0]; }
    [[nodiscard]] host &right() { return *hosts_[1]; }
    [[nodiscard]] instant now() const { return now_; }
    [[nodiscard]] const network_config &config() const { return config_; }
    [[nodiscard]] const fault_counts &faults() const { return faults_; }

    // Both directions of a path, of a plane, of everything.
    void each_path(const std::function<void(path_model &)> &change);
    void each_path_of(unsigned plane, const std::function<void(path_model &)> &change);
    void each_path_at(unsigned slot, const std::function<void(path_model &)> &change);

    // False when the send queue is full.
    bool post(host &from, std::uint64_t id, std::size_t source_offset, std::size_t target_offset, std::uint32_t bytes,
              bool signaled = true);
    // Runs until `done` or the deadline; false at the deadline.
    bool run(const std::function<bool()> &done, instant deadline);

private:
    struct event {
        instant at;
        std::uint64_t order = 0;
        unsigned host = 0;
        bool wake = false;
        std::size_t frame = 0;
    };
    struct later {
        bool operator()(const event &a, const event &b) const { return a.at != b.at ? a.at > b.at : a.order > b.order; }
    };

    [[nodiscard]] bool chance(double probability);
    [[nodiscard]] duration up_to(duration longest);
    void serve(unsigned index);
    void send(unsigned from, const protocol::outgoing &packet);
    void fly(unsigned from, const protocol::outgoing &packet, instant departs);
    void reflect(unsigned at, const protocol::endpoint_request_packet &request, const protocol::arrival &how);
    void arrive(unsigned at, host::frame &&frame);
    void wake(unsigned index, instant at);
    [[nodiscard]] std::size_t store(host::frame &&frame);

    network_config config_;
    protocol::random_source random_;
    std::array<std::unique_ptr<host>, 2> hosts_;
    std::priority_queue<event, std::vector<event>, later> events_;
    std::vector<host::frame> frames_;
    std::vector<std::size_t> free_frames_;
    std::uint64_t order_ = 0;
    fault_counts faults_;
    instant now_{std::chrono::seconds{1}};
};

} // namespace mrc::sim
