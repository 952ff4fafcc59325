// SPDX-License-Identifier: Apache-2.0
// Losses that one SACK shows: what it says is missing, against what it proves to have arrived. Three rules:
//
// same-EV FIFO  a later packet of its path and class has arrived                               loss_detector.h
// age           a packet sent later by more than the paths' skew has arrived, on any path      path_skew.h
// SLEEK         more than one and a half windows have arrived out of order                     sleek.h
#pragma once

#include <cstdint>

#include "protocol/send/delivery.h"
#include "protocol/send/requester_state.h"

namespace mrc::protocol
{

// By the first two rules; what the SACK confirms has been delivered before.
void infer_losses(requester_state &sender, sack_scan &scan, instant now);
// By the third: so many packets lie at the peer above the edge.
void infer_losses_by_count(requester_state &sender, std::uint32_t out_of_order, instant now);

} // namespace mrc::protocol
