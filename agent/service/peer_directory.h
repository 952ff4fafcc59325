// SPDX-License-Identifier: Apache-2.0
// The hosts this one speaks to: their rows in the `peers` map, what the workers know of them, and the path groups to
// them (path_groups.h). A host is known from the first hold on, and forgotten some time after the last: as many hosts
// can be spoken to in a daemon's life as the fabric has, and tables.peers at one time.
//
// what goes, in this order                 why then
// the rows of its addresses in `peers`     nothing more comes in from it, and host_tx finds no way to it
// the host, and its group, in the workers  nothing more is sent there
// the group's rows in `paths`, to UNUSED   what is queued for them still is refused
// their numbers, to others                 only when nothing is queued, and no program that began before runs
//
// Each worker knows by itself whether and on which planes a host is reached. The first one knows every host, tells it
// of this host's ports and is told of its; what it is told goes to the others by spread_ports(). A worker with queue
// pairs to a leaf asks all hosts there that any worker has queue pairs to: one host's dead link is none of its paths.
//
// The number of a host that comes back is another (mrc_peer_row::sender): nothing that was of it is taken for new.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "datapath/own_host.h"
#include "kernel/host_tables.h"
#include "service/control/ev_profile_store.h"
#include "service/fabric_rules.h"
#include "service/path_groups.h"
#include "service/peer_hold.h"
#include "service/transition_log.h"
#include "service/use_count.h"
#include "service/worker_crew.h"

namespace mrc::service
{

class peer_directory
{
public:
    // All is borrowed and outlives the directory.
    peer_directory(const daemon_config &config, const fabric_rules &rules, kernel::host_tables &tables,
                   kernel::peer_rows &rows, const worker_crew &workers, datapath::shared_path_states &states,
                   std::uint32_t payload_bytes);
    peer_directory(const peer_directory &) = delete;
    peer_directory &operator=(const peer_directory &) = delete;
    ~peer_directory() { on_unused_ = nullptr; } // what it holds itself ends now

    // The peer at `address`, any of its own; as endpoint operations know it, by IPv6. The error says what is wrong with
    // the address, or which table is full. This host is none: there is no path to it.
    [[nodiscard]] std::expected<held_peer, peer_refusal> hold(const mrc_ip &address);
    // What a queue pair of that worker is connected to: this host, which needs no hold, whatever the profile, or the
    // same peer by the EVs of an ONLINE profile.
    [[nodiscard]] std::expected<held_peer, peer_refusal>
    hold(const mrc_ip &address, std::uint64_t profile, const control::ev_profile_store &profiles, unsigned worker);
    // Called whenever something has lost its last hold; to be followed by release_unused(). An empty one ends that.
    void call_when_unused(std::function<void()> task) { on_unused_ = std::move(task); }

    struct released {
        std::vector<group_key> groups;
        std::vector<mrc_ip> peers;
    };
    // Forgets what nobody holds, and did not when this was called last; or, `at_once`, does not hold now.
    [[nodiscard]] released release_unused(bool at_once);
    // There is something that nobody holds, or that no other may have yet.
    [[nodiscard]] bool any_unused() const;

    // An ONLINE profile has other EVs, and queue pairs use it.
    void exchange_evs(std::uint64_t profile, const control::ev_profile_store &profiles)
    {
        groups_.exchange_evs(profile, profiles);
    }
    // No queue pair uses it any longer.
    void forget_profile(std::uint64_t profile);

    // Holds every host of a fabric that is small enough to list, so that the overlay reaches those without queue pairs.
    // False: it is not, or its paths are too many for their table.
    [[nodiscard]] bool hold_all_if_small();

    // As path_groups'.
    void set_denied(std::uint64_t profile, std::span<const control::path_verdict> verdicts)
    {
        groups_.set_denied(profile, verdicts);
    }
    void set_left(std::set<left_path> left) { groups_.set_left(std::move(left)); }
    [[nodiscard]] std::optional<path_groups::path_location> place_of(protocol::path_index path) const
    {
        return groups_.place_of(path);
    }
    [[nodiscard]] std::vector<std::pair<protocol::path_index, protocol::path_condition>> path_conditions()
    {
        return groups_.conditions();
    }

