// SPDX-License-Identifier: Apache-2.0
// The path groups of the worker, and for each the hosts behind it that answer its EV probes. A group is a remote T0 by
// the EVs of one profile; not every address behind it is a living host, so probes go to those that traffic is sent to.
// A round costs what there are groups with something due, or to which something has happened: schedule.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "datapath/asked_hosts.h"
#include "datapath/linked_list.h"
#include "datapath/schedule.h"
#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"

namespace mrc::datapath
{

class probe_targets
{
public:
    struct group : scheduled {
        group(const worker_peer &first, std::uint32_t overlay_row)
            : paths{first.paths}, row{overlay_row}, hosts{*first.paths, first}
        {
        }
        [[nodiscard]] protocol::instant next_deadline() const { return paths->next_deadline(); }

        protocol::path_group *paths = nullptr;
        std::uint32_t row = 0; // of `overlay`; no_row: queue pairs only
        asked_hosts hosts;
        std::vector<worker_peer> peers;
        list_links<group> changed;
    };
    struct probe {
        const worker_peer *to = nullptr; // until the next call
        protocol::outgoing packet;
    };

    probe_targets(const kernel::mapped_array<mrc_path_row> &paths,
                  const kernel::mapped_array<mrc_overlay_row> &overlay);

    // The first peer of a group is asked until another one is known to be in use. Ordinary sockets use it, too.
    void add(const worker_peer &peer);
    // peer.paths, of an EV profile that queue pairs have asked for.
    void add_profile_group(const worker_peer &peer);
    // Without queue pairs. A group goes with the last of its hosts; of a profile's these are the ones in use.
    void forget(const host_set &hosts, const group_set &paths);
    // Traffic of queue pairs goes to this peer.
    void on_use(const worker_peer &peer, protocol::instant now);
    // An answer from the peer to an EV probe of a group: false when none of them asked.
    bool on_response(const worker_peer &peer, const protocol::endpoint_response_packet &response,
                     const protocol::arrival &how);
    // Has the paths watched that ordinary sockets use, and gives the host that each group's sockets sent to last. To be
    // called every watch_interval, after on_use().
    [[nodiscard]] std::span<const worker_peer> watch_overlay(protocol::instant now);
    // Calls `send(probe)` for what is due while `ready()`. How many.
    template <typename Ready, typename Sender>
    std::size_t transmit(protocol::instant now, Ready ready, Sender send);
    [[nodiscard]] protocol::instant next_deadline()
    {
        note_changes();
        return schedule_.next_deadline();
    }

    // Calls `report(path_group &)` for the groups to which something has happened since forget_changed().
    template <typename Visitor>
    void visit_changed(Visitor report);
    void forget_changed();

    [[nodiscard]] std::size_t size() const { return groups_.size(); }
    // schedule.h
    [[nodiscard]] std::uint64_t looks() const { return schedule_.looks(); }

    static constexpr protocol::duration watch_interval = std::chrono::milliseconds{100};

private:
    static constexpr std::uint32_t no_row = UINT32_MAX;

    group &entry_of(const worker_peer &peer, std::uint32_t row);
    void drop(group &entry);
    void use(group &entry, const worker_peer &host, protocol::instant now);
    void note_changes();
    [[nodiscard]] static std::optional<probe> next_packet(group &entry, protocol::instant now);
    bool forget_hosts(group &entry, const host_set &gone);
    const worker_peer *socket_host(group &entry, protocol::instant now);

    const kernel::mapped_array<mrc_path_row> &paths_;
    const kernel::mapped_array<mrc_overlay_row> &overlay_;
    std::unordered_map<const protocol::path_group *, std::unique_ptr<group>> groups_;
    std::unordered_map<const protocol::port_status *, std::vector<group *>> askers_; // by host, of now or before
    schedule<group> schedule_;
    linked_list<group, &group::changed> changed_;
    std::vector<worker_peer> socket_hosts_; // as of the last watch_overlay()
};

template <typename Ready, typename Sender>
std::size_t probe_targets::transmit(protocol::instant now, Ready ready, Sender send)
{
    std::size_t sent = 0;
    note_changes();
    schedule_.serve(now, [&](group &entry) {
        if (!entry.changed.listed)
            changed_.push_back(entry);
        while (ready()) {
            const auto due = next_packet(entry, now);
            if (!due)
                return true;
            send(*due);
            ++sent;
        }
        return false;
    });
    return sent;
}

template <typename Visitor>
void probe_targets::visit_changed(Visitor report)
{
    note_changes();
    for (group *entry = changed_.front(); entry != nullptr; entry = entry->changed.next)
        report(*entry->paths);
}

} // namespace mrc::datapath
