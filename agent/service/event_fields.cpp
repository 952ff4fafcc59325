// SPDX-License-Identifier: Apache-2.0
#include "service/event_fields.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "kernel/event_history.h"
#include "kernel/map_names.h"
#include "service/address.h"

namespace mrc::service
{

namespace
{

using field_value = decltype(event_field::value);
using field_list = std::vector<event_field>;

field_value number_if(bool has_one, std::uint64_t number)
{
    return has_one ? field_value{number} : field_value{};
}

field_value text_value(std::string_view words)
{
    return std::string{words};
}

template <std::size_t Size>
field_value word_value(const std::array<std::string_view, Size> &words, std::size_t number)
{
    return text_value(kernel::word_of(words, number));
}

field_value address_value(const mrc_ip &of)
{
    return is_same(of, mrc_ip{}) ? field_value{} : text_value(to_text(of));
}

field_value name_value(const mrc_event_row &event)
{
    return text_value(std::string_view{event.name, ::strnlen(event.name, sizeof(event.name))});
}

// What a path has, and the plane that it is of.
field_list path_fields(const mrc_event_row &event, mrc_event_class of)
{
    field_list all{{"plane", std::uint64_t{event.plane}},
                   {"leaf", std::uint64_t{event.leaf}},
                   {"profile", std::uint64_t{event.profile}},
                   {"peer", address_value(event.peer)},
                   {"paths", std::uint64_t{event.paths}}};
    if (of == MRC_EVENTS_OF_PLANES)
        return all;
    const field_list of_path{{"uplink", std::uint64_t{event.uplink}},
                             {"path", std::uint64_t{event.path}},
                             {"tx_packets", std::uint64_t{event.tx_packets}},
                             {"losses", std::uint64_t{event.losses}},
                             {"quiet_us", number_if(event.quiet_us != 0, event.quiet_us)}};
    all.insert(all.end(), of_path.begin(), of_path.end());
    return all;
}

field_list link_fields(const mrc_event_row &event)
{
    return {
        {"plane", std::uint64_t{event.plane}},
        {"leaf", number_if(event.leaf != MRC_FAULT_NOWHERE, event.leaf)},
        {"spine", number_if(event.uplink != MRC_LOOP_NO_SPINE, event.uplink)},
        {"device", name_value(event)},
        {"blame", event.blame == MRC_BLAME_NOTHING ? field_value{} : word_value(kernel::link_blame_names, event.blame)},
        {"direction", word_value(kernel::link_direction_names, event.direction)},
        {"host", address_value(event.peer)},
        {"hosts", std::uint64_t{event.hosts}},
        {"witnesses", std::uint64_t{event.witnesses}},
        {"loops", std::uint64_t{event.tx_packets}},
        {"lost", std::uint64_t{event.losses}},
        {"extra_rtt_ns", std::uint64_t{event.extra_rtt_ns}}};
}

field_list drop_fields(const mrc_event_row &event)
{
    const bool has_port = event.plane != MRC_DROP_NO_PORT;
    return {{"plane", number_if(has_port, event.plane)},
            {"device", has_port ? name_value(event) : field_value{}},
            {"verdict", text_value(kernel::verdict_name(event.verdict))},
            {"peer", address_value(event.peer)},
            {"qpn", number_if(event.qpn != 0, event.qpn)},
            {"drops", std::uint64_t{event.losses}},
            {"quiet_us", number_if(event.quiet_us != 0, event.quiet_us)}};
}

field_list session_fields(const mrc_event_row &event)
{
    return {{"session", std::uint64_t{event.session}},
            {"pid", std::uint64_t{event.pid}},
            {"uid", std::uint64_t{event.uid}},
            {"command", name_value(event)},
            {"queue_pairs", std::uint64_t{event.queue_pairs}},
            {"registered_bytes", std::uint64_t{event.registered_bytes}}};
}

} // namespace

std::vector<event_field> fields_of(const mrc_event_row &event)
{
    const bool is_of_a_plane = event.kind != MRC_EVENT_PEER_HEARD && event.kind != MRC_EVENT_PEER_SILENT;
    const mrc_event_class of = kernel::class_of(event.kind);
    switch (of) {
    case MRC_EVENTS_OF_PORTS:
        return {{"plane", std::uint64_t{event.plane}}, {"device", name_value(event)}};
    case MRC_EVENTS_OF_PLANES:
    case MRC_EVENTS_OF_PATHS:
        return path_fields(event, of);
    case MRC_EVENTS_OF_PEERS:
        return {{"peer", address_value(event.peer)}, {"plane", number_if(is_of_a_plane, event.plane)}};
    case MRC_EVENTS_OF_LINKS:
        return link_fields(event);
    case MRC_EVENTS_OF_DROPS:
        return drop_fields(event);
    case MRC_EVENTS_OF_SESSIONS:
        return session_fields(event);
    case MRC_EVENTS_OF_QUEUE_PAIRS:
        if (event.kind == MRC_EVENT_QP_ERRORS_UNTOLD)
            return {{"queue_pairs", std::uint64_t{event.queue_pairs}}};
        return {{"session", std::uint64_t{event.session}},
                {"qpn", std::uint64_t{event.qpn}},
                {"peer_qpn", std::uint64_t{event.peer_qpn}},
                {"peer", address_value(event.peer)}};
    case MRC_EVENT_CLASSES:
        break;
    }
    return {};
}

} // namespace mrc::service
