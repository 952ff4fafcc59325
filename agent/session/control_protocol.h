// SPDX-License-Identifier: Apache-2.0
// The controller API (mrc_ctl.h) on the session socket: a request is a control_request and the elements of its array, a
// reply a control_reply and its own, each one packet. What the API says of a call holds for the request of its name;
// one call of the library may take several requests, since arrays are cut into pieces (most_*):
//  - entries to modify: in order, until a reply has an error; `done` of it counts what was carried out of this piece
//  - arrays to fill: `first` counts up until `total`; E2BIG when the caller's array (`capacity`) is shorter than that
// Kinds begin at 0x100, where those of session_protocol.h never come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mrc/abi/ip.h"
#include "session/ev_event_queue.h"
#include "session/values.h"

namespace mrc::session
{

inline constexpr std::uint32_t control_version = 1;

enum class control_kind : std::uint32_t {
    query_device = 0x100, // → device
    query_port,           // id: port, 1-based → port
    modify_port,
    modify_ev_format,   // id; mask; array: widths (std::uint8_t) of MODIFY_FIELDS; QUERY_FIELDS → widths
    query_ev_format,    // → ev_format; array: widths
    modify_ev_profile,  // id; mask; array: control::ev_entry or mrc_ev_field by the operation
    query_ev_profile,   // → ev_profile; array: the same
    modify_cc_profile,  // id; mask
    query_cc_profile,   // → cc_profile
    list_profiles,      // operation: profile_list → array: ids (std::uint64_t)
    subscribe_events,   // events.capacity → id of the subscription in reply.id
    poll_events,        // id; capacity: at most so many → array: control::ev_event
    unsubscribe_events, // id
    ep_batch,           // ep; array: ep_request. With ep.more: → nothing yet, the batch goes on with the next packet;
                        // without: → array: ep_response, also beside ETIMEDOUT and EINVAL, when the batch is over
};

enum class profile_list : std::uint32_t { ev_formats, ev_profiles, cc_profiles };

// Elements of one packet.
inline constexpr std::uint32_t most_entries = 256;
inline constexpr std::uint32_t most_fields = 64; // more than any profile may have: such ones are refused by E2BIG
inline constexpr std::uint32_t most_ids = 512;
inline constexpr std::uint32_t most_ep_requests = 256;
inline constexpr std::uint32_t most_batch_requests = 2048; // in several packets; of one session at a time
inline constexpr std::uint32_t most_subscription_events = 65536;
inline constexpr std::size_t most_control_bytes = 32768; // of any request or reply

struct control_ev_format {
    std::uint32_t state;
    std::uint32_t current;
    std::uint32_t mode;
    std::uint32_t reserved;
};

struct control_ev_profile {
    std::uint32_t state;
    std::uint32_t current;
    std::uint32_t mode;
    std::uint32_t count;
    std::uint64_t format;
    std::uint32_t min_active;
    std::uint32_t event_mask;
};

struct control_cc_profile {
    std::uint32_t state;
    std::uint32_t current;
    char algorithm[32]; // ends with a zero byte; empty: the null pointer
    nscc_values config;
    std::uint32_t reserved;
};

struct control_port {
    std::uint32_t enabled; // 0 or 1: mrc_ctl_port_admin_state
    std::uint32_t reserved;
};

struct control_events {
    std::uint32_t capacity; // 1…most_subscription_events
    std::uint32_t channel;  // completion channel of the session to be told when there is one to poll; 0: none
};

enum class ep_operation : std::uint32_t { ev_probe, port_status_update };

struct control_ep {
    std::uint32_t operation;     // ep_operation
    std::uint32_t traffic_class; // DSCP, 0…63
    std::uint32_t timeout_ns;    // of each request, from its sending on
    std::uint32_t more;          // not 0: the next packet has more of the batch; of its last one the other values count
};

struct control_device {
    std::uint32_t version;
    std::uint32_t max_fmt_profiles, max_profiles, max_count, free_count, max_count_profile;
    std::uint32_t count_align, max_width, fmt_mode_mask, mode_mask, op_max_entries;
    std::uint32_t cc_max_profiles;
    std::uint32_t phy_port_mask;
    std::uint32_t options;
    char algorithm[32]; // the only one
};

struct control_request {
    std::uint32_t version = control_version;
    control_kind kind = control_kind::query_device;
    std::uint64_t id = 0;
    std::uint32_t mask = 0;      // attribute bits as in mrc_ctl.h
    std::uint32_t operation = 0; // of the array: ev_operation, ev_fields_operation, ev_format_operation, profile_list
    std::uint32_t count = 0;     // elements behind this structure
    std::uint32_t capacity = 0;  // of the caller's whole array
    std::uint32_t first = 0;     // element to begin the reply with
    std::uint32_t reserved = 0;
    union {
        control_ev_format ev_format;
        control_ev_profile ev_profile;
        control_cc_profile cc_profile;
        control_port port;
        control_events events;
        control_ep ep;
        std::uint8_t room[112];
    };
    control_request() : room{} {}
};
static_assert(sizeof(control_request) == 152 && std::is_trivially_copyable_v<control_request>);

struct control_reply {
    std::int32_t error = 0;  // errno; 0 = done
    std::uint32_t count = 0; // elements behind this structure
    std::uint32_t total = 0; // elements there are; when error is E2BIG, how many are needed
    std::uint32_t done = 0;  // entries carried out
    std::uint64_t id = 0;
    char text[160] = {}; // when error != 0: what was wrong and what is allowed
    union {
        control_ev_format ev_format;
        control_ev_profile ev_profile;
        control_cc_profile cc_profile;
        control_port port;
        control_device device;
        std::uint8_t room[112];
    };
    control_reply() : room{} {}
};
static_assert(sizeof(control_reply) == 296 && std::is_trivially_copyable_v<control_reply>);

// As mrc_ctl_ep_req and mrc_ctl_ep_rsp.
struct ep_request {
    std::uint16_t id = 0; // unique in a batch
    std::uint8_t reserved[6] = {};
    mrc_ip source{};
    mrc_ip destination{};
    std::uint32_t format_mode = 0; // control::ev_format_mode
    ev_value ev;
    std::uint8_t reserved_ev[3] = {};
    std::uint32_t port_status = 0; // bit N: port N, 1-based
    std::uint8_t reserved_tail[4] = {};
};
static_assert(sizeof(ep_request) == 88 && offsetof(ep_request, source) == 8 && offsetof(ep_request, ev) == 44 &&
              offsetof(ep_request, port_status) == 80);

struct ep_response {
    std::uint16_t id = 0;
    std::uint8_t port = 0; // that the response came by, 1-based
    std::uint8_t reserved = 0;
    std::uint32_t rtt_ns = 0;
    std::uint8_t service_time = 0; // non-zero: taken out of the RTT
    std::uint8_t reserved_tail[3] = {};
};
static_assert(sizeof(ep_response) == 12);

static_assert(sizeof(control_request) + most_entries * sizeof(ev_entry) <= most_control_bytes);
static_assert(sizeof(control_request) + most_ep_requests * sizeof(ep_request) <= most_control_bytes);
static_assert(sizeof(control_reply) + most_batch_requests * sizeof(ep_response) <= most_control_bytes);
static_assert(sizeof(control_reply) + most_entries * sizeof(ev_entry) <= most_control_bytes);
static_assert(sizeof(control_reply) + most_entries * sizeof(ev_event) <= most_control_bytes);
static_assert(sizeof(control_reply) + most_ids * sizeof(std::uint64_t) <= most_control_bytes);

} // namespace mrc::session
