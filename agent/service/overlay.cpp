// SPDX-License-Identifier: Apache-2.0
#include "service/overlay.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "service/log.h"
#include "service/ports/port_plan.h"

namespace mrc::service
{

namespace
{

constexpr unsigned int common_prefix = 128;
constexpr unsigned int outer_header = 40;
constexpr unsigned int mapped_bits = 96; // in front of an IPv4 address in an mrc_ip

// 0 where the kernel has no such device: IPv4 is not built in.
int return_path_filter(const std::string &device)
{
    int mode = 0;
    std::ifstream{"/proc/sys/net/ipv4/conf/" + device + "/rp_filter"} >> mode;
    return mode;
}

// The way back to a sender is the overlay, not the port that its packets arrive on.
void warn_of_return_path_filters(const std::vector<port_options> &ports)
{
    const int everywhere = return_path_filter("all");
    for (const port_options &port : ports)
        if (everywhere != 0 || return_path_filter(port.device) != 0)
            log::warn("the kernel drops IPv4 of ordinary sockets on port {}: net.ipv4.conf.{}.rp_filter must be 0",
                      port.device, everywhere != 0 ? "all" : port.device);
}

} // namespace

std::unique_ptr<kernel::tap_device> create_overlay(const daemon_config &config, const fabric_rules &rules,
                                                   const link_monitor &links)
{
    const std::vector<ip_prefix> routes = rules.overlay_routes();
    if (routes.empty())
        return nullptr;
    auto overlay = std::make_unique<kernel::tap_device>(
        kernel::tap_options{.name = "mrcnet%d", .segmentation_offload = true, .up = false});
    overlay->set_no_arp();
    overlay->set_mtu(mtus_of(links.ports()).smallest - outer_header);
    if (const auto address4 = rules.address4_of(rules.self()))
        overlay->set_ipv4_address(*address4);
    overlay->bring_up();
    overlay->add_address(rules.address_of(rules.self()), common_prefix);
    if (rules.carrier_kind() == MRC_CARRIER_SRV6) // else the ports have them
        for (std::uint8_t plane = 0; plane < rules.planes(); ++plane)
            if (const auto address = rules.address_of(rules.self(), protocol::plane_index{plane}))
                overlay->add_address(*address, common_prefix);
    for (const ip_prefix &route : routes) {
        if (!is_ipv4(route.address)) {
            overlay->add_route(route.address, route.length);
            continue;
        }
        overlay->add_ipv4_route(route.address, route.length - mapped_bits);
        warn_of_return_path_filters(config.ports);
    }
    return overlay;
}

} // namespace mrc::service
