// SPDX-License-Identifier: Apache-2.0
// Collectives. Ranks are dealt over the leaves in turn, so that ring neighbours are of different leaves.
//
// ring all-reduce   chunk = bytes / n; in each of 2 (n - 1) steps every rank sends a chunk to its right neighbour,
// which
//                   may send its own next chunk only after this one has arrived; chunks are passed on in slices, as
//                   collective libraries do
// all-to-all        every rank sends bytes / n to every other, `fan_out` peers at a time, beginning with its right
//                   neighbour
#pragma once

#include <vector>

#include "sim/traffic.h"

namespace mrc::sim
{

class ring_all_reduce final : public traffic_pattern
{
public:
    explicit ring_all_reduce(const traffic_config &config) : config_{config} {}

    void add_flows(flow_table &flows, const fabric &topology, protocol::random_source &random) override;
    void start(flow_table &flows, engine &clock) override;
    void on_delivered(std::uint32_t flow, std::uint32_t message) override;
    void on_completed(std::uint32_t flow, std::uint32_t) override { post_next(flow); }
    [[nodiscard]] bool done() const override { return finished_ == ranks_; }
    [[nodiscard]] std::uint64_t bytes_per_host() const override { return std::uint64_t{steps()} * chunk_; }

private:
    [[nodiscard]] unsigned steps() const { return 2 * (ranks_ - 1); }
    [[nodiscard]] unsigned messages() const { return steps() * config_.slices; }
    void post_next(unsigned rank);

    struct rank_progress {       // of the flow from this rank to its right neighbour
        unsigned in_order = 0;   // slices that have arrived, up to the first that has not
        std::vector<bool> early; // which of the others have
    };

    traffic_config config_;
    flow_table *flows_ = nullptr;
    unsigned ranks_ = 0;
    std::uint32_t chunk_ = 0;
    std::vector<rank_progress> progress_;
    unsigned finished_ = 0;
};

class all_to_all final : public traffic_pattern
{
public:
    explicit all_to_all(const traffic_config &config) : config_{config} {}

    void add_flows(flow_table &flows, const fabric &topology, protocol::random_source &random) override;
    void start(flow_table &flows, engine &clock) override;
    void on_delivered(std::uint32_t, std::uint32_t) override { ++delivered_; }
    void on_completed(std::uint32_t flow, std::uint32_t message) override;
    [[nodiscard]] bool done() const override { return delivered_ == std::uint64_t{ranks_} * (ranks_ - 1); }
    [[nodiscard]] std::uint64_t bytes_per_host() const override { return std::uint64_t{ranks_ - 1} * share_; }

private:
    void post_next(unsigned rank);

    traffic_config config_;
    flow_table *flows_ = nullptr;
    unsigned ranks_ = 0;
    std::uint32_t share_ = 0;
    std::vector<unsigned> posted_; // peers, by rank
    std::uint64_t delivered_ = 0;
};

} // namespace mrc::sim
