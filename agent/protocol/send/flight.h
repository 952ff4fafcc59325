// SPDX-License-Identifier: Apache-2.0
// What the requester remembers of each packet in its window: its fate, as the table below has it, and its latest
// transmission.
//
// A packet in flight is charged to the congestion window, which other QPs may share, unless it flies into silence: a
// peer that is not there must not hold what others need. Charged or not, it leaves the flight once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "protocol/packet_number.h"
#include "protocol/send/loss_detector.h"
#include "protocol/slab_ring.h"
#include "protocol/transition_table.h"
#include "protocol/types.h"

namespace mrc::protocol
{

enum class packet_fate : std::uint8_t {
    unsent,
    inflight,
    refused,
    lost,
    delivered,
};

enum class packet_event : std::uint8_t {
    transmit,
    confirm, // by SACK, cack or Transport ACK
    give_up, // to be sent again
    refuse,  // by a NACK without fault of the path: resources, out of range
    abandon, // the QP fails
};

inline constexpr auto packet_transitions = [] {
    using from = packet_fate;
    using on = packet_event;
    using to = packet_fate;
    return transition_table<packet_fate, packet_event, 5, 5>{
        {from::unsent, on::transmit, to::inflight},
        {from::inflight, on::confirm, to::delivered},
        // Inferred (same EV, age, SLEEK); NACK TRIMMED; a time-out while later ones of the QP arrive; its path fell
        // silent, or its plane was lost; the oldest of all when the peer falls silent.
        {from::inflight, on::give_up, to::lost},
        {from::inflight, on::refuse, to::refused},
        {from::inflight, on::abandon, to::unsent},
        {from::refused, on::confirm, to::delivered},
        {from::refused, on::give_up, to::lost},   // its timer, the peer's silence
        {from::lost, on::transmit, to::inflight}, // rtx = 1, fresh EV
        {from::lost, on::confirm, to::delivered}, // it had not been lost
    };
}();

struct transmission {
    instant sent_at;         // latest transmission
    std::uint64_t order = 0; // counts all transmissions of the QP, probes included, from 1 on
    std::uint32_t request = 0;
    std::uint32_t waited_us = 0; // from the first transmission to the latest
    std::uint16_t slot = 0;      // path
    std::uint16_t bytes = 0;     // payload
    packet_fate fate = packet_fate::unsent;
    std::uint8_t failures = 0; // time-outs and refusals: the packet's back-off
    std::uint8_t transmissions = 0;
    bool certain : 1 = false;  // delivered, and it was the latest transmission that arrived
    bool sampled : 1 = false;  // the latest transmission has given its round-trip time
    bool spurious : 1 = false; // counted as needless retransmission
    bool charged : 1 = false;  // in flight, and in the congestion controller's
    bool nacked : 1 = false;   // by a NACK, which names the path of the latest transmission

    [[nodiscard]] instant first_sent_at() const { return sent_at - std::chrono::microseconds{waited_us}; }
    void send_at(instant now)
    {
        if (transmissions != 0)
            waited_us += static_cast<std::uint32_t>((now - sent_at) / std::chrono::microseconds{1});
        sent_at = now;
        transmissions = static_cast<std::uint8_t>(transmissions == 255 ? 255 : transmissions + 1);
    }
    // What the table does not know changes nothing.
    void step(packet_event event) { fate = packet_transitions.next(fate, event).value_or(fate); }
    void count_failure() { failures = failures == 255 ? failures : static_cast<std::uint8_t>(failures + 1); }
    [[nodiscard]] traffic_class in() const
    {
        return transmissions > 1 ? traffic_class::retransmission : traffic_class::first_transmission;
    }
};
static_assert(sizeof(transmission) == 32, "two to a cache line");

// The last packets: those under way, and as many before them, for answers are late by about a round trip. Without
// a pool, at least a window of them.
class flight
{
public:
    explicit flight(std::uint32_t window, slab_pool *pool = nullptr)
        : mask_{std::bit_ceil(std::size_t{window}) - 1}, packets_{first_places, mask_ + 1, pool}
    {
    }

    [[nodiscard]] std::size_t capacity() const { return packets_.capacity(); }
    // The same whatever the capacity is at the moment.
    [[nodiscard]] std::size_t index(packet_number number) const { return static_cast<std::size_t>(number) & mask_; }
    [[nodiscard]] transmission &operator[](packet_number number) { return packets_[place_of(number)]; }
    [[nodiscard]] const transmission &operator[](packet_number number) const { return packets_[place_of(number)]; }
    // The packet at ring position `index`, given the lowest that may be stored there.
    [[nodiscard]] packet_number number_at(std::size_t index, packet_number lowest) const
    {
        return lowest + static_cast<packet_number>((index - static_cast<std::size_t>(lowest)) & mask_);
    }

    // A place for packet `next` while those from `edge` on are under way. False: there is no memory.
    [[nodiscard]] bool make_room(packet_number edge, packet_number next)
    {
        const auto under_way = static_cast<std::size_t>(next - edge) + 1;
        return under_way <= room() || enlarge(under_way, next) || under_way <= capacity();
    }
    // So many may be under way before make_room() would look for more.
    [[nodiscard]] std::size_t room() const { return capacity() > mask_ ? capacity() : capacity() / 2; }
    // Is this packet, sent before `next`, stored still?
    [[nodiscard]] bool remembers(packet_number number, packet_number next) const
    {
        return number >= std::max(oldest_, next - static_cast<packet_number>(capacity()));
    }
    void forget_all() { packets_.give_back(); }
    void announce() const { packets_.announce(); }

private:
    static constexpr std::size_t first_places = 64;

    [[nodiscard]] static std::uint64_t place_of(packet_number number) { return static_cast<std::uint64_t>(number); }
    bool enlarge(std::size_t under_way, packet_number next)
    {
        const packet_number oldest = next - static_cast<packet_number>(capacity());
        const auto wished = static_cast<packet_number>(std::min(2 * under_way, mask_ + 1));
        if (!packets_.reserve(place_of(oldest), place_of(oldest + wished)))
            return false;
        oldest_ = std::max(oldest_, oldest);
        return true;
    }

    std::size_t mask_;
    packet_number oldest_ = 0; // that has been stored since memory was borrowed
    slab_ring<transmission> packets_;
};

} // namespace mrc::protocol
