// SPDX-License-Identifier: Apache-2.0
// The topology: planes x (leaves T0, spines T1), every host with one port per plane. Links are two output ports, one
// for each direction. Frames carry their whole route, as uSID carriers do: switches never choose, nothing is rerouted.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/output_port.h"

namespace mrc::sim
{

struct fabric_config {
    unsigned planes = 4;
    unsigned leaves = 2; // T0 per plane
    unsigned spines = 2; // T1 per plane: uplinks of a T0
    unsigned hosts_per_leaf = 1;
    double host_gbps = 100;
    double uplink_gbps = 100;
    picoseconds host_delay = 600 * nanosecond;
    picoseconds uplink_delay = 1000 * nanosecond;
    double loss = 0; // on every link between switches
    // Switch queues, in units of a plane's bandwidth-delay product (protocol.md §5.5).
    bool ecn = true;
    bool ecn_last_hop = false;
    double ecn_min = 0.2;
    double ecn_max = 0.8;
    bool trim = true;
    double trim_at = 1.0;
    double trim_at_last_hop = 1.5;
    double drop_at = 5.0;
    // After this much carrier loss or return a host knows.
    picoseconds carrier_delay = 10 * microsecond;
};

// Bytes on the wire besides payload: Ethernet, SRv6, IPv6, UDP, BTH, METH, TSETH, RETH, ICRC and the line's own.
inline constexpr std::uint32_t data_overhead_bytes = 102 + 40 + line_overhead_bytes;
inline constexpr std::uint32_t sack_wire_bytes = 114 + 40 + line_overhead_bytes;
inline constexpr std::uint32_t nack_wire_bytes = 98 + 40 + line_overhead_bytes;
inline constexpr std::uint32_t probe_wire_bytes = 94 + 40 + line_overhead_bytes;
inline constexpr std::uint32_t ack_wire_bytes = 82 + 40 + line_overhead_bytes;

using port_id = std::uint32_t;
// Both directions of a link.
struct link_ports {
    port_id out = 0;
    port_id back = 0;
};

class fabric
{
public:
    // `largest_payload` sets the base round-trip time, and with it the queues.
    fabric(const fabric_config &config, std::uint32_t largest_payload);

    [[nodiscard]] const fabric_config &config() const { return config_; }
    [[nodiscard]] unsigned hosts() const { return config_.leaves * config_.hosts_per_leaf; }
    [[nodiscard]] unsigned leaf_of(unsigned host) const { return host / config_.hosts_per_leaf; }
    // Of a full data packet and the SACK that answers it, between hosts of different leaves with nothing in the way.
    [[nodiscard]] picoseconds base_rtt() const { return base_rtt_; }
    [[nodiscard]] picoseconds base_rtt(unsigned a, unsigned b) const
    {
        return leaf_of(a) == leaf_of(b) ? local_rtt_ : base_rtt_;
    }
    [[nodiscard]] double plane_bdp_bytes() const;

    [[nodiscard]] port_id host_port(unsigned host, unsigned plane) const { return host * config_.planes + plane; }
    // Writes the route of a frame from `source` to `target` over a plane and, between leaves, a spine.
    void set_route(frame &each, unsigned source, unsigned target, unsigned plane, unsigned spine) const;
    [[nodiscard]] unsigned host_behind(port_id last) const { return (last - down_base_) / config_.planes; }
    // The host that a route began at.
    [[nodiscard]] unsigned asking_host(port_id first) const { return first / config_.planes; }
    [[nodiscard]] unsigned plane_of_host_port(port_id port) const { return port % config_.planes; }

    // Links by the names of their ends, as in mrc-lab: h0, p0t0-0 (plane 0, tier 0, index 0).
    [[nodiscard]] std::expected<link_ports, std::string> find_link(std::string_view a, std::string_view b) const;
    [[nodiscard]] std::expected<unsigned, std::string> find_host(std::string_view name) const;
    // All links of a switch or host.
    [[nodiscard]] std::expected<std::vector<link_ports>, std::string> links_of(std::string_view node) const;
    // All links between T0 and T1, plane by plane, leaf by leaf.
    [[nodiscard]] std::vector<link_ports> uplinks() const;
    [[nodiscard]] link_ports uplink(unsigned plane, unsigned leaf, unsigned spine) const;
    struct uplink_name {
        unsigned plane = 0;
        unsigned leaf = 0;
        unsigned spine = 0;
    };
    // Of a link between switches.
    [[nodiscard]] uplink_name name_of_uplink(const link_ports &link) const;
    [[nodiscard]] bool is_host_link(const link_ports &link) const { return link.out < down_base_; }

    std::vector<output_port> ports;

private:
    struct node {
        enum class kind : std::uint8_t { host, leaf, spine } what = kind::host;
        unsigned plane = 0;
        unsigned index = 0;
    };

    [[nodiscard]] std::expected<node, std::string> parse(std::string_view name) const;
    [[nodiscard]] port_id down_port(unsigned host, unsigned plane) const { return down_base_ + host_port(host, plane); }
    [[nodiscard]] port_id leaf_up(unsigned plane, unsigned leaf, unsigned spine) const;
    [[nodiscard]] port_id spine_down(unsigned plane, unsigned leaf, unsigned spine) const;
    [[nodiscard]] link_ports host_link(unsigned host, unsigned plane) const;
    [[nodiscard]] port_limits limits(bool last_hop) const;

    fabric_config config_;
    picoseconds base_rtt_ = 0;
    picoseconds local_rtt_ = 0; // the same under one T0
    port_id down_base_ = 0;
    port_id leaf_up_base_ = 0;
    port_id spine_down_base_ = 0;
};

} // namespace mrc::sim
