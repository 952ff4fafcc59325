// SPDX-License-Identifier: Apache-2.0
#include "datapath/shared_path_states.h"

#include <algorithm>

#include "datapath/map_reporter.h"

namespace mrc::datapath
{

namespace
{

template <typename States>
std::optional<protocol::path_state> worst_of(const States &all)
{
    return *std::ranges::max_element(all); // nothing is less than any
}

} // namespace

void shared_path_states::note(unsigned worker, const protocol::path_transition &change, const telling &tell)
{
    const std::scoped_lock guard{changing_};
    states &known = of_path_[change.path.value];
    const protocol::path_state before = worst_of(known).value_or(change.from);
    known[worker] = change.to;
    protocol::path_transition shown = change;
    shown.from = before;
    shown.to = worst_of(known).value_or(change.to);
    if (shown.to == before)
        return;
    write_state(rows_, shown.path, shown.to);
    if (tell)
        tell(shown);
}

void shared_path_states::forget(protocol::path_index path)
{
    const std::scoped_lock guard{changing_};
    of_path_.erase(path.value);
}

} // namespace mrc::datapath
