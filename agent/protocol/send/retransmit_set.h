// SPDX-License-Identifier: Apache-2.0
// The packets that wait for retransmission, oldest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/packet_number.h"

namespace mrc::protocol
{

class retransmit_set
{
public:
    // All packets held at a time lie within `window` of each other.
    explicit retransmit_set(std::uint32_t window);

    void insert(packet_number number);
    void erase(packet_number number);
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] std::uint32_t size() const { return count_; }
    // Precondition: not empty.
    [[nodiscard]] packet_number lowest();

private:
    [[nodiscard]] std::uint64_t &word(packet_number number);

    std::size_t mask_; // words - 1
    std::vector<std::uint64_t> words_;
    packet_number hint_ = 0; // nothing below it is held
    std::uint32_t count_ = 0;
};

} // namespace mrc::protocol
