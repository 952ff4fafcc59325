// SPDX-License-Identifier: Apache-2.0
#include "protocol/queue_pair.h"

#include <algorithm>

namespace mrc::protocol
{

namespace
{

// Each consumer of randomness gets its own stream of the QP's seed.
constexpr std::uint64_t reverse_stream = 0x7265766572736521u;

} // namespace

queue_pair::queue_pair(const qp_config &config, path_group &paths, memory_sink &memory, congestion_control &control,
                       path_selector *selector)
    : local_{config.local}, paths_{paths}, own_selector_{paths, config.seed},
      reverse_selector_{paths, config.seed ^ reverse_stream},
      requester_{config, paths, selector != nullptr ? *selector : own_selector_, control, counters_},
      responder_{config, memory, counters_}
{
}

std::expected<void, post_error> queue_pair::post_write(const write_request &request, instant now)
{
    if (state_ != qp_state::ready_to_send && state_ != qp_state::send_queue_drained)
        return std::unexpected{post_error::wrong_state};
    return requester_.post(request, now);
}

void queue_pair::on_packet(const packet &content, std::span<const std::byte> payload, const arrival &how, instant now)
{
    paths_.on_arrival(how.path);
    // After an error only the responder goes on, so that a lost Transport NAK can be asked for again.
    const bool sends = state_ != qp_state::error;
    struct dispatch {
        queue_pair &qp;
        std::span<const std::byte> payload;
        const arrival &how;
        instant now;
        bool sends;

        void operator()(const data_packet &data) const { qp.responder_.on_data(data, payload, how, now); }
        void operator()(const probe_packet &probe) const
        {
            if (!how.trimmed)
                qp.responder_.on_probe(probe, how);
        }
        void operator()(const sack_packet &sack) const
        {
            if (sends && !how.trimmed)
                qp.requester_.on_sack(sack, how, now);
        }
        void operator()(const nack_packet &nack) const
        {
            if (sends && !how.trimmed)
                qp.requester_.on_nack(nack, how, now);
        }
        void operator()(const transport_ack_packet &ack) const
        {
            if (sends && !how.trimmed)
                qp.requester_.on_transport_ack(ack, how, now);
        }
        void operator()(const endpoint_request_packet &) const {}  // of hosts, not of QPs
        void operator()(const endpoint_response_packet &) const {} // path_group::on_packet
    };
    std::visit(dispatch{*this, payload, how, now, sends}, content);
    follow(requester_.failure());
}

std::optional<outgoing> queue_pair::next_packet(instant now)
{
    if (responder_.has_answer())
        if (auto answer = next_answer())
            return answer;
    if (state_ == qp_state::error)
        return std::nullopt;
    return requester_.next_packet(now);
}

// Answers avoid the planes on which the peer is heard no more: it has left them, or it cannot reach us there.
std::optional<outgoing> queue_pair::next_answer()
{
    plane_mask quiet;
    for (unsigned lane = 0; lane < paths_.planes(); ++lane) {
        const plane at{static_cast<std::uint8_t>(lane)};
        quiet.set(at, !paths_.reverse_alive(at));
    }
    const auto where = reverse_selector_.draw(paths_, quiet);
    if (!where)
        return std::nullopt;
    const auto content = responder_.next_answer();
    if (!content)
        return std::nullopt;
    return outgoing{*content, {}, where->entropy, where->index, MRC_DSCP_CONTROL, MRC_ECN_NOT_ECT};
}

void queue_pair::on_timer(instant now)
{
    if (state_ == qp_state::error)
        return;
    requester_.on_timer(now);
    follow(requester_.failure());
}

instant queue_pair::next_deadline() const
{
    return state_ == qp_state::error ? never : requester_.next_deadline();
}

std::optional<completion> queue_pair::next_completion()
{
    return requester_.next_completion();
}

void queue_pair::fail(completion_status status)
{
    if (state_ == qp_state::error)
        return;
    state_ = next_state(state_, qp_event::fail).value_or(qp_state::error);
    requester_.fail(status);
}

void queue_pair::follow(std::optional<completion_status> failure)
{
    if (failure)
        fail(*failure);
}

} // namespace mrc::protocol
