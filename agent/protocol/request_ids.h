// SPDX-License-Identifier: Apache-2.0
// Request ids of endpoint operations. An answer is known by its id alone (decision D4), so everybody who asks has a
// range of ids of its own, and counts round within it.
#pragma once

#include <array>
#include <cstdint>

#include "mrc/abi/maps.h"

namespace mrc::protocol
{

struct id_range {
    std::uint16_t first = 1;
    std::uint16_t last = UINT16_MAX;
    std::uint16_t step = 1; // between one and the next

    [[nodiscard]] constexpr bool contains(std::uint16_t id) const
    {
        return id >= first && id <= last && (id - first) % step == 0;
    }
    [[nodiscard]] constexpr std::uint16_t after(std::uint16_t id) const
    {
        return last - id < step ? first : static_cast<std::uint16_t>(id + step);
    }
    [[nodiscard]] constexpr unsigned size() const { return (last - first) / step + 1U; }
    // The how manieth it is, from 0 on; of one that it contains.
    [[nodiscard]] constexpr unsigned position_of(std::uint16_t id) const { return (id - first) / step; }
};

inline constexpr id_range path_probe_ids{0x0001, 0x1FFF};  // path_prober.h, for a path group
inline constexpr id_range plane_probe_ids{0x2000, 0x3FFF}; // path_prober.h, for a peer (peer_planes.h)
inline constexpr id_range port_status_ids{0x4000, 0x7FFF}; // port_status.h; of each peer a sequence, in order
inline constexpr id_range heartbeat_ids{0x8000, 0xBFFF};   // path_heartbeat.h
inline constexpr id_range reverse_ids{0xC000, 0xDFFF};     // reverse_evs.h
inline constexpr id_range batch_probe_ids{0xE000, 0xFFFF}; // endpoint_batches.h

// A range's ids in equal parts, for the groups of several EV profiles toward one T0, which ask the same hosts; `part`
// is 0…15.
inline constexpr unsigned probe_id_parts = 16;
[[nodiscard]] constexpr id_range part_of(id_range all, unsigned part)
{
    const unsigned size = (all.size() + probe_id_parts - 1) / probe_id_parts; // the first may be one short: 0 is no id
    const unsigned end = all.last + 1U - (probe_id_parts - 1 - part) * size;
    return {.first = part == 0 ? all.first : static_cast<std::uint16_t>(end - size),
            .last = static_cast<std::uint16_t>(end - 1)};
}

// Which of a host's workers asks. Each probes by itself, and host_rx takes the answer to the one whose number the id
// has in its low bits (MRC_ASKING_WORKER). Updates of port status and batches are the first one's alone.
struct asker {
    unsigned number = 0;
    unsigned of = 1; // 1…MRC_MAX_WORKERS
};

// Of a range that starts and ends where a multiple of MRC_MAX_WORKERS does, but for 0, which is no id.
[[nodiscard]] constexpr id_range ids_of(id_range all, asker who)
{
    const auto step = static_cast<std::uint16_t>(MRC_ASKER_MASK(who.of) + 1);
    const unsigned begin = all.first & ~(step - 1U);
    const unsigned first = begin + who.number < all.first ? begin + who.number + step : begin + who.number;
    return {.first = static_cast<std::uint16_t>(first),
            .last = static_cast<std::uint16_t>(all.last + 1U - step + who.number),
            .step = step};
}

// In order and without a gap: no id has two owners.
inline constexpr std::array all_request_ids{path_probe_ids, plane_probe_ids, port_status_ids,
                                            heartbeat_ids,  reverse_ids,     batch_probe_ids};
consteval bool ids_are_disjoint()
{
    for (std::size_t i = 1; i < all_request_ids.size(); ++i)
        if (all_request_ids[i].first != all_request_ids[i - 1].last + 1)
            return false;
    return true;
}
static_assert(ids_are_disjoint());

// As host_rx has it.
consteval bool answers_find_their_asker()
{
    for (const id_range &range : all_request_ids) {
        const bool of_first = range.first == port_status_ids.first || range.first == batch_probe_ids.first;
        for (const std::uint16_t id : {range.first, range.last})
            if (MRC_ASKING_WORKER(id, MRC_MAX_WORKERS - 1U) != (of_first ? 0U : id % MRC_MAX_WORKERS))
                return false;
    }
    return true;
}
static_assert(answers_find_their_asker());

} // namespace mrc::protocol
