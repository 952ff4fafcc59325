// SPDX-License-Identifier: Apache-2.0
#include "service/ports/nic_drivers.h"

#include <algorithm>
#include <iterator>

#include "service/ports/port_plan.h"

namespace mrc::service
{

namespace
{

constexpr nic_driver drivers[] = {
    {.name = "mlx5_core", .single_buffer_mtu = 3498, .several_buffers = true, .own_queue_only = true},
    {.name = "ice", .single_buffer_mtu = 3046, .several_buffers = true},
    {.name = "ixgbe", .single_buffer_mtu = 3050},
    {.name = "i40e", .single_buffer_mtu = 3046, .several_buffers = true, .own_queue_only = true},
    {.name = "bnxt_en", .single_buffer_mtu = 3502, .several_buffers = true},
    {.name = "ena", .single_buffer_mtu = 3498},
    {.name = "gve", .single_buffer_mtu = 2032, .headroom = false},
    {.name = "virtio_net", .single_buffer_mtu = 3506, .several_buffers = true},
    {.name = "hv_netvsc", .single_buffer_mtu = 3506},
    {.name = "veth", .single_buffer_mtu = 3506, .several_buffers = true, .returns_frames = true},
};

} // namespace

const nic_driver *find_nic_driver(std::string_view name)
{
    const auto *const found = std::ranges::find(drivers, name, &nic_driver::name);
    return found == std::end(drivers) ? nullptr : found;
}

bool has_headroom(std::string_view driver)
{
    const nic_driver *const known = find_nic_driver(driver);
    return known == nullptr || known->headroom;
}

bool returns_frames(std::string_view driver)
{
    const nic_driver *const known = find_nic_driver(driver);
    return known != nullptr && known->returns_frames;
}

std::uint32_t largest_single_buffer_mtu(std::string_view driver)
{
    const nic_driver *const known = find_nic_driver(driver);
    return known == nullptr ? single_buffer_mtu : std::min(single_buffer_mtu, known->single_buffer_mtu);
}

bool refuses_mtu(std::string_view driver, std::uint32_t mtu, bool several_buffers)
{
    const nic_driver *const known = find_nic_driver(driver);
    return known != nullptr && mtu > known->single_buffer_mtu && !(several_buffers && known->several_buffers);
}

} // namespace mrc::service
