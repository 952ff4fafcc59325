// SPDX-License-Identifier: Apache-2.0
// Packets that nobody sent, or not so: as an attacker would write them who knows where a QP stands.
#pragma once

#include "fuzz_input.h"
#include "protocol/packet.h"
#include "protocol/types.h"

namespace mrc::fuzz
{

// What the attacker knows: PSNs near which it pays to lie.
struct qp_knowledge {
    protocol::qpn to;
    protocol::psn sent;     // the latest that `to` has sent
    protocol::psn expected; // the next that `to` has not had from its peer
    protocol::ev entropy;   // of some path of `to`
    std::uint16_t timestamp = 0;
    std::uint64_t memory = 0;
    std::uint32_t rkey = 0;
};

[[nodiscard]] protocol::packet forge(fuzz_input &input, const qp_knowledge &known);
// Changes one field of a packet under way.
void corrupt(protocol::packet &content, fuzz_input &input);

} // namespace mrc::fuzz
