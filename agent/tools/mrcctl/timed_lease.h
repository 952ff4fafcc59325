// SPDX-License-Identifier: Apache-2.0
// What mrcctl switches on in a daemon for one mrcctl at a time, and what does not outlive who asked for it: it is on
// until a moment that has to be put off again and again. Of one that was killed nothing is left a second later.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include <linux/types.h>

namespace mrc::ctl
{

inline constexpr std::uint64_t lease_ns = 1'000'000'000;
inline constexpr std::uint64_t renewal_ns = lease_ns / 10;

// Somebody else has it.
struct lease_taken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class timed_lease
{
public:
    using clock = std::function<std::uint64_t()>;   // CLOCK_MONOTONIC, ns
    using pause = std::function<void()>;            // a while
    using complaint = std::function<std::string()>; // of one who comes second

    // Claims the row whose moment is `until`, borrowed. Waits for the end of a lease that nobody puts off. Throws
    // lease_taken.
    timed_lease(__u64 &until, complaint taken, clock now, const pause &wait);
    timed_lease(const timed_lease &) = delete;
    timed_lease &operator=(const timed_lease &) = delete;
    ~timed_lease();

    // When the lease is to be put off; anybody may call it more often. Throws lease_taken.
    void renew();
    // Times that it was over before renew() came, so that things passed unseen.
    [[nodiscard]] std::uint64_t lapses() const { return lapses_; }

private:
    [[nodiscard]] bool claim(__u64 found);
    [[noreturn]] void refuse() const;

    __u64 &until_;
    complaint taken_;
    clock now_;
    __u64 until_ns_ = 0;
    std::uint64_t lapses_ = 0;
};

// CLOCK_MONOTONIC.
[[nodiscard]] std::uint64_t lease_clock();
// For a lease of another to be over.
void lease_pause();

} // namespace mrc::ctl
