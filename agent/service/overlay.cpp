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
    auto overlay = std::make_unique<kernel::tap_device>(
        kernel::tap_options{.name = "mrcnet%d", .segmentation_offload = true, .up = false});
    overlay->set_no_arp();
    overlay->set_mtu(mtus_of(links.ports()).smallest - outer_header);
    if (const auto address4 = rules.address4_of(rules.self()))
        overlay->set_ipv4_address(*address4);
    overlay->bring_up();
    overlay->add_address(rules.address_of(rules.self()), common_prefix);
    for (std::uint8_t plane = 0; plane < rules.planes(); ++plane)
        overlay->add_address(rules.address_of(rules.self(), protocol::plane_index{plane}), common_prefix);
    overlay->add_route(config.fabric.address_prefix.address, config.fabric.address_prefix.length);
    if (const auto &prefix = config.fabric.ipv4_prefix) {
        overlay->add_ipv4_route(prefix->address, prefix->length - mapped_bits);
        warn_of_return_path_filters(config.ports);
    }
    return overlay;
}

} // namespace mrc::service
