// SPDX-License-Identifier: Apache-2.0
// The hosts this one can speak to: their path groups, their rows in the `paths` and `peers` maps, their entry in the
// worker.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "datapath/own_host.h"
#include "datapath/worker.h"
#include "kernel/host_tables.h"
#include "protocol/paths/path_group.h"
#include "service/control/ev_profile_store.h"
#include "service/fabric_rules.h"
#include "service/linked_planes.h"
#include "service/path_table.h"
#include "service/transition_log.h"

namespace mrc::service
{

// On the worker thread.
[[nodiscard]] peer_condition condition_of(const datapath::worker_peer &peer);

class peer_directory
{
public:
    // All is borrowed and outlives the directory. `local` are the ports that every group reads, `linked` the planes on
    // which there is a neighbour on the way there.
    peer_directory(const daemon_config &config, const fabric_rules &rules, kernel::host_tables &tables,
                   kernel::peer_rows &rows, datapath::worker &worker, const protocol::local_ports &local,
                   const linked_planes &linked, std::uint32_t payload_bytes);

    // The peer at `address`, any of its own, added on first use; as endpoint operations know it, by IPv6. The error
    // says what is wrong with the address. This host is none: there is no path to it.
    [[nodiscard]] std::expected<datapath::worker_peer, std::string> find_or_add(const mrc_ip &address);
    // What a queue pair is connected to: this host, whatever the profile, or the same peer by the EVs of an ONLINE
    // profile. The path group of a profile other than 0 to the peer's leaf is made on first use and stays until
    // forget_profile().
    [[nodiscard]] std::expected<datapath::worker_peer, std::string>
    find_or_add(const mrc_ip &address, std::uint64_t profile, const control::ev_profile_store &profiles);
    // An ONLINE profile has other EVs, and queue pairs use it.
    void exchange_evs(std::uint64_t profile, const control::ev_profile_store &profiles);
    // No queue pair uses it any longer.
    void forget_profile(std::uint64_t profile);

    // Adds every host of a fabric that is small enough to list, so that the overlay reaches hosts without a queue pair.
    void add_all_if_small();

    // Paths of a profile that a controller denies or allows again, toward every other leaf; of profile 0 also toward
    // those to come.
    void set_denied(std::uint64_t profile, std::span<const control::path_verdict> verdicts);

    // Whose packets from the ports a queue pair takes that is connected to this address of the peer
    // (mrc_peer_row::sender); 0, nobody's, where that is this host.
    [[nodiscard]] std::uint32_t sender_of(const datapath::worker_peer &peer, const mrc_ip &address) const;

    // Where a path leads, for whoever hears of its state.
    struct path_location {
        std::uint64_t profile = 0;
        std::uint32_t leaf = 0;
        unsigned plane = 0;
        unsigned uplink = 0;
        unsigned paths = 0; // of this plane, that there are
    };
    [[nodiscard]] std::optional<path_location> place_of(protocol::path_index path) const;
    // Of all paths there are, asked on the worker thread.
    [[nodiscard]] std::vector<std::pair<protocol::path_index, protocol::path_condition>> path_conditions();
    // Of all peers there are, the planes on which they say to be reached, asked on the worker thread.
    [[nodiscard]] std::vector<std::pair<mrc_ip, peer_condition>> peer_conditions();
    // Queue pairs made from now on share windows that are made by the configuration as it is now; older ones keep
    // theirs.
    void renew_congestion();

    // On the worker thread: the overlay, too, leaves the planes on which the peer cannot be reached.
    void follow_ports(const datapath::worker_peer &peer);

private:
    struct known_peer {
        datapath::worker_peer peer;
        std::unique_ptr<protocol::port_status> ports;
        std::unique_ptr<protocol::peer_planes> planes;
        std::unique_ptr<protocol::congestion_control> congestion;
    };

    [[nodiscard]] std::unique_ptr<protocol::congestion_control> shared_congestion() const; // null: each has its own
    // What a profile says of its groups.
    struct group_terms {
        std::vector<protocol::profile_entry> universe;
        unsigned min_active = 1;
        std::vector<std::uint32_t> denied; // slots
    };
    [[nodiscard]] std::expected<path_group_rows, std::string> rows_for(group_key key);
    struct known_group {
        std::unique_ptr<protocol::path_group> paths;
        std::unique_ptr<protocol::sack_proofs> proofs; // of the queue pairs on these paths
        unsigned id_part = 0;                          // of the probes' request ids; profile 0 has the first
        std::uint64_t seed = 0;                        // of the entropy that is left to this host
    };
    [[nodiscard]] group_terms terms_of(group_key key, const path_group_rows &rows, std::uint64_t seed,
                                       const control::ev_profile_store &profiles) const;
    [[nodiscard]] known_group make_group(const path_group_rows &rows, const group_terms &terms, unsigned id_part) const;
    void write_rows(const path_group_rows &rows, const protocol::path_group &group);
    [[nodiscard]] std::expected<protocol::path_group *, std::string> group_for(std::uint32_t leaf);
    [[nodiscard]] std::expected<protocol::path_group *, std::string>
    profile_group_for(const datapath::worker_peer &peer, group_key key, const control::ev_profile_store &profiles);
    [[nodiscard]] std::optional<unsigned> free_id_part(std::uint32_t leaf) const;
    [[nodiscard]] std::uint32_t slot_of(control::path_place where) const;
    // Whether its host's MRC comes from there, and not only what carries it.
    [[nodiscard]] bool sends_from(const mrc_ip &address) const;
    // False when the `peers` map is full; nothing of this host is in it then.
    [[nodiscard]] bool add(host_place host, protocol::path_group &group, const path_group_rows &rows);

    const daemon_config &config_;
    const fabric_rules &rules_;
    kernel::host_tables &tables_;
    kernel::peer_rows &rows_;
    datapath::worker &worker_;
    const protocol::local_ports &local_;
    const linked_planes &linked_;
    std::uint32_t payload_bytes_;
    path_table table_;
    std::map<group_key, known_group> groups_;
    std::map<host_place, known_peer> peers_;
    datapath::own_host own_;
    std::vector<std::unique_ptr<protocol::congestion_control>> retired_; // queue pairs may have them still
    std::set<std::uint32_t> denied_; // slots of a group, but of the own leaf's, which has no uplinks
};

} // namespace mrc::service
