// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/session_listener.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "kernel/startup_error.h"

namespace mrc::service
{
namespace
{

namespace files = std::filesystem;

class session_listener_test : public testing::Test
{
protected:
    session_listener_test()
    {
        std::string name = files::temp_directory_path() / "mrc-listener-XXXXXX";
        folder_ = ::mkdtemp(name.data());
        config_.daemon.instance = "tried";
        config_.daemon.socket = folder_ / "run" / "mrcd.sock";
    }
    ~session_listener_test() override { files::remove_all(folder_); }

    void open(session_listener &listener) const
    {
        listener.open(config_, {.name = "self", .uid = ::geteuid(), .gid = ::getegid(), .groups = {}});
        listener.start();
    }
    [[nodiscard]] kernel::unique_fd connected() const
    {
        kernel::unique_fd client{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        config_.daemon.socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
        if (::connect(client.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0)
            return {};
        return client;
    }

    files::path folder_;
    daemon_config config_;
    boost::asio::io_context context_;
    std::vector<kernel::unique_fd> taken_;
};

TEST_F(session_listener_test, hands_over_who_connects_and_leaves_nothing_behind)
{
    {
        session_listener listener{context_, [this](kernel::unique_fd client) { taken_.push_back(std::move(client)); }};
        open(listener);
        struct stat about{};
        ASSERT_EQ(::stat(config_.daemon.socket.c_str(), &about), 0);
        EXPECT_EQ(about.st_mode & 07777, 0660U) << "of the daemon's user and one group";
        const kernel::unique_fd client = connected();
        ASSERT_TRUE(client);
        context_.run_one();
        EXPECT_EQ(taken_.size(), 1U);
    }
    EXPECT_FALSE(files::exists(config_.daemon.socket));
    EXPECT_FALSE(files::exists(folder_ / "run"));
}

TEST_F(session_listener_test, turns_clients_away_at_the_end)
{
    session_listener listener{context_, [this](kernel::unique_fd client) { taken_.push_back(std::move(client)); }};
    open(listener);
    listener.turn_away();
    const kernel::unique_fd client = connected();
    ASSERT_TRUE(client);
    context_.run_one();
    EXPECT_TRUE(taken_.empty());
    char byte = 0;
    EXPECT_EQ(::recv(client.get(), &byte, 1, 0), 0) << "closed";
}

TEST_F(session_listener_test, a_socket_that_somebody_listens_on_is_another_daemons)
{
    EXPECT_NO_THROW(session_listener::refuse_if_running(config_)) << "there is none";
    {
        session_listener listener{context_, [](kernel::unique_fd) {}};
        open(listener);
        try {
            session_listener::refuse_if_running(config_);
            FAIL() << "took the instance of a daemon that runs";
        } catch (const kernel::startup_error &error) {
            EXPECT_NE(std::string{error.what()}.find("instance 'tried' is running already"), std::string::npos)
                << error.what();
        }
    }
    EXPECT_NO_THROW(session_listener::refuse_if_running(config_));
}

TEST_F(session_listener_test, a_socket_left_by_a_killed_daemon_is_replaced)
{
    files::create_directories(folder_ / "run");
    {
        const kernel::unique_fd dead{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        config_.daemon.socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
        ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)), 0);
    }
    EXPECT_NO_THROW(session_listener::refuse_if_running(config_));
    session_listener listener{context_, [](kernel::unique_fd) {}};
    open(listener);
    EXPECT_TRUE(connected());
}

TEST_F(session_listener_test, a_group_that_does_not_exist_is_named)
{
    session_listener listener{context_, [](kernel::unique_fd) {}};
    open(listener);
    const std::string before = listener.group_name();
    config_.daemon.group = "no-such-group-of-mrc";
    const auto changed = listener.set_group(config_);
    ASSERT_FALSE(changed);
    EXPECT_NE(changed.error().find("no-such-group-of-mrc"), std::string::npos) << changed.error();
    EXPECT_EQ(listener.group_name(), before);
}

} // namespace
} // namespace mrc::service
