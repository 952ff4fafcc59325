// SPDX-License-Identifier: Apache-2.0
// Streams: each flow keeps `depth` messages outstanding, from its start until its count or the run's end.
#pragma once

#include <vector>

#include "sim/traffic.h"

namespace mrc::sim
{

class traffic_streams final : public traffic_pattern
{
public:
    explicit traffic_streams(const traffic_config &config) : config_{config} {}

    void add_flows(flow_table &flows, const fabric &topology, protocol::random_source &random) override;
    void start(flow_table &flows, engine &clock) override;
    void on_timer(std::uint32_t flow) override;
    void on_delivered(std::uint32_t, std::uint32_t) override;
    void on_completed(std::uint32_t flow, std::uint32_t message) override;
    [[nodiscard]] bool done() const override { return config_.count != 0 && delivered_ == wanted_; }

private:
    void add(flow_table &flows, unsigned source, unsigned target, const std::string &series, picoseconds start);
    void add_permutation(flow_table &flows, const fabric &topology, protocol::random_source &random);
    void add_incast(flow_table &flows, const fabric &topology);
    void post_next(std::uint32_t flow);

    traffic_config config_;
    flow_table *flows_ = nullptr;
    std::vector<picoseconds> starts_; // by flow
    std::uint64_t delivered_ = 0;
    std::uint64_t wanted_ = 0;
};

} // namespace mrc::sim
