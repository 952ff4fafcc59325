// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/addresses.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

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

void remove_others(kernel::netlink_socket &socket, std::span<const device_address> wanted)
{
    const auto there = service::read_device_addresses();
    if (!there)
        throw std::system_error{there.error(), "cannot read addresses"};
    for (const device_address &each : *there)
        if (is_of_setup(each.address) && !is_in(wanted, each) &&
            std::ranges::find(wanted, each.device, &device_address::device) != wanted.end())
            (void)change(socket, RTM_DELADDR, each); // it may have gone by itself
}

} // namespace

void put_addresses(std::span<const device_address> wanted)
{
    kernel::netlink_socket socket;
    remove_others(socket, wanted);
    for (const device_address &each : wanted)
        if (const auto error = change(socket, RTM_NEWADDR, each))
            throw std::system_error{error,
                                    fmt::format("cannot put {} on {}", service::to_text(each.address), each.device)};
}

void await_addresses(std::span<const device_address> wanted)
{
    kernel::netlink_socket socket;
    const auto end = std::chrono::steady_clock::now() + longest_check;
    for (;;) {
        const checks found = check_on(socket, wanted);
        if (!found.taken.empty()) {
            for (const device_address &each : wanted)
                (void)change(socket, RTM_DELADDR, each);
            throw std::runtime_error{found.taken};
        }
        if (!found.are_pending || std::chrono::steady_clock::now() > end)
            return;
        std::this_thread::sleep_for(between_looks);
    }
}

} // namespace mrc::setup
