// SPDX-License-Identifier: Apache-2.0
// One capture at a time, and none that outlives who asked for it: packets are copied until a moment that has to be put
// off again and again. Of a capture that was killed nothing is left a second later.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>

#include "mrc/abi/maps.h"

namespace mrc::ctl
{

inline constexpr std::uint64_t lease_ns = 1'000'000'000;
inline constexpr std::uint64_t renewal_ns = lease_ns / 10;

// Somebody else captures.
struct capture_taken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class capture_lease
{
public:
    using clock = std::function<std::uint64_t()>; // CLOCK_MONOTONIC, ns
    using pause = std::function<void()>;          // a while

    // Claims the row, borrowed, with these settings. Waits for the end of a lease that nobody puts off. Throws
    // capture_taken.
    capture_lease(mrc_capture_ring &ring, const mrc_capture_ring &settings, clock now, const pause &wait);
    capture_lease(const capture_lease &) = delete;
    capture_lease &operator=(const capture_lease &) = delete;
    ~capture_lease();

    // When the lease is to be put off; anybody may call it more often. Throws capture_taken.
    void renew();
    // Times that it was over before renew() came, so that packets passed unseen.
    [[nodiscard]] std::uint64_t lapses() const { return lapses_; }

private:
    [[nodiscard]] bool claim(__u64 found);
    void start();

    mrc_capture_ring &ring_;
    mrc_capture_ring settings_;
    clock now_;
    __u64 until_ns_ = 0;
    std::uint64_t lapses_ = 0;
};

} // namespace mrc::ctl
