// SPDX-License-Identifier: Apache-2.0
// What the native XDP of some drivers can do, as their source says (docs/nics.md has files and functions): nothing of
// it is tried, and some could be by nothing but a packet from the wire.
#pragma once

#include <cstdint>
#include <string_view>

namespace mrc::service
{

struct nic_driver {
    std::string_view name;           // as ethtool -i has it
    std::uint32_t single_buffer_mtu; // the largest, bytes, for programs that take packets of one buffer
    bool several_buffers = false;
    bool headroom = true;        // in front of packets, for what host_rx writes there (bpf_xdp_adjust_head)
    bool own_queue_only = false; // loses frames redirected on a CPU whose number is no queue's
    bool returns_frames = false; // redirected ones at once: no transmit ring holds them
};

// Null: nothing is known of it.
[[nodiscard]] const nic_driver *find_nic_driver(std::string_view name);

// Whether a driver's own XDP has that room. Those that nothing is known of are taken to have it.
[[nodiscard]] bool has_headroom(std::string_view driver);

// Whether frames that are redirected into such a device are given back within microseconds. Of others they come back
// when the NIC has sent them, or with a later call (docs/nics.md). Drivers that nothing is known of do not.
[[nodiscard]] bool returns_frames(std::string_view driver);

// The largest MTU at which mrcd gets native XDP with packets of one buffer: what the driver takes, at most
// single_buffer_mtu.
[[nodiscard]] std::uint32_t largest_single_buffer_mtu(std::string_view driver);

// Is that known to refuse native XDP at this MTU to programs that take packets of one buffer, or of several?
[[nodiscard]] bool refuses_mtu(std::string_view driver, std::uint32_t mtu, bool several_buffers);

} // namespace mrc::service
