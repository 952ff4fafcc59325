// SPDX-License-Identifier: Apache-2.0
// Settings of network devices that mrcd may change while it runs, each a list of numbers, whatever the call of
// ethtool(8) is that has them (kernel/probes/device.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mrc::service
{

enum class device_setting : std::uint8_t {
    rss_table,         // the receive queue of each entry (ethtool -X)
    channels,          // of receive, of transmit, combined (ethtool -L)
    transmit_checksum, // 1: checksums are left to the device, and segmentation where it has that (ethtool -K tx)
};
inline constexpr device_setting all_device_settings[] = {device_setting::rss_table, device_setting::channels,
                                                         device_setting::transmit_checksum};
[[nodiscard]] std::string_view name_of(device_setting what);

// Tests have devices that no driver at hand has.
class device_settings
{
public:
    device_settings() = default;
    device_settings(const device_settings &) = delete;
    device_settings &operator=(const device_settings &) = delete;
    virtual ~device_settings() = default;

    [[nodiscard]] virtual int ifindex_of(const std::string &device) const; // 0: it is not there
    [[nodiscard]] virtual std::string driver_of(const std::string &device) const;
    [[nodiscard]] virtual std::uint32_t receive_queues(const std::string &device) const;
    // Empty: the device has none, or does not tell.
    [[nodiscard]] virtual std::vector<std::uint32_t> values_of(device_setting what, const std::string &device) const;
    // As many as values_of() has. False: the driver refuses.
    [[nodiscard]] virtual bool set(device_setting what, const std::string &device,
                                   std::span<const std::uint32_t> values);
};

} // namespace mrc::service
