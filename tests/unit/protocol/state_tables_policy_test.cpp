// SPDX-License-Identifier: Apache-2.0
// The state tables of the selectors, of NSCC and of the peer's silence, walked: each state against each event.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "protocol/congestion/nscc.h"
#include "protocol/paths/mrc_selector.h"
#include "protocol/paths/peer_silence.h"
#include "sim/selectors/reps_selector.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr plane_mask all{0b1};

struct one_plane {
    one_plane() : paths{config(), local} {}
    static path_group_config config()
    {
        path_group_config result;
        result.uplinks = 4;
        result.base = path_index{1};
        return result;
    }
    local_ports local{all};
    path_group paths;
};

// ---- mrc_selector.h

TEST(state_tables, skip)
{
    struct row {
        const char *event;
        path_feedback what;
        bool when_good, when_skipped; // skipped afterwards?
    };
    using enum path_feedback;
    constexpr std::array table{
        row{"SACK, m = NONE", clean, false, true},
        row{"SACK, m = SKIP_ONCE", congested, true, true},
        row{"NACK TRIMMED", trimmed, true, true},
        row{"inferred loss", lost, true, true},
    };
    one_plane fabric;
    for (const row &each : table)
        for (const bool skipped : {false, true}) {
            SCOPED_TRACE(std::string{each.event} + (skipped ? " when skipped" : " when good"));
            mrc_selector selector{fabric.paths, 1};
            if (skipped)
                selector.on_feedback(2, congested);
            selector.on_feedback(2, each.what);
            EXPECT_EQ(selector.skipped(2), skipped ? each.when_skipped : each.when_good);
        }
}

// With so many of four paths skipped: the turn is lost, unless all have lost theirs, and no path stays skipped.
TEST(state_tables, skipped_paths_return)
{
    one_plane fabric;
    for (std::uint16_t skipped = 0; skipped <= 4; ++skipped) {
        SCOPED_TRACE(skipped);
        mrc_selector selector{fabric.paths, 1};
        for (std::uint16_t slot = 0; slot < skipped; ++slot)
            selector.on_feedback(slot, path_feedback::congested);
        const path_choice first = selector.draw(fabric.paths, all, {}).value_or(path_choice{});
        EXPECT_NE(first.entropy.value, 0u);
        EXPECT_EQ(first.slot < skipped, skipped == 4);
        for (int draw = 1; draw < 12; ++draw)
            (void)selector.draw(fabric.paths, all, {});
        for (std::uint16_t slot = 0; slot < 4; ++slot)
            EXPECT_FALSE(selector.skipped(slot));
    }
}

// ---- reps_selector.h

TEST(state_tables, reps)
{
    using enum sim::reps_mode;
    constexpr sim::reps_config config{.freeze_draws = 5, .explore_draws = 3};
    one_plane fabric;
    const auto draw = [&](sim::reps_selector &selector, unsigned times) {
        while (times-- > 0)
            EXPECT_TRUE(selector.draw(fabric.paths, all, {}));
    };
    const auto enter = [&](sim::reps_selector &selector, sim::reps_mode mode) {
        selector.on_feedback(1, path_feedback::clean);
        if (mode == recycling)
            return;
        selector.on_feedback(0, path_feedback::lost);
        if (mode == exploring)
            draw(selector, config.freeze_draws);
        EXPECT_EQ(selector.mode(), mode);
    };
    struct row {
        const char *event;
        path_feedback what;
        unsigned draws; // after the feedback
        std::array<sim::reps_mode, 3> next;
        std::array<unsigned, 3> cached;
    };
    using enum path_feedback;
    const std::vector<row> table{
        {"clean", clean, 0, {recycling, frozen, exploring}, {2, 2, 1}},
        {"congested", congested, 0, {recycling, frozen, exploring}, {1, 1, 0}},
        {"trimmed", trimmed, 0, {recycling, frozen, exploring}, {1, 1, 0}},
        {"lost", lost, 0, {frozen, frozen, exploring}, {1, 1, 0}},
        {"draws short of explore_draws", congested, 2, {recycling, frozen, exploring}, {1, 1, 0}},
        {"explore_draws", congested, 3, {recycling, frozen, recycling}, {1, 1, 0}},
        {"draws short of freeze_draws", congested, 4, {recycling, frozen, recycling}, {1, 1, 0}},
        {"freeze_draws", congested, 5, {recycling, exploring, recycling}, {1, 0, 0}},
        {"freeze_draws and explore_draws", congested, 8, {recycling, recycling, recycling}, {1, 0, 0}},
        {"loss in the middle does not begin anew", lost, 5, {exploring, exploring, recycling}, {0, 0, 0}},
    };
    for (const row &each : table)
        for (const sim::reps_mode from : {recycling, frozen, exploring}) {
            const auto state = static_cast<std::size_t>(from);
            SCOPED_TRACE(std::string{each.event} + " in mode " + std::to_string(state));
            sim::reps_selector selector{1, config};
            enter(selector, from);
            selector.on_feedback(2, each.what);
            draw(selector, each.draws);
            EXPECT_EQ(selector.mode(), each.next[state]);
            EXPECT_EQ(selector.cached(), each.cached[state]);
        }
}

