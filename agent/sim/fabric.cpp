// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric.h"

#include <charconv>
#include <limits>

namespace mrc::sim
{

namespace
{

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

picoseconds wire_time(double gbps, std::uint32_t bytes)
{
    return static_cast<picoseconds>(8000.0 / gbps * bytes);
}

std::uint64_t threshold_of(double probability)
{
    return probability >= 1 ? unlimited : static_cast<std::uint64_t>(probability * 0x1p64);
}

// Reads a number off the front of `text`.
bool take_number(std::string_view &text, unsigned &number)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{})
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

bool take_text(std::string_view &text, std::string_view prefix)
{
    if (!text.starts_with(prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

} // namespace

fabric::fabric(const fabric_config &config, std::uint32_t largest_payload) : config_{config}
{
    const std::uint32_t data = largest_payload + data_overhead_bytes;
    for (const std::uint32_t bytes : {data, sack_wire_bytes}) {
        local_rtt_ += 2 * config.host_delay + 2 * wire_time(config.host_gbps, bytes);
        base_rtt_ += 2 * config.uplink_delay + 2 * wire_time(config.uplink_gbps, bytes);
    }
    base_rtt_ += local_rtt_;

    const unsigned host_ports = hosts() * config.planes;
    const unsigned switch_links = config.planes * config.leaves * config.spines;
    down_base_ = host_ports;
    leaf_up_base_ = 2 * host_ports;
    spine_down_base_ = leaf_up_base_ + switch_links;
    const port_limits nic{.control_limit = unlimited, .drop_limit = unlimited};
    for (unsigned i = 0; i < host_ports; ++i) {
        ports.emplace_back(config.host_gbps, config.host_delay, nic);
        ports.back().pumped_host = static_cast<std::int32_t>(i / config.planes);
    }
    for (unsigned i = 0; i < host_ports; ++i)
        ports.emplace_back(config.host_gbps, config.host_delay, limits(true));
    for (unsigned i = 0; i < 2 * switch_links; ++i) {
        ports.emplace_back(config.uplink_gbps, config.uplink_delay, limits(false));
        ports.back().loss_threshold = threshold_of(config.loss);
    }
}

double fabric::plane_bdp_bytes() const
{
    return config_.host_gbps / 8000.0 * static_cast<double>(base_rtt_);
}

port_limits fabric::limits(bool last_hop) const
{
    const double bdp = plane_bdp_bytes();
    const auto bytes = [bdp](double share) { return static_cast<std::uint64_t>(share * bdp); };
    port_limits result;
    result.last_hop = last_hop;
    result.control_limit = bytes(1.0);
    result.drop_limit = bytes(config_.drop_at);
    if (config_.trim)
        result.trim_limit = bytes(last_hop ? config_.trim_at_last_hop : config_.trim_at);
    if (config_.ecn && (!last_hop || config_.ecn_last_hop)) {
        result.ecn_min = bytes(config_.ecn_min);
        result.ecn_max = bytes(config_.ecn_max);
    }
    return result;
}

port_id fabric::leaf_up(unsigned plane, unsigned leaf, unsigned spine) const
{
    return leaf_up_base_ + (plane * config_.leaves + leaf) * config_.spines + spine;
}

port_id fabric::spine_down(unsigned plane, unsigned leaf, unsigned spine) const
{
    return spine_down_base_ + (plane * config_.leaves + leaf) * config_.spines + spine;
}

void fabric::set_route(frame &each, unsigned source, unsigned target, unsigned plane, unsigned spine) const
{
    each.hop = 0;
    each.route[0] = host_port(source, plane);
    if (leaf_of(source) == leaf_of(target)) {
        each.route[1] = down_port(target, plane);
        each.hops = 2;
        return;
    }
    each.route[1] = leaf_up(plane, leaf_of(source), spine);
    each.route[2] = spine_down(plane, leaf_of(target), spine);
    each.route[3] = down_port(target, plane);
    each.hops = 4;
}

link_ports fabric::host_link(unsigned host, unsigned plane) const
{
    return {host_port(host, plane), down_port(host, plane)};
}

link_ports fabric::uplink(unsigned plane, unsigned leaf, unsigned spine) const
{
    return {leaf_up(plane, leaf, spine), spine_down(plane, leaf, spine)};
}

std::expected<fabric::node, std::string> fabric::parse(std::string_view name) const
{
    std::string_view text = name;
    node found;
    if (take_text(text, "h") && take_number(text, found.index) && text.empty()) {
        if (found.index < hosts())
            return found;
        return std::unexpected{"h0 to h" + std::to_string(hosts() - 1)};
    }
    text = name;
    unsigned tier = 0;
    if (!take_text(text, "p") || !take_number(text, found.plane) || !take_text(text, "t") || !take_number(text, tier) ||
        !take_text(text, "-") || !take_number(text, found.index) || !text.empty() || tier > 1)
        return std::unexpected{std::string{"a node such as h0, p0t0-0 or p0t1-0"}};
    found.what = tier == 0 ? node::kind::leaf : node::kind::spine;
    const unsigned count = tier == 0 ? config_.leaves : config_.spines;
    if (found.plane >= config_.planes || found.index >= count)
        return std::unexpected{"p0t" + std::to_string(tier) + "-0 to p" + std::to_string(config_.planes - 1) + "t" +
                               std::to_string(tier) + "-" + std::to_string(count - 1)};
    return found;
}

std::expected<link_ports, std::string> fabric::find_link(std::string_view a, std::string_view b) const
{
    auto first = parse(a);
    auto second = parse(b);
    if (!first || !second)
        return std::unexpected{first ? second.error() : first.error()};
    if (second->what < first->what)
        std::swap(*first, *second);
    using kind = node::kind;
    if (first->what == kind::host && second->what == kind::leaf && leaf_of(first->index) == second->index)
        return host_link(first->index, second->plane);
    if (first->what == kind::leaf && second->what == kind::spine && first->plane == second->plane)
        return uplink(first->plane, first->index, second->index);
    return std::unexpected{std::string{"two ends of one link: a host and its T0, or a T0 and a T1 of one plane"}};
}

std::expected<unsigned, std::string> fabric::find_host(std::string_view name) const
{
    const auto found = parse(name);
    if (!found || found->what != node::kind::host)
        return std::unexpected{"h0 to h" + std::to_string(hosts() - 1)};
    return found->index;
}

fabric::uplink_name fabric::name_of_uplink(const link_ports &link) const
{
    const unsigned index = link.out - leaf_up_base_;
    return {index / config_.spines / config_.leaves, index / config_.spines % config_.leaves, index % config_.spines};
}

std::expected<std::vector<link_ports>, std::string> fabric::links_of(std::string_view name) const
{
    const auto found = parse(name);
    if (!found)
        return std::unexpected{found.error()};
    std::vector<link_ports> links;
    switch (found->what) {
    case node::kind::host:
        for (unsigned plane = 0; plane < config_.planes; ++plane)
            links.push_back(host_link(found->index, plane));
        break;
    case node::kind::leaf:
        for (unsigned i = 0; i < config_.hosts_per_leaf; ++i)
            links.push_back(host_link(found->index * config_.hosts_per_leaf + i, found->plane));
        for (unsigned spine = 0; spine < config_.spines; ++spine)
            links.push_back(uplink(found->plane, found->index, spine));
        break;
    case node::kind::spine:
        for (unsigned leaf = 0; leaf < config_.leaves; ++leaf)
            links.push_back(uplink(found->plane, leaf, found->index));
        break;
    }
    return links;
}

std::vector<link_ports> fabric::uplinks() const
{
    std::vector<link_ports> links;
    for (unsigned plane = 0; plane < config_.planes; ++plane)
        for (unsigned leaf = 0; leaf < config_.leaves; ++leaf)
            for (unsigned spine = 0; spine < config_.spines; ++spine)
                links.push_back(uplink(plane, leaf, spine));
    return links;
}

} // namespace mrc::sim
