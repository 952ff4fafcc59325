// SPDX-License-Identifier: Apache-2.0
// A client's packets on its socket, as the daemon reads them.
#include "service/sessions/client_session.h"

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/sessions/client_process.h"
#include "service/sessions/ring_memory.h"
#include "unit/service/daemon_in_memory.h"
#include "unit/service/log_text.h"

namespace mrc::service
{
namespace
{

using session::request_kind;

constexpr int deadline_ms = 30'000;

class client_sessions : public testing::Test
{
protected:
    struct connection {
        kernel::unique_fd socket; // the client's end
        std::unique_ptr<client_session> session;
    };
    [[nodiscard]] connection connect()
    {
        std::array<int, 2> ends{};
        test::demand(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0,
                     "no socket pair");
        connection made{.socket = kernel::unique_fd{ends[0]}, .session = nullptr};
        made.session =
            std::make_unique<client_session>(daemon_.resources(), kernel::unique_fd{ends[1]}, account_, holding{});
        return made;
    }
    // The reply to a request, and how many descriptors came with it; nothing when the daemon ends the session.
    static std::optional<session::session_reply> ask(connection &client, const session::session_request &request,
                                                     std::size_t *fds = nullptr)
    {
        test::demand(session::send_packet(client.socket.get(), &request, sizeof(request), {}), "not sent");
        if (!client.session->serve())
            return std::nullopt;
        return reply_of(client, fds);
    }
    static std::optional<session::session_reply> ask(connection &client, request_kind kind, std::size_t *fds = nullptr)
    {
        session::session_request request;
        request.kind = kind;
        return ask(client, request, fds);
    }
    static std::optional<session::session_reply> reply_of(connection &client, std::size_t *fds = nullptr)
    {
        session::session_reply reply;
        std::array<kernel::unique_fd, 8> passed;
        const auto received = session::receive_packet(client.socket.get(), &reply, sizeof(reply), passed);
        if (!received || received->bytes != sizeof(reply))
            return std::nullopt;
        if (fds != nullptr)
            *fds = received->fds;
        return reply;
    }
    // A queue pair of a client that has said hello, with all that it takes.
    static session::session_reply make_qp(connection &client)
    {
        const std::uint32_t events = ask(client, request_kind::open_events)->number;
        const std::uint32_t pd = ask(client, request_kind::allocate_pd)->number;
        session::session_request request;
        request.kind = request_kind::create_cq;
        request.cq = {.entries = 64, .channel = 0, .events = events, .reserved = 0};
        const std::uint32_t cq = ask(client, request)->cq.number;
        request.kind = request_kind::create_qp;
        request.create = {.pd = pd,
                          .send_cq = cq,
                          .receive_cq = cq,
                          .events = events,
                          .send_depth = 16,
                          .receive_depth = 16,
                          .most_pieces = 1,
                          .most_inline = 0};
        return *ask(client, request);
    }
    [[nodiscard]] std::uint64_t clients() const { return account_->held(resource::clients); }

