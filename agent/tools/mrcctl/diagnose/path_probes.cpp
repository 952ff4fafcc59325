// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/path_probes.h"

#include <algorithm>

#include <fmt/format.h>

#include "service/address.h"
#include "tools/mrcctl/device.h"
#include "tools/mrcctl/ev_notation.h"
#include "tools/mrcctl/probe.h"

namespace mrc::ctl::diagnose
{

namespace
{

constexpr std::size_t most_of_a_batch = 2048; // mrc_ctl_ep_batch_send_wait
constexpr std::size_t most_of_a_path = 300;
constexpr unsigned timeout_ms = 1000; // a busy worker is no lossy link

bool is_usable(const mrc_port_row &port)
{
    return (port.flags & MRC_PORT_USABLE) == MRC_PORT_USABLE && port.reason == MRC_PORT_IN_USE;
}

std::vector<mrc_path_row> paths_of(const host_maps &maps, const peer_place &peer)
{
    std::vector<mrc_path_row> paths;
    const std::uint32_t end = peer.row.group_base + std::uint32_t{peer.row.planes} * peer.row.uplinks;
    for (std::uint32_t number = peer.row.group_base; number < std::min(end, maps.paths().size()); ++number)
        if (const mrc_path_row row = maps.paths()[number];
            row.state != MRC_PATH_UNUSED && is_usable(maps.ports()[row.plane]))
            paths.push_back(row);
    return paths;
}

// Each path as often, in turns: what happens to the host for a moment happens to all of them.
void probe_one(const controller_device &device, const host_maps &maps, const peer_place &peer, std::uint32_t number,
               path_probe_results &to)
{
    const std::vector<mrc_path_row> paths = paths_of(maps, peer);
    if (paths.empty())
        return;
    const std::size_t each = std::clamp<std::size_t>(most_of_a_batch / paths.size(), 1, most_of_a_path);
    probe_options options{.destination = service::to_text(peer.address), .timeout_ms = timeout_ms};
    for (std::size_t round = 0; round < each; ++round)
        for (const mrc_path_row &path : paths)
            options.evs.push_back(parse_ev(fmt::format("{:08x}@{}", path.ev, path.plane + 1)).value());
    options.evs.resize(std::min(options.evs.size(), most_of_a_batch));
    const probes_sent sent = send_probes(device, options);
    if (!sent.complaint.empty())
        to.complaint = sent.complaint;
    for (std::size_t i = 0; i < sent.rows.size(); ++i) {
        const mrc_path_row &path = paths[i % paths.size()];
        tally &way =
            to.trips[{.kind = trip_kind::probe, .plane = path.plane, .peer = number, .out = path.uplink}].small;
        way += {.sent = sent.rows[i].at("sent").to_number<std::uint32_t>(),
                .back = sent.rows[i].at("answered").to_number<std::uint32_t>()};
    }
}

} // namespace

path_probe_results probe_paths(const host_maps &maps, const std::vector<peer_place> &peers)
{
    const controller_device device{maps.of().name};
    path_probe_results results;
    for (std::uint32_t number = 0; number < peers.size(); ++number)
        probe_one(device, maps, peers[number], number, results);
    return results;
}

} // namespace mrc::ctl::diagnose
