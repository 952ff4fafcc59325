// SPDX-License-Identifier: Apache-2.0
// One trace at a time, and none that outlives who asked for it (timed_lease.h).
#pragma once

#include "mrc/abi/maps.h"
#include "tools/mrcctl/timed_lease.h"
#include "tools/mrcctl/trace/recording.h"

namespace mrc::ctl
{

class trace_lease
{
public:
    // Claims the row, borrowed, with this filter. Throws lease_taken.
    trace_lease(mrc_trace_ring &ring, const trace_filter &filter, timed_lease::clock now,
                const timed_lease::pause &wait);

    void renew() { lease_.renew(); }
    [[nodiscard]] std::uint64_t lapses() const { return lease_.lapses(); }

private:
    timed_lease lease_;
};

} // namespace mrc::ctl
