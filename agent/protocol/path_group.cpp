// SPDX-License-Identifier: Apache-2.0
#include "protocol/path_group.h"

#include <algorithm>
#include <utility>

#include "protocol/random_source.h"

namespace mrc::protocol
{

namespace
{

// With so many arrivals per plane since the last on a plane, the peer has left that plane or cannot reach us on it.
constexpr std::uint64_t reverse_patience = 64;
// Packets of a plane that must have gone unanswered before the plane as a whole is suspected.
constexpr std::uint32_t plane_suspicion = 3;
constexpr std::uint32_t entropy_values = 1u << (32 - MRC_EV_ENTROPY_SHIFT);

path_group_config completed(path_group_config config)
{
    if (config.active_per_plane == 0 || config.active_per_plane > config.uplinks)
        config.active_per_plane = config.uplinks;
    return config;
}

} // namespace

path_group::path_group(const path_group_config &config, const plane_mask &local)
    : config_{completed(config)}, local_{&local}, peer_{(1u << config.planes) - 1},
      paths_(std::size_t{config.planes} * config.uplinks),
      active_slots_(std::size_t{config.planes} * config_.active_per_plane), evidence_{size()},
      prober_{config.probes, config.planes, config.uplinks},
      heartbeat_{config.heartbeats, config.planes, config.uplinks}
{
    random_source random{config.seed};
    for (unsigned slot = 0; slot < size(); ++slot) {
        // Entropy from 1 on: EV 0 is never used, some NICs take it for "no EV".
        const std::uint32_t entropy = 1 + random.below(entropy_values - 1);
        paths_[slot].entropy = ev{mrc_ev_make(slot / config_.uplinks, slot % config_.uplinks, entropy)};
    }
    // A random subset of each plane: senders that do not talk to each other spread over all uplinks.
    std::vector<std::uint16_t> uplinks(config_.uplinks);
    for (unsigned lane = 0; lane < config_.planes; ++lane) {
        for (unsigned i = 0; i < config_.uplinks; ++i)
            uplinks[i] = static_cast<std::uint16_t>(i);
        for (unsigned i = config_.uplinks; i > 1; --i)
            std::swap(uplinks[i - 1], uplinks[random.below(i)]);
        for (unsigned position = 0; position < config_.active_per_plane; ++position) {
            const unsigned slot = lane * config_.uplinks + uplinks[position];
            active_slots_[lane * config_.active_per_plane + position] = static_cast<std::uint16_t>(slot);
            paths_[slot].active = true;
            paths_[slot].position = static_cast<std::uint16_t>(position);
        }
        good_active_[lane] = static_cast<std::uint16_t>(config_.active_per_plane);
        good_planes_.set(plane{static_cast<std::uint8_t>(lane)}, true);
    }
}

plane path_group::plane_at(unsigned slot) const
{
    return {static_cast<std::uint8_t>(slot / config_.uplinks)};
}

path_choice path_group::path(unsigned slot) const
{
    return {path_index{config_.base.value + slot}, paths_[slot].entropy, plane_at(slot),
            static_cast<std::uint16_t>(slot)};
}

std::optional<std::uint16_t> path_group::slot_of(ev entropy) const
{
    const unsigned lane = mrc_ev_plane(entropy.value);
    const unsigned uplink = mrc_ev_uplink(entropy.value);
    if (lane >= config_.planes || uplink >= config_.uplinks)
        return std::nullopt;
    const unsigned slot = lane * config_.uplinks + uplink;
    if (paths_[slot].entropy != entropy)
        return std::nullopt;
    return static_cast<std::uint16_t>(slot);
}

std::optional<plane> path_group::plane_of(path_index index) const
{
    if (index < config_.base || index.value - config_.base.value >= size())
        return std::nullopt;
    return plane_at(index.value - config_.base.value);
}

std::uint16_t path_group::active_slot(plane lane, unsigned position) const
{
    return active_slots_[lane.value * config_.active_per_plane + position];
}

void path_group::on_sent(unsigned slot, instant, bool retransmission)
{
    path_counters &counters = paths_[slot].counters;
    ++counters.tx_packets;
    counters.retransmits += retransmission ? 1 : 0;
    evidence_.on_sent(slot);
}

void path_group::on_delivered(unsigned slot, instant sent_at)
{
    evidence_.on_delivered(slot, sent_at);
    on_late_delivery(slot);
}

void path_group::on_late_delivery(unsigned slot)
{
    // Only silence is disproved by a delivery; a path that is retired for its losses delivers most of the time.
    if (paths_[slot].silenced && prober_.on_success(slot))
        readmit(slot, std::nullopt);
}

void path_group::on_loss(unsigned slot, instant now)
{
    ++paths_[slot].counters.losses;
    evidence_.on_loss(slot);
    if (paths_[slot].state == path_state::good &&
        evidence_.recent_losses(slot, config_.loss_span) >= config_.loss_limit && may_retire(slot, true))
        retire(slot, false, now);
}

void path_group::on_always_skip(unsigned slot, instant now)
{
    if (paths_[slot].state == path_state::good && may_retire(slot, true))
        retire(slot, false, now);
}

void path_group::on_silence(unsigned slot, instant sent_at, instant now)
{
    const plane lane = plane_at(slot);
    ++paths_[slot].counters.losses;
    if (paths_[slot].state != path_state::good || !usable().has(lane))
        return;
    const unsigned first = lane.value * config_.uplinks;
    bool plane_silent = true;
    std::uint32_t unanswered = 0;
    for (unsigned other = first; other < first + config_.uplinks; ++other) {
        plane_silent = plane_silent && evidence_.delivered(other) < sent_at;
        unanswered += evidence_.unanswered(other);
    }
    if (may_retire(slot, false))
        retire(slot, true, now);
    if (!plane_silent || unanswered < plane_suspicion)
        return;
    for (unsigned other = first; other < first + config_.uplinks; ++other)
        if (paths_[other].state == path_state::good && may_retire(other, false))
            retire(other, true, now);
}

void path_group::on_unanswered(unsigned slot, instant sent_at, instant now)
{
    evidence_.on_loss(slot);
    if (evidence_.recent_losses(slot, config_.loss_span) >= config_.loss_limit && evidence_.delivered(slot) < sent_at)
        on_silence(slot, sent_at, now);
    else
        ++paths_[slot].counters.losses;
}

void path_group::on_arrival(path_index index)
{
    ++arrivals_;
    if (const auto lane = plane_of(index))
        last_arrival_[lane->value] = arrivals_;
}

bool path_group::reverse_alive(plane lane) const
{
    return arrivals_ - last_arrival_[lane.value] <= reverse_patience * config_.planes;
}

unsigned path_group::good_on_usable_planes() const
{
    unsigned good = 0;
    for (unsigned lane = 0; lane < config_.planes; ++lane)
        if (usable().has(plane{static_cast<std::uint8_t>(lane)}))
            good += good_active_[lane];
    return good;
}

bool path_group::may_retire(unsigned slot, bool by_loss) const
{
    if (!paths_[slot].active || find_backup(slot))
        return true;
    if (good_on_usable_planes() <= config_.min_active)
        return false;
    // Half of a plane may go for its losses: beyond that the loss is not a path's.
    return !by_loss || (good_active_[plane_at(slot).value] - 1u) * 2 >= std::max(config_.active_per_plane, 2u);
}

std::optional<std::uint16_t> path_group::find_backup(unsigned slot) const
{
    if (config_.active_per_plane == config_.uplinks)
        return std::nullopt;
    const unsigned first = plane_at(slot).value * config_.uplinks;
    for (unsigned other = first; other < first + config_.uplinks; ++other)
        if (!paths_[other].active && paths_[other].state == path_state::good)
            return static_cast<std::uint16_t>(other);
    return std::nullopt;
}

void path_group::count_good(plane lane, int by)
{
    good_active_[lane.value] = static_cast<std::uint16_t>(good_active_[lane.value] + by);
    good_planes_.set(lane, good_active_[lane.value] != 0);
}

void path_group::move(unsigned slot, path_state to)
{
    path_record &path = paths_[slot];
    const path_transition change{path_index{config_.base.value + slot}, path.entropy, path.state, to};
    if (path.active)
        count_good(plane_at(slot), (to == path_state::good ? 1 : 0) - (path.state == path_state::good ? 1 : 0));
    path.state = to;
    if (transitions_.tail - transitions_.head == transition_ring::capacity) {
        ++transitions_.head;
        ++transitions_.lost;
    }
    transitions_.entries[transitions_.tail++ % transition_ring::capacity] = change;
}

void path_group::take_place(unsigned newcomer, unsigned leaver)
{
    path_record &in = paths_[newcomer];
    path_record &out = paths_[leaver];
    const plane lane = plane_at(leaver);
    in.active = true;
    in.position = out.position;
    out.active = false;
    active_slots_[lane.value * config_.active_per_plane + in.position] = static_cast<std::uint16_t>(newcomer);
    count_good(lane, (in.state == path_state::good ? 1 : 0) - (out.state == path_state::good ? 1 : 0));
}

void path_group::leave(unsigned slot, path_state to)
{
    move(slot, to);
    if (!paths_[slot].active)
        return;
    if (const auto backup = find_backup(slot))
        take_place(*backup, slot);
}

void path_group::retire(unsigned slot, bool by_silence, instant now)
{
    leave(slot, path_state::assumed_bad);
    prober_.start(slot, now);
    if (by_silence) {
        paths_[slot].silenced = true;
        ++silence_generation_;
    }
}

void path_group::readmit(unsigned slot, std::optional<instant> now)
{
    path_record &path = paths_[slot];
    move(slot, path_state::good);
    path.silenced = false;
    evidence_.forget_losses(slot);
    prober_.stop(slot, now);
    if (path.active)
        return;
    for (unsigned position = 0; position < config_.active_per_plane; ++position) {
        const std::uint16_t holder = active_slot(plane_at(slot), position);
        if (paths_[holder].state != path_state::good) {
            take_place(slot, holder);
            return;
        }
    }
}

void path_group::deny(unsigned slot)
{
    if (paths_[slot].state == path_state::denied)
        return;
    prober_.stop(slot, std::nullopt);
    paths_[slot].silenced = false;
    leave(slot, path_state::denied);
}

void path_group::allow(unsigned slot)
{
    if (paths_[slot].state == path_state::denied)
        readmit(slot, std::nullopt);
}

outgoing path_group::make_probe(unsigned slot, std::uint16_t request_id, instant now) const
{
    const path_choice where = path(slot);
    endpoint_request_packet request;
    request.request_id = request_id;
    request.operation = MRC_EP_EV_PROBE;
    request.tx_timestamp = wire_timestamp(now);
    // In the class of data, but never trimmed: the probe asks for the path that data takes.
    return {request, {}, where.entropy, where.index, MRC_DSCP_NO_TRIM, MRC_ECN_NOT_ECT};
}

std::optional<outgoing> path_group::next_heartbeat(instant now)
{
    while (const auto silent = heartbeat_.next_silence(now))
        if (evidence_.delivered_elsewhere(silent->slot, silent->since))
            on_silence(silent->slot, silent->since, now);
    while (const auto slot = heartbeat_.next_slot(now)) {
        if (paths_[*slot].state != path_state::good || !usable().has(plane_at(*slot)) ||
            evidence_.delivered(*slot) > now - heartbeat_.period()) {
            heartbeat_.skip(*slot);
            continue;
        }
        evidence_.on_sent(*slot);
        return make_probe(*slot, heartbeat_.ask(*slot, now), now);
    }
    return std::nullopt;
}

std::optional<outgoing> path_group::next_packet(instant now)
{
    if (auto heartbeat = next_heartbeat(now))
        return heartbeat;
    if (!prober_.active())
        return std::nullopt;
    const plane_mask dark{~good_planes_.bits()};
    const auto probe = prober_.next(now, usable(), dark);
    if (!probe)
        return std::nullopt;
    return make_probe(probe->slot, probe->request_id, now);
}

void path_group::on_packet(const endpoint_response_packet &response, const arrival &how)
{
    on_arrival(how.path);
    if (const auto heard = heartbeat_.on_answer(response.request_id)) {
        evidence_.on_delivered(heard->slot, heard->sent_at);
        return;
    }
    const auto answer = prober_.on_answer(response.request_id, how.at);
    if (!answer)
        return;
    evidence_.on_delivered(answer->slot, answer->sent_at);
    if (answer->reinstate)
        readmit(answer->slot, how.at);
}

instant path_group::next_deadline() const
{
    return std::min(prober_.next_deadline(), heartbeat_.next_deadline());
}

std::optional<path_transition> path_group::next_transition()
{
    if (transitions_.head == transitions_.tail)
        return std::nullopt;
    return transitions_.entries[transitions_.head++ % transition_ring::capacity];
}

} // namespace mrc::protocol
