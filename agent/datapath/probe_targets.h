// SPDX-License-Identifier: Apache-2.0
// The path groups of the worker, and for each the host behind it that answers its EV probes. A group is a remote T0 by
// the EVs of one profile; not every address behind it is a living host, so probes go to one that traffic is sent to,
// and stay with it while it answers, and no plane is suspected toward it that another one in use is reached on.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"
#include "protocol/congestion/congestion_control.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/peer_planes.h"
#include "protocol/paths/port_status.h"
#include "protocol/send/loss_detector.h"

namespace mrc::datapath
{

// A host that this one speaks to, for packets that belong to no queue pair: endpoint operations.
struct worker_peer {
    mrc_ip address{};
    std::uint16_t host_usid = 0;
    protocol::path_group *paths = nullptr;
    protocol::port_status *ports = nullptr;
    protocol::peer_planes *planes = nullptr;
    protocol::sack_proofs *proofs = nullptr;            // those of `paths`; null: each QP has its own
    protocol::congestion_control *congestion = nullptr; // that its QPs share; null: each has its own
};

class probe_targets
{
public:
    struct group {
        protocol::path_group *paths = nullptr;
        worker_peer target;
        std::uint32_t row = 0; // of `overlay`; no_row: queue pairs only
        protocol::instant answered;
        std::vector<worker_peer> peers;
    };

    probe_targets(const kernel::mapped_array<mrc_path_row> &paths,
                  const kernel::mapped_array<mrc_overlay_row> &overlay);

    // The first peer of a group is its target until another one is known to be in use. Ordinary sockets use it, too.
    void add(const worker_peer &peer);
    // peer.paths, of an EV profile that queue pairs have asked for.
    void add_profile_group(const worker_peer &peer);
    void remove_group(const protocol::path_group *paths);
    // Traffic goes to this peer: it becomes the target when the present one does not answer, or not on all planes.
    void on_use(const worker_peer &peer, protocol::instant now);
    // An answer from the peer to an EV probe of a group: false when none of them asked.
    bool on_response(const worker_peer &peer, const protocol::endpoint_response_packet &response,
                     const protocol::arrival &how);
    void on_answer(const worker_peer &peer, protocol::instant now); // of whatever kind
    // Has the paths watched that ordinary sockets use. To be called every watch_interval.
    void watch_overlay(protocol::instant now);

    [[nodiscard]] std::span<const group> groups() const { return groups_; }

    static constexpr protocol::duration watch_interval = std::chrono::milliseconds{100};

private:
    static constexpr std::uint32_t no_row = UINT32_MAX;

    group &entry_of(const worker_peer &peer, std::uint32_t row);
    [[nodiscard]] static bool knows_better(const worker_peer &peer, const worker_peer &target);
    void use(group &entry, const worker_peer &peer, protocol::instant now);

    const kernel::mapped_array<mrc_path_row> &paths_;
    const kernel::mapped_array<mrc_overlay_row> &overlay_;
    std::vector<group> groups_;
    std::unordered_map<const protocol::path_group *, std::size_t> at_; // in groups_
};

} // namespace mrc::datapath
