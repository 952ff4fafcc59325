// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/path_group_state.h"

#include <utility>

#include "protocol/random_source.h"

namespace mrc::protocol
{

namespace
{

std::vector<profile_entry> universe_of(const path_group_config &config)
{
    if (!config.universe.empty())
        return config.universe;
    // One EV for every path: nothing of it can be wrong.
    return expand_profile({}, config.planes, config.uplinks, config.ev_bits, config.seed).value();
}

path_group_config completed(path_group_config config)
{
    config.universe = universe_of(config);
    const auto per_plane = static_cast<unsigned>(config.universe.size() / config.planes);
    if (config.active_per_plane == 0 || config.active_per_plane > per_plane)
        config.active_per_plane = per_plane;
    if (config.arrivals == path_index{})
        config.arrivals = config.base;
    return config;
}

} // namespace

path_group_state::path_group_state(const path_group_config &wanted, const local_ports &ports, const plane_mask &links)
    : config{completed(wanted)}, local{&ports}, linked{&links}, paths(size()),
      active_slots(std::size_t{config.planes} * config.active_per_plane), changed{size()}, counted{size()},
      evidence{size()}, suspension{config.heartbeats.patience},
      prober{config.probes, config.planes, config.uplinks, ids_of(part_of(path_probe_ids, config.id_part), config.who)},
      heartbeat{config.heartbeats, config.planes, config.uplinks,
                ids_of(part_of(heartbeat_ids, config.id_part), config.who)},
      reverse{config.reverse, config.planes, ids_of(part_of(reverse_ids, config.id_part), config.who)}
{
    for (unsigned slot = 0; slot < size(); ++slot)
        paths[slot].plane = plane_index{static_cast<std::uint8_t>(slot / config.uplinks)};

    std::array<std::vector<std::uint16_t>, max_planes> existing;
    for (const profile_entry &entry : config.universe) {
        paths[entry.slot].entropy = entry.entropy;
        paths[entry.slot].state = path_state::good;
        paths[entry.slot].reported = path_state::good;
        existing[entry.plane.value].push_back(entry.slot);
    }
    // A random subset of each plane: senders that do not talk to each other spread over all uplinks.
    random_source random{config.seed};
    for (unsigned plane = 0; plane < config.planes; ++plane) {
        std::vector<std::uint16_t> &slots = existing[plane];
        for (std::size_t i = slots.size(); i > 1; --i)
            std::swap(slots[i - 1], slots[random.below(static_cast<std::uint32_t>(i))]);
        for (unsigned position = 0; position < config.active_per_plane; ++position) {
            const std::uint16_t slot = slots[position];
            active_slots[plane * config.active_per_plane + position] = slot;
            paths[slot].active = true;
            paths[slot].position = static_cast<std::uint16_t>(position);
        }
        good_active[plane] = static_cast<std::uint16_t>(config.active_per_plane);
        good_planes.set(plane_index{static_cast<std::uint8_t>(plane)}, true);
    }
}

} // namespace mrc::protocol
