// SPDX-License-Identifier: Apache-2.0
//
// host_sockets: what the sockets of an adopted cgroup ask for, where it arrives, and what they see of it. Real sockets
// in a network of their own: a loopback device has the ordinary and the MRC addresses of both hosts.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "kernel/netlink.h"
#include "kernel/netns_cookie.h"
#include "kernel/socket_programs.h"
#include "private_network.h"
#include "service/address.h"
#include "tools/mrcctl/cgroups.h"

namespace mrc::test
{
namespace
{

using kernel::unique_fd;

// A host as programs know it, and as the overlay does.
struct host_addresses {
    std::string_view ordinary;
    std::string_view second; // further ordinary address
    std::string_view mrc;
};

constexpr host_addresses own4{"10.9.0.1", "10.9.1.1", "10.8.0.1"};
constexpr host_addresses peer4{"10.9.0.2", "10.9.1.2", "10.8.0.2"};
constexpr host_addresses own6{"fd09::1", "fd09:1::1", "fd08::1"};
constexpr host_addresses peer6{"fd09::2", "fd09:1::2", "fd08::2"};
constexpr std::string_view stranger4 = "10.9.0.9";

mrc_ip ip(std::string_view text)
{
    return service::parse_ip(text).value();
}

struct socket_name {
    sockaddr_storage bytes{};
    socklen_t size = sizeof(bytes);

    [[nodiscard]] sockaddr *get() { return reinterpret_cast<sockaddr *>(&bytes); }
    [[nodiscard]] std::uint16_t port()
    {
        return ntohs(bytes.ss_family == AF_INET ? reinterpret_cast<sockaddr_in *>(&bytes)->sin_port
                                                : reinterpret_cast<sockaddr_in6 *>(&bytes)->sin6_port);
    }
    [[nodiscard]] std::string address()
    {
        std::array<char, INET6_ADDRSTRLEN> text{};
        if (bytes.ss_family == AF_INET)
            inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in *>(&bytes)->sin_addr, text.data(), text.size());
        else
            inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6 *>(&bytes)->sin6_addr, text.data(), text.size());
        return text.data();
    }
};

socket_name name_of(std::string_view address, std::uint16_t port)
{
    socket_name name;
    if (address.find(':') == std::string_view::npos) {
        sockaddr_in in{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {}, .sin_zero = {}};
        inet_pton(AF_INET, std::string{address}.c_str(), &in.sin_addr);
        std::memcpy(&name.bytes, &in, name.size = sizeof(in));
        return name;
    }
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    inet_pton(AF_INET6, std::string{address}.c_str(), &in.sin6_addr);
    std::memcpy(&name.bytes, &in, name.size = sizeof(in));
    return name;
}

unique_fd socket_for(std::string_view address, int type)
{
    return unique_fd{
        ::socket(address.find(':') == std::string_view::npos ? AF_INET : AF_INET6, type | SOCK_CLOEXEC, 0)};
}

unique_fd bound(std::string_view address, int type)
{
    unique_fd made = socket_for(address, type);
    socket_name name = name_of(address, 0);
    EXPECT_EQ(::bind(made.get(), name.get(), name.size), 0) << address << ": " << std::strerror(errno);
    EXPECT_TRUE(type != SOCK_STREAM || ::listen(made.get(), 8) == 0);
    return made;
}

socket_name local_name(const unique_fd &of)
{
    socket_name name;
    EXPECT_EQ(::getsockname(of.get(), name.get(), &name.size), 0);
    return name;
}

socket_name peer_name(const unique_fd &of)
{
    socket_name name;
    EXPECT_EQ(::getpeername(of.get(), name.get(), &name.size), 0);
    return name;
}

// 0 or an errno value.
int connect_to(const unique_fd &from, std::string_view address, std::uint16_t port)
{
    socket_name name = name_of(address, port);
    return ::connect(from.get(), name.get(), name.size) == 0 ? 0 : errno;
}

void send_to(const unique_fd &from, std::string_view address, std::uint16_t port)
{
    socket_name name = name_of(address, port);
    EXPECT_EQ(::sendto(from.get(), "x", 1, 0, name.get(), name.size), 1) << std::strerror(errno);
}

