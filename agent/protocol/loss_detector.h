// SPDX-License-Identifier: Apache-2.0
// Loss inference by the same-EV FIFO rule (protocol text §3.3). A path delivers in order within a DSCP class, so a
// packet is lost when one SACK says both: it has not arrived (it is cack + 1, or its bit is 0), and a packet sent later
// on the same EV in the same class has. ack_psn alone is never evidence of absence.
//
// SACKs overtake each other: what one SACK proves may not be held against another's gaps. Proofs therefore live for one
// SACK only, except those of packets below the edge, which every SACK whose cack stands at the edge repeats.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace mrc::protocol
{

enum class traffic_class : std::uint8_t {
    first_transmission, // and probes
    retransmission,
};

class loss_detector
{
public:
    explicit loss_detector(unsigned slots) : paths_(slots) {}

    void begin_sack() { ++epoch_; }
    // The SACK proves the arrival of transmission number `order` of this QP.
    void proves(unsigned slot, traffic_class in, std::uint64_t order);
    // The edge passed it: proven by every SACK that stands at the edge.
    void below_edge(unsigned slot, traffic_class in, std::uint64_t order);
    // Is a transmission that the SACK reports missing lost?
    [[nodiscard]] bool lost(unsigned slot, traffic_class in, std::uint64_t order, bool sack_at_edge) const;

private:
    struct proof {
        std::uint64_t epoch = 0;
        std::uint64_t latest = 0;            // by the SACK `epoch`
        std::uint64_t latest_below_edge = 0; // orders begin at 1
    };

    std::vector<std::array<proof, 2>> paths_;
    std::uint64_t epoch_ = 0;
};

} // namespace mrc::protocol
