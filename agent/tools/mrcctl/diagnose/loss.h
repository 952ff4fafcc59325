// SPDX-License-Identifier: Apache-2.0
// Whether packets that went one way farther than others were lost there, and how sure that is.
#pragma once

#include <string>

#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

enum class condition {
    unknown, // too few packets, or those of the shorter way did not get through
    clean,
    lossy,
    dead,
};

inline constexpr std::uint32_t least_packets = 10; // to judge by
inline constexpr std::uint32_t least_losses = 5;
inline constexpr double least_loss = 0.01; // share
inline constexpr double dead_loss = 0.9;   // share from which on a way is called dead
inline constexpr double deviations = 4;    // by which a loss must exceed what chance explains

// Of the part by which the way is longer than `shorter`. Lossy: at least least_losses packets and least_loss of them
// more are missing than the shorter way explains, and `deviations` standard deviations more.
[[nodiscard]] condition condition_behind(const tally &way, const tally &shorter);
// With nothing before it.
[[nodiscard]] condition condition_of(const tally &way);
[[nodiscard]] inline bool is_bad(condition state)
{
    return state == condition::lossy || state == condition::dead;
}

// Share of packets lost on that part: 0 to 1.
[[nodiscard]] double loss_behind(const tally &way, const tally &shorter);
[[nodiscard]] double loss_of(const tally &way);

// "12 of 400 packets (3.0 %)"
[[nodiscard]] std::string lost_in_words(const tally &way);

} // namespace mrc::ctl::diagnose