// ---- peer_silence.h

TEST(state_tables, silence)
{
    const retry_policy policy{{.timeout_exponent = 8, .linear = 7, .exponential = 14}};
    static constexpr duration rto = 300us;
    struct outcome {
        bool acts;
        bool silent;
    };
    struct row {
        const char *event;
        bool (*act)(peer_silence &, const retry_policy &);
        outcome talks, silent; // in the state before
    };
    const std::vector<row> table{
        {"time-out",
         [](peer_silence &s, const retry_policy &) { return s.begin(start, rto), s.active(); },
         {true, true},
         {true, true}},
        {"longer than a usual pause",
         [](peer_silence &s, const retry_policy &) { return s.retry_due(start + 4ms, rto); },
         {false, false},
         {true, true}},
        {"a usual pause",
         [](peer_silence &s, const retry_policy &) { return s.retry_due(start + 4ms - 1ns, rto); },
         {false, false},
         {false, true}},
        {"probe interval", // the first is due at once
         [](peer_silence &s, const retry_policy &p) { return s.probe_due(start, p, rto); },
         {false, false},
         {true, true}},
        {"the peer speaks",
         [](peer_silence &s, const retry_policy &) { return s.end(), s.next_deadline() == never; },
         {true, false},
         {true, false}},
    };
    for (const row &each : table)
        for (const bool silent : {false, true}) {
            SCOPED_TRACE(std::string{each.event} + (silent ? " when silent" : " when the peer talks"));
            peer_silence state;
            if (silent)
                state.begin(start, rto);
            const outcome &expected = silent ? each.silent : each.talks;
            EXPECT_EQ(each.act(state, policy), expected.acts);
            EXPECT_EQ(state.active(), expected.silent);
            EXPECT_EQ(state.next_deadline() != never, expected.silent) << "silence always has a deadline";
        }
}

// ---- nscc.h

// A window in the middle of its range; adjustments wait, so that only what acts at once moves it.
struct window {
    enum mode : std::uint8_t { normal, fast, limited, ignoring };
    static constexpr std::uint32_t mtu = 4184;
    static constexpr duration base = 12us;

    static nscc_config config()
    {
        nscc_config result = derive_nscc({});
        result.adjust_period_threshold = 1h;
        result.adjust_bytes_threshold = 1u << 31;
        return result;
    }
    explicit window(mode to)
    {
        control.on_sent(10 * mtu, now);
        sack(0us, false); // the first adjustment is over, the quick adapt period begins
        for (int cut = 0; cut < 3; ++cut)
            control.on_loss(mtu, now);
        control.on_sent(100 * mtu, now);
        if (to == fast)
            while (!control.fast_increasing())
                sack(0us, false);
        if (to == limited)
            sack(0us, false, 1);
        if (to == ignoring) {
            now += 1ms;
            nack(MRC_NACK_TRIMMED, mtu);
            EXPECT_EQ(control.counters().quick_adapts, 1u);
        }
        for (int high = 0; high < 200; ++high) // the average delay is above T: a marked SACK may cut
            nack(MRC_NACK_TRIMMED_LASTHOP, 0);
    }
    void sack(duration delay, bool marked, std::uint8_t penalty = 0, bool restore = false)
    {
        control.on_sack({.newly_bytes = mtu,
                         .congestion_experienced = marked,
                         .rtt = base + delay,
                         .receiver_penalty = penalty,
                         .restore_window = restore},
                        now);
    }
    void nack(std::uint8_t reason, std::uint32_t bytes)
    {
        control.on_nack({.bytes = bytes, .reason = reason, .rtt = std::nullopt}, now);
    }