// Whose datagram arrives there; empty: none does. On a busy machine the kernel delivers later than sendto() returns.
std::optional<socket_name> receive(const unique_fd &at)
{
    constexpr int limit_ms = 20'000;
    pollfd readable{.fd = at.get(), .events = POLLIN, .revents = 0};
    char byte = 0;
    socket_name from;
    if (::poll(&readable, 1, limit_ms) != 1 ||
        ::recvfrom(at.get(), &byte, 1, MSG_DONTWAIT, from.get(), &from.size) != 1)
        return std::nullopt;
    return from;
}

void answer(const unique_fd &by, socket_name to)
{
    EXPECT_EQ(::sendto(by.get(), "y", 1, 0, to.get(), to.size), 1) << std::strerror(errno);
}

// The local routes of IPv6 addresses, as the kernel makes them: in a worker (addrconf_dad_work in net/ipv6/addrconf.c)
// that may run after `ip address add` has returned. Until then packets to the address are dropped.
class local_routes
{
public:
    // A route made after this object; false: it wasn't within 20 s.
    [[nodiscard]] bool wait_for(std::string_view address)
    {
        constexpr int limit_ms = 20'000;
        in6_addr wanted{};
        inet_pton(AF_INET6, std::string{address}.c_str(), &wanted);
        const auto note = [this](const nlmsghdr &message) {
            const auto *header = kernel::header_of<rtmsg>(message);
            if (message.nlmsg_type == RTM_NEWROUTE && header != nullptr && header->rtm_type == RTN_LOCAL)
                kernel::for_each_attribute(message, sizeof(rtmsg), [this](std::uint16_t type, auto value) {
                    if (type == RTA_DST && value.size() == sizeof(in6_addr))
                        std::memcpy(&made_.emplace_back(), value.data(), value.size());
                });
        };
        while (!std::ranges::any_of(made_, [&](const in6_addr &one) { return IN6_ARE_ADDR_EQUAL(&one, &wanted); })) {
            pollfd news{.fd = notifications_.fd(), .events = POLLIN, .revents = 0};
            if (::poll(&news, 1, limit_ms) != 1 || notifications_.receive_pending(note))
                return false;
        }
        return true;
    }

private:
    kernel::netlink_socket notifications_{RTNLGRP_IPV6_ROUTE};
    std::vector<in6_addr> made_;
};

class host_sockets : public testing::Test
{
protected:
    host_sockets()
    {
        local_routes routes;
        std::string commands = "link set lo up";
        for (const host_addresses &host : {own4, peer4})
            for (const std::string_view address : {host.ordinary, host.second, host.mrc})
                commands.append("\naddress add ").append(address).append("/32 dev lo");
        for (const host_addresses &host : {own6, peer6})
            for (const std::string_view address : {host.ordinary, host.second, host.mrc})
                commands.append("\naddress add ").append(address).append("/128 dev lo nodad");
        commands.append("\naddress add ").append(stranger4).append("/32 dev lo");
        private_network::ip(commands);
        for (const host_addresses &host : {own6, peer6})
            for (const std::string_view address : {host.ordinary, host.second, host.mrc})
                EXPECT_TRUE(routes.wait_for(address)) << address;
        programs_ = std::make_unique<kernel::socket_programs>(mrc_sockets_config{
            .netns_cookie = kernel::own_netns_cookie().value(), .address = ip(own6.mrc), .address4 = ip(own4.mrc)});
        note(own4, MRC_ORDINARY_OWN);
        note(own6, MRC_ORDINARY_OWN);
        note(peer4, MRC_ORDINARY_REACHABLE);
        note(peer6, MRC_ORDINARY_REACHABLE);
        adopt();
        EXPECT_TRUE(cgroup_.enter()) << std::strerror(errno);
    }

