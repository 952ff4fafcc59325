// SPDX-License-Identifier: Apache-2.0
// The path groups of the worker, and for each the hosts behind it that answer its EV probes. A group is a remote T0 by
// the EVs of one profile; not every address behind it is a living host, so probes go to those that traffic is sent to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "datapath/asked_hosts.h"
#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"

namespace mrc::datapath
{

class probe_targets
{
public:
    struct group {
        protocol::path_group *paths = nullptr;
        std::uint32_t row = 0; // of `overlay`; no_row: queue pairs only
        asked_hosts hosts;
        std::vector<worker_peer> peers;
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
    // What is due of groups()[number].
    [[nodiscard]] std::optional<probe> next_packet(std::size_t number, protocol::instant now);

    [[nodiscard]] std::span<const group> groups() const { return groups_; }

    static constexpr protocol::duration watch_interval = std::chrono::milliseconds{100};

private:
    static constexpr std::uint32_t no_row = UINT32_MAX;

    group &entry_of(const worker_peer &peer, std::uint32_t row);
    static bool forget_hosts(group &entry, const host_set &gone);
    const worker_peer *socket_host(group &entry, protocol::instant now);

    const kernel::mapped_array<mrc_path_row> &paths_;
    const kernel::mapped_array<mrc_overlay_row> &overlay_;
    std::vector<group> groups_;
    std::unordered_map<const protocol::path_group *, std::size_t> at_; // in groups_
    std::vector<worker_peer> socket_hosts_;                            // as of the last watch_overlay()
};

} // namespace mrc::datapath
