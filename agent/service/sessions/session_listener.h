// SPDX-License-Identifier: Apache-2.0
// The socket on which applications reach the daemon: who may, and what happens when there are too many.
//
// The socket is the daemon's user's and a group's, mode 0660; its folder may be searched by all, so that a user outside
// of the group is told EACCES instead of finding no daemon.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/types.h>

#include "kernel/privileges.h"
#include "kernel/unique_fd.h"
#include "service/config/config.h"

namespace mrc::service
{

class session_listener
{
public:
    using taker = std::function<void(kernel::unique_fd)>;

    session_listener(boost::asio::io_context &context, taker take);
    session_listener(const session_listener &) = delete;
    session_listener &operator=(const session_listener &) = delete;
    ~session_listener(); // removes the socket, and the folder when nothing else is in it

    // Before anything of the instance is touched: its pins and socket may belong to a daemon that lives. Throws
    // then, unless that daemon is about to end.
    static void refuse_if_running(const daemon_config &config);

    // Makes the socket, and gives it and its folder to `user`, whom the daemon is about to become. Throws
    // kernel::startup_error.
    void open(const daemon_config &config, const kernel::user_identity &user);
    void start();

    // Gives the socket to another group. The error says what is wrong; nothing has changed then.
    [[nodiscard]] std::expected<void, std::string> set_group(const daemon_config &config);

    // A descriptor has been closed: goes on where descriptors had run out.
    void resume();

    // From now on clients are turned away at once.
    void turn_away() { turning_away_ = true; }

    [[nodiscard]] const std::string &group_name() const { return group_name_; } // empty: root's only

private:
    void wait();
    void accept_one();
    void pause(int reason);

    boost::asio::posix::stream_descriptor socket_;
    boost::asio::steady_timer retry_;
    taker take_;
    std::string path_; // empty until the socket is there
    std::string group_name_;
    bool paused_ = false;
    bool turning_away_ = false;
};

// Descriptors are what sessions are made of: as many as the system grants. Returns the limit.
std::uint64_t raise_descriptor_limit();

} // namespace mrc::service
