// SPDX-License-Identifier: Apache-2.0
// Congestion control profiles (mrc_ctl_modify_cc_profile): an algorithm, or none, and its constants.
//
// What a step of the life cycle (transitions.h) asks for:
// INIT to OFFLINE    ALGORITHM; CONFIG may come with it
// OFFLINE to ONLINE  CONFIG, by now or before; not needed without algorithm
// OFFLINE to INIT    nothing else in the call
// ONLINE to OFFLINE  nothing else in the call, no QPs (EBUSY)
// OFFLINE, ALGORITHM and CONFIG may be changed: another algorithm forgets the constants. ONLINE, CONFIG may with
// modify_cc_online. Everything else is EINVAL; to name the present state is no transition. A refused call changes
// nothing. Profile 0 is built in: the configuration's congestion control, ONLINE, and cannot be changed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "protocol/congestion/congestion_control.h"
#include "protocol/congestion/nscc.h"
#include "session/values.h"

namespace mrc::service::control
{

struct cc_profile {
    session::profile_state state = session::profile_state::init;
    bool nscc = false; // else no algorithm: the PSN window alone bounds what is in flight
    std::optional<session::nscc_values> config = std::nullopt;
    unsigned queue_pairs = 0;
};

struct cc_profile_change {
    std::optional<std::uint32_t> state = std::nullopt;
    std::optional<std::uint32_t> current = std::nullopt;
    std::optional<std::string> algorithm = std::nullopt; // empty: none
    std::optional<session::nscc_values> config = std::nullopt;
};

// EINVAL names the constant, what was found and what is allowed.
[[nodiscard]] session::outcome<> check(const session::nscc_values &config);

// The fields 1:1, and what the API has no field for as derive_nscc gives it for `link` with this base RTT and target.
[[nodiscard]] protocol::nscc_config to_nscc_config(const session::nscc_values &config, protocol::nscc_link link);
[[nodiscard]] session::nscc_values to_nscc_values(const protocol::nscc_config &config);

class cc_profile_store
{
public:
    // `built_in` is what queries of profile 0 show.
    cc_profile_store(const session::profile_limits &limits, cc_profile built_in);

    session::outcome<> modify(std::uint64_t id, const cc_profile_change &change);
    // Of an id that nobody has touched: INIT.
    [[nodiscard]] const cc_profile &find(std::uint64_t id) const;
    [[nodiscard]] const std::map<std::uint64_t, cc_profile> &all() const { return profiles_; }

    // A QP begins and ends to use a profile; EINVAL unless it is ONLINE.
    session::outcome<> acquire(std::uint64_t id);
    void release(std::uint64_t id) { --profiles_.at(id).queue_pairs; }

private:
    const session::profile_limits &limits_;
    std::map<std::uint64_t, cc_profile> profiles_; // none is INIT
};

} // namespace mrc::service::control
