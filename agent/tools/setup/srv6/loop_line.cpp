// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/srv6/loop_line.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "kernel/probes/device.h"
#include "mrc/abi/wire.h"
#include "service/fabric_map/loop_frame.h"
#include "service/ports/gateway_solicitor.h"

namespace mrc::setup
{

namespace
{

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_calls{100}; // for routers

[[noreturn]] void fail(const std::string &what)
{
    throw std::system_error{errno, std::generic_category(), what};
}

sockaddr_ll address_on(std::uint32_t ifindex)
{
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_IPV6);
    address.sll_ifindex = static_cast<int>(ifindex);
    return address;
}

// The sender's MAC address, if the frame is a router's answer to router_call.
std::optional<service::mac_address> router_of(std::span<const std::byte> frame)
{
    struct {
        ether_header ethernet;
        ip6_hdr ip;
        icmp6_hdr icmp;
    } __attribute__((packed)) answer{};
    if (frame.size() < sizeof answer)
        return std::nullopt;
    std::memcpy(&answer, frame.data(), sizeof answer);
    const in6_addr from = answer.ip.ip6_src;
    if (answer.ip.ip6_nxt != IPPROTO_ICMPV6 || answer.icmp.icmp6_type != ICMP6_ECHO_REPLY ||
        answer.icmp.icmp6_id != service::router_call::id || IN6_IS_ADDR_LINKLOCAL(&from) == 0)
        return std::nullopt;
    return std::to_array(answer.ethernet.ether_shost);
}

} // namespace

loop_line::loop_line(const std::vector<std::string> &devices)
{
    if (::getrandom(&cookie_, sizeof cookie_, 0) != sizeof cookie_)
        fail("the kernel gives no random number");
    for (const std::string &device : devices) {
        line_port port{.device = device,
                       .ifindex = static_cast<std::uint32_t>(kernel::probes::ifindex_of(device)),
                       .own = {},
                       .socket = kernel::unique_fd{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)},
                       .routers = {}};
        sockaddr_ll own = address_on(port.ifindex);
        socklen_t size = sizeof own;
        if (!port.socket || ::bind(port.socket.get(), reinterpret_cast<const sockaddr *>(&own), sizeof own) != 0 ||
            ::getsockname(port.socket.get(), reinterpret_cast<sockaddr *>(&own), &size) != 0)
            fail("cannot open a packet socket on " + device);
        std::copy_n(std::begin(own.sll_addr), port.own.size(), port.own.begin());
        ports_.push_back(std::move(port));
    }
}

std::vector<std::string> loop_line::find_routers(std::chrono::milliseconds longest)
{
    const service::router_call call;
    const auto end = clock::now() + longest;
    const auto has_none = [](const line_port &port) { return port.routers.empty(); };
    while (std::ranges::any_of(ports_, has_none) && clock::now() < end) {
        for (const line_port &port : ports_)
            if (port.routers.empty())
                call.send(port.ifindex);
        for (const auto until = clock::now() + between_calls; await(until);)
            for (line_port &port : ports_)
                receive(port, [&](std::span<const std::byte> frame) {
                    if (const auto mac = router_of(frame);
                        mac && std::ranges::find(port.routers, *mac) == port.routers.end())
                        port.routers.push_back(*mac);
                });
    }
    std::vector<std::string> lacking;
    for (const line_port &port : ports_)
        if (port.routers.empty())
            lacking.push_back(
                fmt::format("{}: no router answers on its link (an echo request to ff02::2)", port.device));
        else if (port.routers.size() > 1)
            lacking.push_back(fmt::format("{}: {} routers answer on its link, and a leaf is the only one", port.device,
                                          port.routers.size()));
    return lacking;
}

std::vector<bool> loop_line::ask(std::span<const loop_question> loops)
{
    const std::uint32_t first = next_number_;
    for (const loop_question &loop : loops)
        send(loop, next_number_++);
    std::vector<bool> answered(loops.size());
    std::size_t missing = loops.size();
    for (const auto until = clock::now() + patience; missing > 0 && await(until);)
        for (std::size_t port = 0; port < ports_.size(); ++port)
            receive(ports_[port], [&](std::span<const std::byte> bytes) {
                service::loop_frame frame{};
                if (bytes.size() < sizeof frame)
                    return;
                std::memcpy(&frame, bytes.data(), sizeof frame);
                const std::uint32_t at = frame.loop.number - first;
                if (!service::is_loop(frame) || frame.loop.cookie != cookie_ || at >= loops.size() || answered[at] ||
                    loops[at].port != port)
                    return;
                answered[at] = true;
                --missing;
            });
    return answered;
}

void loop_line::send(const loop_question &loop, std::uint32_t number) const
{
    const line_port &port = ports_[loop.port];
    if (port.routers.empty())
        return;
    service::loop_frame frame = service::make_loop_frame(loop.carrier, loop.source, MRC_DSCP_CONTROL);
    std::ranges::copy(port.routers.front(), std::begin(frame.ethernet.ether_dhost));
    std::ranges::copy(port.own, std::begin(frame.ethernet.ether_shost));
    frame.loop.cookie = cookie_;
    frame.loop.number = number;
    (void)::send(port.socket.get(), &frame, sizeof frame, 0); // what the port cannot take now does not come back
}

void loop_line::receive(const line_port &port, const std::function<void(std::span<const std::byte>)> &handler) const
{
    std::array<std::byte, 256> frame{};
    sockaddr_ll from{};
    socklen_t size = sizeof from;
    for (ssize_t got = 0; (got = ::recvfrom(port.socket.get(), frame.data(), frame.size(), 0,
                                            reinterpret_cast<sockaddr *>(&from), &size)) >= 0;)
        if (from.sll_pkttype != PACKET_OUTGOING)
            handler(std::span{frame}.first(static_cast<std::size_t>(got)));
}

bool loop_line::await(clock::time_point until) const
{
    std::vector<pollfd> waiting;
    waiting.reserve(ports_.size());
    for (const line_port &port : ports_)
        waiting.push_back({.fd = port.socket.get(), .events = POLLIN, .revents = 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now());
    return left.count() > 0 && ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) > 0;
}

} // namespace mrc::setup
