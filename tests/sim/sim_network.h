// SPDX-License-Identifier: Apache-2.0
// Two hosts and the paths between them on simulated time: delay, jitter, loss, reordering, duplication, corruption, CE
// marks, trimming and darkness per path and direction, ports that come and go, and hosts that leave their CPU for a
// while. Deterministic by seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "protocol/congestion/fixed_window.h"
#include "protocol/queue_pair.h"
#include "protocol/random_source.h"
#include "sim/event_queue.h"
#include "sim_faults.h"
#include "sim_host.h"

namespace mrc::sim
{

// A QP between the hosts; indices of what add_control() and add_selector() returned.
struct pair_config {
    protocol::qp_config left;
    protocol::qp_config right;
    std::size_t control = 0;
    std::optional<std::size_t> selector;
};
[[nodiscard]] protocol::qp_config mirrored(protocol::qp_config config);

class network
{
public:
    network(const network_config &config, std::size_t memory_bytes);
    // With one QP and a fixed window.
    network(const network_config &config, const protocol::qp_config &left, std::size_t memory_bytes,
            std::uint64_t window_bytes = 512 * 1024);

    using control_factory = std::function<std::unique_ptr<protocol::congestion_control>()>;
    using selector_factory = std::function<std::unique_ptr<protocol::path_selector>(std::uint64_t seed)>;
    std::size_t add_control(const control_factory &make); // one at each host
    std::size_t add_selector(const selector_factory &make);
    void add_pair(const pair_config &pair);

    [[nodiscard]] host &left() { return *hosts_[0]; }
    [[nodiscard]] host &right() { return *hosts_[1]; }
    [[nodiscard]] instant now() const { return now_; }
    [[nodiscard]] const network_config &config() const { return config_; }
    [[nodiscard]] fault_counts &faults() { return faults_; }
    [[nodiscard]] std::uint64_t count(fault kind) const { return faults_[static_cast<std::size_t>(kind)]; }

    // Packets of QPs that left by a port which was down or drained when they were chosen.
    [[nodiscard]] std::uint64_t misdirected() const { return misdirected_; }

    // Both directions of a path, of a plane, of everything.
    void each_path(const std::function<void(path_model &)> &change);
    void each_path_of(unsigned plane, const std::function<void(path_model &)> &change);
    void each_path_at(unsigned slot, const std::function<void(path_model &)> &change);

    // `change` happens then, and both hosts look after their work.
    void at(instant when, std::function<void()> change);
    // After every turn of a host.
    void on_served(std::function<void(host &)> look) { served_ = std::move(look); }

    // False when the send queue is full.
    bool post(host &from, std::size_t pair, const protocol::write_request &request);
    bool post(host &from, std::uint64_t id, std::size_t source_offset, std::size_t target_offset, std::uint32_t bytes,
              bool signaled = true);
    // Runs until `done` or the deadline; false at the deadline.
    bool run(const std::function<bool()> &done, instant deadline);

private:
    void hit(fault kind, std::uint64_t times = 1) { faults_[static_cast<std::size_t>(kind)] += times; }
    [[nodiscard]] bool chance(double probability);
    [[nodiscard]] duration up_to(duration longest);
    [[nodiscard]] unsigned plane_of(unsigned slot) const { return slot / config_.uplinks; }
    void handle(const event &what);
    void serve(unsigned index);
    void transmit(unsigned index);
    void send(unsigned from, const protocol::outgoing &packet);
    void fly(unsigned from, const protocol::outgoing &packet, instant departs);
    [[nodiscard]] bool swallowed(const host &from, unsigned slot, instant departs);
    [[nodiscard]] flying make_frame(const host &from, const protocol::outgoing &packet);
    void trim(flying &frame, const path_model &path);
    void reflect(unsigned at, const protocol::endpoint_request_packet &request, const protocol::arrival &how);
    void arrive(unsigned at, const flying &frame);
    void schedule(instant at, sim_event_kind kind, std::uint32_t a, std::uint32_t b = 0)
    {
        events_.push(from_instant(at), kind, a, b);
    }
    void wake(unsigned index, instant at);
    [[nodiscard]] std::uint32_t store(const flying &frame);

    network_config config_;
    protocol::random_source random_;
    std::array<std::unique_ptr<host>, 2> hosts_;
    event_queue events_; // arrival: frame `b` at host `a`; host_pump: host `a`; fabric_event: change `a`
    std::vector<flying> frames_;
    std::vector<std::uint32_t> free_frames_;
    std::vector<std::function<void()>> changes_;
    std::function<void(host &)> served_;
    fault_counts faults_{};
    std::uint64_t misdirected_ = 0;
    instant now_{std::chrono::seconds{1}};
};

} // namespace mrc::sim
