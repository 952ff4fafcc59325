// SPDX-License-Identifier: Apache-2.0
// The packets that wait for retransmission, oldest first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/packet_number.h"
#include "protocol/slab_ring.h"

namespace mrc::protocol
{

class retransmit_set
{
public:
    // All packets held at a time lie within `window` of each other.
    explicit retransmit_set(std::uint32_t window, slab_pool *pool = nullptr);

    // Memory for its members; false: there is none.
    [[nodiscard]] bool hold() { return words_.hold(); }
    // Precondition: empty.
    void rest() { words_.give_back(); }
    void announce() const { words_.announce(); }

    // Precondition: held.
    void insert(packet_number number);
    void erase(packet_number number);
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] std::uint32_t size() const { return count_; }
    // Precondition: not empty.
    [[nodiscard]] packet_number lowest();

private:
    [[nodiscard]] std::uint64_t &word(packet_number number);

    slab_ring<std::uint64_t> words_;
    packet_number hint_ = 0; // nothing below it is held
    std::uint32_t count_ = 0;
};

} // namespace mrc::protocol
