// SPDX-License-Identifier: Apache-2.0
// Property: whatever paths lose, reorder, duplicate, corrupt, mark, trim or swallow, whenever ports and hosts come and
// go, and however QPs are configured: memory ends equal to what was sent and untouched elsewhere, immediates come once
// and in order and only after all that was sent before them, every write completes exactly once and in order, no QP is
// stuck, no timer is left, every transmission left the flight once, planes carry equal loads where faults hit all
// alike, and the congestion window stays within its bounds.
//
// MRC_SEED=n replays one scenario, MRC_SEEDS=n runs so many, from MRC_SEED or 1 on. MRC_LONG=1: messages up to 64 MB,
// hundredfold time each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <string>

#include "random_transfer.h"

namespace mrc::sim
{
namespace
{

#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t usual_seeds = 1000; // ten times as long each
#else
constexpr std::uint64_t usual_seeds = 10'000;
#endif
constexpr std::uint64_t long_seeds = 100;
constexpr std::uint64_t enough_to_judge = 500; // scenarios: below, the shares say nothing

std::uint64_t number_from(const char *variable, std::uint64_t fallback)
{
    const char *text = std::getenv(variable);
    return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

TEST(transfer_property, every_promise_holds_under_any_faults)
{
    const bool replay = std::getenv("MRC_SEED") != nullptr;
    const bool long_messages = number_from("MRC_LONG", 0) != 0;
    const std::uint64_t first = number_from("MRC_SEED", 1);
    const std::uint64_t usual = long_messages ? long_seeds : usual_seeds;
    const std::uint64_t count = number_from("MRC_SEEDS", replay ? 1 : usual);
    std::array<std::uint64_t, random_transfer::classes> seen{};
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
        for (std::size_t which = 0; which < seen.size(); ++which)
            seen[which] += happened[which] ? 1 : 0;
    }
    // A few packets lost or late by chance, or while a host slept, may look like a dead plane; probes soon correct it.
    std::cout << "a plane given up without cause in " << suspected << " of " << alike
              << " scenarios whose faults hit all planes alike\n";
    EXPECT_LE(suspected * 7, std::max(alike, enough_to_judge));
    // A fault that hardly ever happens is a fault that is not tested.
    for (std::size_t which = 0; which < seen.size(); ++which) {
        const std::string name{random_transfer::name_of(which)};
        std::cout << std::left << std::setw(22) << name << " in " << std::right << std::setw(5) << std::fixed
                  << std::setprecision(1) << 100.0 * static_cast<double>(seen[which]) / static_cast<double>(count)
                  << " % of " << count << " scenarios\n";
        if (count >= enough_to_judge) {
            EXPECT_GE(seen[which] * 20, count) << name;
        }
    }
}

} // namespace
} // namespace mrc::sim
