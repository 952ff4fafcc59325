// SPDX-License-Identifier: Apache-2.0
// What a finished run is reduced to. Names of metrics are those that scenarios bound; units stand in the names.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "sim/fabric.h"
#include "sim/flow_table.h"
#include "sim/mrc_host.h"
#include "sim/roce_host.h"
#include "sim/traffic.h"

namespace mrc::sim
{

using metric_values = std::map<std::string, double>;
using mrc_hosts = std::span<const std::unique_ptr<mrc_host>>;
using roce_hosts = std::span<const std::unique_ptr<roce_host>>;

// Goodput from `settle` on, to the last delivery of traffic that has come to its end, else to `now`.
void add_flow_metrics(metric_values &to, const flow_table &flows, const traffic_pattern &traffic, picoseconds settle,
                      picoseconds now);
void add_port_metrics(metric_values &to, const fabric &topology);
// Both do nothing where there are no such hosts.
void add_mrc_metrics(metric_values &to, mrc_hosts hosts);
void add_roce_metrics(metric_values &to, roce_hosts hosts);

// The last data packet that any host sent on a path over this link between switches.
[[nodiscard]] picoseconds last_use_of(const link_ports &link, const fabric &topology, mrc_hosts hosts);

} // namespace mrc::sim