    void note(const host_addresses &host, mrc_ordinary_state state) const
    {
        for (const std::string_view ordinary : {host.second, host.ordinary}) {
            EXPECT_TRUE(
                programs_->set_ordinary(ip(ordinary), {.address = ip(host.mrc), .state = state, .reserved = {}}));
            EXPECT_TRUE(programs_->set_ordinary_of(ip(host.mrc), ip(ordinary)));
        }
    }
    void adopt()
    {
        const unique_fd folder = ctl::open_cgroup(cgroup_.folder());
        auto links = programs_->attach(folder.get());
        ASSERT_TRUE(links) << links.error().message();
        links_ = *std::move(links);
        struct stat about{};
        ASSERT_EQ(::fstat(folder.get(), &about), 0);
        id_ = about.st_ino;
    }
    void map_binds() const
    {
        mrc_adopted_row row{};
        row.flags = MRC_ADOPTED_BINDS;
        EXPECT_TRUE(programs_->set_adopted(id_, row));
    }
    [[nodiscard]] mrc_adopted_row counted() const { return programs_->adopted(id_).value(); }

    // A TCP connection to the ordinary address arrives at a listener there, or at the MRC address.
    void expect_connection(const host_addresses &host, std::string_view asked, std::string_view arrives,
                           const unique_fd &client) const
    {
        const unique_fd listener = bound(arrives, SOCK_STREAM);
        ASSERT_EQ(connect_to(client, asked, local_name(listener).port()), 0) << asked << " at " << arrives;
        EXPECT_EQ(peer_name(client).address(), asked) << "the program sees whom it asked for, of " << host.mrc;
    }

    private_network network_;
    ctl::command_cgroup cgroup_;
    std::unique_ptr<kernel::socket_programs> programs_;
    std::vector<unique_fd> links_;
    std::uint64_t id_ = 0;
};

TEST_F(host_sockets, tcp_to_an_ordinary_address_arrives_at_the_mrc_address)
{
    for (const host_addresses &host : {peer4, peer6})
        for (const std::string_view asked : {host.ordinary, host.second})
            expect_connection(host, asked, host.mrc, socket_for(asked, SOCK_STREAM));
    EXPECT_EQ(counted().connections, 4U);
    EXPECT_EQ(counted().datagrams, 0U);
}

