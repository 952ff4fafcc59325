// SPDX-License-Identifier: Apache-2.0
// What follows from the ports' MTU and the configuration, before anything is tried or loaded.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/host_programs.h"
#include "kernel/probes/device.h"
#include "service/config/config.h"
#include "service/fabric_rules.h"
#include "service/ports/link_monitor.h"

namespace mrc::service
{

inline constexpr std::uint32_t live_frame_payload = 3072; // fits one live frame with all headers
// Bytes of a packet beside its payload, from the IP header on: the outer one, where packets have one.
[[nodiscard]] std::uint32_t packet_overhead(fabric_mode mode);
// A page less XDP headroom and skb_shared_info is 3,506 on x86-64.
inline constexpr std::uint32_t single_buffer_mtu = 3400;

// Payload as configured, else the largest that peers take and that fits an MTU and one live frame.
[[nodiscard]] std::uint32_t payload_of(const daemon_config &config, std::uint32_t mtu);
// Why mrcd does not run with a port of this MTU. Empty: it does.
[[nodiscard]] std::string mtu_refusal(const daemon_config &config, std::uint32_t mtu);

struct mtu_range { // of the ports
    std::uint32_t smallest = 0;
    std::uint32_t largest = 0;

    // Whether frames may be longer than one XDP buffer.
    [[nodiscard]] bool needs_several_buffers() const { return largest > single_buffer_mtu; }
};

struct port_plan {
    std::uint32_t payload_bytes = 0; // of one packet
    bool multi_buffer = false;       // frames may be longer than one XDP buffer
    engine_kind engine = engine_kind::automatic;

    // Whether packets themselves are longer than one XDP buffer.
    [[nodiscard]] bool requires_several_buffers() const { return payload_bytes > live_frame_payload; }
};

// The plan, or why mrcd does not run with this configuration on ports of these MTUs.
[[nodiscard]] std::expected<port_plan, std::string> make_plan(const daemon_config &config, mtu_range mtus);
// The same for ports as the kernel has them. Throws startup_error.
[[nodiscard]] port_plan plan_ports(const daemon_config &config, const link_monitor &links);

// Why mrcd does not run with such a device as a port: bonds and their members, where a hash chooses the cable that a
// packet takes, and not its path. Empty: it does. `driver` as ethtool -i has it.
[[nodiscard]] std::string bond_refusal(std::string_view device, std::string_view driver, bool is_bonded);

// Those that a direct fabric lists; an SRv6 one lists none.
[[nodiscard]] std::span<const host_entry> listed_hosts(const daemon_config &config);

// Reads the state of the ports for the first time. Throws startup_error when none of the devices exists: without a port
// nothing tells how long packets may be. One that is missing is taken in when it appears (host_ports.h). And when one
// is a bond, or in a bond.
void require_ports(const daemon_config &config, link_monitor &links);

// What host_rx of each port is told.
[[nodiscard]] std::vector<kernel::port_attachment> attachments(const daemon_config &config, const fabric_rules &rules,
                                                               const link_monitor &links, const port_plan &plan);

// Of the ports that are there.
[[nodiscard]] mtu_range mtus_of(std::span<const port_condition> ports);

// What makes every packet smaller than most ports would have it: for each port that does, a line with the command that
// mends it. `mtus` are those of the configuration's ports, 0 where one is not there. Of a configured payload nothing.
[[nodiscard]] std::vector<std::string> mtu_advice(const daemon_config &config, std::span<const std::uint32_t> mtus);
// What has a NIC join packets before XDP sees them, as ethtool -K switches it off: "lro off rx-gro-hw off". Empty:
// nothing.
[[nodiscard]] std::string joining_offloads(const kernel::probes::offloads &of);
// Both for the log, before ports are tried.
void warn_of_settings(const daemon_config &config, const link_monitor &links);

// As configured; for `auto` generic where the driver has no headroom (nic_drivers.h).
[[nodiscard]] kernel::xdp_mode xdp_mode_of(attach_mode mode, std::string_view driver);
[[nodiscard]] kernel::xdp_mode xdp_mode_of(const port_options &port);

} // namespace mrc::service
