// SPDX-License-Identifier: Apache-2.0
// Clients of two daemons in memory, which are made once a process; what one input leaves in them is a finding.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "service/sessions/client_session.h"
#include "session/session_protocol.h"
#include "unit/service/daemon_in_memory.h"

namespace mrc::fuzz
{

using test::daemon_in_memory;
using test::demand;
using test::run;

// A client's end of a session: what it asks is served at once.
class fake_client
{
public:
    explicit fake_client(daemon_in_memory &daemon);

    struct reply {
        bool came = false;
        session::session_reply body;
        std::array<kernel::unique_fd, 4> fds;
        [[nodiscard]] bool done() const { return came && body.error == 0; }
    };
    // Any bytes, with a descriptor or without. No reply when the session has ended, or there is none yet.
    reply send(std::span<const std::byte> packet, int fd = -1);
    reply ask(const session::session_request &request, int fd = -1);
    [[nodiscard]] bool ended() const { return session_ == nullptr; }

private:
    kernel::unique_fd socket_;
    std::unique_ptr<service::client_session> session_;
};

// A client with one queue pair and one CQ for both queues of it.
struct fake_endpoint {
    fake_endpoint(daemon_in_memory &daemon, std::uint32_t depth);

    session::session_reply request(session::request_kind kind, int fd = -1, std::uint32_t number = 0);
    // Memory of this process at `at`: remote peers may write to it.
    std::uint32_t register_memory(const void *at, std::size_t bytes);
    std::uint32_t register_memfd(int fd, std::size_t bytes);
    bool modify(protocol::qp_state to, const fake_endpoint *peer = nullptr);

    daemon_in_memory &on;
    fake_client client;
    std::uint32_t pd = 0;
    session::qp_reply qp{};
    session::queue_pair_layout layout;
    kernel::mapping bells;
    kernel::mapping rings;
    kernel::mapping completions;
    session::ring_view<session::completion_entry> done;
};

void connect(fake_endpoint &a, fake_endpoint &b);

// The client that must not notice anything: each transfer is of other bytes, which arrive as they are.
class honest_pair
{
public:
    honest_pair(daemon_in_memory &a, daemon_in_memory &b);
    // Posts a message, and demands that it completes.
    void transfer(daemon_in_memory &a, daemon_in_memory &b);
    [[nodiscard]] std::uint32_t key_here() const { return source_key_; }
    [[nodiscard]] std::uint32_t key_there() const { return target_key_; }

private:
    static constexpr std::size_t size = 3000;
    fake_endpoint here_;
    fake_endpoint there_;
    std::vector<std::byte> source_;
    std::vector<std::byte> target_;
    std::uint32_t source_key_;
    std::uint32_t target_key_;
    std::uint8_t turn_ = 0;
    session::ring_view<session::send_entry> sends_;
};

// Descriptors that this process has open.
[[nodiscard]] std::size_t open_descriptors();
// Waits until so many are open again: threads of the daemon close what clients sent.
void await_descriptors(std::size_t count);

} // namespace mrc::fuzz
