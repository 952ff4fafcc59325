// SPDX-License-Identifier: Apache-2.0
// The daemon's side of one client: reads its requests from the socket, has them answered, and ends what it owns with
// it. What a client says is checked by the functions that answer; what it writes to shared memory, in the worker.
//
// A connection is no client until it has said hello: whoever only asks for the host's description costs a descriptor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "kernel/unique_fd.h"
#include "service/sessions/answer.h"
#include "service/sessions/client_listing.h"
#include "service/sessions/deferred_close.h"
#include "service/sessions/session_state.h"
#include "service/sessions/user_account.h"
#include "session/fd_passing.h"
#include "session/session_protocol.h"

namespace mrc::service
{

class client_session
{
public:
    // What it holds counts in the account; `connection` is its own place there.
    client_session(session_resources shared, kernel::unique_fd socket, std::shared_ptr<user_account> account,
                   holding connection);
    client_session(const client_session &) = delete;
    client_session &operator=(const client_session &) = delete;
    ~client_session(); // queue pairs first, then completion queues, then memory

    [[nodiscard]] int fd() const { return socket_.get(); }

    // Reads and answers one request. False when the client has gone or broke the protocol: end the session.
    bool serve();

    // To all event pipes of the client.
    void notify(const session::event_record &event) const;
    // A controller's reply, later than its request.
    void send_reply(std::span<const std::byte> reply) const;
    // An EV event waits to be polled.
    void notify_subscription(std::uint64_t subscription) const;
    [[nodiscard]] std::uint32_t number() const { return state_.number; }
    [[nodiscard]] bool is_client() const { return state_.worker_side != nullptr; } // it has said hello
    // Its process has gone: what others still hold of the socket is deaf, and serve() finds the session's end.
    void shut_down() const;

private:
    bool serve_packet(std::span<const std::byte> bytes, const session::received_packet &how, kernel::unique_fd &fd);
    bool serve_request(std::span<const std::byte> packet, kernel::unique_fd &fd);
    bool serve_control(std::span<const std::byte> packet);
    // What is not adopted stays in `fd`.
    answer handle(const session::session_request &request, kernel::unique_fd &fd);
    answer hello(kernel::unique_fd &memory);
    [[nodiscard]] asking_user who_asks() const;
    void drain_socket();
    void closes(mrc_event_reason why);

    session_state state_;
    holding connection_;
    holding place_;                         // of a client, since hello
    std::optional<client_listing> listing_; // since hello
    deferred_close unwanted_;
    kernel::unique_fd socket_;
    std::uint64_t connected_at_; // CLOCK_BOOTTIME, ns
};

} // namespace mrc::service
