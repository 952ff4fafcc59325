// SPDX-License-Identifier: Apache-2.0
// Property: whatever paths lose, reorder, duplicate, corrupt, mark, trim or swallow, in both directions or one,
// whenever ports, hosts and a peer's process come and go, however slowly a host reads its rings (sim/worker_model.h),
// and however QPs are configured: memory ends equal to what was sent and untouched elsewhere, immediates come once
// and in order and only after all that was sent before them, every write completes exactly once and in order, no QP
// is stuck, no timer is left, every transmission left the flight once, planes carry equal loads where faults hit
// all alike, the congestion window stays within its bounds, mrcd's codec takes no damaged packet for a whole one,
// and what is sent again needlessly stays below a bound for each class of faults.
//
// MRC_SEED=n replays one scenario, MRC_SEEDS=n runs so many, from MRC_SEED or 1 on; scripts/scenarios runs a million.
// MRC_LONG=1: messages up to 64 MB, hundredfold time each.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>

#include "random_transfer.h"

namespace mrc::sim
{
namespace
{

constexpr std::uint64_t usual_seeds = MRC_USUAL_SCENARIOS;
constexpr std::uint64_t long_seeds = 100;
constexpr std::uint64_t enough_to_compare = 5000; // scenarios: below, a few long ones decide
constexpr std::uint64_t enough_to_judge = 500;    // scenarios: below, the shares say nothing

std::uint64_t number_from(const char *variable, std::uint64_t fallback)
{
    const char *text = std::getenv(variable);
    return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

// Of the packets sent in the scenarios in which something happened, so many percent at most may be sent although an
// earlier copy has arrived or is about to. What 20,000 scenarios measured stands behind, about 1.25 times as much
// is the bound; to be lowered with every improvement. Most are the price of pauses and stalls of milliseconds,
// where T is 65 us to 1 ms.
struct needless_bound {
    std::string_view name;
    double percent = 0;
};
constexpr std::array<needless_bound, random_transfer::classes> needless_bounds{{
    {"loss", 4.0},                  // 3.1, of 20 sent again
    {"flap", 4.8},                  // 3.8, of 27 sent again
    {"plane out", 4.6},             // 3.6, of 26 sent again
    {"all out", 3.1},               // 2.4, of 24 sent again
    {"host link out", 2.3},         // 1.8, of 17 sent again
    {"EV death", 5.6},              // 4.5, of 22 sent again
    {"one-way death", 6.0},         // 4.8, of 20 sent again
    {"port down", 6.0},             // 4.8, of 23 sent again
    {"reordering", 4.1},            // 3.2, of 17 sent again
    {"duplication", 3.7},           // 2.9, of 17 sent again
    {"corruption", 4.2},            // 3.3, of 20 sent again
    {"CE", 3.7},                    // 3.0, of 17 sent again
    {"trim", 3.6},                  // 2.8, of 21 sent again
    {"trim, last hop", 3.7},        // 2.9, of 21 sent again
    {"garbled trim", 4.2},          // 3.3, of 23 sent again
    {"host pause", 3.5},            // 2.7, of 17 sent again
    {"host stall", 2.4},            // 1.9, of 18 sent again
    {"ring full", 2.7},             // 2.1, of 34 sent again
    {"full batch", 2.8},            // 2.2, of 17 sent again
    {"full round", 2.3},            // 1.8, of 14 sent again
    {"backlog mark", 3.4},          // 2.7, of 17 sent again
    {"busy memory", 4.7},           // 3.7, of 20 sent again
    {"port event", 5.6},            // 4.5, of 23 sent again
    {"drained port", 5.0},          // 4.0, of 22 sent again
    {"immediates", 3.2},            // 2.6, of 16 sent again
    {"solicited events", 3.3},      // 2.6, of 15 sent again
    {"max_wimm holds", 3.1},        // 2.4, of 16 sent again
    {"PSN wrap", 3.3},              // 2.6, of 16 sent again
    {"several QPs", 2.0},           // 1.6, of 13 sent again
    {"shared controller", 1.9},     // 1.5, of 13 sent again
    {"NSCC", 2.0},                  // 1.6, of 13 sent again
    {"NSCC, software floors", 2.0}, // 1.6, of 14 sent again
    {"other selectors", 3.2},       // 2.5, of 16 sent again
    {"port status taken", 3.5},     // 2.8, of 16 sent again
    {"Dynamic MPR", 2.1},           // 1.6, of 13 sent again
    {"receiver penalty", 3.1},      // 2.4, of 15 sent again
    {"service time", 3.1},          // 2.5, of 17 sent again
    {"SQD", 2.7},                   // 2.2, of 15 sent again
    {"refused write", 2.0},         // 1.6, of 13 sent again
    {"retransmission", 3.4},        // 2.7, of 17 sent again
    {"time-out", 3.5},              // 2.7, of 17 sent again
    {"path retired", 3.7},          // 2.9, of 18 sent again
    {"codec in the loop", 3.8},     // 3.0, of 15 sent again
    {"window filled", 5.0},         // 4.0, of 21 sent again
    {"no loss", 2.2},               // 1.7, of 3 sent again
    {"EV denied", 5.2},             // 4.1, of 19 sent again
    {"EVs exchanged", 4.0},         // 3.1, of 17 sent again
    {"third host", 2.0},            // 1.5, of 13 sent again
    {"peer restarted", 1.7},        // 1.3, of 12 sent again
    {"measured host", 2.0},         // 1.6, of 12 sent again
}};

double needless_percent_of(std::string_view name)
{
    const auto found = std::ranges::find(needless_bounds, name, &needless_bound::name);
    return found == needless_bounds.end() ? 0 : found->percent;
}

// The scenarios in which something happened.
struct class_total {
    std::uint64_t scenarios = 0;
    data_volume volume;

    void operator+=(const data_volume &one)
    {
        ++scenarios;
        volume += one;
    }
};

double percent(std::uint64_t part, std::uint64_t whole)
{
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// A line that scripts/scenarios reads, to add up those of many processes.
void report(std::size_t which, const class_total &total, std::uint64_t of)
{
    const auto column = [](int width, std::uint64_t number) -> std::ostream & {
        return std::cout << std::setw(width) << number;
    };
    const data_volume &volume = total.volume;
    std::cout << std::left << std::setw(20) << random_transfer::name_of(which) << std::right << std::fixed;
    column(8, total.scenarios) << " scenarios " << std::setprecision(1) << percent(total.scenarios, of) << " %";
    column(12, volume.sent) << " packets";
    column(10, volume.retransmits) << " sent again " << std::setprecision(2) << percent(volume.retransmits, volume.sent)
                                   << " %";
    column(9, volume.needless) << " needlessly " << percent(volume.needless, volume.sent) << " %, at most "
                               << needless_percent_of(random_transfer::name_of(which)) << " %\n";
}

TEST(transfer_property, every_promise_holds_under_any_faults)
{
    const bool replay = std::getenv("MRC_SEED") != nullptr;
    const bool long_messages = number_from("MRC_LONG", 0) != 0;
    const std::uint64_t first = number_from("MRC_SEED", 1);
    const std::uint64_t usual = long_messages ? long_seeds : usual_seeds;
    const std::uint64_t count = number_from("MRC_SEEDS", replay ? 1 : usual);
    std::array<class_total, random_transfer::classes> totals{};
    std::uint64_t alike = 0;
    std::uint64_t suspected = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        SCOPED_TRACE("replay with MRC_SEED=" + std::to_string(seed) + (long_messages ? " MRC_LONG=1" : ""));
        random_transfer each{seed, long_messages};
        each.run();
        if (HasFailure())
            return;
        alike += each.alike() ? 1 : 0;
        suspected += each.alike() && each.plane_suspected() ? 1 : 0;
        const auto happened = each.happened();
        const data_volume volume = each.volume();
        for (std::size_t which = 0; which < totals.size(); ++which)
            if (happened[which])
                totals[which] += volume;
    }
    // A few packets lost or late by chance, or while a host slept, may look like a dead plane; probes soon correct it.
    std::cout << "a plane given up without cause in " << suspected << " of " << alike
              << " scenarios whose faults hit all planes alike\n";
    EXPECT_LE(suspected * 7, std::max(alike, enough_to_judge));
    // A fault that hardly ever happens is a fault that is not tested.
    for (std::size_t which = 0; which < totals.size(); ++which)
        report(which, totals[which], count);
    for (std::size_t which = 0; which < totals.size() && count >= enough_to_judge; ++which)
        EXPECT_GE(totals[which].scenarios * 20, count) << random_transfer::name_of(which);
    if (long_messages || count < enough_to_compare)
        return;
    for (std::size_t which = 0; which < totals.size(); ++which) {
        const data_volume &volume = totals[which].volume;
        const std::string_view name = random_transfer::name_of(which);
        EXPECT_LE(percent(volume.needless, volume.sent), needless_percent_of(name)) << name << ": sent needlessly";
    }
}

} // namespace
} // namespace mrc::sim
