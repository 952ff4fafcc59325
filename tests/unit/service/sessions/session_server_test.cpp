// SPDX-License-Identifier: Apache-2.0
// Clients that connect, ask and go, as the context's thread sees them.
#include "service/sessions/session_server.h"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

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
                                                             .workers = all.workers,
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

struct pipe_ends {
    kernel::unique_fd reading;
    kernel::unique_fd writing;
};

pipe_ends make_pipe()
{
    std::array<int, 2> ends{};
    test::demand(::pipe2(ends.data(), O_CLOEXEC) == 0, "no pipe");
    return {kernel::unique_fd{ends[0]}, kernel::unique_fd{ends[1]}};
}

// A process that says hello, and a child of it that holds the socket, too. Each lives until it is let go.
class forking_client
{
public:
    forking_client()
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX; // a name of the kernel's choice
        auto *const name = reinterpret_cast<sockaddr *>(&address);
        socklen_t size = sizeof(address);
        const kernel::unique_fd listener{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
        test::demand(listener && ::bind(listener.get(), name, sizeof(address.sun_family)) == 0 &&
                         ::listen(listener.get(), 1) == 0 && ::getsockname(listener.get(), name, &size) == 0,
                     "no listening socket");
        pid_ = ::fork();
        if (pid_ == 0)
            run(name, size);
        alive_.writing.reset();
        socket_ = kernel::unique_fd{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        test::demand(socket_.get() >= 0, "nobody connects");
    }
    forking_client(const forking_client &) = delete;
    forking_client &operator=(const forking_client &) = delete;
    ~forking_client() { end(); }

    [[nodiscard]] kernel::unique_fd take_socket() { return std::move(socket_); } // the daemon's end
    // That hello was answered with success, and the child is there.
    [[nodiscard]] bool is_ready() const
    {
        char byte = 0;
        return ::read(alive_.reading.get(), &byte, 1) == 1;
    }
    void end()
    {
        parent_.writing.reset();
        if (pid_ > 0)
            ::waitpid(std::exchange(pid_, 0), nullptr, 0);
    }
    [[nodiscard]] bool child_lives() const
    {
        pollfd state{.fd = alive_.reading.get(), .events = POLLIN, .revents = 0};
        return ::poll(&state, 1, 0) == 0; // or its end of the pipe is closed
    }

private:
    [[noreturn]] void run(const sockaddr *name, socklen_t size)
    {
        parent_.writing.reset();
        child_.writing.reset();
        const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        session::session_request request;
        session::session_reply reply;
        char go = 0;
        if (fd < 0 || ::connect(fd, name, size) != 0 || ::send(fd, &request, sizeof(request), 0) != sizeof(request) ||
            ::recv(fd, &reply, sizeof(reply), 0) != sizeof(reply) || reply.error != 0)
            ::_exit(1);
        const bool is_child = ::fork() == 0;
        if (is_child && ::write(alive_.writing.get(), "r", 1) != 1)
            ::_exit(1);
        (void)::read(is_child ? child_.reading.get() : parent_.reading.get(), &go, 1);
        ::_exit(0);
    }

    pipe_ends parent_ = make_pipe();
    pipe_ends child_ = make_pipe();
    pipe_ends alive_ = make_pipe(); // the child's, and its parent's, until they end
    kernel::unique_fd socket_;
    pid_t pid_ = 0;
};

TEST_F(session_server_test, a_client_ends_with_its_process_though_a_child_holds_the_socket)
{
    forking_client client;
    server_.open(client.take_socket(), config_);
    const auto patience = std::chrono::seconds{30};
    while (daemon_.clients().empty())
        ASSERT_EQ(context_.run_one_for(patience), 1U) << "no hello";
    ASSERT_TRUE(client.is_ready());
    poll();
    EXPECT_EQ(server_.count(), 1U) << "both live";
    client.end();
    context_.restart();
    while (server_.count() != 0)
        ASSERT_EQ(context_.run_one_for(patience), 1U) << "its end is not seen";
    EXPECT_TRUE(daemon_.clients().empty());
    EXPECT_TRUE(client.child_lives());
    EXPECT_EQ(closed_, 1U);
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
