// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/client_session.h"

#include <cerrno>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include "unit/service/daemon_in_memory.h"

namespace mrc::service
{
namespace
{

// Both ends of one client's socket.
class connection
{
public:
    connection(test::daemon_in_memory &daemon, const std::shared_ptr<user_account> &account)
    {
        int ends[2];
        test::demand(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "no socket");
        client_ = kernel::unique_fd{ends[0]};
        session_ = std::make_unique<client_session>(daemon.resources(), kernel::unique_fd{ends[1]}, account, holding{});
    }

    [[nodiscard]] session::session_reply ask(session::request_kind kind)
    {
        session::session_request request;
        request.kind = kind;
        EXPECT_EQ(::send(client_.get(), &request, sizeof(request), MSG_NOSIGNAL), ssize_t{sizeof(request)});
        EXPECT_TRUE(session_->serve());
        session::session_reply reply;
        EXPECT_EQ(::recv(client_.get(), &reply, sizeof(reply), 0), ssize_t{sizeof(reply)});
        return reply;
    }

private:
    kernel::unique_fd client_;
    std::unique_ptr<client_session> session_;
};

// What is logged during a test.
class log_text
{
public:
    log_text()
    {
        spdlog::set_default_logger(
            std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(text_)));
    }
    log_text(const log_text &) = delete;
    log_text &operator=(const log_text &) = delete;
    ~log_text() { spdlog::set_default_logger(before_); }

    [[nodiscard]] unsigned count(const std::string &what) const
    {
        unsigned found = 0;
        const std::string all = text_.str();
        for (std::size_t at = all.find(what); at != std::string::npos; at = all.find(what, at + 1))
            ++found;
        return found;
    }

private:
    std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
    std::ostringstream text_;
};

class client_sessions : public testing::Test
{
protected:
    [[nodiscard]] std::uint64_t limit() { return daemon_.resources().config.limits.clients; }
    [[nodiscard]] std::unique_ptr<connection> connect() { return std::make_unique<connection>(daemon_, account_); }

    test::daemon_in_memory daemon_{0};
    std::shared_ptr<user_account> account_ = std::make_shared<user_account>(1000);
    // All places of clients but one.
    std::optional<holding> others_ = holding::take(account_, resource::clients, limit() - 1, limit());
};

TEST_F(client_sessions, who_asks_for_the_description_of_the_host_takes_no_clients_place)
{
    const auto lister = connect();
    EXPECT_EQ(lister->ask(session::request_kind::describe).error, 0);
    const auto client = connect();
    EXPECT_EQ(client->ask(session::request_kind::hello).error, 0) << "the last place";
    const session::session_reply described = lister->ask(session::request_kind::describe);
    EXPECT_EQ(described.error, 0);
    EXPECT_EQ(std::string{described.host.instance}, "in-memory");
    EXPECT_EQ(account_->held(resource::clients), limit());
}

TEST_F(client_sessions, over_the_limit_the_answer_and_one_line_of_the_log_name_it)
{
    const log_text log;
    auto client = connect();
    EXPECT_EQ(client->ask(session::request_kind::hello).error, 0);
    const auto other = connect();
    for (int attempt = 0; attempt < 3; ++attempt) {
        const session::session_reply refused = other->ask(session::request_kind::hello);
        EXPECT_EQ(refused.error, EUSERS);
        EXPECT_NE(std::string{refused.text}.find("limits.clients"), std::string::npos) << refused.text;
    }
    EXPECT_EQ(log.count("limits.clients"), 1U);
    client.reset();
    EXPECT_EQ(other->ask(session::request_kind::hello).error, 0) << "a place is free";
}

} // namespace
} // namespace mrc::service
