// SPDX-License-Identifier: Apache-2.0
// One run: builds fabric, hosts, queue pairs and traffic of a run_config, runs it, and measures.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/engine.h"
#include "sim/flow_table.h"
#include "sim/mrc_host.h"
#include "sim/roce_host.h"
#include "sim/scenario.h"
#include "sim/traffic.h"

namespace mrc::sim
{

// Samples of a run: one column per series of flows (Gb/s received), then one per watched path (packets).
struct time_series {
    std::vector<std::string> columns;
    std::vector<picoseconds> at; // end of each interval
    std::vector<std::vector<double>> rows;
    std::size_t flow_series = 0; // how many columns are goodput
};

struct run_result {
    std::string variant;
    std::optional<double> loss;
    std::optional<std::uint64_t> bytes;
    std::optional<std::uint64_t> seed; // where the scenario asks for several
    std::map<std::string, double> metrics;
    std::map<std::string, picoseconds> first_retirement; // by watch: ASSUMED_BAD for the first time after its event
    time_series samples;
};

class simulation final : public event_listener
{
public:
    explicit simulation(const run_config &config);

    // `progress` is called now and then with the simulated time as a share of the duration.
    void run(run_result &result, const std::function<void(double)> &progress);

    void on_event(const event &what) override;

    [[nodiscard]] engine &clock() { return engine_; }
    [[nodiscard]] flow_table &flows() { return flows_; }

private:
    struct link_change {
        link_ports link;
        fabric_action what = fabric_action::cut;
        double loss = 0;
        bool one_way = false;
        picoseconds at = 0;
        picoseconds ends = no_time; // when it is undone
    };
    struct watched {
        std::string name;
        unsigned host = 0;
        unsigned leaf = 0;
        unsigned slot = 0;
        std::uint64_t packets = 0; // at the last sample
        picoseconds event_at = no_time;
    };

    void make_hosts();
    void connect_flows();
    void resolve_watches();
    void resolve_events();
    void add_change(const scenario_event &event, const link_ports &link, picoseconds at, bool one_way);
    [[nodiscard]] std::vector<link_ports> links_of(const scenario_event &event);
    void apply(const link_change &change);
    void sample();
    void collect(run_result &result) const;
    void collect_paths(run_result &result) const;

    run_config config_;
    engine engine_;
    flow_table flows_;
    std::unique_ptr<traffic_pattern> traffic_;
    std::vector<path_change> path_changes_;
    std::vector<std::unique_ptr<mrc_host>> mrc_hosts_;
    std::vector<std::unique_ptr<roce_host>> roce_hosts_;
    std::vector<attached_host *> hosts_;
    std::vector<watched> watches_;
    std::vector<link_change> changes_;
    time_series samples_;
    std::vector<std::uint64_t> sampled_bytes_;
    picoseconds sampled_at_ = 0;
};

} // namespace mrc::sim
