// SPDX-License-Identifier: Apache-2.0
#include "service/ports/port_plan.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "kernel/probes/device.h"
#include "kernel/startup_error.h"
#include "service/log.h"
#include "service/ports/nic_drivers.h"

namespace mrc::service
{

namespace
{

constexpr std::uint32_t smallest_payload = 256;
constexpr std::uint32_t payload_step = 64;

// Payload that a packet carries on a port of this MTU; may be less than smallest_payload.
std::uint32_t payload_room(fabric_mode mode, std::uint32_t mtu)
{
    const std::uint32_t overhead = packet_overhead(mode);
    return mtu > overhead ? (mtu - overhead) / payload_step * payload_step : 0;
}

} // namespace

std::uint32_t packet_overhead(fabric_mode mode)
{
    constexpr std::uint32_t with_outer_header = MRC_MAX_HEADERS + MRC_ICRC_LEN;
    constexpr std::uint32_t outer_header = MRC_OUTER_BYTES - MRC_ETHERNET_BYTES;
    return mode == fabric_mode::direct ? with_outer_header - outer_header : with_outer_header;
}

kernel::xdp_mode xdp_mode_of(const port_options &port)
{
    return xdp_mode_of(port.mode, kernel::probes::driver_of(port.device));
}

kernel::xdp_mode xdp_mode_of(attach_mode mode, std::string_view driver)
{
    switch (mode) {
    case attach_mode::automatic:
        return has_headroom(driver) ? kernel::xdp_mode::automatic : kernel::xdp_mode::generic;
    case attach_mode::native:
        return kernel::xdp_mode::native;
    case attach_mode::generic:
        return kernel::xdp_mode::generic;
    }
    return kernel::xdp_mode::automatic;
}

std::uint32_t payload_of(const daemon_config &config, std::uint32_t mtu)
{
    const std::uint32_t largest = std::min(payload_room(config.fabric.mode, mtu), live_frame_payload);
    const bool verbs = config.peers.payload == payload_sizes::verbs;
    return config.transmit.payload.value_or(verbs ? std::bit_floor(largest) : largest);
}

std::string mtu_refusal(const daemon_config &config, std::uint32_t mtu)
{
    const std::uint32_t room = payload_room(config.fabric.mode, mtu);
    const std::uint32_t overhead = packet_overhead(config.fabric.mode);
    if (config.transmit.payload && *config.transmit.payload > room)
        return "transmit.payload is " + std::to_string(*config.transmit.payload) + ", but the ports' smallest MTU " +
               std::to_string(mtu) + " carries at most " + std::to_string(room) + " bytes a packet (MTU - " +
               std::to_string(overhead) + ", multiple of 64)";
    if (room < smallest_payload)
        return "the ports' smallest MTU is " + std::to_string(mtu) + ": at least " +
               std::to_string(smallest_payload + overhead) + " is needed";
    return {};
}

std::expected<port_plan, std::string> make_plan(const daemon_config &config, mtu_range mtus)
{
    if (std::string refusal = mtu_refusal(config, mtus.smallest); !refusal.empty())
        return std::unexpected{std::move(refusal)};
    port_plan plan{.payload_bytes = payload_of(config, mtus.smallest),
                   .multi_buffer = mtus.needs_several_buffers(),
                   .engine = config.transmit.engine};
    const std::string payload = "transmit.payload is " + std::to_string(plan.payload_bytes);
    if (config.peers.payload == payload_sizes::verbs && !std::has_single_bit(plan.payload_bytes))
        return std::unexpected{payload + ", but peer_defaults.payload = 'verbs' allows 256, 512, 1024, 2048 and 4096"};
    if (!plan.requires_several_buffers())
        return plan;
    if (plan.engine == engine_kind::xdp)
        return std::unexpected{payload + ", but the engine 'xdp' sends at most " + std::to_string(live_frame_payload) +
                               " bytes a packet: use 'auto' or 'af_xdp'"};
    plan.engine = engine_kind::af_xdp;
    return plan;
}

port_plan plan_ports(const daemon_config &config, const link_monitor &links)
{
    const auto plan = make_plan(config, mtus_of(links.ports()));
    if (!plan)
        throw kernel::startup_error{plan.error()};
    return *plan;
}

std::string bond_refusal(std::string_view device, std::string_view driver, bool is_bonded)
{
    const bool is_bond = driver == "bonding" || driver == "team";
    if (!is_bond && !is_bonded)
        return {};
    const std::string named = "port device '" + std::string{device} + "'";
    if (is_bond)
        return named + " is a bond, in which a hash chooses the cable of each packet, and not its path: take the bond "
                       "apart, and give each of its members a [[port]] on a plane of its own";
    return named + " is in a bond, which takes what arrives by it: take it out (ip link set dev " +
           std::string{device} + " nomaster), or take another port";
}

std::span<const host_entry> listed_hosts(const daemon_config &config)
{
    return config.fabric.mode == fabric_mode::direct ? std::span{config.hosts} : std::span<const host_entry>{};
}

void require_ports(const daemon_config &config, link_monitor &links)
{
    if (const auto read = links.refresh(); !read)
        throw kernel::startup_error{"cannot read the state of the ports: " + read.error().message()};
    for (const port_options &port : config.ports)
        if (const std::string refusal = bond_refusal(port.device, kernel::probes::driver_of(port.device),
                                                     kernel::probes::is_bonded(port.device));
            !refusal.empty())
            throw kernel::startup_error{refusal};
    if (std::ranges::any_of(links.ports(), &port_condition::is_present))
        return;
    throw kernel::startup_error{"port device '" + config.ports.front().device + "' does not exist" +
                                (config.ports.size() == 1 ? "" : ", nor does that of any other port")};
}

mtu_range mtus_of(std::span<const port_condition> ports)
{
    mtu_range range{.smallest = UINT32_MAX, .largest = 0};
    for (const port_condition &port : ports)
        if (port.is_present())
            range = {.smallest = std::min(range.smallest, port.mtu), .largest = std::max(range.largest, port.mtu)};
    return range.largest == 0 ? mtu_range{} : range;
}

std::vector<std::string> mtu_advice(const daemon_config &config, std::span<const std::uint32_t> mtus)
{
    std::vector<std::string> lines;
    std::vector<std::uint32_t> present;
    std::ranges::copy_if(mtus, std::back_inserter(present), [](std::uint32_t mtu) { return mtu != 0; });
    if (config.transmit.payload || present.empty())
        return lines;
    const std::uint32_t now = payload_of(config, std::ranges::min(present));
    const std::uint32_t largest = std::ranges::max(present);
    const std::uint32_t possible = payload_of(config, largest);
    for (std::size_t port = 0; port < mtus.size(); ++port)
        if (mtus[port] != 0 && payload_of(config, mtus[port]) < possible)
            lines.push_back(
                fmt::format("port {} (plane {}): its MTU is {}, that of others {}: all packets have {} bytes "
                            "instead of {}; ip link set dev {} mtu {}, if its network carries that",
                            config.ports[port].device, config.ports[port].plane.value, mtus[port], largest, now,
                            possible, config.ports[port].device, largest));
    return lines;
}

std::string joining_offloads(const kernel::probes::offloads &of)
{
    std::string off;
    if (of.large_receive)
        off = "lro off";
    if (of.hardware_generic_receive)
        off += off.empty() ? "rx-gro-hw off" : " rx-gro-hw off";
    return off;
}

void warn_of_settings(const daemon_config &config, const link_monitor &links)
{
    std::vector<std::uint32_t> mtus;
    for (const port_condition &port : links.ports())
        mtus.push_back(port.is_present() ? port.mtu : 0);
    for (const std::string &line : mtu_advice(config, mtus))
        log::warn("{}", line);
    for (const port_options &port : config.ports)
        if (const std::string joining = joining_offloads(kernel::probes::offloads_of(port.device)); !joining.empty())
            log::warn("port {}: the NIC joins packets before XDP sees them, and most drivers refuse native XDP then: "
                      "ethtool -K {} {}",
                      port.device, port.device, joining);
}

std::vector<kernel::port_attachment> attachments(const daemon_config &config, const fabric_rules &rules,
                                                 const link_monitor &links, const port_plan &plan)
{
    std::vector<kernel::port_attachment> all;
    for (std::size_t i = 0; i < config.ports.size(); ++i) {
        const port_options &port = config.ports[i];
        const port_condition &status = links.ports()[i];
        kernel::port_attachment entry{.device = port.device,
                                      .ifindex = static_cast<int>(status.ifindex),
                                      .mode = xdp_mode_of(port),
                                      .multi_buffer = plan.multi_buffer};
        mrc_rx_config &receive = entry.config;
        receive.port = port.plane.value;
        receive.fabric = 1;
        receive.dscp_trimmed = config.wire.dscp.trimmed;
        receive.dscp_trimmed_lasthop = config.wire.dscp.trimmed_lasthop;
        receive.dscp_control = config.wire.dscp.control;
        receive.carrier = rules.carrier_kind();
        receive.block_bytes = rules.block_bytes();
        receive.outer = rules.outer_destination(port.plane);
        for (const mrc_ip &address : rules.addresses_of(rules.self()))
            receive.addresses[receive.address_count++] = address;
        all.push_back(entry);
    }
    return all;
}

} // namespace mrc::service
