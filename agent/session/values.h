// SPDX-License-Identifier: Apache-2.0
// What the controller API (mrc_ctl.h) passes about profiles, with that header's numbers: enumerators, attribute bits,
// EV values, and how this host limits them. The daemon keeps its own declarations, as it is built without the client's.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>

#include "mrc/abi/srv6.h"

namespace mrc::session
{

// Why a call fails: an errno that the API documents, and a sentence for the log and for mrcctl.
struct refusal {
    int code = 0;
    std::string text;
};
template <class T = void>
using outcome = std::expected<T, refusal>;

enum class profile_state : std::uint32_t { init = 0, offline = 1, online = 2 };
enum class ev_format_mode : std::uint32_t { stev = 1, srv6 = 2, udp = 4 };
enum class ev_mode : std::uint32_t { automatic = 1, listed = 2, generated = 4 };
enum class ev_state : std::uint32_t { good = 1, assumed_bad = 2, denied = 4, unknown = 1U << 31 };

inline constexpr std::uint32_t ev_format_modes = 7;
inline constexpr std::uint32_t ev_modes = 7;
inline constexpr std::uint32_t reportable_ev_states = 3;      // what an event mask may have: good, assumed_bad
inline constexpr std::uint32_t replace_all_copies = 1;        // a flag of an EV operation's entry
inline constexpr const char *nscc_algorithm = "uet-1.0-nscc"; // the one algorithm; none is the null pointer

// Attribute bits of the calls.
enum ev_format_attribute : std::uint32_t {
    ev_format_has_state = 1U << 0,
    ev_format_has_current = 1U << 1,
    ev_format_has_mode = 1U << 2,
    ev_format_has_operation = 1U << 3,
    ev_format_attributes = 0xF,
};
enum ev_profile_attribute : std::uint32_t {
    ev_profile_has_state = 1U << 0,
    ev_profile_has_current = 1U << 1,
    ev_profile_has_mode = 1U << 2,
    ev_profile_has_format = 1U << 3,
    ev_profile_has_count = 1U << 4,
    ev_profile_has_min_active = 1U << 5,
    ev_profile_has_event_mask = 1U << 6,
    ev_profile_has_evs = 1U << 7,
    ev_profile_has_fields = 1U << 8,
    ev_profile_attributes = 0x1FF,
};
enum cc_profile_attribute : std::uint32_t {
    cc_profile_has_state = 1U << 0,
    cc_profile_has_current = 1U << 1,
    cc_profile_has_algorithm = 1U << 2,
    cc_profile_has_config = 1U << 3,
    cc_profile_attributes = 0xF,
};
enum class ev_format_operation : std::uint32_t { modify_fields, query_fields };
enum class ev_operation : std::uint32_t { replace, modify_state, query_state, query_array };
enum class ev_fields_operation : std::uint32_t { modify_fields, query_fields };

// As mrc_ctl_ev: a bit string, first byte first and most significant bit first, and a 1-based port. All zero: an entry
// of a listed profile that nobody has filled yet.
struct ev_value {
    std::array<std::uint8_t, MRC_EV_BYTES> bits{};
    std::uint8_t port = 0;

    [[nodiscard]] bool unpopulated() const { return *this == ev_value{}; }
    friend bool operator==(const ev_value &, const ev_value &) = default;
};
static_assert(sizeof(ev_value) == 33);

// mrc_ctl_ev_field is mrc_ev_field of mrc/abi/srv6.h.
static_assert(sizeof(mrc_ev_field) == 20);

// As mrc_ctl_ev_op_entry.
struct ev_entry {
    ev_value subject;
    ev_value replacement;
    std::uint8_t reserved[2] = {};
    std::uint32_t state = 0; // ev_state, not checked yet
    std::uint32_t flags = 0;
};
static_assert(sizeof(ev_entry) == 76);

// As mrc_ctl_cc_nscc_cfg, the padding named.
struct nscc_values {
    std::uint8_t disable_qa = 0;
    std::uint8_t reserved[3] = {};
    std::uint32_t adjust_bytes_threshold = 0;  // bytes
    std::uint32_t adjust_period_threshold = 0; // ns
    std::uint32_t base_rtt = 0;                // ns
    float eta = 0;
    float fi = 0;
    float fi_scale = 0;
    float gamma = 0;
    float max_md_jump = 0;
    std::uint32_t max_cwnd = 0; // bytes
    std::uint8_t qa_gate = 0;
    std::uint8_t reserved_tail[3] = {};
    std::uint32_t qa_threshold = 0; // ns
    std::uint32_t target_delay = 0; // ns

    friend bool operator==(const nscc_values &, const nscc_values &) = default;
};
static_assert(sizeof(nscc_values) == 52);

// What this host can do; mrc_ctl_device_attr shows it. Running windows take no new constants, so modify_cc_online is
// off in the daemon.
struct profile_limits {
    unsigned formats = 64;
    unsigned ev_profiles = 64;
    unsigned cc_profiles = 64;
    unsigned evs = 65536;            // of all EV profiles together
    unsigned evs_per_profile = 2048; // 8 planes of 256 uplinks
    unsigned ev_width = 128;         // bits of an EV that fields may take: one carrier, no SRH
    unsigned entries_per_call = 0;   // of one EV operation; 0: no limit, clients split long ones
    bool modify_ev_online = true;
    bool modify_cc_online = false;
};

// Profile 0 is the one built in: ONLINE for good.
inline constexpr std::uint64_t built_in_profile = 0;

} // namespace mrc::session