    // Whose packets from the ports a queue pair takes that is connected to this address of the peer
    // (mrc_peer_row::sender); 0, nobody's, where that is this host.
    [[nodiscard]] std::uint32_t sender_of(const datapath::worker_peer &peer, const mrc_ip &address) const;
    // Of all path groups that there are.
    [[nodiscard]] std::vector<path_group_rows> path_rows() const { return groups_.rows(); }
    // That there are, but for this one.
    [[nodiscard]] std::vector<host_place> hosts() const;
    // Of all peers there are, the planes on which they say to be reached, and what the workers find.
    [[nodiscard]] std::vector<std::pair<mrc_ip, peer_condition>> peer_conditions();
    // Queue pairs made from now on share windows that are made by the configuration as it is now; older ones keep
    // theirs.
    void renew_congestion();

    // On the thread of a worker: something of the peer's condition has changed there; tells what is known of it now, by
    // all, by the address that names the host, whichever of them the worker knows it by. The overlay, too, leaves the
    // planes on which the peer cannot be reached.
    void follow(unsigned worker, const datapath::worker_peer &peer,
                const std::function<void(const mrc_ip &, const peer_condition &)> &tell);
    // On the service thread: what the peer says of its ports, to the workers that it has not told.
    void spread_ports(const mrc_ip &address, protocol::plane_mask ports);

private:
    friend class peer_hold;

    // What one worker knows of a peer.
    struct workers_peer {
        datapath::worker_peer peer;
        std::unique_ptr<protocol::port_status> ports;
        std::unique_ptr<protocol::peer_planes> planes;
        std::unique_ptr<protocol::congestion_control> congestion;
        std::vector<std::unique_ptr<protocol::congestion_control>> former; // queue pairs may have them still
    };
    struct known_peer {
        std::uint32_t number = 0;                             // mrc_peer_row::sender without the speaker
        std::vector<std::unique_ptr<workers_peer>> of_worker; // the first's there is always
        use_count uses;
        // By worker: holds of its queue pairs; whether it asks the host for the sake of others' (share_uses).
        std::vector<unsigned> queue_pairs;
        std::vector<bool> shared;

        [[nodiscard]] datapath::worker_peer &first() const { return of_worker.front()->peer; }
    };
    // By worker; nothing: it has not told any.
    using conditions = std::array<std::optional<peer_condition>, MRC_MAX_WORKERS>;

    // Of a fabric that is listed.
    static constexpr std::uint64_t most_listed_addresses = 4096;

    [[nodiscard]] std::unique_ptr<protocol::congestion_control> shared_congestion() const; // null: each has its own
    [[nodiscard]] std::expected<known_peer *, peer_refusal> find_or_add(const mrc_ip &address);
    [[nodiscard]] std::expected<known_peer *, peer_refusal> add(host_place host);
    [[nodiscard]] std::unique_ptr<workers_peer> make(host_place host, std::uint32_t number, unsigned worker,
                                                     const path_groups::workers_group &paths) const;
    void introduce(host_place host, const datapath::worker_peer &peer, unsigned worker) const;
    // What that worker knows of it; made on first use.
    [[nodiscard]] workers_peer &of_worker(host_place host, known_peer &known, unsigned worker);
    [[nodiscard]] static peer_condition merged(const conditions &all);
    // Whether its host's MRC comes from there, and not only what carries it.
    [[nodiscard]] bool sends_from(const mrc_ip &address) const;
    // False when the `peers` map is full; nothing of this host is in it then.
    [[nodiscard]] bool write_rows(host_place host, const known_peer &known, const path_group_rows &rows);
    void add_use(host_place host, known_peer &known, unsigned worker);
    void share_uses(std::uint32_t leaf);
    void drop(host_place host, std::uint64_t profile, std::optional<unsigned> worker);
    void forget(std::span<const host_place> hosts, std::span<const group_key> groups);
    void recycle_rows();

    const daemon_config &config_;
    const fabric_rules &rules_;
    kernel::peer_rows &rows_;
    const worker_crew &workers_;
    std::uint32_t payload_bytes_;
    path_groups groups_;
    std::map<host_place, known_peer> peers_;
    std::vector<std::unique_ptr<datapath::own_host>> own_; // by worker
    std::mutex following_;                                 // what follows
    std::map<host_place, conditions> conditions_;          // of peers with a word of any worker's
    std::uint32_t last_number_ = 0;                        // of a peer
    std::function<void()> on_unused_;
    std::vector<peer_hold> listed_; // by hold_all_if_small(); the first to go
};

} // namespace mrc::service
