// SPDX-License-Identifier: Apache-2.0
#include "service/ports/next_hops.h"

#include <algorithm>

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "service/ports/rtnetlink_records.h"

namespace mrc::service
{

namespace
{

// Only by this device: another port's way is another plane's.
std::optional<mrc_ip> next_hop_to(kernel::netlink_socket &requests, std::uint32_t ifindex, const mrc_ip &destination)
{
    const bool ipv4 = is_ipv4(destination);
    const auto address = std::span{destination.bytes}.subspan(ipv4 ? mapped_ipv4_at : 0);
    rtmsg header{};
    header.rtm_family = ipv4 ? AF_INET : AF_INET6;
    header.rtm_dst_len = static_cast<unsigned char>(address.size() * 8);
    kernel::netlink_request request{RTM_GETROUTE, NLM_F_ACK, header};
    request.add(RTA_DST, std::as_bytes(address));
    request.add(RTA_OIF, std::as_bytes(std::span{&ifindex, 1}));
    std::optional<mrc_ip> found;
    const std::error_code error =
        requests.call(request, [&](const nlmsghdr &message) { found = parse_next_hop(message); });
    return error ? std::nullopt : found;
}

} // namespace

next_hops::next_hops(std::span<const host_entry> hosts, const port_options &port)
{
    for (const host_entry &host : hosts) {
        const auto &address = host.addresses[port.plane.value];
        const bool is_own = address && port.own_address && is_same(*address, *port.own_address);
        ways_.push_back({.destination = is_own ? std::nullopt : address, .neighbour = {}});
    }
}

void next_hops::follow_routes(kernel::netlink_socket &requests, std::uint32_t ifindex)
{
    for (way &each : ways_)
        each.neighbour =
            each.destination && ifindex != 0 ? next_hop_to(requests, ifindex, *each.destination) : std::nullopt;
}

std::vector<std::optional<mac_address>> next_hops::resolve(const neighbour_table &neighbours,
                                                           std::uint32_t ifindex) const
{
    std::vector<std::optional<mac_address>> all;
    all.reserve(ways_.size());
    for (const way &each : ways_)
        all.push_back(each.neighbour ? neighbours.gateway_of(ifindex, *each.neighbour).mac : std::nullopt);
    return all;
}

std::vector<mrc_ip> next_hops::neighbours() const
{
    std::vector<mrc_ip> all;
    for (const way &each : ways_)
        if (each.neighbour && std::ranges::none_of(all, [&](const mrc_ip &it) { return is_same(it, *each.neighbour); }))
            all.push_back(*each.neighbour);
    return all;
}

} // namespace mrc::service
