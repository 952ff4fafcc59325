// SPDX-License-Identifier: Apache-2.0
// When to probe which retired path (decision D12). Each ASSUMED_BAD path is probed every `interval`; of a plane that
// has no good path only two sentinels are, by turns. `successes` answers in a row reinstate a path. A sentinel that
// answers keeps its turn, and is asked again at once: so a plane needs `interval` and three round trips, and one that
// was blamed though it delivers the round trips alone, for the first question comes at once, too. A path that is
// retired again within `relapse_window` of its return is probed at twice the interval, up to `longest_interval`, and
// never at once.
//
// All probes of one prober are `spacing` apart: when more is due, paths and dark planes are asked in the order in which
// they fell due. Those that follow an answer at once are made up for by those after
// them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/request_ids.h"
#include "protocol/types.h"

namespace mrc::protocol
{

struct probe_config {
    duration interval = std::chrono::milliseconds{5};
    duration spacing = std::chrono::milliseconds{5}; // between any two probes: at most 200/s per peer
    duration longest_interval = std::chrono::seconds{1};
    duration relapse_window = std::chrono::seconds{10};
    duration slowest_answer = std::chrono::milliseconds{5}; // a later answer does not count as good
    unsigned successes = 3;
};

class path_prober
{
public:
    struct probe {
        std::uint16_t slot = 0;
        std::uint16_t request_id = 0;
    };

    path_prober(const probe_config &config, unsigned planes, unsigned uplinks, id_range ids = path_probe_ids);

    void start(unsigned slot, instant now);               // the path was retired
    void stop(unsigned slot, std::optional<instant> now); // it is no longer ASSUMED_BAD; with `now`: reinstated
    [[nodiscard]] bool active() const { return probed_ != 0; }

    // The next probe that is due, of a usable plane. `dark` holds the planes without a good path.
    [[nodiscard]] std::optional<probe> next(instant now, plane_mask usable, plane_mask dark);
    [[nodiscard]] instant next_deadline() const;

    // The answer to request_id: the slot it was for. A good answer counts one success.
    struct answer {
        std::uint16_t slot = 0;
        bool reinstate = false;
        instant sent_at;
    };
    [[nodiscard]] std::optional<answer> on_answer(std::uint16_t request_id, instant arrived);
    // A packet got through on a path that is being probed: worth a good answer.
    [[nodiscard]] bool on_success(unsigned slot);

private:
    struct record {
        bool probed = false;
        bool awaiting = false; // the last probe has not been answered
        std::uint8_t streak = 0;
        std::uint16_t request_id = 0;
        instant due;
        instant sent_at;
        instant reinstated = instant::min();
        duration interval{0};
    };

    // Of a dark plane, the paths take turns at two probes per interval.
    struct plane_record {
        unsigned turn = 0; // uplink to try next
        instant due = instant::min();
    };

    [[nodiscard]] plane_index plane_of(unsigned slot) const { return {static_cast<std::uint8_t>(slot / uplinks_)}; }
    [[nodiscard]] std::optional<std::uint16_t> next_sentinel();
    [[nodiscard]] std::optional<std::uint16_t> find_due(instant now) const;
    [[nodiscard]] std::optional<std::uint16_t> whose_turn(plane_index plane) const;
    void keep_turn(unsigned slot, instant answered);
    void find_next_due(instant now);

    static constexpr std::size_t pending_capacity = 256; // answers older than so many probes are not believed

    probe_config config_;
    unsigned uplinks_;
    std::vector<record> paths_;
    std::vector<plane_record> planes_;
    std::array<std::uint16_t, pending_capacity> pending_{}; // position of the request id modulo capacity -> slot
    id_range ids_;
    std::uint16_t next_id_;
    unsigned probed_ = 0;
    plane_mask usable_;
    plane_mask dark_;
    plane_mask answering_; // whose sentinels are to be asked again at once
    instant ask_again_ = never;
    instant next_allowed_ = instant::min();
    instant next_due_ = never;
};

} // namespace mrc::protocol