    test::daemon_in_memory daemon_{0};
    std::shared_ptr<user_account> account_ = std::make_shared<user_account>(0);
};

TEST_F(client_sessions, begin_with_hello_said_once)
{
    connection client = connect();
    EXPECT_EQ(ask(client, request_kind::allocate_pd)->error, EPROTO);
    std::size_t fds = 0;
    EXPECT_EQ(ask(client, request_kind::hello, &fds)->error, 0);
    EXPECT_EQ(fds, 3U) << "doorbell, status page, bells";
    EXPECT_EQ(ask(client, request_kind::allocate_pd)->error, 0);
    EXPECT_EQ(ask(client, request_kind::hello)->error, EPROTO);
}

TEST_F(client_sessions, who_asks_for_the_description_of_the_host_takes_no_clients_place)
{
    const std::uint32_t limit = daemon_.resources().config.limits.clients;
    const auto others = holding::take(account_, resource::clients, limit - 1, limit);
    connection lister = connect();
    EXPECT_EQ(ask(lister, request_kind::describe)->error, 0);
    connection client = connect();
    EXPECT_EQ(ask(client, request_kind::hello)->error, 0) << "the last place";
    const auto described = ask(lister, request_kind::describe);
    EXPECT_EQ(described->error, 0);
    EXPECT_EQ(described->host.planes, 1U);
    EXPECT_EQ(std::string{described->host.instance}, "in-memory");
    EXPECT_EQ(clients(), limit);
}

TEST_F(client_sessions, over_the_limit_the_answer_and_one_line_of_the_log_name_it)
{
    const test::log_text log;
    const std::uint32_t limit = daemon_.resources().config.limits.clients;
    std::vector<connection> all;
    while (clients() < limit)
        ASSERT_EQ(ask(all.emplace_back(connect()), request_kind::hello)->error, 0);
    connection late = connect();
    for (int attempt = 0; attempt < 3; ++attempt) {
        const auto refused = ask(late, request_kind::hello);
        EXPECT_EQ(refused->error, EUSERS);
        EXPECT_NE(std::string{refused->text}.find("limits.clients"), std::string::npos) << refused->text;
    }
    EXPECT_EQ(log.count("limits.clients"), 1U);
    all.pop_back();
    EXPECT_EQ(ask(late, request_kind::hello)->error, 0) << "a place is free";
}

TEST_F(client_sessions, another_version_and_an_unknown_request_are_refused_by_name)
{
    connection client = connect();
    const auto refusal_of = [&](std::uint32_t version) {
        session::session_request request;
        request.version = version;
        const auto refusal = ask(client, request);
        EXPECT_EQ(refusal->error, EPROTO) << version;
        return std::string{refusal->text};
    };
    const std::string newer = refusal_of(session::session_version + 1);
    EXPECT_NE(newer.find("needs a restart"), std::string::npos) << newer;
    const std::string older = refusal_of(session::oldest_session_version - 1);
    EXPECT_NE(older.find("libmrc is too old"), std::string::npos) << older;
    for (std::uint32_t version = session::oldest_session_version; version <= session::session_version; ++version) {
        session::session_request request;
        request.version = version;
        request.kind = request_kind::describe;
        EXPECT_EQ(ask(client, request)->error, 0) << version;
    }
    ASSERT_EQ(ask(client, request_kind::hello)->error, 0);
    const auto unknown = ask(client, static_cast<request_kind>(session::first_control_kind - 1));
    EXPECT_EQ(unknown->error, EOPNOTSUPP);
    EXPECT_NE(std::string_view{unknown->text}.find("request 255"), std::string_view::npos) << unknown->text;
}

TEST_F(client_sessions, end_with_a_packet_that_is_no_request)
{
    const std::vector<std::byte> wrong[] = {std::vector<std::byte>(4),
                                            std::vector<std::byte>(sizeof(session::session_request) - 1),
                                            std::vector<std::byte>(sizeof(session::session_request) + 1)};
    for (const auto &bytes : wrong) {
        connection client = connect();
        ASSERT_TRUE(session::send_packet(client.socket.get(), bytes.data(), bytes.size(), {}));
        EXPECT_FALSE(client.session->serve()) << bytes.size();
    }
    connection client = connect();
    EXPECT_TRUE(client.session->serve()) << "nothing is there to read";
    client.socket = {};
    EXPECT_FALSE(client.session->serve()) << "it has gone";
}

TEST_F(client_sessions, a_descriptor_that_no_request_wants_is_closed)
{
    connection client = connect();
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK), 0);
    kernel::unique_fd reading{pipe[0]};
    kernel::unique_fd writing{pipe[1]};
    session::session_request request;
    request.kind = request_kind::describe;
    ASSERT_TRUE(session::send_packet(client.socket.get(), &request, sizeof(request), std::array{writing.get()}));
    writing = {};
    EXPECT_TRUE(client.session->serve());
    // Another thread closes it.
    pollfd other_end{.fd = reading.get(), .events = 0, .revents = 0};
    ASSERT_EQ(::poll(&other_end, 1, deadline_ms), 1);
    EXPECT_NE(other_end.revents & POLLHUP, 0);
}

TEST_F(client_sessions, are_listed_from_hello_to_their_end_with_what_they_have)
{
    {
        connection client = connect();
        ASSERT_EQ(ask(client, request_kind::describe)->error, 0);
        EXPECT_TRUE(daemon_.clients().empty()) << "no client yet";
        ASSERT_EQ(ask(client, request_kind::hello)->error, 0);
        ASSERT_EQ(daemon_.clients().size(), 1U);
        const auto &[session, row] = *daemon_.clients().begin();
        EXPECT_EQ(session, client.session->number());
        EXPECT_EQ(row.pid, static_cast<__u32>(::getpid()));
        EXPECT_EQ(row.uid, account_->user());
        EXPECT_EQ(std::string{row.command}, command_of(::getpid()));
        EXPECT_NE(row.command[0], '\0');
        EXPECT_GT(row.connected_ns, 0U);
        EXPECT_EQ(row.queue_pairs, 0U);
        EXPECT_EQ(row.registered_bytes, 0U);

        const session::qp_reply made = make_qp(client).qp;
        EXPECT_EQ(row.queue_pairs, 1U);
        EXPECT_EQ(daemon_.row_of(made.qpn).session, session);
        session::session_request request;
        request.kind = request_kind::destroy_qp;
        request.number = made.qpn;
        ASSERT_EQ(ask(client, request)->error, 0);
        EXPECT_EQ(row.queue_pairs, 0U);
        EXPECT_EQ(daemon_.row_of(made.qpn).session, 0U);
    }
    EXPECT_TRUE(daemon_.clients().empty());
}

