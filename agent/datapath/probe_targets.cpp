// SPDX-License-Identifier: Apache-2.0
#include "datapath/probe_targets.h"

#include <algorithm>
#include <atomic>

namespace mrc::datapath
{

using namespace std::chrono_literals;
using protocol::instant;

namespace
{

// Probes of a group that has something to probe are far more frequent.
constexpr auto answer_patience = 1s;
// Sockets pause: the paths stay watched so long after the last packet.
constexpr auto overlay_memory = 1s;

bool same_host(const worker_peer &a, const worker_peer &b) // whichever of its addresses
{
    return a.ports == b.ports;
}

} // namespace

probe_targets::probe_targets(const kernel::mapped_array<mrc_path_row> &paths,
                             const kernel::mapped_array<mrc_overlay_row> &overlay)
    : paths_{paths}, overlay_{overlay}
{
}

probe_targets::group &probe_targets::entry_of(const worker_peer &peer, std::uint32_t row)
{
    const auto [entry, is_new] = at_.try_emplace(peer.paths, groups_.size());
    if (is_new)
        groups_.push_back({.paths = peer.paths, .target = peer, .row = row, .answered = {}, .peers = {}});
    return groups_[entry->second];
}

void probe_targets::add(const worker_peer &peer)
{
    entry_of(peer, paths_[peer.paths->path(0).index.value].group).peers.push_back(peer);
}

void probe_targets::add_profile_group(const worker_peer &peer)
{
    entry_of(peer, no_row);
}

void probe_targets::remove_group(const protocol::path_group *paths)
{
    std::erase_if(groups_, [&](const group &entry) { return entry.paths == paths; });
    at_.clear();
    for (std::size_t i = 0; i < groups_.size(); ++i)
        at_.emplace(groups_[i].paths, i);
}

// A host whose own link may be dead says nothing of a plane's paths.
bool probe_targets::knows_better(const worker_peer &peer, const worker_peer &target)
{
    const protocol::plane_mask doubted = target.planes->suspected();
    return (doubted & peer.planes->suspected()) != doubted;
}

void probe_targets::use(group &entry, const worker_peer &peer, instant now)
{
    if (same_host(entry.target, peer))
        return;
    if (now - entry.answered <= answer_patience && !knows_better(peer, entry.target))
        return;
    entry.target = peer;
    entry.answered = now; // its time to answer starts
}

void probe_targets::on_use(const worker_peer &peer, instant now)
{
    if (const auto entry = at_.find(peer.paths); entry != at_.end())
        use(groups_[entry->second], peer, now);
}

// What a group asks of one host has request ids of its own: part_of_probe_ids().
bool probe_targets::on_response(const worker_peer &peer, const protocol::endpoint_response_packet &response,
                                const protocol::arrival &how)
{
    return std::ranges::any_of(groups_, [&](const group &entry) {
        return (entry.paths == peer.paths || same_host(entry.target, peer)) && entry.paths->on_packet(response, how);
    });
}

void probe_targets::on_answer(const worker_peer &peer, instant now)
{
    for (group &entry : groups_)
        if (same_host(entry.target, peer))
            entry.answered = now;
}

void probe_targets::watch_overlay(instant now)
{
    for (group &entry : groups_) {
        if (entry.row >= overlay_.size())
            continue;
        mrc_overlay_row &row = overlay_[entry.row];
        const instant last{std::chrono::nanoseconds{std::atomic_ref{row.last_tx_ns}.load(std::memory_order_relaxed)}};
        if (last == instant{} || now - last > overlay_memory)
            continue;
        entry.paths->watch(last + overlay_memory);
        const std::uint16_t usid = std::atomic_ref{row.host_usid}.load(std::memory_order_relaxed);
        const auto peer = std::ranges::find(entry.peers, usid, &worker_peer::host_usid);
        if (peer != entry.peers.end())
            use(entry, *peer, now);
    }
}

} // namespace mrc::datapath
