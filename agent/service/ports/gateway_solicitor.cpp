// SPDX-License-Identifier: Apache-2.0
#include "service/ports/gateway_solicitor.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include <linux/neighbour.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "service/address.h"

namespace mrc::service
{

namespace
{

constexpr std::array<std::uint8_t, 16> all_routers = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};

} // namespace

bool use_neighbour(kernel::netlink_socket &socket, std::uint32_t ifindex, const mrc_ip &address)
{
    ndmsg header{};
    header.ndm_family = is_ipv4(address) ? AF_INET : AF_INET6;
    header.ndm_ifindex = static_cast<int>(ifindex);
    header.ndm_flags = NTF_USE;
    kernel::netlink_request request{RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_ACK, header};
    request.add(NDA_DST, std::as_bytes(std::span{address.bytes}.subspan(is_ipv4(address) ? mapped_ipv4_at : 0)));
    return !socket.call(request, [](const nlmsghdr &) {});
}

void router_call::send(std::uint32_t ifindex) const
{
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_scope_id = ifindex;
    std::ranges::copy(all_routers, std::begin(to.sin6_addr.s6_addr));
    socket_.send(to, id);
}

void router_call::receive(const std::function<void(std::uint32_t ifindex, const mrc_ip &router)> &handler) const
{
    socket_.receive([&](const sockaddr_in6 &from, std::uint16_t asked) {
        if (asked != id || IN6_IS_ADDR_LINKLOCAL(&from.sin6_addr) == 0)
            return;
        mrc_ip router{};
        std::ranges::copy(from.sin6_addr.s6_addr, std::begin(router.bytes));
        handler(from.sin6_scope_id, router);
    });
}

} // namespace mrc::service
