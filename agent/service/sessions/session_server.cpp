// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/session_server.h"
#include "service/control/peer_process.h"
#include "service/log.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include <sys/socket.h>

namespace mrc::service
{

namespace
{

// A user's connections that are no clients: they ask for the host's description, or have not said hello yet.
constexpr std::uint32_t connections_beside_clients = 64;

} // namespace

session_server::connection::connection(boost::asio::io_context &context, const session_resources &shared,
                                       kernel::unique_fd socket, std::shared_ptr<const daemon_config> opened_with,
                                       std::shared_ptr<user_account> account, holding place)
    : config{std::move(opened_with)}, readable{context, socket.get()},
      session{shared, std::move(socket), std::move(account), std::move(place)}
{
}

session_server::session_server(boost::asio::io_context &context, surroundings around)
    : context_{context}, around_{std::move(around)}
{
}

session_server::~session_server() = default;

void session_server::open(kernel::unique_fd socket, std::shared_ptr<const daemon_config> config)
{
    ucred who{};
    socklen_t size = sizeof(who);
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        return;
    auto account = accounts_.of(who.uid);
    const std::uint32_t most = config->limits.clients + connections_beside_clients;
    auto place = holding::take(account, resource::connections, 1, most);
    if (!place) {
        if (account->is_first_refusal())
            log::warn("user {}: {} connections are open, {} more than limits.clients; more are closed", who.uid, most,
                      connections_beside_clients);
        return;
    }
    const session_resources shared = around_.resources(*config);
    connections_.emplace_back(context_, shared, std::move(socket), std::move(config), std::move(account),
                              std::move(*place));
    serve_next(std::prev(connections_.end()));
}

// What one client's request throws (out of memory, say) ends that client's session only.
bool session_server::serves(connection &client)
{
    try {
        const bool stays = client.session.serve();
        if (stays && client.session.is_client() && !client.process)
            watch_process(client);
        return stays;
    } catch (const std::exception &error) {
        log::error("a session ends: {}", error.what());
        return false;
    }
}

void session_server::serve_next(std::list<connection>::iterator at)
{
    at->readable.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                            [this, at](const boost::system::error_code &error) {
                                if (error == boost::asio::error::operation_aborted)
                                    return; // its end, or this server's: `at` is gone
                                if (!error && serves(*at)) {
                                    serve_next(at);
                                    return;
                                }
                                connections_.erase(at);
                                around_.on_closed();
                            });
}

void session_server::watch_process(connection &client)
{
    auto process = control::process_of_peer(client.session.fd());
    if (process.has_gone)
        client.session.shut_down();
    if (!process.pidfd)
        return; // in a PID namespace that is not below ours: the socket alone tells
    client.process.emplace(context_);
    client.process->assign(process.pidfd.get());
    (void)process.pidfd.release();
    client.process->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               [this, session = client.session.number()](const boost::system::error_code &error) {
                                   const client_session *gone = error ? nullptr : find(session);
                                   if (gone != nullptr)
                                       gone->shut_down();
                               });
}

void session_server::notify(const session::event_record &event) const
{
    for (const connection &client : connections_)
        client.session.notify(event);
}

const client_session *session_server::find(std::uint64_t session) const
{
    const auto found = std::ranges::find(connections_, session, [](const connection &c) { return c.session.number(); });
    return found == connections_.end() ? nullptr : &found->session;
}

void session_server::notify_subscription(std::uint64_t session, std::uint64_t subscription) const
{
    if (const client_session *client = find(session))
        client->notify_subscription(subscription);
}

void session_server::send_reply(std::uint64_t session, std::span<const std::byte> reply) const
{
    if (const client_session *client = find(session))
        client->send_reply(reply);
}

} // namespace mrc::service
