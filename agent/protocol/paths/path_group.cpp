// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/path_group.h"

#include "protocol/paths/path_questions.h"
#include "protocol/paths/path_retirement.h"
#include "protocol/paths/path_silence.h"

namespace mrc::protocol
{

path_group::path_group(const path_group_config &config, const local_ports &local, const plane_mask &linked)
    : state_{config, local, linked}
{
}

void path_group::deny(unsigned slot)
{
    protocol::deny(state_, slot);
    call_();
}

void path_group::allow(unsigned slot)
{
    protocol::allow(state_, slot);
    call_();
}

void path_group::exchange(const std::vector<profile_entry> &universe, const std::vector<std::uint32_t> &denied)
{
    protocol::exchange(state_, universe, denied);
    call_();
}

void path_group::on_delivered(unsigned slot, instant sent_at)
{
    call_();
    hear(state_, slot, sent_at);
    state_.evidence.on_carried(slot);
    // Only silence is disproved by a delivery; a path that is retired for its losses delivers most of the time.
    const path_record &path = state_.paths[slot];
    if (path.silenced && sent_at >= path.silent_since && state_.prober.on_success(slot))
        prove(state_, slot, path_cause::deliveries, sent_at);
}

void path_group::on_loss(unsigned slot, instant now)
{
    state_.count_loss(slot);
    state_.evidence.on_loss(slot);
    if (state_.evidence.recent_losses(slot, state_.config.loss_span) >= state_.config.loss_limit)
        blame(state_, slot, path_cause::loss, std::nullopt, now);
    call_();
}

void path_group::on_always_skip(unsigned slot, instant now)
{
    blame(state_, slot, path_cause::always_skip, std::nullopt, now);
    call_();
}

void path_group::on_silence(unsigned slot, instant sent_at, instant now, duration tolerance)
{
    protocol::on_silence(state_, slot, sent_at, now, tolerance);
    call_();
}

void path_group::on_unanswered(unsigned slot, instant sent_at, instant now, duration tolerance)
{
    protocol::on_unanswered(state_, slot, sent_at, now, tolerance);
    call_();
}

void path_group::on_late(unsigned slot, instant sent_at, instant now)
{
    protocol::on_late(state_, slot, sent_at, now);
    call_();
}

void path_group::on_plane_silence(unsigned slot, instant sent_at, instant now)
{
    silence_path(state_, slot, true, sent_at, now);
    call_();
}

bool path_group::plane_delivers(plane_index plane, instant since) const
{
    return state_.planes[plane.value].delivered >= since;
}

std::optional<outgoing> path_group::next_packet(instant now, plane_mask reachable)
{
    return protocol::next_packet(state_, now, reachable);
}

bool path_group::on_packet(const endpoint_response_packet &response, const arrival &how)
{
    call_();
    return protocol::on_packet(state_, response, how);
}

instant path_group::next_deadline() const
{
    return protocol::next_deadline(state_);
}

outgoing path_group::make_probe(unsigned slot, std::uint16_t request_id, instant now) const
{
    return protocol::make_probe(state_, slot, request_id, now);
}

std::optional<path_transition> path_group::next_transition()
{
    return protocol::next_transition(state_);
}

} // namespace mrc::protocol
