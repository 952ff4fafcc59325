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

// Sockets pause: the paths stay watched so long after the last packet.
constexpr auto overlay_memory = 1s;

} // namespace

probe_targets::probe_targets(const kernel::mapped_array<mrc_path_row> &paths,
                             const kernel::mapped_array<mrc_overlay_row> &overlay)
    : paths_{paths}, overlay_{overlay}
{
}

probe_targets::group &probe_targets::entry_of(const worker_peer &peer, std::uint32_t row)
{
    std::unique_ptr<group> &entry = groups_[peer.paths];
    if (!entry) {
        entry = std::make_unique<group>(peer, row);
        askers_[peer.ports].push_back(entry.get());
        schedule_.add(*entry);
        peer.paths->attend(entry.get());
    }
    return *entry;
}

void probe_targets::drop(group &entry)
{
    entry.paths->attend(nullptr);
    schedule_.remove(entry);
    changed_.remove(entry);
    for (auto &[host, askers] : askers_)
        std::erase(askers, &entry);
    std::erase_if(askers_, [](const auto &host) { return host.second.empty(); });
}

void probe_targets::use(group &entry, const worker_peer &host, instant now)
{
    if (!entry.hosts.on_use(host, now))
        return;
    std::vector<group *> &askers = askers_[host.ports];
    if (std::ranges::find(askers, &entry) == askers.end())
        askers.push_back(&entry);
}

void probe_targets::note_changes()
{
    schedule_.look([this](group &entry) {
        if (!entry.changed.listed)
            changed_.push_back(entry);
    });
}

void probe_targets::forget_changed()
{
    while (group *entry = changed_.front())
        changed_.remove(*entry);
}

void probe_targets::add(const worker_peer &peer)
{
    entry_of(peer, paths_[peer.paths->path(0).index.value].group).peers.push_back(peer);
}

void probe_targets::add_profile_group(const worker_peer &peer)
{
    entry_of(peer, no_row);
}

// False: it has none left.
bool probe_targets::forget_hosts(group &entry, const host_set &gone)
{
    std::erase_if(entry.peers, [&](const worker_peer &peer) { return gone.contains(peer.ports); });
    if (entry.hosts.forget(gone))
        return true;
    if (entry.peers.empty())
        return false;
    use(entry, entry.peers.front(), instant::min());
    return true;
}

void probe_targets::forget(const host_set &hosts, const group_set &paths)
{
    std::erase_if(askers_, [&](const auto &host) { return hosts.contains(host.first); });
    std::erase_if(groups_, [&](auto &each) {
        group &entry = *each.second;
        const bool gone = paths.contains(entry.paths) || !forget_hosts(entry, hosts);
        if (gone)
            drop(entry);
        return gone;
    });
}

void probe_targets::on_use(const worker_peer &peer, instant now)
{
    if (const auto entry = groups_.find(peer.paths); entry != groups_.end())
        use(*entry->second, peer, now);
}

std::optional<probe_targets::probe> probe_targets::next_packet(group &entry, instant now)
{
    protocol::path_group &paths = *entry.paths;
    if (now < paths.next_deadline())
        return std::nullopt;
    const auto packet = paths.next_packet(now, entry.hosts.reachable());
    if (!packet)
        return std::nullopt;
    const auto &request = std::get<protocol::endpoint_request_packet>(packet->content);
    const auto slot = static_cast<std::uint16_t>(packet->path.value - paths.path(0).index.value);
    return probe{&entry.hosts.ask(slot, request.request_id, now), *packet};
}

// What a group asks of one host has request ids of its own: part_of().
bool probe_targets::on_response(const worker_peer &peer, const protocol::endpoint_response_packet &response,
                                const protocol::arrival &how)
{
    const auto askers = askers_.find(peer.ports);
    if (askers == askers_.end())
        return false;
    const auto asked = std::ranges::find_if(askers->second, [&](const group *each) {
        return (each->paths == peer.paths || each->hosts.contain(peer)) && each->paths->on_packet(response, how);
    });
    if (asked == askers->second.end())
        return false;
    (*asked)->hosts.on_answer(peer, response.request_id, how.at);
    return true;
}

std::span<const worker_peer> probe_targets::watch_overlay(instant now)
{
    socket_hosts_.clear();
    for (const auto &[paths, held] : groups_) {
        group &entry = *held;
        if (const worker_peer *host = entry.row < overlay_.size() ? socket_host(entry, now) : nullptr)
            socket_hosts_.push_back(*host);
        entry.hosts.forget_unused(now);
    }
    return socket_hosts_;
}

// That sockets have sent to of late; null: none.
const worker_peer *probe_targets::socket_host(group &entry, instant now)
{
    mrc_overlay_row &row = overlay_[entry.row];
    const instant last{std::chrono::nanoseconds{std::atomic_ref{row.last_tx_ns}.load(std::memory_order_relaxed)}};
    if (last == instant{} || now - last > overlay_memory)
        return nullptr;
    entry.paths->watch(last + overlay_memory);
    const std::uint16_t usid = std::atomic_ref{row.host_usid}.load(std::memory_order_relaxed);
    const auto peer = std::ranges::find(entry.peers, usid, &worker_peer::host_usid);
    if (peer == entry.peers.end())
        return nullptr;
    use(entry, *peer, now);
    return &*peer;
}

} // namespace mrc::datapath
