// SPDX-License-Identifier: Apache-2.0
#include "service/transition_log.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "kernel/event_history.h"
#include "kernel/map_names.h"
#include "service/address.h"
#include "service/event_text.h"

namespace mrc::service
{

namespace
{

// The reasons of ports that are out of use, by the same numbers.
static_assert(int{MRC_REASON_NONE} == int{MRC_PORT_IN_USE} && int{MRC_REASON_MISSING} == int{MRC_PORT_MISSING} &&
              int{MRC_REASON_DOWN} == int{MRC_PORT_DOWN} && int{MRC_REASON_NO_CARRIER} == int{MRC_PORT_NO_CARRIER} &&
              int{MRC_REASON_NO_NEIGHBOUR} == int{MRC_PORT_NO_NEIGHBOUR} &&
              int{MRC_REASON_SEVERAL_NEIGHBOURS} == int{MRC_PORT_SEVERAL_NEIGHBOURS} &&
              int{MRC_REASON_REPLACED} == int{MRC_PORT_REPLACED} &&
              int{MRC_REASON_SMALL_MTU} == int{MRC_PORT_SMALL_MTU} &&
              int{MRC_REASON_DISABLED} == int{MRC_PORT_DISABLED} &&
              int{MRC_REASON_SILENCE} == int{MRC_PORT_REASON_COUNT});

mrc_event_reason reason_of(protocol::path_cause cause)
{
    switch (cause) {
    case protocol::path_cause::none:
        return MRC_REASON_NONE;
    case protocol::path_cause::silence:
        return MRC_REASON_SILENCE;
    case protocol::path_cause::loss:
        return MRC_REASON_LOSS;
    case protocol::path_cause::always_skip:
        return MRC_REASON_ALWAYS_SKIP;
    case protocol::path_cause::calm:
        return MRC_REASON_CALM;
    case protocol::path_cause::probes:
        return MRC_REASON_PROBES;
    case protocol::path_cause::deliveries:
        return MRC_REASON_DELIVERIES;
    case protocol::path_cause::controller:
        return MRC_REASON_CONTROLLER;
    }
    return MRC_REASON_NONE;
}

mrc_event_kind kind_of(protocol::path_state state)
{
    switch (state) {
    case protocol::path_state::good:
        return MRC_EVENT_PATH_GOOD;
    case protocol::path_state::kept:
        return MRC_EVENT_PATH_KEPT;
    case protocol::path_state::assumed_bad:
        return MRC_EVENT_PATH_ASSUMED_BAD;
    case protocol::path_state::denied:
        return MRC_EVENT_PATH_DENIED;
    }
    return MRC_EVENT_NONE;
}

std::uint32_t microseconds_between(std::uint64_t then_ns, protocol::instant now)
{
    const auto now_ns = static_cast<std::uint64_t>(now.time_since_epoch().count());
    const std::uint64_t passed = (now_ns - std::min(now_ns, then_ns)) / 1000;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(passed, std::numeric_limits<std::uint32_t>::max()));
}

mrc_event_row session_event(mrc_event_kind kind, std::uint32_t session, const mrc_client_row &client)
{
    mrc_event_row event{};
    event.kind = kind;
    event.session = session;
    event.pid = client.pid;
    event.uid = client.uid;
    static_assert(sizeof(event.name) == sizeof(client.command));
    std::memcpy(event.name, client.command, sizeof(event.name));
    event.queue_pairs = client.queue_pairs;
    event.registered_bytes = client.registered_bytes;
    return event;
}

log_level level_of(const mrc_event_row &event)
{
    if (event.kind == MRC_EVENT_QP_ERRORS_UNTOLD)
        return log_level::warning;
    const bool is_late = event.kind == MRC_EVENT_DROPS_BEGIN && event.verdict == MRC_RX_DROP_UNKNOWN_QP;
    return kernel::class_of(event.kind) <= MRC_EVENTS_OF_DROPS && !is_late ? log_level::info : log_level::debug;
}

} // namespace

void transition_log::note(mrc_event_row event, protocol::instant now)
{
    event.time_ns = static_cast<__u64>(now.time_since_epoch().count());
    write_text(event.peer_text, event.peer);
    around_.keep(event);
    tell(event, now);
}

void transition_log::tell(const mrc_event_row &event, protocol::instant now)
{
    const mrc_event_class of = kernel::class_of(event.kind);
    if (const log_level level = level_of(event); level != log_level::info) {
        around_.write(level, line_of(event), &event);
        return;
    }
    write_held_back(of, now);
    if (rates_[of].rate.take(now))
        around_.write(log_level::info, line_of(event), &event);
    else
        ++rates_[of].held_back;
}

void transition_log::write_held_back(mrc_event_class of, protocol::instant now)
{
    line_rate &lines = rates_[of];
    if (lines.held_back == 0 || !lines.rate.take(now))
        return;
    around_.write(log_level::info,
                  fmt::format("{} more changes of {}, too many for the log; mrcctl event has them", lines.held_back,
                              kernel::event_class_names[of]),
                  nullptr);
    lines.held_back = 0;
}

protocol::instant transition_log::next_deadline() const
{
    protocol::instant first = protocol::never;
    for (const line_rate &each : rates_)
        if (each.held_back != 0)
            first = std::min(first, each.rate.next());
    return first;
}

