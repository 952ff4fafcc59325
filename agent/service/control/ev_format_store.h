// SPDX-License-Identifier: Apache-2.0
// EV format profiles: how wide the fields of an EV are in a packet, and where they go (mrc_ctl_modify_ev_fmt_profile).
//
// What a step of the life cycle (transitions.h) asks for:
// INIT to OFFLINE    MODE; fields may come with it
// OFFLINE to ONLINE  fields, by now or before
// OFFLINE to INIT    nothing else in the call
// ONLINE to OFFLINE  nothing else in the call, no EV profile on it ONLINE (EBUSY)
// OFFLINE, MODE and fields may be changed. Everything else is EINVAL; to name the present state is no transition. A
// refused call changes nothing. Format 0, built in, is ONLINE and cannot be changed: STEV of 21 bits of entropy, 8 of
// uplink, 3 of plane (mrc/abi/srv6.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "session/values.h"

namespace mrc::service::control
{

struct ev_format {
    session::profile_state state = session::profile_state::init;
    session::ev_format_mode mode = session::ev_format_mode::stev;
    std::vector<std::uint8_t> widths; // of the fields, bits
    unsigned online_profiles = 0;     // EV profiles that are ONLINE on this format

    [[nodiscard]] unsigned width() const;
};

// What a call asks for; the numbers as they came.
struct ev_format_change {
    std::optional<std::uint32_t> state = std::nullopt;
    std::optional<std::uint32_t> current = std::nullopt; // the state that the caller takes it to be in
    std::optional<std::uint32_t> mode = std::nullopt;
    std::optional<std::vector<std::uint8_t>> widths = std::nullopt;
};

// Bits of an EV in a packet: 32 for STEV, 16 for UDP, a carrier's 128 for SRv6.
[[nodiscard]] unsigned widest(session::ev_format_mode mode);

class ev_format_store
{
public:
    explicit ev_format_store(const session::profile_limits &limits);

    session::outcome<> modify(std::uint64_t id, const ev_format_change &change);
    // Of an id that nobody has touched: INIT.
    [[nodiscard]] const ev_format &find(std::uint64_t id) const;
    [[nodiscard]] const std::map<std::uint64_t, ev_format> &all() const { return formats_; }

    // By the EV profile store, as its profiles go ONLINE and leave.
    void add_online_profile(std::uint64_t id) { ++formats_.at(id).online_profiles; }
    void remove_online_profile(std::uint64_t id) { --formats_.at(id).online_profiles; }

private:
    const session::profile_limits &limits_;
    std::map<std::uint64_t, ev_format> formats_; // none is INIT
};

} // namespace mrc::service::control
