// SPDX-License-Identifier: Apache-2.0
// One capture at a time, and none that outlives who asked for it (timed_lease.h).
#pragma once

#include "mrc/abi/maps.h"
#include "tools/mrcctl/timed_lease.h"

namespace mrc::ctl
{

class capture_lease
{
public:
    // Claims the row, borrowed, with these settings. Throws lease_taken.
    capture_lease(mrc_capture_ring &ring, const mrc_capture_ring &settings, timed_lease::clock now,
                  const timed_lease::pause &wait);

    void renew() { lease_.renew(); }
    [[nodiscard]] std::uint64_t lapses() const { return lease_.lapses(); }

private:
    timed_lease lease_;
};

} // namespace mrc::ctl
