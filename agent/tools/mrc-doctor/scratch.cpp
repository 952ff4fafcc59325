// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/scratch.h"

#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

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

using bytes = std::vector<std::byte>;

template <class Value>
std::span<const std::byte> raw(const Value &value)
{
    return std::as_bytes(std::span{&value, 1});
}

void put(bytes &to, std::span<const std::byte> value)
{
    to.insert(to.end(), value.begin(), value.end());
    to.resize(RTA_ALIGN(to.size()));
}

void put_attribute(bytes &to, std::uint16_t type, std::span<const std::byte> value)
{
    const rtattr header{.rta_len = static_cast<unsigned short>(sizeof(rtattr) + value.size()), .rta_type = type};
    put(to, raw(header));
    put(to, value);
}

std::span<const std::byte> text(std::string_view words)
{
    return std::as_bytes(std::span{words.data(), words.size()});
}

void call(std::uint16_t flags, const ifinfomsg &header, const std::vector<std::pair<std::uint16_t, bytes>> &attributes,
          const std::string &what)
{
    kernel::netlink_request request{RTM_NEWLINK, static_cast<std::uint16_t>(flags | NLM_F_ACK), raw(header)};
    for (const auto &[type, value] : attributes)
        request.add(type, value);
    kernel::netlink_socket socket;
    if (const auto error = socket.call(request, [](const kernel::netlink_message &) {}))
        throw kernel::startup_error{what + ": " + error.message()};
}

bytes copy_of(std::span<const std::byte> value)
{
    return {value.begin(), value.end()};
}

void bring_up(const std::string &device)
{
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(::if_nametoindex(device.c_str()));
    header.ifi_flags = IFF_UP;
    header.ifi_change = IFF_UP;
    call(0, header, {}, "cannot bring '" + device + "' up");
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
    bytes peer;
    put(peer, raw(ifinfomsg{}));
    put_attribute(peer, IFLA_IFNAME, text(far));
    put_attribute(peer, IFLA_MTU, raw(mtu));
    bytes data;
    put_attribute(data, VETH_INFO_PEER, peer);
    bytes kind;
    put_attribute(kind, IFLA_INFO_KIND, text("veth"));
    put_attribute(kind, IFLA_INFO_DATA, data);
    call(NLM_F_CREATE | NLM_F_EXCL, {},
         {{IFLA_IFNAME, copy_of(text(near))}, {IFLA_MTU, copy_of(raw(mtu))}, {IFLA_LINKINFO, kind}},
         "cannot make a veth pair");
    bring_up(near);
    bring_up(far);
}

} // namespace mrc::doctor
