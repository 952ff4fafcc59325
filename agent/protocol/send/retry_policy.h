// SPDX-License-Identifier: Apache-2.0
// How long to wait for a packet before each retry, and when to give up (protocol.md §3.4).
//
// failures so far    wait before the next
// 0 … linear - 1     T, but never less than RTO
// linear - 1 + k     T * 2^k, k = 1 … exponential, but never less than RTO
//
// RTO is never below T, but may be far above when hosts are busy. So giving up is a matter of time, not of counting:
// after T * (linear + 2 + 4 + … + 2^exponential) without progress of cack or of Transport ACKs. With RTO = T both are
// the same; the counter that resets when cack advances is this clock. Losses that the peer itself reports (NACK, SACK
// gaps) prove that it lives and bring no QP down before that time. Time in which this host stood still does not count:
// what was to be sent before may have left after it (timers.cpp).
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/qp_config.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class retry_policy
{
public:
    static constexpr unsigned infinite = 25; // exponential retries
    static constexpr unsigned max_level = 25;

    explicit constexpr retry_policy(const retry_config &config)
        : shortest_{duration{1024} * (std::int64_t{1} << std::min<unsigned>(config.timeout_exponent, 24))},
          linear_{config.linear}, exponential_{std::min<unsigned>(config.exponential, infinite)}
    {
    }

    [[nodiscard]] constexpr duration shortest() const { return shortest_; } // T

    // Doublings after so many failures of a packet.
    [[nodiscard]] constexpr unsigned level(unsigned failures) const
    {
        return failures < linear_ ? 0 : std::min(failures - linear_ + 1, max_level);
    }
    // After so many doublings. RTO is measured and T is agreed: only T is doubled, or hosts that are late would be
    // given up after a handful of retries.
    [[nodiscard]] constexpr duration wait(unsigned level, duration rto) const
    {
        return std::max(rto, doubled(shortest_, level));
    }
    [[nodiscard]] static constexpr duration doubled(duration once, unsigned times)
    {
        constexpr duration longest = std::chrono::hours{24};
        return once > longest / (std::int64_t{1} << times) ? longest : once * (std::int64_t{1} << times);
    }

    [[nodiscard]] constexpr bool gives_up() const { return exponential_ < infinite; }
    [[nodiscard]] constexpr duration gives_up_after() const
    {
        return shortest_ * std::max<std::int64_t>(1, linear_ + (std::int64_t{2} << exponential_) - 2);
    }

private:
    duration shortest_;
    unsigned linear_;
    unsigned exponential_;
};

} // namespace mrc::protocol
