// SPDX-License-Identifier: Apache-2.0
// Who sends to whom, over which queue pairs, and what has arrived of each message. Payload bytes are counted, not
// moved.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine.h"

namespace mrc::sim
{

// What a traffic pattern hears.
class delivery_listener
{
public:
    delivery_listener() = default;
    delivery_listener(const delivery_listener &) = delete;
    delivery_listener &operator=(const delivery_listener &) = delete;
    virtual ~delivery_listener() = default;
    virtual void on_delivered(std::uint32_t flow, std::uint32_t message) = 0; // all bytes are at the receiver
    virtual void on_completed(std::uint32_t flow, std::uint32_t message) = 0; // the sender knows
};

struct flow {
    unsigned source = 0;
    unsigned target = 0;
    unsigned series = 0;          // flows that are reported together
    std::string pinned;           // to the path of this watch; empty: sprayed
    std::vector<unsigned> queues; // of the source
    std::uint64_t posted_bytes = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t settled_bytes = 0; // of them before rates count
    std::uint32_t messages = 0;      // posted
    picoseconds first_post = no_time;
    picoseconds last_delivery = no_time;
    std::uint64_t failed = 0; // messages that no queue pair took, or that completed with an error

    struct pending {
        std::uint32_t message = 0;
        std::uint32_t missing_bytes = 0;
        std::uint32_t missing_parts = 0; // completions
    };
    std::vector<pending> open;
};

class flow_table
{
public:
    flow_table(engine &engine, std::uint32_t payload_bytes) : engine_{engine}, payload_bytes_{payload_bytes} {}

    void set_hosts(std::vector<attached_host *> hosts) { hosts_ = std::move(hosts); }
    void set_listener(delivery_listener &listener) { listener_ = &listener; }

    std::uint32_t add(unsigned source, unsigned target, unsigned series);
    // The series of that name; new ones are appended.
    unsigned series(const std::string &name);
    [[nodiscard]] const std::vector<std::string> &series_names() const { return names_; }

    // Cuts the message into one part per queue pair of the flow.
    void post(std::uint32_t flow, std::uint32_t bytes);

    // From the hosts.
    void on_bytes(std::uint32_t flow, std::uint32_t message, std::uint32_t bytes);
    void on_part_completed(std::uint32_t flow, std::uint32_t message, bool success);

    void settle()
    {
        for (flow &each : flows_)
            each.settled_bytes = each.received_bytes;
    }
    [[nodiscard]] std::vector<flow> &flows() { return flows_; }
    [[nodiscard]] const std::vector<flow> &flows() const { return flows_; }
    [[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }
    [[nodiscard]] const std::vector<std::uint64_t> &series_bytes() const { return series_bytes_; }

private:
    [[nodiscard]] flow::pending *find(flow &of, std::uint32_t message);
    static void forget_finished(flow &of);

    engine &engine_;
    std::uint32_t payload_bytes_;
    std::vector<attached_host *> hosts_;
    delivery_listener *listener_ = nullptr;
    std::vector<flow> flows_;
    std::vector<std::string> names_;
    std::vector<std::uint64_t> series_bytes_;
    std::uint64_t received_bytes_ = 0;
};

} // namespace mrc::sim
