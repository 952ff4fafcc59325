// SPDX-License-Identifier: Apache-2.0
// The path groups that this host uses, with their rows in the `paths` map: one for each leaf in use by the EVs of each
// profile in use there, and of each as many as workers use it. What profiles and controllers make of them. On the
// service thread, but for what a group holds: that is its worker's.
//
// rows of a group                   each plane has a row for
// profile 0                         as many of the fabric's uplinks as fabric.paths says; which, fabric_rules.h says
// automatic profile                 each of its EVs
// listed and generated profile      every uplink: its EVs may be exchanged for any others
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "datapath/shared_path_states.h"
#include "datapath/worker.h"
#include "kernel/host_tables.h"
#include "protocol/paths/path_group.h"
#include "protocol/send/loss_detector.h"
#include "service/control/ev_profile_store.h"
#include "service/fabric_rules.h"
#include "service/left_path.h"
#include "service/path_table.h"
#include "service/use_count.h"
#include "service/worker_crew.h"

namespace mrc::service
{

struct peer_refusal {
    std::string text;
    bool is_full = false; // what nobody uses may make room
};

class path_groups
{
public:
    // All is borrowed and outlives the groups.
    path_groups(const daemon_config &config, const fabric_rules &rules, kernel::host_tables &tables,
                kernel::peer_rows &listing, const worker_crew &workers, datapath::shared_path_states &states);

    // What one worker knows of the paths.
    struct workers_group {
        std::unique_ptr<protocol::path_group> paths{};
        std::unique_ptr<protocol::sack_proofs> proofs{}; // of the queue pairs on these paths
    };
    struct known_group {
        path_group_rows rows;
        std::vector<workers_group> of_worker; // the first's there is always; others without paths do not use it
        protocol::path_group_config terms;    // of further workers'
        unsigned id_part = 0;                 // of the probes' request ids; profile 0 has the first
        std::uint64_t seed = 0;               // of the entropy that is left to this host
        use_count uses;                       // of profile 0: its hosts; of others: queue pairs

        [[nodiscard]] protocol::path_group &paths() const { return *of_worker.front().paths; }
    };
    // What that worker knows of the group; made on first use.
    [[nodiscard]] workers_group &of_worker(known_group &group, unsigned worker);

    // Of profile 0 toward a leaf; made on first use.
    [[nodiscard]] std::expected<known_group *, peer_refusal> to_leaf(std::uint32_t leaf);
    // Of an ONLINE profile other than 0, toward the peer's leaf, whose group of profile 0 there is; made on first use.
    [[nodiscard]] std::expected<known_group *, peer_refusal> of_profile(group_key key,
                                                                        const control::ev_profile_store &profiles);
    [[nodiscard]] known_group *find(group_key key);
    // All that the worker knows of these.
    [[nodiscard]] std::vector<const protocol::path_group *> known_to(unsigned worker, std::span<const group_key> keys);
    // Groups of profiles that nobody has used for a while, or `at_once`, does not use now.
    [[nodiscard]] std::vector<group_key> take_unused(bool at_once);
    // Their rows lead nowhere from now on, and are others' after recycle(). The worker has forgotten them.
    void release(std::span<const group_key> keys);
    [[nodiscard]] bool any_resting() const { return table_.any_resting(); }
    [[nodiscard]] bool any_unused() const; // of profiles, or resting
    void recycle() { table_.recycle(); }
    [[nodiscard]] std::vector<path_group_rows> rows() const;
    // Whether all leaves of the fabric have room together, by profile 0.
    [[nodiscard]] bool room_for_all() const;
    [[nodiscard]] std::uint32_t capacity() const { return table_.capacity() - 1; }