void transition_log::on_deadline(protocol::instant now)
{
    for (std::size_t of = 0; of < rates_.size(); ++of)
        write_held_back(static_cast<mrc_event_class>(of), now);
}

void transition_log::on_port(const port_options &port, bool usable, mrc_port_reason reason, protocol::instant now)
{
    mrc_event_row event{};
    event.kind = usable ? MRC_EVENT_PORT_USABLE : MRC_EVENT_PORT_OUT_OF_USE;
    event.reason = usable ? MRC_REASON_NONE : static_cast<mrc_event_reason>(reason);
    event.plane = port.plane.value;
    port.device.copy(event.name, sizeof(event.name) - 1);
    note(event, now);
}

mrc_event_row transition_log::plane_event(const bundle &which, unsigned paths,
                                          const protocol::path_condition &condition) const
{
    mrc_event_row event{};
    event.reason = reason_of(condition.cause);
    event.plane = which.plane;
    event.leaf = which.leaf;
    event.profile = which.profile;
    event.peer = around_.sole_host(which.leaf);
    event.paths = paths;
    return event;
}

void transition_log::on_path(const bundle &which, unsigned uplink, unsigned paths,
                             const protocol::path_condition &condition, const path_figures &figures,
                             protocol::instant now)
{
    mrc_event_row event = plane_event(which, paths, condition);
    event.kind = kind_of(condition.state);
    event.uplink = uplink;
    event.path = figures.row;
    event.tx_packets = figures.tx_packets;
    event.losses = figures.losses;
    if (figures.last_ack_ns != 0)
        event.quiet_us = microseconds_between(figures.last_ack_ns, now);
    note(event, now);
    std::set<unsigned> &lost = lost_[which];
    const bool was_out = lost.size() == paths;
    if (protocol::is_in_use(condition.state))
        lost.erase(uplink);
    else
        lost.insert(uplink);
    const bool is_out = lost.size() == paths;
    if (was_out == is_out)
        return;
    // With the reason of the path that made the difference.
    mrc_event_row plane = plane_event(which, paths, condition);
    plane.kind = is_out ? MRC_EVENT_PLANE_OUT_OF_USE : MRC_EVENT_PLANE_IN_USE;
    note(plane, now);
}

void transition_log::on_peer(const mrc_ip &peer, const peer_condition &condition, protocol::instant now)
{
    peer_condition &known =
        peers_.try_emplace(to_text(peer), peer_condition{.ports = protocol::plane_mask{~0U}, .suspected = {}})
            .first->second;
    const auto say = [&](mrc_event_kind kind, mrc_event_reason reason, unsigned plane) {
        mrc_event_row event{};
        event.kind = kind;
        event.reason = reason;
        event.plane = plane;
        event.peer = peer;
        note(event, now);
    };
    for (unsigned number = 0; number < around_.planes; ++number) {
        const protocol::plane_index plane{static_cast<std::uint8_t>(number)};
        if (known.ports.has(plane) != condition.ports.has(plane))
            say(condition.ports.has(plane) ? MRC_EVENT_PEER_PORT_USABLE : MRC_EVENT_PEER_PORT_OUT_OF_USE,
                MRC_REASON_PEER_SAYS, number);
        if (known.suspected.has(plane) == condition.suspected.has(plane))
            continue;
        if (condition.suspected.has(plane))
            say(MRC_EVENT_PEER_PLANE_OUT_OF_USE, MRC_REASON_OTHER_PLANES, number);
        else
            say(MRC_EVENT_PEER_PLANE_IN_USE, MRC_REASON_REACHED, number);
    }
    if (known.silent != condition.silent && condition.silent)
        say(MRC_EVENT_PEER_SILENT, MRC_REASON_NO_ANSWER, 0);
    else if (known.silent != condition.silent)
        say(MRC_EVENT_PEER_HEARD, MRC_REASON_NONE, 0);
    known = condition;
}

void transition_log::forget_peer(const mrc_ip &peer)
{
    peers_.erase(to_text(peer));
}

void transition_log::on_session_opened(std::uint32_t session, const mrc_client_row &client, protocol::instant now)
{
    note(session_event(MRC_EVENT_SESSION_OPENED, session, client), now);
}

void transition_log::on_session_closed(std::uint32_t session, const mrc_client_row &client, mrc_event_reason reason,
                                       protocol::instant now)
{
    mrc_event_row event = session_event(MRC_EVENT_SESSION_CLOSED, session, client);
    event.reason = reason;
    note(event, now);
}

void transition_log::on_queue_pair(mrc_event_kind kind, const queue_pair_names &which, mrc_event_reason reason,
                                   protocol::instant now)
{
    mrc_event_row event{};
    event.kind = kind;
    event.reason = reason;
    event.session = which.session;
    event.qpn = which.qpn;
    event.peer_qpn = which.peer_qpn;
    event.peer = which.peer;
    note(event, now);
}

void transition_log::on_untold_failures(std::uint32_t count, protocol::instant now)
{
    mrc_event_row event{};
    event.kind = MRC_EVENT_QP_ERRORS_UNTOLD;
    event.queue_pairs = count;
    note(event, now);
}

} // namespace mrc::service
