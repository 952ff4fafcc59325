// SPDX-License-Identifier: Apache-2.0
// Loss inference by the same-EV FIFO rule (protocol.md §3.3). A path delivers in order within a DSCP class, so a
// packet is lost when one SACK says both: it has not arrived (it is cack + 1, or its bit is 0), and a packet sent later
// on the same EV in the same class has. ack_psn alone is never evidence of absence.
//
// SACKs overtake each other: what one SACK proves may not be held against another's gaps. Proofs therefore live for one
// SACK only, except those of packets below the edge, which every SACK whose cack stands at the edge repeats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocol/slab_ring.h"

namespace mrc::protocol
{

enum class traffic_class : std::uint8_t {
    first_transmission, // and probes
    retransmission,
};

// What one SACK proves, by path: of use while it is read only, so one serves all QPs of a path group.
class sack_proofs
{
public:
    explicit sack_proofs(unsigned slots) : paths_(slots) {}

    void begin_sack() { ++epoch_; }
    // The SACK proves the arrival of transmission number `order` of its QP.
    void proves(unsigned slot, traffic_class in, std::uint64_t order)
    {
        proof &known = paths_[slot][static_cast<std::size_t>(in)];
        known = {epoch_, known.epoch == epoch_ && known.latest > order ? known.latest : order};
    }
    [[nodiscard]] bool later(unsigned slot, traffic_class in, std::uint64_t order) const
    {
        const proof &known = paths_[slot][static_cast<std::size_t>(in)];
        return known.epoch == epoch_ && known.latest > order;
    }

private:
    struct proof {
        std::uint64_t epoch = 0;
        std::uint64_t latest = 0;
    };

    std::vector<std::array<proof, 2>> paths_;
    std::uint64_t epoch_ = 0;
};

class loss_detector
{
public:
    loss_detector(sack_proofs &proofs, unsigned slots, slab_pool *pool = nullptr)
        : proofs_{proofs}, below_edge_{slots, pool}
    {
    }

    void begin_sack() { proofs_.begin_sack(); }
    void proves(unsigned slot, traffic_class in, std::uint64_t order) { proofs_.proves(slot, in, order); }
    // The edge passed it: proven by every SACK that stands at the edge. Without memory it is not remembered, and losses
    // are found by their age.
    void below_edge(unsigned slot, traffic_class in, std::uint64_t order)
    {
        if (!below_edge_.hold())
            return;
        std::uint64_t &latest = below_edge_.data()[slot][static_cast<std::size_t>(in)];
        latest = latest > order ? latest : order;
    }
    // Is a transmission that the SACK reports missing lost?
    [[nodiscard]] bool lost(unsigned slot, traffic_class in, std::uint64_t order, bool sack_at_edge) const
    {
        return proofs_.later(slot, in, order) ||
               (sack_at_edge && below_edge_.held() && below_edge_.data()[slot][static_cast<std::size_t>(in)] > order);
    }
    // Nothing is under way: whatever follows is later than all that it knows.
    void rest() { below_edge_.give_back(); }
    void announce() const { below_edge_.announce(); }

private:
    sack_proofs &proofs_;
    // By path and class: latest transmission below the edge; orders begin at 1.
    slab_ring<std::array<std::uint64_t, 2>> below_edge_;
};

} // namespace mrc::protocol
