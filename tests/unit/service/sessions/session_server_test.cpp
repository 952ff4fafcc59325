// SPDX-License-Identifier: Apache-2.0
// Clients that connect, ask and go, as the context's thread sees them.
#include "service/sessions/session_server.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "unit/service/daemon_in_memory.h"
#include "unit/service/log_text.h"

namespace mrc::service
{
namespace
{

using session::request_kind;

class session_server_test : public testing::Test
{
protected:
    // The client's end.
    [[nodiscard]] kernel::unique_fd connect()
    {
        std::array<int, 2> ends{};
        test::demand(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0,
                     "no socket pair");
        server_.open(kernel::unique_fd{ends[1]}, config_);
        return kernel::unique_fd{ends[0]};
    }
    void send(const kernel::unique_fd &client, request_kind kind)
    {
        session::session_request request;
        request.kind = kind;
        test::demand(session::send_packet(client.get(), &request, sizeof(request), {}), "not sent");
        poll();
    }
    // What is ready now.
    void poll()
    {
        context_.restart();
        context_.poll();
    }
    struct received {
        session::session_reply reply;
        std::array<kernel::unique_fd, 8> fds;
    };
    [[nodiscard]] std::optional<received> ask(const kernel::unique_fd &client, request_kind kind)
    {
        send(client, kind);
        received got;
        const auto read = session::receive_packet(client.get(), &got.reply, sizeof(got.reply), got.fds);
        if (!read || read->bytes != sizeof(got.reply))
            return std::nullopt;
        return got;
    }

    test::daemon_in_memory daemon_{0};
    boost::asio::io_context context_;
    unsigned closed_ = 0;
    std::shared_ptr<const daemon_config> config_ =
        std::make_shared<const daemon_config>(daemon_.resources().config); // of sessions to come
    session_server server_{context_,
                           {.resources =
                                [this](const daemon_config &config) {
                                    const session_resources all = daemon_.resources();
                                    return session_resources{.config = config,
                                                             .rules = all.rules,
                                                             .tables = all.tables,
                                                             .clients = all.clients,
                                                             .log = all.log,
                                                             .worker = all.worker,
                                                             .ports = all.ports,
                                                             .peers = all.peers,
                                                             .control = all.control,
                                                             .adopted = all.adopted,
                                                             .payload_bytes = all.payload_bytes};
                                },
                            .on_closed = [this] { ++closed_; }}};
};

TEST_F(session_server_test, a_client_is_served_until_it_goes)
{
    kernel::unique_fd first = connect();
    const kernel::unique_fd second = connect();
    EXPECT_EQ(server_.count(), 2U);
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(ask(first, request_kind::describe)->reply.error, 0);
        EXPECT_EQ(ask(second, request_kind::describe)->reply.error, 0);
    }
    first = {};
    poll();
    EXPECT_EQ(server_.count(), 1U);
    EXPECT_EQ(closed_, 1U);
    EXPECT_EQ(ask(second, request_kind::describe)->reply.error, 0) << "the other one notices nothing";
}

TEST_F(session_server_test, a_session_keeps_the_configuration_that_it_was_opened_with)
{
    const kernel::unique_fd older = connect();
    daemon_config changed = *config_;
    changed.daemon.instance = "other";
    const std::weak_ptr<const daemon_config> before = config_;
    config_ = std::make_shared<const daemon_config>(changed);
    kernel::unique_fd newer = connect();
    EXPECT_EQ(std::string{ask(older, request_kind::describe)->reply.host.instance}, "in-memory");
    EXPECT_EQ(std::string{ask(newer, request_kind::describe)->reply.host.instance}, "other");
    EXPECT_FALSE(before.expired());
}

TEST_F(session_server_test, events_reach_every_client)
{
    const kernel::unique_fd clients[] = {connect(), connect()};
    std::vector<received> pipes;
    for (const kernel::unique_fd &client : clients) {
        ASSERT_EQ(ask(client, request_kind::hello)->reply.error, 0);
        pipes.push_back(*ask(client, request_kind::open_events));
        ASSERT_EQ(pipes.back().reply.error, 0);
    }
    server_.notify({session::event_kind::port_down, 1});
    for (const received &pipe : pipes) {
        session::event_record event;
        ASSERT_EQ(::read(pipe.fds[0].get(), &event, sizeof(event)), ssize_t{sizeof(event)});
        EXPECT_EQ(event.kind, session::event_kind::port_down);
        EXPECT_EQ(event.number, 1U);
    }
}

TEST_F(session_server_test, a_late_reply_goes_to_its_session_alone)
{
    const kernel::unique_fd first = connect();
    const kernel::unique_fd second = connect();
    const std::array<std::byte, 4> reply{std::byte{7}};
    std::array<std::byte, 8> room{};
    const auto of = [&](const kernel::unique_fd &client) { return ::recv(client.get(), room.data(), room.size(), 0); };
    // Sessions are numbered in the order in which they begin.
    const std::uint64_t numbers = 1 << 20;
    std::uint64_t number = 0;
    while (number < numbers && of(second) < 0)
        server_.send_reply(++number, reply);
    EXPECT_LT(number, numbers);
    EXPECT_EQ(of(first), ssize_t{reply.size()}) << "its number came before";
    EXPECT_LT(of(first), 0);
    server_.send_reply(number + 1, reply);
    EXPECT_LT(of(first), 0);
    EXPECT_LT(of(second), 0) << "nobody has that number";
}

TEST_F(session_server_test, one_connection_too_many_of_a_user_is_closed_and_logged_once)
{
    const test::log_text log;
    std::vector<kernel::unique_fd> all;
    for (std::size_t before = SIZE_MAX; before != server_.count();) {
        before = server_.count();
        all.push_back(connect());
    }
    all.push_back(connect());
    EXPECT_EQ(server_.count(), config_->limits.clients + 64U);
    EXPECT_EQ(log.count("more are closed"), 1U);
    char byte = 0;
    EXPECT_EQ(::recv(all.back().get(), &byte, 1, 0), 0) << "it is not kept waiting";
    all.front() = {};
    poll();
    const kernel::unique_fd again = connect();
    EXPECT_EQ(ask(again, request_kind::describe)->reply.error, 0) << "a place is free";
}

} // namespace
} // namespace mrc::service
