// SPDX-License-Identifier: Apache-2.0
// Traffic patterns: who talks to whom, and what each waits for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/flow_table.h"

namespace mrc::sim
{

enum class traffic_kind : std::uint8_t {
    pairs,       // named senders and receivers, streams
    permutation, // every host sends to one other, of another leaf, and receives from one
    incast,      // many to one, with a victim flow beside it
    all_reduce,  // ring: 2 (n - 1) steps, each waits for the neighbour's chunk
    all_to_all,  // every host sends a share to every other
};

struct pair_spec {
    std::string from;
    std::string to;
    std::string series = "goodput";
    picoseconds start = 0;
    std::string pinned;  // to the path of this watch; empty: sprayed
    unsigned source = 0; // resolved
    unsigned target = 0;
};

struct traffic_config {
    traffic_kind kind = traffic_kind::permutation;
    std::uint64_t bytes = 1 << 20; // of a message, or of a collective's buffer per host
    unsigned depth = 4;            // messages outstanding per flow (streams)
    unsigned count = 0;            // messages per flow; 0: until the run ends
    bool both_ways = false;        // pairs
    std::vector<pair_spec> pairs;
    unsigned senders = 7; // incast
    unsigned fan_out = 8; // all_to_all: peers at a time
    unsigned slices = 8;  // all_reduce: pieces of a chunk, passed on one by one
    unsigned hosts = 0;   // take part in the collective; 0: all
};

class traffic_pattern : public delivery_listener
{
public:
    // Adds its flows; queue pairs are made for them afterwards.
    virtual void add_flows(flow_table &flows, const fabric &topology, protocol::random_source &random) = 0;
    virtual void start(flow_table &flows, engine &clock) = 0;
    virtual void on_timer(std::uint32_t) {}
    // Nothing is left to do; streams without a count never end.
    [[nodiscard]] virtual bool done() const = 0;
    // Bytes that each host has to send for the whole of it; 0 for streams.
    [[nodiscard]] virtual std::uint64_t bytes_per_host() const { return 0; }
};

[[nodiscard]] std::unique_ptr<traffic_pattern> make_traffic(const traffic_config &config);

} // namespace mrc::sim
