// SPDX-License-Identifier: Apache-2.0
// A client of a daemon in memory, as the functions of agent/service/sessions see it: it has said hello, and asks by
// calling them.
#pragma once

#include <memory>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include "service/sessions/client_pipes.h"
#include "service/sessions/client_regions.h"
#include "service/sessions/completion_queues.h"
#include "service/sessions/qp_states.h"
#include "service/sessions/queue_pairs.h"
#include "service/sessions/ring_memory.h"
#include "service/sessions/session_state.h"
#include "unit/service/daemon_in_memory.h"

namespace mrc::test
{

class session_in_memory
{
public:
    explicit session_in_memory(
        daemon_in_memory &daemon, std::uint32_t number = 1,
        std::shared_ptr<service::user_account> account = std::make_shared<service::user_account>(0))
        : on{daemon}, state{daemon.resources(), std::move(account), number}
    {
        auto client = std::make_unique<datapath::worker_client>();
        client->doorbell = kernel::unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
        client->bell_memory =
            service::map_whole(service::sealed_memory("bells", sizeof(session::bell_page)), sizeof(session::bell_page));
        client->number = number;
        client->by_bell.resize(service::most_of_a_session(state.shared.config.limits));
        client->active.reserve(service::most_of_a_session(state.shared.config.limits));
        state.worker_side = client.get();
        demand(state.worker().hear(client->doorbell), "no doorbell");
        state.worker().add_client(std::move(client));
    }
    session_in_memory(const session_in_memory &) = delete;
    session_in_memory &operator=(const session_in_memory &) = delete;
    ~session_in_memory()
    {
        service::release_qps(state);
        const auto gone = state.worker().remove_client(*state.worker_side);
        service::release_regions(state);
    }

    [[nodiscard]] std::uint32_t make_events() { return service::open_events(state).reply.number; }
    [[nodiscard]] std::uint32_t make_pd() { return service::allocate_pd(state).reply.number; }
    [[nodiscard]] std::uint32_t make_cq(std::uint32_t entries = 64, std::uint32_t channel = 0)
    {
        return service::create_cq(state, {.entries = entries, .channel = channel, .events = events, .reserved = 0})
            .reply.cq.number;
    }
    // Of a queue pair with one CQ for both of its queues; members may be changed.
    [[nodiscard]] session::qp_request qp_request(std::uint32_t pd, std::uint32_t cq) const
    {
        return {.pd = pd,
                .send_cq = cq,
                .receive_cq = cq,
                .events = events,
                .send_depth = 16,
                .receive_depth = 16,
                .most_pieces = 2,
                .most_inline = 0};
    }
    [[nodiscard]] std::uint32_t make_qp()
    {
        return service::create_qp(state, qp_request(make_pd(), make_cq())).reply.qp.qpn;
    }
    // To the state, with what it needs of the peer; 0 or an errno value.
    int modify(std::uint32_t qpn, protocol::qp_state to, const session_in_memory *peer = nullptr,
               std::uint32_t peer_qpn = 0)
    {
        session::qp_attributes wanted{};
        wanted.qpn = qpn;
        wanted.mask = session::qp_sets_state;
        wanted.state = static_cast<std::uint8_t>(to);
        if (peer != nullptr) {
            wanted.mask |= session::qp_sets_peer | session::qp_sets_receive_psn | session::qp_sets_send_psn;
            wanted.peer_qpn = peer_qpn;
            wanted.peer = peer->on.address();
        }
        return service::modify_qp(state, wanted).reply.error;
    }
    [[nodiscard]] protocol::qp_state state_of(std::uint32_t qpn)
    {
        return static_cast<protocol::qp_state>(service::query_qp(state, qpn).reply.attributes.state);
    }
    [[nodiscard]] std::uint64_t held(service::resource what) const { return state.account->held(what); }

    daemon_in_memory &on;
    service::session_state state;
    std::uint32_t events = make_events();
};

// What has been written to a pipe since.
[[nodiscard]] inline std::vector<session::event_record> read_events(int pipe)
{
    std::vector<session::event_record> all;
    for (session::event_record one; ::read(pipe, &one, sizeof(one)) == sizeof(one);)
        all.push_back(one);
    return all;
}

} // namespace mrc::test
