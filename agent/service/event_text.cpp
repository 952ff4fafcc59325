// SPDX-License-Identifier: Apache-2.0
#include "service/event_text.h"

#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "kernel/event_history.h"
#include "kernel/map_names.h"
#include "service/address.h"

namespace mrc::service
{

namespace
{

std::string name_in(const mrc_event_row &event)
{
    return {event.name, ::strnlen(event.name, sizeof(event.name))};
}

std::string plane_text(const mrc_event_row &event)
{
    const std::string to = is_same(event.peer, mrc_ip{}) ? fmt::format("leaf {}", event.leaf)
                                                         : fmt::format("peer {}", to_text(event.peer));
    const std::string profile = event.profile == 0 ? "" : fmt::format(", EV profile {}", event.profile);
    return fmt::format("plane {} to {}{}", event.plane, to, profile);
}

// Of a host's port: its device, if it is this host's.
std::string port_text(const mrc_event_row &event)
{
    return event.name[0] == '\0' ? fmt::format("host {}", to_text(event.peer)) : fmt::format("port {}", name_in(event));
}

std::string link_text(const mrc_event_row &event)
{
    const std::string at = fmt::format("of plane {}", event.plane);
    switch (event.blame) {
    case MRC_BLAME_HOST_LINK_OR_LEAF:
        return fmt::format("link of {} to leaf {} {}, or that leaf", port_text(event), event.leaf, at);
    case MRC_BLAME_HOST_LINK:
        return fmt::format("link of {} to leaf {} {}", port_text(event), event.leaf, at);
    case MRC_BLAME_LEAF:
        return fmt::format("leaf {} {}", event.leaf, at);
    case MRC_BLAME_SPINE_LINK_OR_SPINE:
        return fmt::format("link of leaf {} to spine {} {}, or that spine", event.leaf, event.uplink, at);
    case MRC_BLAME_LEAF_SPINE_LINK:
        return fmt::format("link of leaf {} to spine {} {}", event.leaf, event.uplink, at);
    case MRC_BLAME_SPINE:
        return fmt::format("spine {} {}", event.uplink, at);
    case MRC_BLAME_PEER:
        return fmt::format("plane {} to peer {}", event.plane, to_text(event.peer));
    case MRC_BLAME_NOTHING:
        break;
    }
    return fmt::format("a link {}", at);
}

std::string_view direction_text(const mrc_event_row &event)
{
    switch (event.direction) {
    case MRC_DIRECTION_UP:
        return event.blame == MRC_BLAME_PEER ? " on the way there" : " on the way up";
    case MRC_DIRECTION_DOWN:
        return " on the way down";
    case MRC_DIRECTION_BOTH:
        return " both ways";
    case MRC_DIRECTION_UNKNOWN:
        break;
    }
    return "";
}

bool is_of_overlay(const mrc_event_row &drop)
{
    return kernel::verdict_name(drop.verdict).starts_with("tx_");
}

std::string drop_place_text(const mrc_event_row &event)
{
    if (event.plane != MRC_DROP_NO_PORT)
        return fmt::format("port {} (plane {})", name_in(event), event.plane);
    return is_of_overlay(event) ? "overlay" : "packets of no port";
}

std::string object_text(const mrc_event_row &event)
{
    switch (kernel::class_of(event.kind)) {
    case MRC_EVENTS_OF_PORTS:
        return fmt::format("port {} (plane {})", name_in(event), event.plane);
    case MRC_EVENTS_OF_PLANES:
        return fmt::format("{} ({} paths)", plane_text(event), event.paths);
    case MRC_EVENTS_OF_PEERS:
        return fmt::format("peer {}", to_text(event.peer));
    case MRC_EVENTS_OF_LINKS:
        return link_text(event);
    case MRC_EVENTS_OF_DROPS:
        return drop_place_text(event);
    case MRC_EVENTS_OF_PATHS:
        return fmt::format("path by uplink {} of {}", event.uplink, plane_text(event));
    case MRC_EVENTS_OF_QUEUE_PAIRS:
        if (event.kind == MRC_EVENT_QP_ERRORS_UNTOLD)
            return fmt::format("{} more queue pairs", event.queue_pairs);
        return fmt::format("queue pair {} of session {}", event.qpn, event.session);
    case MRC_EVENTS_OF_SESSIONS:
    case MRC_EVENT_CLASSES:
        break;
    }
    return fmt::format("session {}", event.session);
}

std::string what_text(const mrc_event_row &event)
{
    switch (event.kind) {
    case MRC_EVENT_PORT_USABLE:
        return "usable";
    case MRC_EVENT_PORT_OUT_OF_USE:
    case MRC_EVENT_PLANE_OUT_OF_USE:
        return "out of use";
    case MRC_EVENT_PLANE_IN_USE:
        return "in use again";
    case MRC_EVENT_PEER_PORT_USABLE:
        return fmt::format("its port on plane {} is usable", event.plane);
    case MRC_EVENT_PEER_PORT_OUT_OF_USE:
        return fmt::format("its port on plane {} is out of use", event.plane);
    case MRC_EVENT_PEER_PLANE_IN_USE:
        return fmt::format("plane {} is in use again", event.plane);
    case MRC_EVENT_PEER_PLANE_OUT_OF_USE:
        return fmt::format("plane {} is out of use", event.plane);
    case MRC_EVENT_PEER_HEARD:
        return "heard again";
    case MRC_EVENT_PEER_SILENT:
        return "silent";
    case MRC_EVENT_LINK_GOOD:
        return "good again";
    case MRC_EVENT_LINK_SLOW:
        return "slow";
    case MRC_EVENT_LINK_LOSSY:
        return fmt::format("loses packets{}", direction_text(event));
    case MRC_EVENT_LINK_DEAD:
        return fmt::format("dead{}", direction_text(event));
    case MRC_EVENT_DROPS_BEGIN:
        return fmt::format("drops packets, {}", kernel::verdict_name(event.verdict));
    case MRC_EVENT_PATH_GOOD:
        return "good";
    case MRC_EVENT_PATH_KEPT:
        return "kept in use though bad, nothing better is left";
    case MRC_EVENT_PATH_ASSUMED_BAD:
        return "assumed bad";
    case MRC_EVENT_PATH_DENIED:
        return "denied";
    case MRC_EVENT_SESSION_OPENED:
        return fmt::format("opened by {}, process {} of user {}", name_in(event), event.pid, event.uid);
    case MRC_EVENT_SESSION_CLOSED:
    case MRC_EVENT_QP_CLOSED:
        return "closed";
    case MRC_EVENT_QP_CONNECTED:
        return fmt::format("connected to {} of peer {}", event.peer_qpn, to_text(event.peer));
    case MRC_EVENT_QP_ERROR:
        return "failed";
    case MRC_EVENT_QP_ERRORS_UNTOLD:
        return "failed, too many at once for an event each";
    case MRC_EVENT_NONE:
    case MRC_EVENT_COUNT:
        break;
    }
    return "changed in a way that is not known here";
}

std::string_view reason_text(mrc_event_reason reason)
{
    switch (reason) {
    case MRC_REASON_NONE:
        return "";
    case MRC_REASON_MISSING:
    case MRC_REASON_DOWN:
    case MRC_REASON_NO_CARRIER:
    case MRC_REASON_NO_NEIGHBOUR:
    case MRC_REASON_SEVERAL_NEIGHBOURS:
    case MRC_REASON_REPLACED:
    case MRC_REASON_SMALL_MTU:
    case MRC_REASON_DISABLED:
        return kernel::port_reason_names[reason];
    case MRC_REASON_SILENCE:
        return "nothing gets through, though other paths deliver";
    case MRC_REASON_LOSS:
        return "packets are lost";
    case MRC_REASON_ALWAYS_SKIP:
        return "the peer asks not to use it";
    case MRC_REASON_CALM:
        return "no more complaints for a second";
    case MRC_REASON_PROBES:
        return "probes are answered";
    case MRC_REASON_DELIVERIES:
        return "packets get through";
    case MRC_REASON_CONTROLLER:
        return "by a controller";
    case MRC_REASON_PEER_SAYS:
        return "it says";
    case MRC_REASON_OTHER_PLANES:
        return "packets reach it on other planes only";
    case MRC_REASON_REACHED:
        return "packets reach it there";
    case MRC_REASON_NO_ANSWER:
        return "nothing comes back on any plane";
    case MRC_REASON_LOOPS:
        return "as loops show";
    case MRC_REASON_PACKETS:
        return "as packets and probes show";
    case MRC_REASON_CLIENT_GONE:
        return "the client has gone";
    case MRC_REASON_VIOLATION:
        return "the client broke the protocol, or a request of its failed";
    case MRC_REASON_DAEMON_ENDS:
        return "the daemon ends";
    case MRC_REASON_RETRIES:
        return "nothing that was sent again was acknowledged";
    case MRC_REASON_REMOTE_ACCESS:
        return "the peer refused a request: key, bounds or permission";
    case MRC_REASON_REMOTE_OPERATION:
        return "the peer could not carry out a request";
    case MRC_REASON_REMOTE_INVALID:
        return "the peer takes a request to be invalid";
    case MRC_REASON_LOCAL_PROTECTION:
        return "a request names memory that may not be read";
    case MRC_REASON_REFUSED_ACCESS:
        return "a request of the peer was refused: key, bounds or permission";
    case MRC_REASON_REFUSED_OPERATION:
        return "a request of the peer could not be carried out";
    case MRC_REASON_REFUSED_INVALID:
        return "a request of the peer was invalid";
    case MRC_REASON_OVERRUN:
        return "a completion queue was full";
    case MRC_REASON_CLIENT:
        return "by the client";
    case MRC_REASON_RESET:
        return "the client reset it";
    case MRC_REASON_SESSION_END:
        return "its session ended";
    case MRC_REASON_COUNT:
        break;
    }
    return "for an unknown reason";
}

// How sure it is.
std::string hosts_text(const mrc_event_row &event)
{
    if (event.kind == MRC_EVENT_LINK_GOOD || event.hosts + event.witnesses < 2)
        return "";
    return fmt::format(", found by {} host{}; good for {}", event.hosts, event.hosts == 1 ? "" : "s", event.witnesses);
}

std::string drops_text(const mrc_event_row &event)
{
    std::string text = event.quiet_us == 0 ? "the first" : fmt::format("the first for {:.1f} s", event.quiet_us / 1e6);
    if (!is_same(event.peer, mrc_ip{}))
        text += fmt::format(" {} {}", is_of_overlay(event) ? "to" : "from", to_text(event.peer));
    if (event.qpn != 0)
        text += fmt::format(", for queue pair {}", event.qpn);
    return text + fmt::format(", {} in all", event.losses);
}

std::string figures_text(const mrc_event_row &event)
{
    if (kernel::class_of(event.kind) == MRC_EVENTS_OF_PATHS)
        return fmt::format("{} packets sent there, {} lost, {}", event.tx_packets, event.losses,
                           event.quiet_us == 0
                               ? "acknowledged just now or never"
                               : fmt::format("last acknowledged {:.1f} ms before", event.quiet_us / 1e3));
    if (event.kind == MRC_EVENT_DROPS_BEGIN)
        return drops_text(event);
    if (event.kind == MRC_EVENT_LINK_DEAD && event.blame == MRC_BLAME_PEER)
        return fmt::format("{} packets sent since anything came from there", event.losses);
    if (event.kind == MRC_EVENT_LINK_SLOW && event.blame == MRC_BLAME_PEER)
        return fmt::format("{:.1f} us more than by the quickest plane", event.extra_rtt_ns / 1e3);
    if (event.kind == MRC_EVENT_LINK_SLOW)
        return fmt::format("{:.1f} us more than the quickest{}", event.extra_rtt_ns / 1e3, hosts_text(event));
    if (kernel::class_of(event.kind) == MRC_EVENTS_OF_LINKS)
        return fmt::format("{} of {} lost in the last second{}", event.losses, event.tx_packets, hosts_text(event));
    if (event.kind == MRC_EVENT_SESSION_CLOSED && (event.queue_pairs != 0 || event.registered_bytes != 0))
        return fmt::format("{} queue pairs and {} bytes of memory were left", event.queue_pairs,
                           event.registered_bytes);
    return "";
}

} // namespace

event_text text_of(const mrc_event_row &event)
{
    const bool may_be_left = event.reason == MRC_REASON_CONTROLLER && event.profile == 0; // spine_policy.h
    return {.object = object_text(event),
            .what = what_text(event),
            .reason = std::string{reason_text(event.reason)} + (may_be_left ? " or [fabric_map] deny_lossy" : ""),
            .figures = figures_text(event)};
}

std::string line_of(const mrc_event_row &event)
{
    const event_text text = text_of(event);
    return fmt::format("{}: {}{}{}{}", text.object, text.what, text.reason.empty() ? "" : ", ", text.reason,
                       text.figures.empty() ? "" : fmt::format("; {}", text.figures));
}

} // namespace mrc::service
