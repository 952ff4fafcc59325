// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/path_group.h"

#include <algorithm>
#include <utility>

#include "protocol/random_source.h"

namespace mrc::protocol
{

namespace
{

// Packets of a plane that must have gone unanswered before the plane as a whole is suspected.
constexpr std::uint32_t plane_suspicion = 3;

std::vector<profile_entry> universe_of(const path_group_config &config)
{
    if (!config.universe.empty())
        return config.universe;
    // One EV for every path: nothing of it can be wrong.
    return expand_profile({}, config.planes, config.uplinks, config.ev_bits, config.seed).value();
}

path_group_config completed(path_group_config config)
{
    config.universe = universe_of(config);
    const auto per_plane = static_cast<unsigned>(config.universe.size() / config.planes);
    if (config.active_per_plane == 0 || config.active_per_plane > per_plane)
        config.active_per_plane = per_plane;
    if (config.arrivals == path_index{})
        config.arrivals = config.base;
    return config;
}

} // namespace

path_group::path_group(const path_group_config &config, const local_ports &local, const plane_mask &linked)
    : config_{completed(config)}, local_{&local}, linked_{&linked}, paths_(std::size_t{config.planes} * config.uplinks),
      active_slots_(std::size_t{config.planes} * config_.active_per_plane), evidence_{size()},
      suspension_{config.heartbeats.patience},
      prober_{config.probes, config.planes, config.uplinks, part_of(path_probe_ids, config.id_part)},
      heartbeat_{config.heartbeats, config.planes, config.uplinks, part_of(heartbeat_ids, config.id_part)},
      changed_{size()}, counted_{size()}
{
    for (unsigned slot = 0; slot < size(); ++slot) {
        paths_[slot].state = path_state::denied;
        paths_[slot].reported = path_state::denied;
        paths_[slot].plane = plane_index{static_cast<std::uint8_t>(slot / config_.uplinks)};
    }
    std::array<std::vector<std::uint16_t>, max_planes> existing;
    for (const profile_entry &entry : config_.universe) {
        paths_[entry.slot].entropy = entry.entropy;
        paths_[entry.slot].state = path_state::good;
        paths_[entry.slot].reported = path_state::good;
        existing[entry.plane.value].push_back(entry.slot);
    }
    // A random subset of each plane: senders that do not talk to each other spread over all uplinks.
    random_source random{config.seed};
    for (unsigned plane = 0; plane < config_.planes; ++plane) {
        std::vector<std::uint16_t> &slots = existing[plane];
        for (std::size_t i = slots.size(); i > 1; --i)
            std::swap(slots[i - 1], slots[random.below(static_cast<std::uint32_t>(i))]);
        for (unsigned position = 0; position < config_.active_per_plane; ++position) {
            const std::uint16_t slot = slots[position];
            active_slots_[plane * config_.active_per_plane + position] = slot;
            paths_[slot].active = true;
            paths_[slot].position = static_cast<std::uint16_t>(position);
        }
        good_active_[plane] = static_cast<std::uint16_t>(config_.active_per_plane);
        good_planes_.set(plane_index{static_cast<std::uint8_t>(plane)}, true);
    }
}

void path_group::on_delivered(unsigned slot, instant sent_at)
{
    hear(slot, sent_at);
    evidence_.on_carried(slot);
    // Only silence is disproved by a delivery; a path that is retired for its losses delivers most of the time.
    const path_record &path = paths_[slot];
    if (path.silenced && sent_at >= path.silent_since && prober_.on_success(slot))
        prove(slot, path_cause::deliveries, sent_at);
}

// Something that was sent on the path then got through.
void path_group::hear(unsigned slot, instant sent_at)
{
    const plane_index plane = plane_at(slot);
    evidence_.on_delivered(slot, sent_at);
    missing_[plane.value] = 0;
    suspension_.on_delivered(plane, sent_at);
}

void path_group::on_loss(unsigned slot, instant now)
{
    count_loss(slot);
    evidence_.on_loss(slot);
    if (evidence_.recent_losses(slot, config_.loss_span) >= config_.loss_limit)
        blame(slot, path_cause::loss, std::nullopt, now);
}

void path_group::on_always_skip(unsigned slot, instant now)
{
    blame(slot, path_cause::always_skip, std::nullopt, now);
}

instant path_group::last_delivery(plane_index plane) const
{
    const unsigned first = plane.value * config_.uplinks;
    instant latest = instant::min();
    for (unsigned slot = first; slot < first + config_.uplinks; ++slot)
        latest = std::max(latest, evidence_.delivered(slot));
    return latest;
}

bool path_group::plane_delivers(plane_index plane, instant since) const
{
    return last_delivery(plane) >= since;
}

// Several packets of the plane wait for an answer, and none of those sent since has got one.
bool path_group::plane_silent(plane_index plane, instant since) const
{
    if (plane_delivers(plane, since))
        return false;
    const unsigned first = plane.value * config_.uplinks;
    std::uint32_t unanswered = 0;
    for (unsigned slot = first; slot < first + config_.uplinks; ++slot)
        unanswered += evidence_.unanswered(slot);
    return unanswered >= plane_suspicion;
}

void path_group::on_silence(unsigned slot, instant sent_at, instant now, duration tolerance)
{
    const instant since = quiet_since(slot, sent_at);
    judge_quiet(slot, plane_silent(plane_at(slot), since), since, now, tolerance);
}

// Since when nothing sent on the path has got through, as far as anybody has complained.
instant path_group::quiet_since(unsigned slot, instant sent_at)
{
    instant &since = paths_[slot].suspected_since;
    if (evidence_.delivered(slot) >= since || sent_at < since)
        since = sent_at;
    return since;
}

bool path_group::left_behind(unsigned slot, instant since, duration tolerance) const
{
    return tolerance == duration{0} || evidence_.delivered_elsewhere(slot, since + tolerance);
}

void path_group::judge_quiet(unsigned slot, bool whole_plane, instant since, instant now, duration tolerance)
{
    if (left_behind(slot, since, tolerance)) {
        silence(slot, whole_plane, since, now);
        return;
    }
    count_loss(slot);
    if (whole_plane)
        suspend_plane(slot, since, now);
}

void path_group::on_late(unsigned slot, instant sent_at, instant now)
{
    const plane_index plane = plane_at(slot);
    if (!suspension_.planes().has(plane) && plane_silent(plane, sent_at))
        suspend_plane(slot, sent_at, now);
}

// As long as other planes deliver: a host that is off its CPU is no evidence against any.
void path_group::suspend_plane(unsigned slot, instant since, instant now)
{
    const plane_index plane = plane_at(slot);
    plane_mask drawn = usable() & good_planes();
    if (!drawn.has(plane))
        return;
    drawn.set(plane, false);
    if (!drawn.empty() && evidence_.delivered_elsewhere(slot, since))
        suspension_.begin(plane, since, now);
}

void path_group::silence(unsigned slot, bool whole_plane, instant sent_at, instant now)
{
    const plane_index plane = plane_at(slot);
    count_loss(slot);
    if (!usable().has(plane))
        return;
    blame(slot, path_cause::silence, sent_at, now);
    if (whole_plane)
        silence_plane(plane, sent_at, now);
}

// Those that fell silent one by one since the plane last delivered fell silent with it.
void path_group::silence_plane(plane_index plane, instant sent_at, instant now)
{
    suspension_.end(plane);
    const instant heard = last_delivery(plane);
    const unsigned first = plane.value * config_.uplinks;
    for (unsigned slot = first; slot < first + config_.uplinks; ++slot) {
        blame(slot, path_cause::silence, sent_at, now);
        path_record &path = paths_[slot];
        path.with_plane = path.silenced && path.silent_since > heard;
    }
}

void path_group::on_unanswered(unsigned slot, instant sent_at, instant now, duration tolerance)
{
    evidence_.on_loss(slot);
    const instant since = quiet_since(slot, sent_at);
    const plane_index plane = plane_at(slot);
    std::uint8_t &missing = missing_[plane.value];
    missing = static_cast<std::uint8_t>(std::min<unsigned>(missing + 1u, plane_suspicion));
    // One loss on a plane that lags behind the others is no silence of the plane: its next packets may be about to
    // arrive.
    const bool plane_quiet = missing == plane_suspicion && plane_silent(plane, sent_at);
    const bool path_quiet =
        evidence_.recent_losses(slot, config_.loss_span) >= config_.loss_limit && evidence_.delivered(slot) < sent_at;
    if (plane_quiet || path_quiet)
        judge_quiet(slot, plane_quiet, since, now, tolerance);
    else
        count_loss(slot);
}

unsigned path_group::good_on_usable_planes() const
{
    unsigned good = 0;
    for (unsigned plane = 0; plane < config_.planes; ++plane)
        if (usable().has(plane_index{static_cast<std::uint8_t>(plane)}))
            good += good_active_[plane];
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
        if (!paths_[other].active && in_use(other))
            return static_cast<std::uint16_t>(other);
    return std::nullopt;
}

void path_group::count_good(plane_index plane, int by)
{
    good_active_[plane.value] = static_cast<std::uint16_t>(good_active_[plane.value] + by);
    good_planes_.set(plane, good_active_[plane.value] != 0);
}

// False where the table has no row: the event means nothing in that state.
bool path_group::step(unsigned slot, path_event event, path_cause cause)
{
    path_record &path = paths_[slot];
    const std::optional<path_state> to = path_transitions.next(path.state, event);
    if (!to)
        return false;
    if (*to == path.state)
        return true;
    if (path.active)
        count_good(plane_at(slot), (is_in_use(*to) ? 1 : 0) - (is_in_use(path.state) ? 1 : 0));
    path.state = *to;
    path.cause = cause;
    if (!std::exchange(path.changed, true))
        changed_.put(slot);
    return true;
}

void path_group::take_place(unsigned newcomer, unsigned leaver)
{
    path_record &in = paths_[newcomer];
    path_record &out = paths_[leaver];
    const plane_index plane = plane_at(leaver);
    in.active = true;
    in.position = out.position;
    out.active = false;
    active_slots_[plane.value * config_.active_per_plane + in.position] = static_cast<std::uint16_t>(newcomer);
    count_good(plane, (is_in_use(in.state) ? 1 : 0) - (is_in_use(out.state) ? 1 : 0));
}

void path_group::find_substitute(unsigned slot)
{
    if (!paths_[slot].active)
        return;
    if (const auto backup = find_backup(slot))
        take_place(*backup, slot);
}

void path_group::blame(unsigned slot, path_cause cause, std::optional<instant> silent_since, instant now)
{
    if (!in_use(slot))
        return;
    if (may_retire(slot, !silent_since))
        retire(slot, cause, silent_since, now);
    else
        keep(slot, cause, now);
}

void path_group::retire(unsigned slot, path_cause cause, std::optional<instant> silent_since, instant now)
{
    if (!step(slot, path_event::retire, cause))
        return;
    find_substitute(slot);
    prober_.start(slot, now);
    if (silent_since) {
        paths_[slot].silenced = true;
        paths_[slot].silent_since = *silent_since;
        ++silence_generation_;
    }
}

void path_group::keep(unsigned slot, path_cause cause, instant now)
{
    if (!step(slot, path_event::keep, cause))
        return;
    path_record &path = paths_[slot];
    path.kept_until = now + kept_memory;
    kept_deadline_ = std::min(kept_deadline_, path.kept_until);
}

void path_group::forget_kept(instant now)
{
    if (now < kept_deadline_)
        return;
    kept_deadline_ = never;
    for (unsigned slot = 0; slot < size(); ++slot) {
        if (paths_[slot].state != path_state::kept)
            continue;
        if (paths_[slot].kept_until <= now)
            step(slot, path_event::calm, path_cause::calm);
        else
            kept_deadline_ = std::min(kept_deadline_, paths_[slot].kept_until);
    }
}

void path_group::readmit(unsigned slot, path_event event, path_cause cause, std::optional<instant> now)
{
    if (!step(slot, event, cause))
        return;
    path_record &path = paths_[slot];
    path.silenced = false;
    path.with_plane = false;
    evidence_.forget(slot);
    prober_.stop(slot, now);
    if (path.active)
        return;
    for (unsigned position = 0; position < config_.active_per_plane; ++position) {
        const std::uint16_t holder = active_slot(plane_at(slot), position);
        if (!in_use(holder)) {
            take_place(slot, holder);
            return;
        }
    }
}

// It delivers again, and with it all that fell silent when it did.
void path_group::prove(unsigned slot, path_cause cause, instant now)
{
    const bool together = paths_[slot].with_plane;
    readmit(slot, path_event::prove, cause, now);
    if (!together)
        return;
    const unsigned first = plane_at(slot).value * config_.uplinks;
    for (unsigned other = first; other < first + config_.uplinks; ++other)
        if (paths_[other].with_plane)
            readmit(other, path_event::prove, cause, now);
}

void path_group::deny(unsigned slot)
{
    if (!step(slot, path_event::deny, path_cause::controller))
        return;
    prober_.stop(slot, std::nullopt);
    paths_[slot].silenced = false;
    paths_[slot].with_plane = false;
    find_substitute(slot);
}

void path_group::allow(unsigned slot)
{
    if (exists(slot))
        readmit(slot, path_event::allow, path_cause::controller, std::nullopt);
}

// Newcomers first: they are the backups of those that leave.
void path_group::exchange(const std::vector<profile_entry> &universe, const std::vector<std::uint32_t> &denied)
{
    std::vector<ev> next(size());
    for (const profile_entry &entry : universe)
        next[entry.slot] = entry.entropy;
    const auto name = [](path_record &path, ev entropy) {
        if (path.entropy.value != 0)
            path.former = path.entropy;
        path.entropy = entropy;
    };
    for (const profile_entry &entry : universe) {
        path_record &path = paths_[entry.slot];
        if (path.entropy != entry.entropy)
            name(path, entry.entropy);
        if (std::ranges::find(denied, entry.slot) != denied.end())
            deny(entry.slot);
        else if (path.state == path_state::denied)
            allow(entry.slot);
    }
    for (unsigned slot = 0; slot < size(); ++slot) {
        if (next[slot].value != 0 || !exists(slot))
            continue;
        deny(slot);
        name(paths_[slot], {});
    }
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

std::optional<outgoing> path_group::next_heartbeat(instant now, plane_mask reachable)
{
    while (const auto silent = heartbeat_.next_silence(now))
        if (evidence_.delivered_elsewhere(silent->slot, silent->since))
            silence(silent->slot, plane_silent(plane_at(silent->slot), silent->since), silent->since, now);
    while (const auto slot = heartbeat_.next_slot(now)) {
        if (!in_use(*slot) || !(usable() & reachable).has(plane_at(*slot)) ||
            evidence_.delivered(*slot) > now - heartbeat_.period()) {
            heartbeat_.skip(*slot);
            continue;
        }
        evidence_.on_sent(*slot);
        return make_probe(*slot, heartbeat_.ask(*slot, now), now);
    }
    return std::nullopt;
}

// Of a suspected plane: a heartbeat out of turn.
std::optional<outgoing> path_group::next_question(instant now, plane_mask reachable)
{
    while (const auto due = suspension_.next_step(now)) {
        if (!usable().has(due->plane) || !reachable.has(due->plane))
            continue;
        if (due->blame) {
            silence_plane(due->plane, due->since, now);
            continue;
        }
        const std::uint16_t slot = next_to_ask(due->plane);
        evidence_.on_sent(slot);
        return make_probe(slot, heartbeat_.ask(slot, now), now);
    }
    return std::nullopt;
}

// The plane's active paths in turn, rather those in use.
std::uint16_t path_group::next_to_ask(plane_index plane)
{
    std::uint16_t slot = 0;
    for (unsigned step = 0; step < config_.active_per_plane; ++step) {
        slot = active_slot(plane, question_turn_++ % config_.active_per_plane);
        if (in_use(slot))
            break;
    }
    return slot;
}

std::optional<outgoing> path_group::next_packet(instant now, plane_mask reachable)
{
    forget_kept(now);
    if (auto question = next_question(now, reachable))
        return question;
    if (auto heartbeat = next_heartbeat(now, reachable))
        return heartbeat;
    if (!prober_.active())
        return std::nullopt;
    const plane_mask dark{~good_planes_.bits()};
    const auto probe = prober_.next(now, usable(), dark);
    if (!probe)
        return std::nullopt;
    return make_probe(probe->slot, probe->request_id, now);
}

bool path_group::on_packet(const endpoint_response_packet &response, const arrival &how)
{
    on_arrival(how.path);
    if (const auto heard = heartbeat_.on_answer(response.request_id)) {
        hear(heard->slot, heard->sent_at);
        return true;
    }
    const auto answer = prober_.on_answer(response.request_id, how.at);
    if (!answer)
        return false;
    hear(answer->slot, answer->sent_at);
    if (answer->reinstate)
        prove(answer->slot, path_cause::probes, how.at);
    return true;
}

instant path_group::next_deadline() const
{
    return std::min({prober_.next_deadline(), heartbeat_.next_deadline(), suspension_.next_deadline(), kept_deadline_});
}

std::optional<path_transition> path_group::next_transition()
{
    while (const auto next = changed_.take()) {
        const std::uint16_t slot = *next;
        path_record &path = paths_[slot];
        path.changed = false;
        const path_state from = std::exchange(path.reported, path.state);
        if (from != path.state)
            return path_transition{path_index{config_.base.value + slot}, path.entropy, from, path.state, path.cause};
    }
    return std::nullopt;
}

} // namespace mrc::protocol
