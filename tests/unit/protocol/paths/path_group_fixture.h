// SPDX-License-Identifier: Apache-2.0
// Path groups of four planes, and what tests do to them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "protocol/paths/path_group.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{

using namespace std::chrono_literals;

inline path_group_config four_by(unsigned uplinks, unsigned active = 0)
{
    path_group_config config;
    config.planes = 4;
    config.uplinks = uplinks;
    config.active_per_plane = active;
    config.base = path_index{100};
    return config;
}

inline unsigned active_paths(const path_group &group, unsigned plane)
{
    unsigned count = 0;
    for (unsigned slot = plane * group.uplinks(); slot < (plane + 1) * group.uplinks(); ++slot)
        count += group.active(slot) ? 1 : 0;
    return count;
}

inline unsigned paths_in_use(const path_group &group, unsigned plane)
{
    unsigned count = 0;
    for (unsigned slot = plane * group.uplinks(); slot < (plane + 1) * group.uplinks(); ++slot)
        count += group.active(slot) && group.in_use(slot) ? 1 : 0;
    return count;
}

// Nothing of the plane gets through any more, though others deliver.
inline void lose_plane(path_group &group, unsigned plane, instant at)
{
    const unsigned first = plane * group.uplinks();
    for (unsigned slot = first; slot < first + 3; ++slot)
        group.on_sent(slot, false);
    group.on_silence(first, at, at + 1ms);
}

inline void answer(path_group &group, const outgoing &probe, instant at)
{
    endpoint_response_packet response;
    response.request_id = std::get<endpoint_request_packet>(probe.content).request_id;
    EXPECT_TRUE(group.on_packet(response, {.entropy = probe.entropy, .path = probe.path, .at = at}));
}

// What becomes of the group's probes from then on; `answers` says of which paths they are answered, 50 us later.
struct probing {
    instant ended;
    unsigned probes = 0;
};
template <typename predicate, typename condition>
probing probe_until(path_group &group, instant from, predicate answers, condition done)
{
    probing result{from};
    while (!done() && result.ended < from + 10s) {
        result.ended = std::max(result.ended, group.next_deadline());
        const auto probe = group.next_packet(result.ended);
        if (!probe)
            continue;
        ++result.probes;
        if (answers(group.slot_at(probe->path).value()))
            answer(group, *probe, result.ended + 50us);
    }
    return result;
}

class path_group_test : public testing::Test
{
protected:
    local_ports local{plane_mask{0xF}};
};

} // namespace mrc::protocol