// From the client's hello to its end, whatever that is.
TEST_F(client_sessions, come_and_go_with_events_that_say_why)
{
    const auto end_of = [&](auto &&act) {
        connection client = connect();
        EXPECT_EQ(ask(client, request_kind::hello)->error, 0);
        EXPECT_EQ(daemon_.events().back().kind, MRC_EVENT_SESSION_OPENED);
        EXPECT_EQ(daemon_.events().back().session, client.session->number());
        EXPECT_EQ(daemon_.events().back().pid, static_cast<__u32>(::getpid()));
        (void)make_qp(client);
        act(client);
        client.session.reset();
        EXPECT_EQ(daemon_.events().back().kind, MRC_EVENT_SESSION_CLOSED);
        EXPECT_EQ(daemon_.events().back().queue_pairs, 1U);
        return daemon_.events().back().reason;
    };
    EXPECT_EQ(end_of([](connection &client) {
                  client.socket.reset();
                  EXPECT_FALSE(client.session->serve());
              }),
              MRC_REASON_CLIENT_GONE);
    EXPECT_EQ(end_of([](connection &client) {
                  session::session_request request;
                  request.kind = request_kind::describe;
                  test::demand(session::send_packet(client.socket.get(), &request, sizeof(request), {}), "sent");
                  client.socket.reset();
                  EXPECT_FALSE(client.session->serve());
              }),
              MRC_REASON_CLIENT_GONE)
        << "before it was answered";
    EXPECT_EQ(end_of([](connection &client) {
                  const std::uint32_t half_a_head = 0;
                  test::demand(session::send_packet(client.socket.get(), &half_a_head, sizeof(half_a_head), {}),
                               "sent");
                  EXPECT_FALSE(client.session->serve());
              }),
              MRC_REASON_VIOLATION);
    EXPECT_EQ(end_of([](connection &) {}), MRC_REASON_DAEMON_ENDS);
    EXPECT_EQ(daemon_.events().size(), 8U);
    connection lister = connect();
    ASSERT_EQ(ask(lister, request_kind::describe)->error, 0);
    lister.session.reset();
    EXPECT_EQ(daemon_.events().size(), 8U) << "who only asks for the host's description is no client";
}

TEST_F(client_sessions, are_listed_with_the_bytes_that_they_have_registered)
{
    connection client = connect();
    ASSERT_EQ(ask(client, request_kind::hello)->error, 0);
    const mrc_client_row &row = daemon_.clients().at(client.session->number());
    session::session_request request;
    request.kind = request_kind::register_memory;
    request.memory = {.address = 0,
                      .length = 3000,
                      .iova = 4096,
                      .offset = 0,
                      .pd = ask(client, request_kind::allocate_pd)->number,
                      .access = session::access_local_write};
    const std::vector<std::byte> bytes(4096);
    std::vector<std::uint32_t> keys;
    for (int region = 0; region < 2; ++region) {
        const kernel::unique_fd memory = sealed_memory("region", 4096);
        ASSERT_EQ(::pwrite(memory.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
        ASSERT_TRUE(session::send_packet(client.socket.get(), &request, sizeof(request), std::array{memory.get()}));
        ASSERT_TRUE(client.session->serve());
        const auto reply = reply_of(client);
        ASSERT_EQ(reply->error, 0) << reply->text;
        keys.push_back(reply->number);
    }
    EXPECT_EQ(row.registered_bytes, 6000U);
    request.memory.pd = 0; // none
    EXPECT_NE(ask(client, request)->error, 0);
    EXPECT_EQ(row.registered_bytes, 6000U) << "what was refused counts for nothing";
    request.kind = request_kind::deregister_memory;
    request.number = keys.front();
    ASSERT_EQ(ask(client, request)->error, 0);
    EXPECT_EQ(row.registered_bytes, 3000U);
    EXPECT_EQ(row.shared_bytes, 3000U);
}

TEST_F(client_sessions, give_back_at_their_end_whatever_they_held)
{
    {
        connection client = connect();
        ASSERT_EQ(ask(client, request_kind::hello)->error, 0);
        ASSERT_EQ(make_qp(client).error, 0);
        EXPECT_EQ(daemon_.qps_in_use(), 1U);
    }
    EXPECT_EQ(daemon_.qps_in_use(), 0U);
    for (std::size_t what = 0; what < static_cast<std::size_t>(resource::count); ++what)
        EXPECT_EQ(account_->held(static_cast<resource>(what)), 0U) << what;
}

} // namespace
} // namespace mrc::service
