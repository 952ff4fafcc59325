// SPDX-License-Identifier: Apache-2.0
// What the kernel says of a network device of the calling thread's network namespace. By ioctl and procfs: sysfs shows
// the namespace that it was mounted in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/mac_address.h"

namespace mrc::kernel::probes
{

[[nodiscard]] int ifindex_of(const std::string &device); // 0: no such device
[[nodiscard]] codec::mac_address mac_address_of(const std::string &device);
[[nodiscard]] std::uint32_t mtu_of(const std::string &device);
[[nodiscard]] bool is_running(const std::string &device); // up, with carrier
[[nodiscard]] bool is_bonded(const std::string &device);  // a member of a bond
[[nodiscard]] std::string driver_of(const std::string &device);
[[nodiscard]] std::string bus_of(const std::string &device); // its address there; empty: of none
// Mbit/s; nothing without carrier, and of devices that have none of their own (virtio_net, often).
[[nodiscard]] std::optional<std::uint32_t> link_speed_mbps(const std::string &device);
[[nodiscard]] std::optional<std::uint64_t> transmitted_packets(const std::string &device);
// Packets that one of its transmit rings holds; nothing where the driver does not tell.
[[nodiscard]] std::optional<std::uint32_t> transmit_ring(const std::string &device);

// Receive queues that are in use; 1 where the driver does not tell.
[[nodiscard]] std::uint32_t receive_queues(const std::string &device);
// Of each kind, those that are in use; combined ones receive and transmit.
struct channel_counts {
    std::uint32_t receive = 0;
    std::uint32_t transmit = 0;
    std::uint32_t combined = 0;
    friend bool operator==(const channel_counts &, const channel_counts &) = default;
};
// nullopt where the driver does not tell.
[[nodiscard]] std::optional<channel_counts> channels_of(const std::string &device);
// False: the driver refuses, or the caller may not (CAP_NET_ADMIN); the same below.
[[nodiscard]] bool set_channels(const std::string &device, const channel_counts &counts);
// For each entry of the RSS table, the queue that it sends packets to; empty where the driver has none.
[[nodiscard]] std::vector<std::uint32_t> rss_table(const std::string &device);
// With as many entries.
[[nodiscard]] bool set_rss_table(const std::string &device, std::span<const std::uint32_t> table);

// By its name (ethtool(8), -k); false where the device knows none of that name.
[[nodiscard]] bool has_feature(const std::string &device, std::string_view name);
struct offloads {
    bool transmit_checksum = false;
    bool segmentation = false;
    bool generic_receive = false;
    bool large_receive = false;
    bool hardware_generic_receive = false;
    bool ntuple_filters = false;
};
[[nodiscard]] offloads offloads_of(const std::string &device);
// With it segmentation, which needs it. False: the driver refuses.
[[nodiscard]] bool set_transmit_checksum(const std::string &device, bool on);

} // namespace mrc::kernel::probes
