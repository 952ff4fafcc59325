// SPDX-License-Identifier: Apache-2.0
// Two hosts on a fabric of agent/sim under one leaf, or three of which two are neighbours: a port per plane, and on the
// link behind it what a path does to its frames (sim_faults.h): delay, jitter, loss, reordering, duplication,
// corruption, CE marks, trimming, outages. Ports come and go, and hosts leave their CPU for a while. Deterministic by
// seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/congestion/fixed_window.h"
#include "protocol/queue_pair.h"
#include "protocol/random_source.h"
#include "sim/engine.h"
#include "sim_faults.h"
#include "sim_host.h"
#include "wire_image.h"

namespace mrc::sim
{

// A QP between the hosts; indices of what add_control() and add_selector() returned.
struct pair_config {
    protocol::qp_config left;
    protocol::qp_config right;
    std::size_t control = 0;
    std::optional<std::size_t> selector;
    unsigned remote = 1; // the host at its right end
};
// Which of its hosts' ends are the pair's.
struct pair_ends {
    std::size_t left = 0;
    std::size_t right = 0;
};
[[nodiscard]] protocol::qp_config mirrored(protocol::qp_config config);

class network final : private event_listener
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
    pair_ends add_pair(const pair_config &pair);

    [[nodiscard]] host &left() { return *hosts_[0]; }
    [[nodiscard]] host &right() { return *hosts_[1]; }
    [[nodiscard]] std::span<const std::unique_ptr<host>> hosts() const { return hosts_; }
    [[nodiscard]] instant now() const { return engine_.instant(); }
    [[nodiscard]] const network_config &config() const { return config_; }
    [[nodiscard]] fault_counts &faults() { return faults_; }
    [[nodiscard]] std::uint64_t count(fault kind) const { return faults_[static_cast<std::size_t>(kind)]; }

    // Packets of QPs that left by a port which was down or drained when they were chosen.
    [[nodiscard]] std::uint64_t misdirected() const { return misdirected_; }

    // Packets that the codec could not carry, or did not tell from damaged ones.
    [[nodiscard]] std::uint64_t wire_faults() const { return wire_faults_; }
    // Data packets that arrived whole although they had arrived: sent again needlessly, not repeated by a link.
    [[nodiscard]] std::uint64_t needless() const;

    // Both directions of a path, of a plane, of everything.
    void each_path(const std::function<void(path_model &)> &change);
    void each_path_of(unsigned plane, const std::function<void(path_model &)> &change);
    void each_path_at(unsigned slot, const std::function<void(path_model &)> &change);

    // `change` happens then, and both hosts look after their work.
    void at(instant when, std::function<void()> change);
    // After every turn of a host.
    void on_served(std::function<void(host &)> look) { served_ = std::move(look); }

    // False when the send queue is full.
    bool post(host &from, std::size_t end, const protocol::write_request &request);
    bool post(host &from, std::uint64_t id, std::size_t source_offset, std::size_t target_offset, std::uint32_t bytes,
              bool signaled = true);
    // Runs until `done` or the deadline; false at the deadline.
    bool run(const std::function<bool()> &done, instant deadline);

private:
    class attachment final : public attached_host
    {
    public:
        attachment(network &net, unsigned index) : net_{net}, index_{index} {}
        void on_frame(const frame &arrived) override { net_.arrive(index_, arrived); }
        void pump() override { net_.pump(index_); }
        void on_queue_pair_timer(unsigned) override {}
        void on_path_group_timer(unsigned) override {}
        void on_carrier(unsigned, bool) override {}
        [[nodiscard]] bool post(unsigned, const message_part &) override { return false; }

    private:
        network &net_;
        unsigned index_;
    };
    // The paths of a host, whichever of its ports they begin at.
    class path_faults final : public link_model
    {
    public:
        path_faults(network &net, unsigned from, unsigned paths) : net_{net}, from_{from}, paths_(paths) {}
        [[nodiscard]] deliveries carry(frame &each, picoseconds arrives) override;

    private:
        struct line {
            picoseconds in_order = 0; // arrival of the last frame that was not held back
            picoseconds latest = 0;   // of any
        };
        network &net_;
        unsigned from_;
        std::vector<line> paths_;
    };

    void hit(fault kind, std::uint64_t times = 1) { faults_[static_cast<std::size_t>(kind)] += times; }
    [[nodiscard]] bool chance(double probability);
    [[nodiscard]] picoseconds up_to(duration longest);
    [[nodiscard]] unsigned plane_of(unsigned slot) const { return slot / config_.uplinks; }
    void on_event(const event &what) override;
    void pump(unsigned index);
    void serve(unsigned index);
    struct transmission {
        std::size_t packets = 0; // of QPs
        bool more = false;       // the round is full, or the burst, and there may be more
    };
    transmission transmit(unsigned index);
    [[nodiscard]] transmission transmit_end(unsigned index, qp_end &end, std::size_t most);
    void transmit_endpoint(unsigned index);
    void send(unsigned from, unsigned to, const protocol::outgoing &packet);
    [[nodiscard]] bool swallowed(const host &from, const host &to, unsigned slot, instant departs);
    [[nodiscard]] bool cross_wire(frame &each, const host &from);
    void mark(frame &each, const path_model &path);
    void trim(frame &each, const path_model &path);
    void cut(frame &each);
    void reflect(unsigned at, unsigned to, const protocol::endpoint_request_packet &request, const frame &how);
    void arrive(unsigned at, const frame &arrived);
    void wake(unsigned index, instant at);

    network_config config_;
    protocol::random_source random_;
    std::vector<std::unique_ptr<host>> hosts_;
    engine engine_;
    std::deque<attachment> attachments_;
    std::deque<path_faults> links_;
    std::deque<std::function<void()>> changes_; // fabric_event: `a` of them; one may add others
    std::function<void(host &)> served_;
    fault_counts faults_{};
    wire_image image_;
    std::uint64_t misdirected_ = 0;
    std::uint64_t wire_faults_ = 0;
    std::uint64_t data_copies_ = 0;
};

} // namespace mrc::sim
