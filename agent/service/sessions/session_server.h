// SPDX-License-Identifier: Apache-2.0
// Serves the clients that have connected: a session for each, until it has gone or broken the protocol. On the thread
// of the context.
//
// A client ends with the process that connected. The end of its socket alone would not do: a child that it forked holds
// the socket, too, and would keep the memory of a session that nobody can use any more.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "kernel/unique_fd.h"
#include "service/config/config.h"
#include "service/sessions/client_session.h"
#include "service/sessions/user_account.h"

namespace mrc::service
{

class session_server
{
public:
    struct surroundings {
        // What sessions with this configuration share.
        std::function<session_resources(const daemon_config &)> resources;
        std::function<void()> on_closed; // a session's descriptors are free again
    };

    session_server(boost::asio::io_context &context, surroundings around);
    session_server(const session_server &) = delete;
    session_server &operator=(const session_server &) = delete;
    ~session_server();

    // Begins a session, which keeps this configuration. A user with too many connections is turned away, and the log
    // says so once.
    void open(kernel::unique_fd socket, std::shared_ptr<const daemon_config> config);

    // To all clients; to one, if it is still there: an EV event waits to be polled, a reply that is late.
    void notify(const session::event_record &event) const;
    void notify_subscription(std::uint64_t session, std::uint64_t subscription) const;
    void send_reply(std::uint64_t session, std::span<const std::byte> reply) const;

    [[nodiscard]] std::size_t count() const { return connections_.size(); }

private:
    struct connection {
        connection(boost::asio::io_context &context, const session_resources &shared, kernel::unique_fd socket,
                   std::shared_ptr<const daemon_config> opened_with, std::shared_ptr<user_account> account,
                   holding place);
        connection(const connection &) = delete;
        connection &operator=(const connection &) = delete;
        ~connection() { readable.release(); } // the session closes it

        std::shared_ptr<const daemon_config> config; // outlives the session, which refers to it
        boost::asio::posix::stream_descriptor readable;
        std::optional<boost::asio::posix::stream_descriptor> process; // a client's, whose end ends it
        client_session session;
    };

    [[nodiscard]] bool serves(connection &client);
    void serve_next(std::list<connection>::iterator at);
    void watch_process(connection &client);
    [[nodiscard]] const client_session *find(std::uint64_t session) const;

    boost::asio::io_context &context_;
    surroundings around_;
    user_accounts accounts_;
    std::list<connection> connections_;
};

} // namespace mrc::service
