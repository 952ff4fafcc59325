// SPDX-License-Identifier: Apache-2.0
#include "protocol/queue_pair.h"

#include <algorithm>

#include "protocol/send/acks.h"
#include "protocol/send/next_packet.h"
#include "protocol/send/timers.h"
#include "protocol/trace_packets.h"

namespace mrc::protocol
{

namespace
{

constexpr plane_mask all_planes{0xFF};

std::unique_ptr<peer_planes> private_peer(const qp_surroundings &around)
{
    if (around.peer != nullptr)
        return nullptr;
    return std::make_unique<peer_planes>(probe_config{}, around.paths);
}

std::unique_ptr<sack_proofs> private_proofs(const qp_surroundings &around)
{
    if (around.proofs != nullptr)
        return nullptr;
    return std::make_unique<sack_proofs>(around.paths.size());
}

// The operator wants no packets there. A path without an EV of this end's may have one of the peer's: that is no wish.
bool unwanted(const path_group &paths, path_index cause)
{
    const auto slot = paths.slot_at(cause);
    return slot && paths.exists(*slot) && paths.state(*slot) == path_state::denied;
}

} // namespace

queue_pair::queue_pair(const qp_config &config, const qp_surroundings &around)
    : local_{config.local}, paths_{around.paths},
      peer_ports_{around.peer_ports != nullptr ? *around.peer_ports : all_planes}, own_peer_{private_peer(around)},
      own_proofs_{private_proofs(around)}, peer_{around.peer != nullptr ? *around.peer : *own_peer_},
      own_selector_{paths_, config.seed, around.pool},
      requester_{config,
                 {paths_, peer_ports_, peer_, around.peer != nullptr},
                 around.proofs != nullptr ? *around.proofs : *own_proofs_,
                 around.selector != nullptr ? *around.selector : own_selector_,
                 around.control,
                 counters_,
                 around.pool,
                 around.trace},
      responder_{config, around.memory, counters_, around.pool, around.trace}, state_{config.state}
{
    requester_.draining = state_ == qp_state::send_queue_drained;
    if (state_ == qp_state::error)
        responder_.fail();
}

std::expected<void, post_error> queue_pair::post_write(const write_request &request, instant)
{
    if (!sends())
        return std::unexpected{post_error::wrong_state};
    return protocol::post(requester_, request);
}

std::expected<void, post_error> queue_pair::post_receive(std::uint64_t id)
{
    if (state_ == qp_state::reset || state_ == qp_state::error)
        return std::unexpected{post_error::wrong_state};
    return responder_.post_receive(id);
}

bool queue_pair::modify(qp_event event)
{
    const auto next = next_state(state_, event);
    if (!next || *next == qp_state::reset)
        return false;
    if (*next == qp_state::error)
        fail(completion_status::flushed);
    state_ = *next;
    requester_.draining = state_ == qp_state::send_queue_drained;
    if (state_ != qp_state::error) // fail() has told
        trace_state();
    return true;
}

bool queue_pair::begin_sending(const send_terms &terms)
{
    if (state_ != qp_state::ready_to_receive)
        return false;
    protocol::begin(requester_, terms);
    return modify(qp_event::to_ready_to_send);
}

void queue_pair::on_packet(const packet &content, std::span<const std::byte> payload, const arrival &how, instant now)
{
    if (!receives()) { // the peer was quicker than our application: it sends again
        ++counters_.rx_wrong_state;
        return;
    }
    struct dispatch {
        queue_pair &qp;
        std::span<const std::byte> payload;
        const arrival &how;
        instant now;

        void operator()(const data_packet &data) const { qp.responder_.on_data(data, payload, how, now); }
        void operator()(const probe_packet &probe) const
        {
            if (!how.trimmed)
                qp.responder_.on_probe(probe, how);
        }
        void operator()(const sack_packet &sack) const
        {
            if (qp.sends() && !how.trimmed)
                on_sack(qp.requester_, sack, how, now);
        }
        void operator()(const nack_packet &nack) const
        {
            if (qp.sends() && !how.trimmed)
                on_nack(qp.requester_, nack, how, now);
        }
        void operator()(const transport_ack_packet &ack) const
        {
            if (qp.sends() && !how.trimmed)
                on_transport_ack(qp.requester_, ack, how, now);
        }
        void operator()(const endpoint_request_packet &) const {}  // of hosts, not of QPs
        void operator()(const endpoint_response_packet &) const {} // path_group::on_packet
    };
    std::visit(dispatch{*this, payload, how, now}, content);
    // After an error only the responder goes on, so that a lost Transport NAK can be asked for again.
    follow(requester_.failure);
    follow(responder_.failure());
}

void queue_pair::settle()
{
    responder_.settle();
    follow(responder_.failure());
}

std::optional<outgoing> queue_pair::next_packet(instant now)
{
    if (responder_.has_answer())
        if (auto answer = next_answer(now))
            return answer;
    if (!sends())
        return std::nullopt;
    return protocol::next_packet(requester_, now);
}

std::optional<outgoing> queue_pair::next_answer(instant now)
{
    const path_index cause = responder_.next_cause();
    const auto where = paths_.answer_path(cause, requester_.way.usable());
    if (!where) // there is no plane, or all paths are denied: the answer waits
        return std::nullopt;
    auto answer = responder_.next_answer(now);
    if (!answer)
        return std::nullopt;
    if (auto *sack = std::get_if<sack_packet>(&*answer); sack != nullptr && unwanted(paths_, cause))
        sack->m = MRC_SACK_M_ALWAYS_SKIP;
    trace(requester_.trace,
          [&] { return answer_event(*answer, {.local = local_, .peer = requester_.config.peer, .at = now}); });
    paths_.on_answer_sent(now);
    return outgoing{*answer, {}, where->entropy, where->index, MRC_DSCP_CONTROL, MRC_ECN_NOT_ECT};
}

void queue_pair::on_timer(instant now)
{
    if (!sends())
        return;
    protocol::on_timer(requester_, now);
    follow(requester_.failure);
}

instant queue_pair::next_deadline() const
{
    return sends() ? protocol::next_deadline(requester_) : never;
}

void queue_pair::announce() const
{
    own_selector_.announce();
    protocol::announce(requester_);
    responder_.announce();
}

void queue_pair::rest()
{
    own_selector_.rest();
    protocol::rest(requester_);
    responder_.rest();
}

std::optional<completion> queue_pair::next_completion()
{
    return requester_.queue.next_completion();
}

void queue_pair::fail(completion_status status)
{
    if (state_ == qp_state::error)
        return;
    state_ = next_state(state_, qp_event::fail).value_or(qp_state::error);
    trace_state();
    protocol::fail(requester_, status);
    responder_.fail();
}

void queue_pair::trace_state() const
{
    trace(requester_.trace, [&] {
        return trace_event{.kind = trace_kind::state,
                           .at = requester_.trace.now(),
                           .local = local_,
                           .peer = requester_.config.peer,
                           .value = static_cast<std::uint64_t>(state_)};
    });
}

void queue_pair::follow(std::optional<completion_status> failure)
{
    if (failure)
        fail(*failure);
}

} // namespace mrc::protocol