    instant now = start;
    nscc control{config()};
};

TEST(state_tables, nscc_modes)
{
    enum class moves : std::uint8_t { nothing, up, packet_down, down, back };
    using enum moves;
    struct row {
        const char *event;
        void (*act)(window &);
        std::array<moves, 4> how; // normal, fast increase, limited, ignoring
        std::array<bool, 4> fast; // fast increase afterwards
        std::array<bool, 4> ignored = {};
    };
    const std::vector<row> table{
        {"no mark, no delay", // after a quick adapt one packet is more than a window
         [](window &w) { w.sack(0us, false); },
         {nothing, up, nothing, up},
         {false, true, false, true}},
        {"no mark, some delay", [](window &w) { w.sack(3us, false); }, {nothing, nothing, nothing, nothing}, {}},
        {"no mark, d above T", // §5.4: this quadrant does not look at fast increase
         [](window &w) { w.sack(20us, false); },
         {nothing, nothing, nothing, nothing},
         {false, true, false, false}},
        {"mark, d below T",
         [](window &w) { w.sack(3us, true); },
         {nothing, nothing, nothing, nothing},
         {false, true, false, false},
         {false, false, false, true}},
        {"penalty", [](window &w) { w.sack(0us, false, 64); }, {down, down, down, down}, {false, true, false, false}},
        {"restore",
         [](window &w) { w.sack(20us, false, 0, true); },
         {nothing, nothing, back, nothing},
         {false, true, false, false}},
        {"NACK TRIMMED",
         [](window &w) { w.nack(MRC_NACK_TRIMMED, window::mtu); },
         {packet_down, packet_down, packet_down, nothing},
         {false, true, false, false},
         {false, false, false, true}},
        {"NACK TRIMMED_LASTHOP",
         [](window &w) { w.nack(MRC_NACK_TRIMMED_LASTHOP, window::mtu); },
         {packet_down, packet_down, packet_down, nothing},
         {false, true, false, false},
         {false, false, false, true}},
        {"other NACK",
         [](window &w) { w.nack(MRC_NACK_NO_RESOURCE, window::mtu); },
         {nothing, nothing, nothing, nothing},
         {false, true, false, false}},
        {"inferred loss",
         [](window &w) { w.control.on_loss(window::mtu, w.now); },
         {packet_down, packet_down, packet_down, packet_down},
         {false, true, false, false}},
        {"abandoned",
         [](window &w) { w.control.on_abandoned(window::mtu); },
         {nothing, nothing, nothing, nothing},
         {false, true, false, false}},
    };
    for (const row &each : table)
        for (const auto mode : {window::normal, window::fast, window::limited, window::ignoring}) {
            SCOPED_TRACE(std::string{each.event} + " in mode " + std::to_string(mode));
            window one{mode};
            const double before = one.control.exact_cwnd();
            const std::int64_t flight = one.control.inflight();
            const std::uint64_t ignored = one.control.counters().quick_adapt_ignored;
            each.act(one);
            const double by = one.control.exact_cwnd() - before;
            switch (each.how[mode]) {
            case nothing:
                EXPECT_DOUBLE_EQ(by, 0);
                break;
            case up:
                EXPECT_DOUBLE_EQ(by, one.control.config().fi_scale * window::mtu);
                break;
            case packet_down:
                EXPECT_NEAR(by, -std::min<double>(window::mtu, before - window::mtu), 1e-6);
                break;
            case down:
                EXPECT_LT(by, before > window::mtu ? 0 : 1);
                break;
            case back:
                EXPECT_GT(by, 0);
                break;
            }
            EXPECT_EQ(one.control.fast_increasing(), each.fast[mode]);
            EXPECT_EQ(one.control.counters().quick_adapt_ignored - ignored, each.ignored[mode] ? 1u : 0u);
            EXPECT_EQ(flight - one.control.inflight(), window::mtu) << "it leaves the flight exactly once";
        }
}

} // namespace
} // namespace mrc::protocol
