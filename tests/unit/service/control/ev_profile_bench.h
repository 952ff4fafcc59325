// SPDX-License-Identifier: Apache-2.0
// An EV profile store with what it works on, for tests: a fabric of two planes with four uplinks each, and what the
// store tells running traffic.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "service/control/ev_profile_store.h"

namespace mrc::service::control::profile_bench
{

inline constexpr std::uint64_t id = 1;
inline constexpr std::uint32_t init = 0;
inline constexpr std::uint32_t offline = 1;
inline constexpr std::uint32_t online = 2;
inline constexpr std::uint32_t automatic = 1;
inline constexpr std::uint32_t listed = 2;
inline constexpr std::uint32_t generated = 4;
inline constexpr std::uint32_t good = 1;
inline constexpr std::uint32_t assumed_bad = 2;
inline constexpr std::uint32_t denied = 4;

inline const fabric_shape fabric{.planes = 2, .uplinks = 4, .usids = usid_plan{}};

struct recorder final : profile_effects {
    void set_denied(std::uint64_t profile, std::span<const path_verdict> verdicts) override
    {
        profiles.push_back(profile);
        all.insert(all.end(), verdicts.begin(), verdicts.end());
    }
    void universe_changed(std::uint64_t) override { ++changes; }
    void gone_offline(std::uint64_t profile) override { offline.push_back(profile); }
    void on_event(const session::ev_event &event) override { events.push_back(event); }

    std::vector<std::uint64_t> profiles;
    std::vector<std::uint64_t> offline;
    std::vector<path_verdict> all;
    std::vector<session::ev_event> events;
    unsigned changes = 0;
};

// An EV of the built-in format, its entropy 1.
inline session::ev_value ev_of(unsigned plane, unsigned uplink, std::uint32_t entropy = 1)
{
    const std::uint32_t number = mrc_ev_make(plane, uplink, entropy);
    session::ev_value ev;
    for (unsigned byte = 0; byte < 4; ++byte)
        ev.bits.at(byte) = static_cast<std::uint8_t>(number >> (24 - 8 * byte));
    ev.port = static_cast<std::uint8_t>(plane + 1);
    return ev;
}

inline session::ev_entry entry(const session::ev_value &subject, const session::ev_value &replacement,
                               std::uint32_t state = good, std::uint32_t flags = 0)
{
    return {.subject = subject, .replacement = replacement, .state = state, .flags = flags};
}

// Four EVs: uplinks 0 and 1 of both planes.
inline const std::vector<session::ev_entry> populate = {entry({}, ev_of(0, 0)), entry({}, ev_of(1, 0)),
                                                        entry({}, ev_of(0, 1)), entry({}, ev_of(1, 1))};

struct bench {
    session::profile_limits limits;
    recorder effects;
    ev_format_store formats{limits};
    ev_profile_store store{limits, fabric, formats, effects};

    explicit bench(const session::profile_limits &of = {}) : limits{of} {}

    ev_edit_result modify(const ev_profile_change &change, const std::optional<ev_edit> &edit = {})
    {
        return store.modify(id, change, edit);
    }
    ev_edit_result edit(session::ev_operation operation, const std::vector<session::ev_entry> &entries)
    {
        return store.modify(id, {}, ev_edit{operation, entries});
    }
    [[nodiscard]] std::uint32_t state() const { return static_cast<std::uint32_t>(store.find(id).state); }
};

inline int code_of(const session::outcome<> &result)
{
    return result ? 0 : result.error().code;
}

// A listed profile of four EVs in the state asked for.
inline std::unique_ptr<bench> bench_in(std::uint32_t state, const session::profile_limits &limits = {})
{
    auto made = std::make_unique<bench>(limits);
    if (state >= offline) {
        EXPECT_TRUE(made->modify({.state = offline, .mode = listed, .format = 0, .count = 4}).result);
        EXPECT_EQ(made->edit(session::ev_operation::replace, populate).done, 4U);
    }
    if (state >= online) {
        EXPECT_TRUE(made->modify({.state = online, .min_active = 2, .event_mask = 3}).result);
    }
    return made;
}

using edit_entries = std::vector<session::ev_entry>;
inline const std::vector<mrc_ev_field> plain_fields = {
    {21, 0, 0, 0x1fffff, 0x1fffff}, {8, 0, 0, 255, 255}, {3, 0, 0, 7, 7}};
inline constexpr auto none = std::nullopt;
inline constexpr auto replace = session::ev_operation::replace;
inline constexpr auto set_state = session::ev_operation::modify_state;

} // namespace mrc::service::control::profile_bench
