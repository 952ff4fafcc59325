// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/host_rows.h"

#include "tools/mrcctl/peers.h"
#include "tools/mrcctl/views.h"

namespace mrc::view
{

host_rows take_rows(const ctl::host_maps &maps)
{
    host_rows taken{.counters = ctl::take_sample(maps)};
    ctl::for_each_path(maps, {}, [&](std::uint32_t number, const mrc_path_row &row) {
        taken.paths.push_back({.number = number, .path = row, .signal = maps.signals()[number]});
    });
    taken.clients = maps.clients();
    taken.peers = ctl::peers_in_map(maps);
    for (const auto &[qpn, qp] : taken.counters.qps)
        if (const auto peer = maps.peer(qp.peer))
            taken.peer_of_qp.emplace(qpn, *peer);
    taken.leaf = maps.host().leaf;
    taken.daemon = ctl::look_at_daemon(maps.host());
    return taken;
}

} // namespace mrc::view
