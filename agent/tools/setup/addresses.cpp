// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/addresses.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <linux/if_addr.h>

#include "kernel/netlink.h"
#include "kernel/probes/device.h"
#include "service/ports/rtnetlink_records.h"
#include "tools/setup/identity.h"

namespace mrc::setup
{

namespace
{

using service::device_address;

constexpr std::chrono::seconds longest_check{10};
constexpr std::chrono::milliseconds between_looks{50};
constexpr unsigned most_dumps = 10;

std::error_code change(kernel::netlink_socket &socket, std::uint16_t type, const device_address &of)
{
    ifaddrmsg header{};
    header.ifa_family = AF_INET6;
    header.ifa_prefixlen = plane_prefix_bits;
    header.ifa_index = static_cast<std::uint32_t>(kernel::probes::ifindex_of(of.device));
    const unsigned flags = type == RTM_NEWADDR ? NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE : NLM_F_ACK;
    kernel::netlink_request request{type, flags, header};
    request.add(IFA_LOCAL, std::as_bytes(std::span{of.address.bytes}));
    return socket.call(request, [](const nlmsghdr &) {});
}

bool is_in(std::span<const device_address> all, const device_address &one)
{
    return std::ranges::any_of(all, [&](const device_address &each) {
        return each.device == one.device && service::is_same(each.address, one.address);
    });
}

// The kernel's IFA_F_* of those that are wanted and there.
struct checks {
    bool are_pending = false;
    std::string taken; // the one that somebody else has
};

checks check_on(kernel::netlink_socket &socket, std::span<const device_address> wanted)
{
    checks found;
    kernel::netlink_request request{RTM_GETADDR, NLM_F_DUMP, ifaddrmsg{}};
    const auto error = socket.call(request, [&](const nlmsghdr &message) {
        const auto address = service::parse_address(message);
        if (!address || !is_in(wanted, *address))
            return;
        const unsigned flags = kernel::header_of<ifaddrmsg>(message)->ifa_flags;
        if ((flags & IFA_F_DADFAILED) != 0)
            found.taken = fmt::format("{} is another's on the network of {}", service::to_text(address->address),
                                      address->device);
        else if ((flags & IFA_F_TENTATIVE) != 0)
            found.are_pending = true;
    });
    if (error && error != std::errc::interrupted)
        throw std::system_error{error, "cannot read addresses"};
    found.are_pending = found.are_pending || error == std::errc::interrupted;
    return found;
}

std::vector<device_address> addresses_there()
{
    auto there = service::read_device_addresses();
    // Addresses come and go on a host on which containers start: what was read then is not all of it.
    for (unsigned again = 0; !there && there.error() == std::errc::interrupted && again < most_dumps; ++again)
        there = service::read_device_addresses();
    if (!there)
        throw std::system_error{there.error(), "cannot read addresses"};
    return std::move(*there);
}

// Without it the kernel drops IPv6 addresses of a device that is set down, and a plane with them. Where it cannot be
// set they come back with the next restart of the unit.
void keep_while_down(const std::string &device)
{
    std::ofstream{fmt::format("/proc/sys/net/ipv6/conf/{}/keep_addr_on_down", device)} << "1\n";
}

} // namespace

std::vector<device_address> put_addresses(std::span<const device_address> wanted)
{
    const std::vector<device_address> before = addresses_there();
    kernel::netlink_socket socket;
    std::vector<device_address> added;
    for (const device_address &each : wanted) {
        keep_while_down(each.device);
        if (const auto error = change(socket, RTM_NEWADDR, each)) {
            take_off(added);
            throw std::system_error{error,
                                    fmt::format("cannot put {} on {}", service::to_text(each.address), each.device)};
        }
        if (!is_in(before, each))
            added.push_back(each);
    }
    return added;
}

void take_off(std::span<const device_address> addresses)
{
    kernel::netlink_socket socket;
    for (const device_address &each : addresses)
        (void)change(socket, RTM_DELADDR, each);
}

void remove_others(std::span<const device_address> wanted)
{
    std::vector<device_address> others = addresses_there();
    std::erase_if(others, [&](const device_address &each) {
        return !is_of_setup(each.address) || is_in(wanted, each) ||
               std::ranges::find(wanted, each.device, &device_address::device) == wanted.end();
    });
    take_off(others);
}

void await_addresses(std::span<const device_address> wanted)
{
    kernel::netlink_socket socket;
    const auto end = std::chrono::steady_clock::now() + longest_check;
    for (;;) {
        const checks found = check_on(socket, wanted);
        if (!found.taken.empty())
            throw std::runtime_error{found.taken};
        if (!found.are_pending || std::chrono::steady_clock::now() > end)
            return;
        std::this_thread::sleep_for(between_looks);
    }
}

} // namespace mrc::setup
