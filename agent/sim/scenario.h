// SPDX-License-Identifier: Apache-2.0
// What a scenario file says: a fabric, a transport, traffic, things that happen, what is measured, and the bounds that
// must hold. Variants and sweeps make several runs of one scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/fabric.h"
#include "sim/traffic.h"
#include "sim/transport_config.h"
#include "sim/worker_model.h"

namespace mrc::sim
{

// A path of one host, by name: the active one at `position` of its plane toward the T0 of `to`.
struct watch_config {
    std::string name;
    std::string from;
    std::string to;
    unsigned plane = 0;
    unsigned position = 0;
};

enum class fabric_action : std::uint8_t {
    cut,  // blackhole: nobody is told
    down, // carrier loss: hosts see it at their own ports
    up,
    loss, // the links lose frames with a probability
};

struct scenario_event {
    picoseconds at = 0;
    fabric_action what = fabric_action::cut;
    std::vector<std::pair<std::string, std::string>> links; // by the names of their ends
    std::string node;                                       // all links of a switch or host
    std::string watch;                                      // the first link between switches of a watched path
    unsigned random_uplinks = 0;                            // that many links between T0 and T1, drawn by the seed
    picoseconds every = 0;                                  // links one after the other, so far apart
    picoseconds restored = 0;                               // each comes back after so long; 0: never
    double loss = 0;
};

struct run_config {
    fabric_config fabric;
    transport_config transport;
    worker_model host;
    traffic_config traffic;
    std::vector<scenario_event> events;
    std::vector<watch_config> watches;
    picoseconds duration = 10 * millisecond; // the end, done or not
    picoseconds interval = 100 * microsecond;
    picoseconds settle = 0; // rates of flows count from here on
    std::uint64_t seed = 1;
};

struct window {
    picoseconds from = 0;
    picoseconds to = 0;
};

// Which runs: fields that are not given match all.
struct run_selector {
    std::optional<std::string> variant;
    std::optional<double> loss;
    std::optional<std::uint64_t> bytes;
};

// Both ends belong to it. There is no bound with one end: a figure that is better than can be explained is a mistake of
// the simulator or of the measurement until it has been explained.
struct value_range {
    double least = 0;
    double most = 0;
};

struct bound {
    std::string metric;
    value_range between;
    run_selector runs;
    std::optional<run_selector> over; // divide by the metric of the run that differs in these
    std::string series;               // of goodput; empty: all
    std::string watch;
    bool median = false;            // of the runs, instead of the worst
    std::optional<window> in;       // part of the run
    std::optional<window> baseline; // divide by the metric in this part
    std::string what;               // for people
    std::string paper;              // what the paper has
};

struct variant {
    std::string name;
    run_config config;
    std::vector<double> losses; // sweep; empty: once, as configured
    std::vector<std::uint64_t> sizes;
    unsigned seeds = 1; // so many runs, with the seeds that follow the first
};

// What people see of the runs.
struct report_config {
    std::vector<std::string> columns{"goodput_gbps", "retransmits"}; // metrics, one column each
    std::string y_metric = "bus_gbps";                               // of the plot over sizes; sweeps only
    std::string y_label = "Gb/s";
};

struct scenario {
    std::string file;
    std::string id; // file name without directory and ending
    std::string title;
    std::string paper;
    std::string scale;             // how this differs from the paper's set-up
    std::vector<variant> variants; // at least one
    std::vector<bound> bounds;
    report_config report;
};

} // namespace mrc::sim
