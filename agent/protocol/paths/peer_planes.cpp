// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/peer_planes.h"

#include <utility>

namespace mrc::protocol
{

peer_planes::peer_planes(const probe_config &probes, const path_group &paths, asker who)
    : paths_{paths}, prober_{probes, paths.planes(), 1, ids_of(plane_probe_ids, who)}
{
}

bool peer_planes::suspect(plane_index plane, plane_mask usable, instant now)
{
    usable.set(plane, false);
    if ((usable & plane_mask{~suspected_.bits()}).empty())
        return false;
    set_suspected(plane, true);
    planes_[plane.value].suspected_at = now;
    prober_.start(plane.value, now);
    call_();
    return true;
}

void peer_planes::set_suspected(plane_index plane, bool is)
{
    suspected_.set(plane, is);
    ++paths_.local().ways_changed;
}

bool peer_planes::follow(instant now)
{
    const bool silent = silent_since_ != never && now - silent_since_ >= silence_patience;
    const report before = std::exchange(reported_, {suspected_, silent});
    return before != reported_;
}

// A packet got through that was sent after the suspicion.
void peer_planes::on_proof(plane_index plane, instant sent_at)
{
    call_();
    if (sent_at < planes_[plane.value].suspected_at || !prober_.on_success(plane.value))
        return;
    prober_.stop(plane.value, sent_at);
    set_suspected(plane, false);
}

std::optional<outgoing> peer_planes::next_packet(instant now)
{
    resting_ = now > until_;
    if (!prober_.active() || resting_)
        return std::nullopt;
    const auto probe = prober_.next(now, paths_.usable(), suspected_);
    if (!probe)
        return std::nullopt;
    const plane_index plane{static_cast<std::uint8_t>(probe->slot)};
    record &at = planes_[plane.value];
    const std::uint16_t slot = paths_.active_slot(plane, at.turn++ % paths_.active_per_plane());
    return paths_.make_probe(slot, probe->request_id, now);
}

bool peer_planes::on_packet(const endpoint_response_packet &response, const arrival &how)
{
    call_();
    const auto answer = prober_.on_answer(response.request_id, how.at);
    if (!answer)
        return false;
    const plane_index plane{static_cast<std::uint8_t>(answer->slot)};
    if (!answer->reinstate)
        return true;
    prober_.stop(plane.value, how.at);
    planes_[plane.value].unanswered = 0;
    set_suspected(plane, false);
    return true;
}

} // namespace mrc::protocol
