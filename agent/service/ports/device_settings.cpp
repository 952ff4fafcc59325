// SPDX-License-Identifier: Apache-2.0
#include "service/ports/device_settings.h"

#include "kernel/probes/device.h"

namespace mrc::service
{

std::string_view name_of(device_setting what)
{
    switch (what) {
    case device_setting::rss_table:
        return "table";
    case device_setting::channels:
        return "channels";
    case device_setting::transmit_checksum:
        return "checksum";
    }
    return {};
}

int device_settings::ifindex_of(const std::string &device) const
{
    return kernel::probes::ifindex_of(device);
}

std::string device_settings::driver_of(const std::string &device) const
{
    return kernel::probes::driver_of(device);
}

std::uint32_t device_settings::receive_queues(const std::string &device) const
{
    return kernel::probes::receive_queues(device);
}

std::vector<std::uint32_t> device_settings::values_of(device_setting what, const std::string &device) const
{
    switch (what) {
    case device_setting::rss_table:
        return kernel::probes::rss_table(device);
    case device_setting::channels:
        if (const auto counts = kernel::probes::channels_of(device))
            return {counts->receive, counts->transmit, counts->combined};
        return {};
    case device_setting::transmit_checksum:
        return {kernel::probes::offloads_of(device).transmit_checksum ? 1U : 0U};
    }
    return {};
}

bool device_settings::set(device_setting what, const std::string &device, std::span<const std::uint32_t> values)
{
    switch (what) {
    case device_setting::rss_table:
        return kernel::probes::set_rss_table(device, values);
    case device_setting::channels:
        return kernel::probes::set_channels(device,
                                            {.receive = values[0], .transmit = values[1], .combined = values[2]});
    case device_setting::transmit_checksum:
        return kernel::probes::set_transmit_checksum(device, values[0] != 0);
    }
    return false;
}

} // namespace mrc::service
