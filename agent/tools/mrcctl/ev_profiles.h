// SPDX-License-Identifier: Apache-2.0
// EV profiles: what there is, and what `mrcctl ev-profile` changes of it. Each function throws ctl_error when the
// daemon refuses; an operation on several EVs tells what became of each instead.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/mrcctl/profiles.h"

namespace mrc::ctl
{

// Attributes to be set; what is absent stays as it is, or has its default in a new profile.
struct ev_profile_attributes {
    std::optional<mrc_ctl_ev_mode> mode;
    std::optional<std::uint64_t> format;
    std::optional<std::uint32_t> count;
    std::optional<std::uint32_t> min_active;
    std::optional<int> events; // states to be told of
    std::vector<mrc_ctl_ev_field> fields;
};

[[nodiscard]] boost::json::array ev_profiles_of(const controller_device &device);
// With its fields and EVs.
[[nodiscard]] boost::json::object ev_profile_of(const controller_device &device, std::uint64_t id);
// Without them.
[[nodiscard]] boost::json::object ev_profile_summary(const controller_device &device, std::uint64_t id);
[[nodiscard]] std::vector<mrc_ctl_ev_op_entry> evs_of(const controller_device &device, std::uint64_t id);

// OFFLINE, with these EVs (of mode EXP). When it fails there is no profile.
void create_ev_profile(const controller_device &device, std::uint64_t id, const ev_profile_attributes &attributes,
                       std::span<const mrc_ctl_ev> evs);
void set_ev_profile(const controller_device &device, std::uint64_t id, const ev_profile_attributes &attributes);

// One operation on EVs, in their order until one fails: a row each, "result" being done, failed or not tried.
struct entries_done {
    boost::json::array rows;
    bool whole = true;
};
[[nodiscard]] entries_done judge_evs(const controller_device &device, std::uint64_t id, std::span<const mrc_ctl_ev> evs,
                                     mrc_ctl_ev_state state);
struct replacement_choice {
    bool all_copies = false;
    bool denied = false; // the new ones, from the start
};
[[nodiscard]] entries_done replace_evs(const controller_device &device, std::uint64_t id,
                                       std::span<const std::pair<mrc_ctl_ev, mrc_ctl_ev>> evs,
                                       const replacement_choice &choice);
[[nodiscard]] entries_done query_evs(const controller_device &device, std::uint64_t id,
                                     std::span<const mrc_ctl_ev> evs);

} // namespace mrc::ctl
