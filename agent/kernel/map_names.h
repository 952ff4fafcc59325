// SPDX-License-Identifier: Apache-2.0
// The words that tools, logs and documents use for the enumerators of mrc/abi/maps.h; one table for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mrc/abi/maps.h"
#include "protocol/qp_state.h"

namespace mrc::kernel
{

// Of a number that a map has; "unknown" of one that this table does not know.
template <std::size_t Size>
[[nodiscard]] constexpr std::string_view word_of(const std::array<std::string_view, Size> &table, std::size_t number)
{
    return number < Size ? table[number] : "unknown";
}

// In the order of enum mrc_verdict: the enumerator without MRC_, in small letters. What comes before the first
// underscore is the program that counts it.
inline constexpr auto verdict_names = std::to_array<std::string_view>({
    "rx_steered",
    "rx_reflected",
    "rx_pass_not_ours",
    "rx_pass_popped",
    "rx_pass_malformed",
    "rx_drop_ce_not_ect",
    "rx_drop_carrier_left",
    "rx_drop_inner",
    "rx_drop_bad_mrc",
    "rx_drop_unknown_qp",
    "rx_drop_wrong_peer",
    "rx_drop_unknown_peer",
    "rx_drop_no_socket",
    "rx_drop_resize",
    "rx_drop_not_fabric",
    "rx_drop_probe_rate",
    "rx_drop_foreign",
    "rx_drop_neighbour",
    "rx_loop",
    "rx_drop_loop",
    "push_sent",
    "push_empty",
    "push_bad_slot",
    "push_no_port",
    "push_store",
    "tx_pushed",
    "tx_pass_not_ip",
    "tx_drop_no_peer",
    "tx_drop_no_path",
    "tx_drop_resize",
    "tx_drop_mrc_port",
    "tx_drop_headers",
    "sw_forwarded",
    "sw_pass_not_usid",
    "sw_pass_kernel",
    "sw_drop_no_route",
    "sw_drop_carrier_end",
    "sw_drop_hop_limit",
    "sw_drop_malformed",
    "sw_marked",
    "sw_trimmed",
    "sw_drop_queue",
    "sw_drop_trim_queue",
    "sw_impair_blackhole",
    "sw_impair_loss",
    "sw_impair_corrupt",
    "sw_impair_duplicate",
    "sw_drop_no_port",
    "agent_accepted",
    "agent_drop_no_metadata",
    "agent_drop_truncated",
    "agent_drop_bad_length",
    "agent_drop_bad_icrc",
    "agent_drop_bad_opcode",
    "agent_drop_unknown_qp",
    "agent_drop_wrong_peer",
    "agent_drop_unasked",
    "agent_drop_rate",
    "agent_drop_no_port",
    "agent_local",
});
static_assert(verdict_names.size() == MRC_VERDICT_COUNT);

[[nodiscard]] constexpr std::string_view verdict_name(std::uint32_t verdict)
{
    return word_of(verdict_names, verdict);
}

// "agent" of "agent_drop_rate".
[[nodiscard]] constexpr std::string_view verdict_group(mrc_verdict verdict)
{
    const std::string_view name = verdict_names[verdict];
    return name.substr(0, name.find('_'));
}

// "drop_rate" of "agent_drop_rate".
[[nodiscard]] constexpr std::string_view name_in_group(mrc_verdict verdict)
{
    const std::string_view name = verdict_names[verdict];
    return name.substr(name.find('_') + 1);
}

// Whether a packet that is counted here went no further; an empty live frame is none.
[[nodiscard]] constexpr bool is_drop(mrc_verdict verdict)
{
    switch (verdict) {
    case MRC_PUSH_BAD_SLOT:
    case MRC_PUSH_NO_PORT:
    case MRC_PUSH_STORE:
    case MRC_SW_IMPAIR_BLACKHOLE:
    case MRC_SW_IMPAIR_LOSS:
        return true;
    default:
        return name_in_group(verdict).starts_with("drop_");
    }
}

// In the order of enum mrc_port_reason.
inline constexpr auto port_reason_names = std::to_array<std::string_view>({
    "",
    "missing",
    "down",
    "no carrier",
    "no_neighbour",
    "several neighbours",
    "replaced",
    "mtu too small",
    "disabled",
});
static_assert(port_reason_names.size() == MRC_PORT_REASON_COUNT);

// In the order of enum mrc_xdp_mode, and of enum mrc_engine.
inline constexpr auto xdp_mode_names = std::to_array<std::string_view>({"none", "native", "generic"});
static_assert(xdp_mode_names.size() == MRC_XDP_GENERIC + 1);
inline constexpr auto engine_names = std::to_array<std::string_view>({"none", "xdp", "af_xdp"});
static_assert(engine_names.size() == MRC_ENGINE_AF_XDP + 1);

// In the order of enum mrc_path_state.
inline constexpr auto path_state_names = std::to_array<std::string_view>({
    "unused",
    "good",
    "kept",
    "assumed_bad",
    "denied",
});
static_assert(path_state_names.size() == MRC_PATH_DENIED + 1);

// In the order of enum mrc_event_class, mrc_event_kind and mrc_event_reason: what follows the prefix, in small letters.
inline constexpr auto event_class_names =
    std::to_array<std::string_view>({"ports", "planes", "peers", "links", "drops", "paths", "sessions", "queue_pairs"});
static_assert(event_class_names.size() == MRC_EVENT_CLASSES);

inline constexpr auto event_kind_names = std::to_array<std::string_view>({
    "none",
    "port_usable",
    "port_out_of_use",
    "plane_in_use",
    "plane_out_of_use",
    "peer_port_usable",
    "peer_port_out_of_use",
    "peer_plane_in_use",
    "peer_plane_out_of_use",
    "peer_heard",
    "peer_silent",
    "link_good",
    "link_slow",
    "link_lossy",
    "link_dead",
    "drops_begin",
    "path_good",
    "path_kept",
    "path_assumed_bad",
    "path_denied",
    "session_opened",
    "session_closed",
    "qp_connected",
    "qp_error",
    "qp_closed",
    "qp_errors_untold",
});
static_assert(event_kind_names.size() == MRC_EVENT_COUNT);

inline constexpr auto event_reason_names = std::to_array<std::string_view>({
    "none",
    "missing",
    "down",
    "no_carrier",
    "no_neighbour",
    "several_neighbours",
    "replaced",
    "small_mtu",
    "disabled",
    "silence",
    "loss",
    "always_skip",
    "calm",
    "probes",
    "deliveries",
    "controller",
    "peer_says",
    "other_planes",
    "reached",
    "no_answer",
    "loops",
    "packets",
    "client_gone",
    "violation",
    "daemon_ends",
    "retries",
    "remote_access",
    "remote_operation",
    "remote_invalid",
    "local_protection",
    "refused_access",
    "refused_operation",
    "refused_invalid",
    "overrun",
    "client",
    "reset",
    "session_end",
});
static_assert(event_reason_names.size() == MRC_REASON_COUNT);

// In the order of enum mrc_link_state, mrc_link_blame and mrc_link_direction.
inline constexpr auto link_state_names = std::to_array<std::string_view>({"unknown", "good", "slow", "lossy", "dead"});
static_assert(link_state_names.size() == MRC_LINK_DEAD + 1);
inline constexpr auto link_blame_names = std::to_array<std::string_view>(
    {"nothing", "host_link_or_leaf", "leaf", "spine_link_or_spine", "host_link", "leaf_spine_link", "spine", "peer"});
static_assert(link_blame_names.size() == MRC_BLAME_PEER + 1);
inline constexpr auto link_direction_names = std::to_array<std::string_view>({"unknown", "up", "down", "both"});
static_assert(link_direction_names.size() == MRC_DIRECTION_BOTH + 1);

// In the order of enum mrc_ordinary_state.
inline constexpr auto ordinary_state_names = std::to_array<std::string_view>({"silent", "reachable", "own"});
static_assert(ordinary_state_names.size() == MRC_ORDINARY_OWN + 1);

// In the order of enum mrc_send_limit.
inline constexpr auto send_limit_names = std::to_array<std::string_view>({
    "nothing",
    "application",
    "worker",
    "receiver",
    "congestion",
    "loss",
    "paths",
    "memory",
});
static_assert(send_limit_names.size() == MRC_LIMIT_MEMORY + 1);

// In the order of protocol::qp_state, as verbs call them.
inline constexpr auto qp_state_names = std::to_array<std::string_view>({"RESET", "INIT", "RTR", "RTS", "SQD", "ERROR"});
static_assert(qp_state_names.size() == static_cast<std::size_t>(protocol::qp_state::error) + 1);

} // namespace mrc::kernel
