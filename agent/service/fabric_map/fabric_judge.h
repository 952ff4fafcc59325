// SPDX-License-Identifier: Apache-2.0
// Which link or switch is at fault, by the loops of one host. What the loop to the leaf loses, its plane's loops by the
// spines lose as well, so a spine is to blame only for what they lose beyond that.
//
// state    of the way, in the last second
// dead     nothing has come back for `dead_after` and `dead_loops`; of a spine: while the leaf answers
// lossy    lost more than `lossy` with a likelihood ratio of 1000 to one, in several bins of 5 ms; of a spine: and
//          more than the leaf's, as likely
// slow     its quickest loop took longer than its quickest ever by `slow`; of a spine: beyond what the leaf's did; of a
//          leaf: while other planes did not
// good     none of these for `calm`
// unknown  nothing was judged, or the plane's way to the leaf is dead
//
// Losses of several planes within some 10 ms are the host's, whose CPUs or whose memory were short: they are not
// counted, unless the other plane is blamed already. Of a burst within 5 ms two losses count: full queues lose in
// bursts. When all spines of a plane are at fault and its leaf answers, the leaf is to blame. Sans-IO, times as
// arguments.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "mrc/abi/maps.h"
#include "protocol/types.h"
#include "service/fabric_map/loop_record.h"
#include "service/fabric_map/loop_ways.h"
#include "service/fabric_map/loop_window.h"
#include "service/fabric_map/loss_likelihood.h"

namespace mrc::service
{

struct judge_settings {
    double lossy = 0.01;
    protocol::duration slow = std::chrono::milliseconds{1};
};

[[nodiscard]] inline judge_settings judge_settings_of(const fabric_map_options &options)
{
    return {.lossy = options.lossy_ppm * 1e-6, .slow = std::chrono::microseconds{options.slow_us}};
}

struct link_verdict {
    mrc_link_state state = MRC_LINK_UNKNOWN;
    mrc_link_blame blame = MRC_BLAME_NOTHING;
    loss_count loss;                                    // of the last second
    std::uint32_t extra_rtt_ns = 0;                     // of the last second's quickest loop
    protocol::instant since = protocol::instant::min(); // in this state; min: never in another
    [[nodiscard]] bool is_fault() const { return state > MRC_LINK_GOOD; }
};

class fabric_judge
{
public:
    static constexpr protocol::duration dead_after = std::chrono::milliseconds{60};
    static constexpr unsigned dead_loops = 5;
    static constexpr protocol::duration calm = std::chrono::seconds{2};
    static constexpr protocol::duration suspicion = std::chrono::milliseconds{500};
    static constexpr protocol::duration longest_suspicion = std::chrono::seconds{2};
    static constexpr protocol::duration patience = std::chrono::milliseconds{200}; // for the other spines of a plane
    static constexpr protocol::duration spine_patience =
        std::chrono::milliseconds{100}; // for the leaf, which may go, too
    static constexpr protocol::duration slow_patience = std::chrono::milliseconds{500}; // for the other planes
    static constexpr protocol::duration calm_interval = std::chrono::milliseconds{200}; // between two looks

    fabric_judge(std::span<const loop_way> ways, const judge_settings &settings);

    void take(std::uint32_t way, const loop_outcome &loop);
    // Ways whose state or blame is another now, with those of a plane together.
    [[nodiscard]] std::vector<std::uint32_t> evaluate(protocol::instant now);
    [[nodiscard]] const link_verdict &verdict(std::uint32_t way) const { return ways_[way].verdict; }
    // More of its loops would help: something was lost lately, and whose fault it is has not been said.
    [[nodiscard]] bool is_suspect(std::uint32_t way, protocol::instant now) const;
    // It is good, and has lost nothing lately.
    [[nodiscard]] bool is_clean(std::uint32_t way, protocol::instant now) const;
    // Nothing that was known of the ways of this plane counts any more.
    void forget(protocol::plane_index plane);

private:
    struct way_evidence {
        loop_way way{};
        loop_window window{};
        unsigned losses_in_a_row = 0;
        protocol::instant first_of_row{};
        protocol::instant last_of_row{};
        // Of these, when the loop was sent.
        protocol::instant last_loss = protocol::instant::min();
        protocol::instant last_arrival = protocol::instant::min();
        protocol::instant last_judged = protocol::instant::min();
        protocol::instant suspect_since = protocol::instant::min();
        std::uint32_t quickest_ns = 0; // ever; 0: none yet
        protocol::instant clean_since = protocol::never;
        protocol::instant found_since = protocol::never; // a fault that is not said yet
        link_verdict verdict{};
    };
    // Of the last second.
    struct way_figures {
        loss_count all;
        loss_count own;    // without what other planes lost as well, and of a burst two
        unsigned bins = 0; // with own losses
        std::uint32_t rtt_min_ns = 0;
        mrc_link_state found = MRC_LINK_UNKNOWN;
    };
    struct plane_losses {
        protocol::plane_index plane{};
        std::uint32_t leaf_row = 0;
        std::uint32_t end = 0; // of its ways
        loop_window window{};  // of all its ways
        bool is_blamed = false;
        protocol::instant last_loss = protocol::instant::min();
        protocol::instant looked = protocol::instant::min();
    };

    [[nodiscard]] bool is_shared(const plane_losses &plane, std::int64_t bin) const;
    [[nodiscard]] way_figures figures_of(const way_evidence &of, const plane_losses &plane,
                                         protocol::instant now) const;
    [[nodiscard]] bool is_dead(const way_evidence &of) const;
    [[nodiscard]] bool is_lossy(const way_evidence &of, const way_figures &seen, const way_figures &leaf) const;
    [[nodiscard]] bool is_slow(const way_evidence &of, const way_figures &seen, const way_figures &leaf) const;
    [[nodiscard]] mrc_link_state state_of(const way_evidence &of, const way_figures &seen, const way_figures &leaf,
                                          protocol::instant now) const;
    [[nodiscard]] std::vector<way_figures> look_at(const plane_losses &plane, protocol::instant now) const;
    [[nodiscard]] std::vector<link_verdict> verdicts_of(const plane_losses &plane, protocol::instant now);
    void judge_plane(plane_losses &plane, protocol::instant now, std::vector<std::uint32_t> &changed);
    [[nodiscard]] bool is_undecided(std::uint32_t way, const way_figures &seen) const;
    [[nodiscard]] mrc_link_state settle(way_evidence &of, mrc_link_state found, protocol::duration wait,
                                        protocol::instant now);
    [[nodiscard]] plane_losses &plane_of(const way_evidence &of);
    [[nodiscard]] const plane_losses &plane_of(const way_evidence &of) const;

    judge_settings settings_;
    std::vector<way_evidence> ways_;
    std::vector<plane_losses> planes_;
};

} // namespace mrc::service
