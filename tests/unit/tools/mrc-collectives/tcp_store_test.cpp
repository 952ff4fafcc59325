// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-collectives/tcp_store.h"

#include <array>
#include <future>
#include <optional>
#include <stdexcept>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tools/mrc-collectives/rendezvous_server.h"

namespace mrc::collectives
{

namespace
{

constexpr const char *host = "::1";
constexpr std::chrono::seconds timeout{20};
constexpr std::chrono::seconds short_timeout{1};

// One that nobody listens at.
std::uint16_t free_port()
{
    const kernel::unique_fd socket{::socket(AF_INET6, SOCK_STREAM, 0)};
    if (!socket)
        return 0;
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr *>(&address), size), 0);
    EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr *>(&address), &size), 0);
    return ntohs(address.sin6_port);
}

std::string failure_of(const std::function<void()> &call)
{
    try {
        call();
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return {};
}

TEST(tcp_store, what_one_sets_the_other_gets)
{
    const std::uint16_t port = free_port();
    const rendezvous_server server{host, port};
    tcp_store one{host, port, timeout};
    tcp_store other{host, port, timeout};
    const std::vector<char> large(100000, 'x');
    one.set("a", {'1', '2'});
    one.set("b", {});
    one.set("c", large);
    EXPECT_EQ(other.get("a"), (std::vector<char>{'1', '2'}));
    EXPECT_TRUE(other.get("b").empty());
    EXPECT_EQ(one.get("c"), large);
    other.wait({"a", "b", "c"}, std::chrono::seconds{1});
}

TEST(tcp_store, a_get_waits_for_the_set)
{
    const std::uint16_t port = free_port();
    const rendezvous_server server{host, port};
    auto got = std::async(std::launch::async, [&] { return tcp_store{host, port, timeout}.get("late"); });
    tcp_store{host, port, timeout}.set("late", {'!'});
    EXPECT_EQ(got.get(), std::vector<char>{'!'});
}

TEST(tcp_store, a_client_may_come_before_the_server)
{
    const std::uint16_t port = free_port();
    auto set = std::async(std::launch::async, [&] { tcp_store{host, port, timeout}.set("early", {'1'}); });
    const rendezvous_server server{host, port};
    set.get();
    EXPECT_EQ((tcp_store{host, port, timeout}.get("early")), std::vector<char>{'1'});
}

TEST(tcp_store, failures_say_who_is_missing_and_where)
{
    const std::uint16_t port = free_port();
    EXPECT_NE(failure_of([&] { tcp_store{host, port, short_timeout}; }).find("rank 0 does not answer at ::1 port"),
              std::string::npos);
    std::optional<rendezvous_server> server{std::in_place, host, port};
    tcp_store store{host, port, short_timeout};
    EXPECT_NE(failure_of([&] { store.get("rank 3"); }).find("rank 3 has not come to ::1 port"), std::string::npos);
    tcp_store left{host, port, timeout};
    server.reset();
    EXPECT_NE(failure_of([&] { left.get("anything"); }).find("rank 0 at ::1 port"), std::string::npos);
    EXPECT_NE(failure_of([] { tcp_store{"no such host", 1, timeout}; }).find("'no such host' is no address"),
              std::string::npos);
}

TEST(tcp_store, a_server_takes_no_address_twice_nor_requests_out_of_bounds)
{
    const std::uint16_t port = free_port();
    const rendezvous_server server{host, port};
    EXPECT_NE(failure_of([&] { rendezvous_server{host, port}; }).find("cannot listen at ::1 port"), std::string::npos);

    const kernel::unique_fd socket{::socket(AF_INET6, SOCK_STREAM, 0)};
    ASSERT_TRUE(socket);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    address.sin6_port = htons(port);
    ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)), 0);
    const request_head head{htonl(static_cast<std::uint32_t>(store_request::set)), htonl(longest_key + 1), 0};
    ASSERT_TRUE(send_together(socket.get(), {{reinterpret_cast<const char *>(head.data()), sizeof(head)}}));
    char byte = 0;
    EXPECT_FALSE(receive_all(socket.get(), &byte, 1)); // it has closed the connection
}

} // namespace

} // namespace mrc::collectives