TEST_F(host_sockets, an_ipv6_socket_maps_ipv4_addresses_as_well)
{
    const unique_fd listener = bound(peer4.mrc, SOCK_STREAM);
    const unique_fd client{::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const std::string asked = "::ffff:" + std::string{peer4.ordinary};
    ASSERT_EQ(connect_to(client, asked, local_name(listener).port()), 0);
    EXPECT_EQ(peer_name(client).address(), asked);

    const unique_fd server = bound(peer4.mrc, SOCK_DGRAM);
    const unique_fd sender{::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    send_to(sender, asked, local_name(server).port());
    answer(server, receive(server).value());
    EXPECT_EQ(receive(sender).value().address(), asked);
}

TEST_F(host_sockets, other_addresses_are_left_alone)
{
    const unique_fd client = socket_for(stranger4, SOCK_STREAM);
    const unique_fd listener = bound(stranger4, SOCK_STREAM);
    ASSERT_EQ(connect_to(client, stranger4, local_name(listener).port()), 0);
    // And the MRC addresses themselves.
    expect_connection(peer6, peer6.mrc, peer6.mrc, socket_for(peer6.mrc, SOCK_STREAM));
    EXPECT_EQ(counted().connections, 0U);
}

TEST_F(host_sockets, answers_to_datagrams_come_from_the_address_that_was_asked)
{
    for (const host_addresses &host : {peer4, peer6}) {
        const unique_fd server = bound(host.mrc, SOCK_DGRAM);
        const unique_fd client = socket_for(host.mrc, SOCK_DGRAM);
        for (const std::string_view asked : {host.second, host.ordinary}) {
            send_to(client, asked, local_name(server).port());
            const auto from = receive(server);
            ASSERT_TRUE(from) << asked;
            answer(server, *from);
            EXPECT_EQ(receive(client).value().address(), asked);
        }
    }
    EXPECT_EQ(counted().datagrams, 4U);
}

TEST_F(host_sockets, answers_of_several_hosts_to_one_socket_are_told_apart)
{
    note(own4, MRC_ORDINARY_REACHABLE); // as if it were another host
    const unique_fd first = bound(peer4.mrc, SOCK_DGRAM);
    const unique_fd second = bound(own4.mrc, SOCK_DGRAM);
    const unique_fd client = socket_for(peer4.mrc, SOCK_DGRAM);
    send_to(client, peer4.ordinary, local_name(first).port());
    send_to(client, own4.ordinary, local_name(second).port());
    answer(first, receive(first).value());
    answer(second, receive(second).value());
    EXPECT_EQ(receive(client).value().address(), peer4.ordinary);
    EXPECT_EQ(receive(client).value().address(), own4.ordinary);
}

TEST_F(host_sockets, servers_see_where_datagrams_come_from)
{
    const unique_fd server = bound("0.0.0.0", SOCK_DGRAM);
    const unique_fd client = bound(peer4.mrc, SOCK_DGRAM);
    send_to(client, own4.mrc, local_name(server).port());
    EXPECT_EQ(receive(server).value().address(), peer4.mrc);
}

TEST_F(host_sockets, connected_udp_is_mapped_and_forgets_when_it_is_connected_elsewhere)
{
    const unique_fd server = bound(peer4.mrc, SOCK_DGRAM);
    const unique_fd client = socket_for(peer4.mrc, SOCK_DGRAM);
    ASSERT_EQ(connect_to(client, peer4.ordinary, local_name(server).port()), 0);
    ASSERT_EQ(::send(client.get(), "x", 1, 0), 1);
    answer(server, receive(server).value());
    EXPECT_EQ(receive(client).value().address(), peer4.ordinary);
    ASSERT_EQ(connect_to(client, peer4.mrc, local_name(server).port()), 0);
    EXPECT_EQ(peer_name(client).address(), peer4.mrc);
    EXPECT_EQ(counted().connections, 1U);
}

TEST_F(host_sockets, a_silent_host_is_left_on_the_ordinary_network)
{
    note(peer4, MRC_ORDINARY_SILENT);
    expect_connection(peer4, peer4.ordinary, peer4.ordinary, socket_for(peer4.ordinary, SOCK_STREAM));
    const unique_fd server = bound(peer4.ordinary, SOCK_DGRAM);
    send_to(socket_for(peer4.ordinary, SOCK_DGRAM), peer4.ordinary, local_name(server).port());
    EXPECT_TRUE(receive(server));
    EXPECT_EQ(counted().connections + counted().datagrams, 0U);
    EXPECT_EQ(counted().silent, 2U);
}

TEST_F(host_sockets, a_socket_bound_to_another_address_is_left_there)
{
    for (const auto &[own, peer] : {std::pair{own4, peer4}, std::pair{own6, peer6}}) {
        for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
            const unique_fd elsewhere = socket_for(own.ordinary, type);
            socket_name name = name_of(own.ordinary, 0);
            ASSERT_EQ(::bind(elsewhere.get(), name.get(), name.size), 0);
            const unique_fd listener = bound(peer.ordinary, type);
            EXPECT_EQ(connect_to(elsewhere, peer.ordinary, local_name(listener).port()), 0) << peer.ordinary;
        }
        const unique_fd at_mrc = socket_for(own.mrc, SOCK_STREAM);
        socket_name name = name_of(own.mrc, 0);
        ASSERT_EQ(::bind(at_mrc.get(), name.get(), name.size), 0);
        expect_connection(peer, peer.ordinary, peer.mrc, at_mrc);
    }
    EXPECT_EQ(counted().bound, 4U);
    EXPECT_EQ(counted().connections, 2U);
}

TEST_F(host_sockets, a_datagram_from_another_address_is_left_there)
{
    for (const auto &[own, peer] : {std::pair{own4, peer4}, std::pair{own6, peer6}}) {
        const unique_fd client = bound(own.ordinary, SOCK_DGRAM);
        const unique_fd server = bound(peer.ordinary, SOCK_DGRAM);
        send_to(client, peer.ordinary, local_name(server).port());
        EXPECT_TRUE(receive(server)) << peer.ordinary;
    }
    EXPECT_EQ(counted().bound, 2U);
}

TEST_F(host_sockets, a_socket_bound_to_a_device_is_left_there)
{
    const unique_fd client = socket_for(peer4.ordinary, SOCK_STREAM);
    ASSERT_EQ(::setsockopt(client.get(), SOL_SOCKET, SO_BINDTODEVICE, "lo", 2), 0);
    expect_connection(peer4, peer4.ordinary, peer4.ordinary, client);
    EXPECT_EQ(counted().bound, 1U);
}

TEST_F(host_sockets, binds_are_mapped_only_when_that_is_asked_for)
{
    EXPECT_EQ(local_name(bound(own4.ordinary, SOCK_STREAM)).address(), own4.ordinary);
    expect_connection(own4, own4.ordinary, own4.ordinary, socket_for(own4.ordinary, SOCK_STREAM));
    EXPECT_EQ(counted().binds + counted().connections, 0U);
    map_binds();
    for (const host_addresses &own : {own4, own6}) {
        const unique_fd listener = bound(own.ordinary, SOCK_STREAM);
        const socket_name name = local_name(listener);
        EXPECT_EQ(socket_name{name}.address(), own.ordinary) << "what the program tells others";
        const unique_fd client = socket_for(own.ordinary, SOCK_STREAM);
        ASSERT_EQ(connect_to(client, own.mrc, socket_name{name}.port()), 0) << "it listens at the MRC address";
        const unique_fd accepted{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        EXPECT_EQ(local_name(accepted).address(), own.ordinary);
        EXPECT_EQ(peer_name(accepted).address(), own.mrc) << "nothing was asked for by another name";
        expect_connection(own, own.ordinary, own.ordinary, socket_for(own.ordinary, SOCK_STREAM));
    }
    EXPECT_EQ(counted().binds, 4U);
}

TEST_F(host_sockets, other_network_namespaces_are_left_alone)
{
    const private_network container;
    private_network::ip("link set lo up\naddress add " + std::string{peer4.ordinary} + "/32 dev lo");
    expect_connection(peer4, peer4.ordinary, peer4.ordinary, socket_for(peer4.ordinary, SOCK_STREAM));
    EXPECT_EQ(counted().connections, 0U);
}

TEST_F(host_sockets, nothing_is_mapped_once_the_links_are_closed)
{
    EXPECT_TRUE(kernel::socket_programs::is_attached(links_.front()));
    links_.clear();
    expect_connection(peer4, peer4.ordinary, peer4.ordinary, socket_for(peer4.ordinary, SOCK_STREAM));
}

TEST_F(host_sockets, other_cgroups_are_left_alone)
{
    const ctl::command_cgroup below; // of the one that is adopted: it is, too
    const std::string outside = cgroup_.folder().parent_path() / "cgroup.procs";
    ASSERT_TRUE(below.enter());
    expect_connection(peer4, peer4.ordinary, peer4.mrc, socket_for(peer4.ordinary, SOCK_STREAM));
    EXPECT_EQ(counted().connections, 1U) << "counted where it is adopted";
    const unique_fd processes{::open(outside.c_str(), O_WRONLY | O_CLOEXEC)};
    ASSERT_EQ(::write(processes.get(), "0", 1), 1);
    expect_connection(peer4, peer4.ordinary, peer4.ordinary, socket_for(peer4.ordinary, SOCK_STREAM));
}

TEST_F(host_sockets, the_end_of_the_cgroup_detaches)
{
    std::vector<unique_fd> links;
    {
        const ctl::command_cgroup other;
        links = programs_->attach(ctl::open_cgroup(other.folder()).get()).value();
        EXPECT_TRUE(kernel::socket_programs::is_attached(links.front()));
    }
    // The kernel lets go of a removed cgroup from a work queue.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (kernel::socket_programs::is_attached(links.front()) && std::chrono::steady_clock::now() < deadline)
        continue;
    EXPECT_FALSE(kernel::socket_programs::is_attached(links.front()));
}

} // namespace
} // namespace mrc::test
