// SPDX-License-Identifier: Apache-2.0
// On which half of a round trip packets are lost, by others that go out the same way and come back by ways that are
// known.
#pragma once

#include "tools/mrcctl/diagnose/finding.h"
#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

// `loss`: share of round trips that the link loses, both halves together. `out`: packets that went out over it;
// `others`: such that differ by nothing but that they did not. The half that explains the counts best, each with what
// both lose elsewhere chosen in its favour; unknown when another does so nearly as well: packets are too few. That one
// is said which is not it has a probability of 0.5 % at most, also where packets are added until one is (Ville 1939).
[[nodiscard]] direction direction_of_loss(const tally &out, const tally &others, double loss);

} // namespace mrc::ctl::diagnose
