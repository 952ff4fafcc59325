// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/path_questions.h"

#include <algorithm>

#include "protocol/paths/path_retirement.h"
#include "protocol/paths/path_silence.h"

namespace mrc::protocol
{

namespace
{

// The plane's active paths in turn, rather those in use.
std::uint16_t next_to_ask(path_group_state &group, plane_index plane)
{
    std::uint16_t slot = 0;
    for (unsigned step = 0; step < group.config.active_per_plane; ++step) {
        slot = group.active_slot(plane, group.question_turn++ % group.config.active_per_plane);
        if (group.in_use(slot))
            break;
    }
    return slot;
}

// Of a suspected plane: a heartbeat out of turn.
std::optional<outgoing> next_question(path_group_state &group, instant now, plane_mask reachable)
{
    while (const auto due = group.suspension.next_step(now)) {
        if (!group.usable().has(due->plane) || !reachable.has(due->plane))
            continue;
        if (due->blame) {
            silence_plane(group, due->plane, due->since, now);
            continue;
        }
        const std::uint16_t slot = next_to_ask(group, due->plane);
        group.evidence.on_sent(slot);
        return make_probe(group, slot, group.heartbeat.ask(slot, now), now);
    }
    return std::nullopt;
}

// Of the plane's active paths, from its turn on.
std::optional<std::uint16_t> next_reverse_slot(const path_group_state &group, plane_index plane)
{
    for (unsigned step = 0; step < group.config.active_per_plane; ++step) {
        const unsigned position = (group.reverse.turn(plane) + step) % group.config.active_per_plane;
        const std::uint16_t slot = group.active_slot(plane, position);
        if (group.carries_answers(slot))
            return slot;
    }
    return std::nullopt;
}

std::optional<outgoing> next_reverse_question(path_group_state &group, instant now, plane_mask reachable)
{
    while (const auto plane = group.reverse.next_plane(now, group.usable() & reachable)) {
        const plane_evidence &known = group.planes[plane->value];
        if (known.delivered > now - group.reverse.round()) { // this host's own packets are acknowledged
            group.reverse.prove(*plane, known.slot);
            continue;
        }
        const auto slot = next_reverse_slot(group, *plane);
        if (!slot)
            continue;
        outgoing question = make_probe(group, *slot, group.reverse.ask(*plane, *slot, now), now);
        question.dscp = MRC_DSCP_CONTROL; // as answers: how late data is there does not matter
        return question;
    }
    return std::nullopt;
}

std::optional<outgoing> next_heartbeat(path_group_state &group, instant now, plane_mask reachable)
{
    while (const auto silent = group.heartbeat.next_silence(now))
        if (group.evidence.delivered_elsewhere(silent->slot, silent->since))
            silence_path(group, silent->slot, plane_silent(group, group.plane_at(silent->slot), silent->since),
                         silent->since, now);
    while (const auto slot = group.heartbeat.next_slot(now)) {
        if (!group.in_use(*slot) || !(group.usable() & reachable).has(group.plane_at(*slot)) ||
            group.evidence.delivered(*slot) > now - group.heartbeat.period()) {
            group.heartbeat.skip(*slot);
            continue;
        }
        group.evidence.on_sent(*slot);
        return make_probe(group, *slot, group.heartbeat.ask(*slot, now), now);
    }
    return std::nullopt;
}

} // namespace

outgoing make_probe(const path_group_state &group, unsigned slot, std::uint16_t request_id, instant now)
{
    const path_choice where = group.path(slot);
    endpoint_request_packet request;
    request.request_id = request_id;
    request.operation = MRC_EP_EV_PROBE;
    request.tx_timestamp = wire_timestamp(now);
    // In the class of data, but never trimmed: the probe asks for the path that data takes.
    return {request, {}, where.entropy, where.index, MRC_DSCP_NO_TRIM, MRC_ECN_NOT_ECT};
}

std::optional<outgoing> next_packet(path_group_state &group, instant now, plane_mask reachable)
{
    forget_kept(group, now);
    if (auto question = next_question(group, now, reachable))
        return question;
    if (auto question = next_reverse_question(group, now, reachable))
        return question;
    if (auto heartbeat = next_heartbeat(group, now, reachable))
        return heartbeat;
    if (!group.prober.active())
        return std::nullopt;
    const plane_mask dark{~group.good_planes.bits()};
    const auto probe = group.prober.next(now, group.usable(), dark);
    if (!probe)
        return std::nullopt;
    return make_probe(group, probe->slot, probe->request_id, now);
}

bool on_packet(path_group_state &group, const endpoint_response_packet &response, const arrival &how)
{
    if (group.reverse.on_answer(response.request_id, how.at))
        return true;
    if (const auto heard = group.heartbeat.on_answer(response.request_id)) {
        hear(group, heard->slot, heard->sent_at);
        return true;
    }
    const auto answer = group.prober.on_answer(response.request_id, how.at);
    if (!answer)
        return false;
    hear(group, answer->slot, answer->sent_at);
    if (answer->reinstate)
        prove(group, answer->slot, path_cause::probes, how.at);
    return true;
}

instant next_deadline(const path_group_state &group)
{
    return std::min({group.prober.next_deadline(), group.heartbeat.next_deadline(), group.suspension.next_deadline(),
                     group.reverse.next_deadline(), group.kept_deadline});
}

} // namespace mrc::protocol
