// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/ports.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <net/if_arp.h>

#include "kernel/netlink.h"
#include "kernel/probes/device.h"
#include "kernel/probes/libbpf_warnings.h"
#include "service/config/config.h"
#include "tools/mrc-doctor/ports.h"
#include "tools/mrc-doctor/report.h"

namespace mrc::setup
{

namespace
{

std::string text_of(std::span<const std::byte> value)
{
    const std::string text{reinterpret_cast<const char *>(value.data()), value.size()};
    return text.substr(0, text.find('\0'));
}

// Inside of IFLA_LINKINFO, which holds attributes itself.
std::string kind_in(std::span<const std::byte> info)
{
    const auto *attribute = reinterpret_cast<const nlattr *>(info.data());
    auto left = static_cast<int>(info.size());
    for (; mnl_attr_ok(attribute, left); attribute = mnl_attr_next(attribute)) {
        if (mnl_attr_get_type(attribute) == IFLA_INFO_KIND)
            return text_of(
                {static_cast<const std::byte *>(mnl_attr_get_payload(attribute)), mnl_attr_get_payload_len(attribute)});
        left -= MNL_ALIGN(mnl_attr_get_len(attribute));
    }
    return {};
}

constexpr unsigned most_reads = 10;

// Hands on the messages of a dump that nothing has changed under: on a host on which containers start, devices come and
// go.
template <class Header>
void dump(std::uint16_t type, const Header &header, const kernel::netlink_handler &handler)
{
    std::vector<std::vector<std::byte>> messages;
    std::error_code error = std::make_error_code(std::errc::interrupted);
    for (unsigned tried = 0; error == std::errc::interrupted && tried < most_reads; ++tried) {
        messages.clear();
        kernel::netlink_socket socket;
        kernel::netlink_request request{type, NLM_F_DUMP, header};
        error = socket.call(request, [&](const nlmsghdr &message) {
            const auto bytes = std::as_bytes(std::span{reinterpret_cast<const char *>(&message), message.nlmsg_len});
            messages.emplace_back(bytes.begin(), bytes.end());
        });
    }
    if (error)
        throw std::system_error{error, "cannot list the network devices"};
    for (const std::vector<std::byte> &message : messages)
        handler(*reinterpret_cast<const nlmsghdr *>(message.data()));
}

// Devices that a route leads to: one, or that of each next hop.
std::vector<unsigned> devices_of(std::uint16_t type, std::span<const std::byte> value)
{
    std::vector<unsigned> found;
    if (unsigned ifindex = 0; type == RTA_OIF && value.size() == sizeof ifindex) {
        std::memcpy(&ifindex, value.data(), sizeof ifindex);
        found.push_back(ifindex);
    }
    if (type == RTA_MULTIPATH) {
        auto left = static_cast<int>(value.size());
        const auto *hop = reinterpret_cast<const rtnexthop *>(value.data());
        for (; RTNH_OK(hop, left); left -= static_cast<int>(NLMSG_ALIGN(hop->rtnh_len)), hop = RTNH_NEXT(hop))
            found.push_back(static_cast<unsigned>(hop->rtnh_ifindex));
    }
    return found;
}

std::set<std::string> with_default_route()
{
    std::set<std::string> devices;
    for (const unsigned char family : std::array<unsigned char, 2>{AF_INET, AF_INET6}) {
        rtmsg wanted{};
        wanted.rtm_family = family;
        dump(RTM_GETROUTE, wanted, [&](const nlmsghdr &message) {
            const auto *route = kernel::header_of<rtmsg>(message);
            if (route == nullptr || route->rtm_dst_len != 0 || route->rtm_type != RTN_UNICAST)
                return;
            kernel::for_each_attribute(message, sizeof *route,
                                       [&](std::uint16_t type, std::span<const std::byte> value) {
                                           std::array<char, IF_NAMESIZE> name{};
                                           for (const unsigned ifindex : devices_of(type, value))
                                               if (::if_indextoname(ifindex, name.data()) != nullptr)
                                                   devices.insert(name.data());
                                       });
        });
    }
    return devices;
}

// Why a device that is Ethernet with carrier is no port unless somebody names it; empty: it is one.
std::string why_not(const network_device &device)
{
    if (!device.kind.empty() && device.kind != "veth")
        return fmt::format("it is of the kind '{}'", device.kind);
    if (device.has_default_route)
        return "it has the default route";
    return {};
}

// Why it can be no port at all; empty: it can.
std::string why_never(const network_device &device)
{
    if (!device.is_ethernet)
        return "it is no Ethernet device";
    if (device.is_member)
        return "it belongs to a bridge or a bond, whose packets mrcd would take";
    if (device.kind == "bond" || device.kind == "team")
        return "it is a bond, in which a hash chooses the cable of each packet: take its members, each on a plane";
    if (!device.has_carrier)
        return fmt::format("it is down, or has no carrier: check its cable, and ip link set dev {} up", device.name);
    return {};
}

port_choice take_named(const std::vector<network_device> &devices, const std::vector<std::string> &named)
{
    port_choice chosen;
    for (const std::string &name : named) {
        const auto device = std::ranges::find(devices, name, &network_device::name);
        if (device == devices.end()) {
            std::vector<std::string> names;
            std::ranges::transform(devices, std::back_inserter(names), &network_device::name);
            throw std::runtime_error{
                fmt::format("--ports: there is no device '{}' here, but {}", name, fmt::join(names, ", "))};
        }
        if (const std::string reason = why_never(*device); !reason.empty())
            throw std::runtime_error{fmt::format("--ports: {} can be no port: {}", name, reason)};
        if (std::ranges::find(chosen.ports, name) != chosen.ports.end())
            throw std::runtime_error{fmt::format("--ports: {} stands there twice", name)};
        chosen.ports.push_back(name);
    }
    return chosen;
}

port_choice take_likely(const std::vector<network_device> &devices)
{
    port_choice chosen;
    for (const network_device &device : devices) {
        if (!device.is_ethernet || device.is_member)
            continue;
        if (const std::string reason = why_not(device); !reason.empty())
            chosen.left_out.push_back(
                fmt::format("{} is left out: {}; --ports names it all the same", device.name, reason));
        else if (!device.has_carrier)
            chosen.left_out.push_back(fmt::format("{} is left out: {}", device.name, why_never(device)));
        else
            chosen.ports.push_back(device.name);
    }
    return chosen;
}

} // namespace

std::vector<network_device> network_devices()
{
    const std::set<std::string> routed = with_default_route();
    std::vector<network_device> devices;
    dump(RTM_GETLINK, ifinfomsg{}, [&](const nlmsghdr &message) {
        const auto *header = kernel::header_of<ifinfomsg>(message);
        if (header == nullptr || (header->ifi_flags & IFF_LOOPBACK) != 0)
            return;
        // IFF_RUNNING comes up to a second later (Documentation/networking/operstates.rst).
        constexpr unsigned lower_up = 1U << 16; // IFF_LOWER_UP, which <net/if.h> lacks
        constexpr unsigned carried = IFF_UP | lower_up;
        network_device found;
        found.is_ethernet = header->ifi_type == ARPHRD_ETHER;
        found.has_carrier = (header->ifi_flags & carried) == carried;
        kernel::for_each_attribute(message, sizeof *header, [&](std::uint16_t type, std::span<const std::byte> value) {
            if (type == IFLA_IFNAME)
                found.name = text_of(value);
            else if (type == IFLA_LINKINFO)
                found.kind = kind_in(value);
            else if (type == IFLA_MASTER)
                found.is_member = true;
        });
        found.has_default_route = routed.contains(found.name);
        devices.push_back(std::move(found));
    });
    std::ranges::sort(devices, [](const network_device &a, const network_device &b) {
        return ::strverscmp(a.name.c_str(), b.name.c_str()) < 0;
    });
    return devices;
}

port_choice choose_ports(const std::vector<network_device> &devices, const std::vector<std::string> &named)
{
    port_choice chosen = named.empty() ? take_likely(devices) : take_named(devices, named);
    if (chosen.ports.empty())
        throw std::runtime_error{
            fmt::format("no device here can be a port: {}", chosen.left_out.empty()
                                                                ? "there is no Ethernet device of its own"
                                                                : fmt::format("{}", fmt::join(chosen.left_out, "; ")))};
    if (chosen.ports.size() > MRC_MAX_PORTS)
        throw std::runtime_error{fmt::format("{} devices could be ports, {}; at most {} are allowed: choose by --ports",
                                             chosen.ports.size(), fmt::join(chosen.ports, ", "), MRC_MAX_PORTS)};
    return chosen;
}

std::vector<port_facts> examine(const std::vector<std::string> &ports)
{
    service::daemon_config config;
    config.fabric.mode = service::fabric_mode::direct;
    for (const std::string &device : ports) {
        service::port_options port;
        port.device = device;
        config.ports.push_back(std::move(port));
    }
    const kernel::probes::libbpf_warnings quiet;
    doctor::report found;
    doctor::examine_ports(config, found);
    std::vector<port_facts> facts;
    for (const std::string &device : ports) {
        port_facts port{.device = device,
                        .driver = kernel::probes::driver_of(device),
                        .speed_mbps = kernel::probes::link_speed_mbps(device),
                        .mtu = kernel::probes::mtu_of(device),
                        .xdp = {},
                        .transmit = {},
                        .lacking = {}};
        if (const auto modes = std::ranges::find(found.modes, device, &doctor::chosen_modes::port);
            modes != found.modes.end()) {
            port.xdp = modes->xdp;
            port.transmit = modes->transmit;
        }
        for (const doctor::finding &each : found.findings)
            if (each.on == device && each.result == doctor::state::broken)
                port.lacking.push_back(fmt::format("{}: {}; {}{}{}", device, each.found, each.cost,
                                                   each.remedy.empty() ? "" : ": ", each.remedy));
        facts.push_back(std::move(port));
    }
    return facts;
}

} // namespace mrc::setup
