// SPDX-License-Identifier: Apache-2.0
// Runs the fabric: takes events in order, moves frames from port to port, and hands the rest to those it concerns.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "protocol/random_source.h"
#include "sim/event_queue.h"
#include "sim/fabric.h"

namespace mrc::sim
{

// A piece of a message, as one queue pair carries it.
struct message_part {
    std::uint32_t flow = 0;
    std::uint32_t message = 0;
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
};

// A host, whatever transport it speaks.
class attached_host
{
public:
    attached_host() = default;
    attached_host(const attached_host &) = delete;
    attached_host &operator=(const attached_host &) = delete;
    virtual ~attached_host() = default;

    // A frame has arrived; the host may read it during the call.
    virtual void on_frame(const frame &arrived) = 0;
    // There may be room in the NIC, or something to send.
    virtual void pump() = 0;
    virtual void on_queue_pair_timer(unsigned queue) = 0;
    virtual void on_path_group_timer(unsigned group) = 0;
    virtual void on_carrier(unsigned plane, bool up) = 0;

    // Sends `bytes` of a message of `flow` over one of this host's queue pairs; `place` tells the receiver which bytes
    // they are. False when the queue is full or broken.
    [[nodiscard]] virtual bool post(unsigned queue, const message_part &part) = 0;
};

// What the fabric does not know the meaning of.
class event_listener
{
public:
    event_listener() = default;
    event_listener(const event_listener &) = delete;
    event_listener &operator=(const event_listener &) = delete;
    virtual ~event_listener() = default;
    virtual void on_event(const event &what) = 0;
};

class engine
{
public:
    engine(const fabric_config &config, std::uint32_t largest_payload, std::uint64_t seed);

    // Both outlive the engine's runs.
    void set_hosts(std::vector<attached_host *> hosts) { hosts_ = std::move(hosts); }
    void set_listener(event_listener &listener) { listener_ = &listener; }

    [[nodiscard]] picoseconds now() const { return now_; }
    [[nodiscard]] protocol::instant instant() const { return to_instant(now_); }
    [[nodiscard]] protocol::random_source &random() { return random_; }

    void schedule(picoseconds at, sim_event_kind kind, std::uint32_t a, std::uint32_t b = 0)
    {
        events_.push(at, kind, a, b);
    }
    // A free frame to fill and to send().
    [[nodiscard]] frame_index take_frame() { return frames.take(); }
    // Puts a frame with a route into its first port.
    void send(frame_index index) { forward(frames[index].route[0], index); }

    // The next event, if it is not after `end`; else it is `end`, and false.
    bool step(picoseconds end);
    // Runs until stop() or until nothing is left before `end`. False when it ended because of time.
    bool run(picoseconds end, const std::function<void(picoseconds)> &progress);
    void stop() { stopped_ = true; }

    // Changes a link. Loss of carrier is seen by a host at its own port, after config().carrier_delay.
    void set_link(const link_ports &link, bool up, bool carrier);
    void set_loss(port_id one_way, double probability);

    [[nodiscard]] std::uint64_t events_handled() const { return handled_; }
    [[nodiscard]] std::uint64_t link_hops() const { return hops_; }

    fabric topology;
    frame_pool frames;

private:
    void forward(port_id to, frame_index index);
    void transmit(port_id from);
    void deliver(port_id over, frame_index index);
    void arrive(port_id over, frame_index index);
    void dispatch(const event &next);
    void prefetch(const event &soon) const;

    event_queue events_;
    protocol::random_source random_;
    std::vector<attached_host *> hosts_;
    event_listener *listener_ = nullptr;
    picoseconds now_ = 0;
    bool stopped_ = false;
    std::uint64_t handled_ = 0;
    std::uint64_t hops_ = 0;
};

} // namespace mrc::sim
