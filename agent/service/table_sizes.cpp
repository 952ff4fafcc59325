// SPDX-License-Identifier: Apache-2.0
#include "service/table_sizes.h"

#include <algorithm>

#include "protocol/request_ids.h"
#include "service/fabric_map/loop_ways.h"

namespace mrc::service
{

namespace
{

// By profile 0, and by as many others as can be in use toward a leaf.
std::uint64_t most_paths(const daemon_config &config, const fabric_rules &rules)
{
    std::uint64_t rows = 0;
    for (std::uint32_t leaf = 0; leaf < rules.leaves(); ++leaf) {
        const std::uint32_t all = leaf == rules.self().leaf ? 1 : config.fabric.uplinks;
        const std::uint64_t each_plane = rules.uplinks_to(leaf) + (protocol::probe_id_parts - 1) * std::uint64_t{all};
        rows += rules.planes() * each_plane;
    }
    return rows;
}

} // namespace

kernel::table_sizes table_sizes_of(const daemon_config &config, const fabric_rules &rules)
{
    const std::uint64_t hosts = std::uint64_t{rules.leaves()} * config.fabric.hosts_per_leaf;
    const std::uint64_t peers = std::min<std::uint64_t>(hosts, config.tables.peers);
    const std::uint64_t paths = config.tables.paths.value_or(
        static_cast<std::uint32_t>(std::min<std::uint64_t>(most_paths(config, rules), usual_paths)));
    return {.peers = static_cast<std::uint32_t>(peers * rules.addresses_of(rules.self()).size()),
            .paths = static_cast<std::uint32_t>(paths + 1),
            .loops = std::max(1U, static_cast<std::uint32_t>(all_loop_ways_of(config).size()))};
}

} // namespace mrc::service
