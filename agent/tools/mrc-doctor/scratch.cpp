// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/scratch.h"

#include <cstdlib>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>

#include "kernel/netlink.h"
#include "kernel/startup_error.h"

namespace mrc::doctor
{

namespace
{

template <class Value>
std::span<const std::byte> raw(const Value &value)
{
    return std::as_bytes(std::span{&value, 1});
}

std::span<const std::byte> text(std::string_view string)
{
    return std::as_bytes(std::span{string.data(), string.size()});
}

void call(kernel::netlink_request &request, const std::string &what)
{
    kernel::netlink_socket socket;
    if (const auto error = socket.call(request, [](const nlmsghdr &) {}))
        throw kernel::startup_error{what + ": " + error.message()};
}

void bring_up(const std::string &device)
{
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(::if_nametoindex(device.c_str()));
    header.ifi_flags = IFF_UP;
    header.ifi_change = IFF_UP;
    kernel::netlink_request request{RTM_NEWLINK, NLM_F_ACK, header};
    call(request, "cannot bring '" + device + "' up");
}

} // namespace

scratch_network::scratch_network() : before_{::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)}
{
    if (!before_ || ::unshare(CLONE_NEWNET) != 0)
        kernel::fail_startup("cannot make a network namespace");
}

scratch_network::~scratch_network()
{
    if (::setns(before_.get(), CLONE_NEWNET) != 0)
        std::abort(); // what comes next would look at the wrong devices
}

void scratch_network::add_pair(const std::string &near, const std::string &far, std::uint32_t mtu)
{
    const ifinfomsg new_device{};
    kernel::netlink_request request{RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, new_device};
    request.add(IFLA_IFNAME, text(near));
    request.add(IFLA_MTU, raw(mtu));
    auto *link = request.begin_nest(IFLA_LINKINFO);
    request.add(IFLA_INFO_KIND, text("veth"));
    auto *data = request.begin_nest(IFLA_INFO_DATA);
    auto *peer = request.begin_nest(VETH_INFO_PEER, raw(new_device));
    request.add(IFLA_IFNAME, text(far));
    request.add(IFLA_MTU, raw(mtu));
    request.end_nest(peer);
    request.end_nest(data);
    request.end_nest(link);
    call(request, "cannot make a veth pair");
    bring_up(near);
    bring_up(far);
}

} // namespace mrc::doctor
