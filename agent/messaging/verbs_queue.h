// SPDX-License-Identifier: Apache-2.0
// A queue pair of mrc.h with a completion queue of its own, as the port of a connection.
#pragma once

#include <cstdint>

#include "messaging/handles.h"
#include "messaging/peer_address.h"
#include "messaging/ring_connection.h"

namespace mrc::messaging
{

// Index of the host's primary address in the GID table.
inline constexpr int primary_gid = 2;

class verbs_queue : public write_port
{
public:
    // A queue pair in INIT. Throws messaging_failure.
    verbs_queue(mrc_context *context, ibv_pd *pd, mrc_comp_channel *channel, const ring_shape &shape);

    // To RTS, toward the peer. False: failure_reason() says why.
    [[nodiscard]] bool connect(const peer_address &peer);

    [[nodiscard]] int post_write(const write_order &order) override;
    [[nodiscard]] int post_receive() override;
    void abandon() override;

    // Gives what has completed to the connection, failures as texts, and asks for an event for what comes next.
    void take_completions(ring_connection &connection);

    [[nodiscard]] std::uint32_t qpn() const { return qpn_; }
    [[nodiscard]] std::uint32_t first_psn() const { return first_psn_; }
    [[nodiscard]] mrc_cq *cq() const { return cq_.get(); }

private:
    bool take_some(ring_connection &connection);

    owned_cq cq_;
    owned_qp qp_;
    std::uint32_t qpn_ = 0;
    std::uint32_t first_psn_ = 0;
};

} // namespace mrc::messaging
