// SPDX-License-Identifier: Apache-2.0
// Credit between two ends: the far end may have `depth` messages under way that this end has not consumed, since each
// takes a receive request that must be there before it comes, and a slot of the ring.
//
// Credit goes back in pieces of half of the depth. Messages that carry credit cost none: at most three of them can be
// under way, for which, as for the greeting and the farewell, there are `reserve` receive requests of their own.
#pragma once

#include <cstdint>

namespace mrc::messaging
{

class credit_account
{
public:
    static constexpr std::uint32_t reserve = 8; // receive requests beside those that credit pays for

    // own_depth: what the far end may have under way; peer_depth: what this end may.
    credit_account(std::uint32_t own_depth, std::uint32_t peer_depth)
        : own_depth_{own_depth}, peer_depth_{peer_depth}, available_{peer_depth}
    {
    }

    [[nodiscard]] bool may_send() const { return available_ > 0; }
    void on_sent() { --available_; }
    // False: the far end gives back more than it was sent.
    [[nodiscard]] bool on_credit(std::uint32_t count)
    {
        if (count > peer_depth_ - available_)
            return false;
        available_ += count;
        return true;
    }

    void on_consumed(std::uint32_t messages = 1) { owed_ += messages; } // of the far end
    // What is to be given back now: 0, or a piece.
    [[nodiscard]] std::uint32_t due() const { return owed_ >= (own_depth_ + 1) / 2 ? owed_ : 0; }
    void on_returned(std::uint32_t count) { owed_ -= count; }

private:
    std::uint32_t own_depth_;
    std::uint32_t peer_depth_;
    std::uint32_t available_;
    std::uint32_t owed_ = 0;
};

} // namespace mrc::messaging
