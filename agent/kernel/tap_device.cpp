// SPDX-License-Identifier: Apache-2.0
#include "kernel/tap_device.h"

#include <cstring>

#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "codec/ip_layout.h"
#include "kernel/startup_error.h"

namespace mrc::kernel
{

namespace
{

ifreq request_for(const std::string &name)
{
    ifreq request{};
    if (name.size() >= sizeof(request.ifr_name))
        throw startup_error{"device name '" + name + "' is longer than 15 characters"};
    std::memcpy(request.ifr_name, name.c_str(), name.size());
    return request;
}

constexpr unsigned int ipv4_bits = 32;

sockaddr_in ipv4_socket_address(const mrc_ip &mapped)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    std::memcpy(&address.sin_addr, mapped.bytes + codec::ipv4_mapped_prefix_bytes, sizeof(address.sin_addr));
    return address;
}

sockaddr_in ipv4_netmask(unsigned int prefix_length)
{
    sockaddr_in mask{};
    mask.sin_family = AF_INET;
    mask.sin_addr.s_addr = htonl(~std::uint32_t{0} << (ipv4_bits - prefix_length));
    return mask;
}

void put(sockaddr &to, const sockaddr_in &address)
{
    static_assert(sizeof(to) == sizeof(address));
    std::memcpy(&to, &address, sizeof(to));
}

unique_fd ioctl_socket(int family)
{
    unique_fd fd{::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (!fd)
        fail_startup("cannot open a socket for device settings");
    return fd;
}

} // namespace

tap_device::tap_device(const tap_options &options) : fd_{::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK)}
{
    if (!fd_)
        fail_startup("cannot open /dev/net/tun (is the tun module there, and CAP_NET_ADMIN?)");
    ifreq request = request_for(options.name);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (options.segmentation_offload)
        request.ifr_flags |= IFF_VNET_HDR;
    if (::ioctl(fd_.get(), TUNSETIFF, &request) != 0)
        fail_startup("cannot create TAP device '" + options.name + "'");
    name_ = request.ifr_name;
    ifindex_ = static_cast<int>(::if_nametoindex(name_.c_str()));
    if (options.segmentation_offload && ::ioctl(fd_.get(), TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0)
        fail_startup("cannot offer segmentation offload on '" + name_ + "'");
    if (options.up)
        bring_up();
}

void tap_device::bring_up()
{
    set_flags(IFF_UP);
}

void tap_device::set_flags(short flags)
{
    const unique_fd socket = ioctl_socket(AF_INET6);
    ifreq request = request_for(name_);
    if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0)
        fail_startup("cannot read the flags of '" + name_ + "'");
    request.ifr_flags = static_cast<short>(request.ifr_flags | flags);
    if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0)
        fail_startup("cannot set the flags of '" + name_ + "'");
}

void tap_device::set_no_arp()
{
    set_flags(IFF_NOARP);
}

void tap_device::set_mtu(unsigned int bytes)
{
    const unique_fd socket = ioctl_socket(AF_INET6);
    ifreq request = request_for(name_);
    request.ifr_mtu = static_cast<int>(bytes);
    if (::ioctl(socket.get(), SIOCSIFMTU, &request) != 0)
        fail_startup("cannot set the MTU of '" + name_ + "' to " + std::to_string(bytes));
}

void tap_device::add_address(const mrc_ip &address, unsigned int prefix_length)
{
    const unique_fd socket = ioctl_socket(AF_INET6);
    in6_ifreq request{};
    std::memcpy(&request.ifr6_addr, address.bytes, sizeof(address.bytes));
    request.ifr6_prefixlen = prefix_length;
    request.ifr6_ifindex = ifindex_;
    if (::ioctl(socket.get(), SIOCSIFADDR, &request) != 0)
        fail_startup("cannot add an address to '" + name_ + "'");
}

void tap_device::add_route(const mrc_ip &destination, unsigned int prefix_length)
{
    const unique_fd socket = ioctl_socket(AF_INET6);
    in6_rtmsg route{};
    std::memcpy(&route.rtmsg_dst, destination.bytes, sizeof(destination.bytes));
    route.rtmsg_dst_len = static_cast<__u16>(prefix_length);
    route.rtmsg_metric = 1;
    route.rtmsg_flags = RTF_UP;
    route.rtmsg_ifindex = ifindex_;
    if (::ioctl(socket.get(), SIOCADDRT, &route) != 0 && errno != EEXIST)
        fail_startup("cannot route the fabric's prefix through '" + name_ + "'");
}

// The kernel sets netmask and broadcast address by the address's class first, and would route that network here if the
// device were up.
void tap_device::set_ipv4_address(const mrc_ip &address)
{
    const unique_fd socket = ioctl_socket(AF_INET);
    ifreq request = request_for(name_);
    put(request.ifr_addr, ipv4_socket_address(address));
    if (::ioctl(socket.get(), SIOCSIFADDR, &request) != 0)
        fail_startup("cannot add an IPv4 address to '" + name_ + "'");
    put(request.ifr_netmask, ipv4_netmask(ipv4_bits));
    if (::ioctl(socket.get(), SIOCSIFNETMASK, &request) != 0)
        fail_startup("cannot set the netmask of '" + name_ + "'");
    put(request.ifr_broadaddr, {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}});
    if (::ioctl(socket.get(), SIOCSIFBRDADDR, &request) != 0)
        fail_startup("cannot set the broadcast address of '" + name_ + "'");
}

void tap_device::add_ipv4_route(const mrc_ip &destination, unsigned int prefix_length)
{
    const unique_fd socket = ioctl_socket(AF_INET);
    rtentry route{};
    put(route.rt_dst, ipv4_socket_address(destination));
    put(route.rt_genmask, ipv4_netmask(prefix_length));
    route.rt_flags = RTF_UP;
    route.rt_dev = name_.data();
    if (::ioctl(socket.get(), SIOCADDRT, &route) != 0 && errno != EEXIST)
        fail_startup("cannot route the fabric's IPv4 prefix through '" + name_ + "'");
}

} // namespace mrc::kernel