    // An ONLINE profile has other EVs, and queue pairs use it.
    void exchange_evs(std::uint64_t profile, const control::ev_profile_store &profiles);
    [[nodiscard]] std::vector<group_key> of(std::uint64_t profile) const;
    // Paths of a profile that a controller denies or allows again, toward every other leaf; of profile 0 also toward
    // those to come.
    void set_denied(std::uint64_t profile, std::span<const control::path_verdict> verdicts);
    // Paths of profile 0 that this host leaves by itself: these, and no others, toward leaves to come, too. Of each
    // plane toward a leaf so many stay in use as fabric_map.min_spines says, however many are named. What controllers
    // deny stays denied, and what their profiles have is theirs.
    void set_left(std::set<left_path> left);

    // Where a path leads, for whoever hears of its state.
    struct path_location {
        std::uint64_t profile = 0;
        std::uint32_t leaf = 0;
        unsigned plane = 0;
        unsigned uplink = 0;
        unsigned paths = 0; // of this plane, that there are
    };
    [[nodiscard]] std::optional<path_location> place_of(protocol::path_index path) const;
    // Of all paths there are, the worst that a worker finds, asked on their threads.
    [[nodiscard]] std::vector<std::pair<protocol::path_index, protocol::path_condition>> conditions();

private:
    // What a profile says of its groups.
    struct group_terms {
        std::vector<protocol::profile_entry> universe; // in rows; empty: an EV for every path
        unsigned min_active = 1;
        unsigned id_part = 0;
        std::uint64_t seed = 0;
        const known_group *arrivals = nullptr; // by whose rows packets arrive; null: by the group's own
    };

    [[nodiscard]] std::expected<path_group_rows, peer_refusal> rows_for(group_key key, std::uint32_t uplinks);
    [[nodiscard]] known_group &make(group_key key, const path_group_rows &rows, const group_terms &terms);
    [[nodiscard]] std::vector<std::uint16_t> arrival_slots(const known_group &by, const path_group_rows &rows,
                                                           std::span<const protocol::profile_entry> universe) const;
    [[nodiscard]] std::vector<protocol::profile_entry> built_in_evs(const path_group_rows &rows,
                                                                    std::uint64_t seed) const;
    [[nodiscard]] std::vector<protocol::profile_entry> evs_of(group_key key, std::uint32_t uplinks, std::uint64_t seed,
                                                              const control::ev_profile_store &profiles) const;
    void write_rows(const known_group &group);
    void list(group_key key, const known_group &group);
    void add_to_worker(known_group &group, unsigned worker);
    // Calls task(group, paths of the worker) on each worker's thread, for all groups that it uses.
    template <typename Task>
    void on_all(const Task &task)
    {
        workers_.call_each([&](unsigned number, datapath::worker &) {
            for (auto &[key, group] : groups_)
                if (protocol::path_group *paths = group.of_worker[number].paths.get())
                    task(key, group, *paths);
        });
    }
    [[nodiscard]] std::optional<unsigned> free_id_part(std::uint32_t leaf) const;
    [[nodiscard]] std::uint32_t fabric_uplinks_to(std::uint32_t leaf) const;
    // Denies what a controller or this host denies, and allows the rest, of profile 0; on the worker thread if it runs.
    void apply_denied(std::uint32_t leaf, const path_group_rows &rows, protocol::path_group &paths) const;
    // Nothing: the group has no row for that uplink.
    [[nodiscard]] std::optional<std::uint32_t> slot_of(const path_group_rows &rows, control::path_place where) const;

    const daemon_config &config_;
    const fabric_rules &rules_;
    kernel::host_tables &tables_;
    kernel::peer_rows &listing_; // which of their rows are in use
    const worker_crew &workers_;
    datapath::shared_path_states &states_;
    path_table table_;
    std::map<group_key, known_group> groups_;
    std::map<std::uint32_t, group_key> by_base_;     // first row
    std::set<left_path> left_;                       // by this host
    std::set<std::pair<unsigned, unsigned>> denied_; // planes and uplinks of profile 0; the own leaf has no uplinks
};

} // namespace mrc::service
