// SPDX-License-Identifier: Apache-2.0
// Peers and paths of the fabric that the paper describes: 8 planes, 512 leaves of 256 hosts, 256 spines a plane. What
// is held has rows, what is not gives them back; of kernel and worker there are the tables and a worker without thread.
#include "service/peer_directory.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "service/srv6_fabric.h"
#include "unit/datapath/queue_pair_in_memory.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::service
{
namespace
{

constexpr std::uint8_t planes = 8;
constexpr std::uint32_t leaves = 512;
constexpr std::uint32_t hosts_per_leaf = 256;
constexpr std::uint32_t paths = 32; // of 256 uplinks
constexpr std::uint32_t rows_of_a_leaf = planes * paths;
constexpr host_place self{.leaf = 300, .downlink = 17};

daemon_config config_of(const table_options &tables)
{
    daemon_config config;
    config.fabric.planes = planes;
    config.fabric.leaves = leaves;
    config.fabric.uplinks = 256;
    config.fabric.paths = paths;
    config.fabric.hosts_per_leaf = hosts_per_leaf;
    config.host.leaf = self.leaf;
    config.host.downlink = self.downlink;
    config.tables = tables;
    return config;
}

// As the kernel's map: full at its size.
struct limited_rows final : kernel::peer_rows {
    explicit limited_rows(std::size_t most) : room{most} {}
    [[nodiscard]] bool set_peer(const mrc_ip &address, const mrc_peer_row &peer) override
    {
        const std::string key = to_text(address);
        if (rows.size() == room && !rows.contains(key))
            return false;
        rows[key] = peer;
        return true;
    }
    void remove_peer(const mrc_ip &address) override { rows.erase(to_text(address)); }
    void set_peer_planes(const mrc_ip &, std::uint8_t) override {}
    bool set_paths(std::uint32_t first_row, const mrc_paths_in_use &of) override
    {
        paths[first_row] = of;
        return true;
    }
    void remove_paths(std::uint32_t first_row) override { paths.erase(first_row); }

    std::size_t room;
    std::map<std::string, mrc_peer_row> rows;
    std::map<std::uint32_t, mrc_paths_in_use> paths;
};

struct no_effects final : control::profile_effects {
    void set_denied(std::uint64_t, std::span<const control::path_verdict>) override {}
    void universe_changed(std::uint64_t) override {}
    void gone_offline(std::uint64_t) override {}
    void on_event(const session::ev_event &) override {}
};

class directory_in_memory
{
public:
    explicit directory_in_memory(const table_options &with, unsigned size = 1)
        : config{config_of(with)}, rules{config},
          tables{.host = {},
                 .ports = {},
                 .next_hops = {},
                 .paths = test::table_in_memory<mrc_path_row>(*with.paths + 1),
                 .signals = test::table_in_memory<mrc_signal_row>(*with.paths + 1),
                 .qps = test::table_in_memory<mrc_qp_row>(MRC_MAX_QPS),
                 .overlay = test::table_in_memory<mrc_overlay_row>(MRC_MAX_GROUPS),
                 .loops = {},
                 .loop_arrivals = {},
                 .fabric_faults = {},
                 .events = {},
                 .workers = {}},
          rows{std::size_t{with.peers} * (planes + 1)}, workers{size, 0},
          peers{config, rules, tables, rows, workers, states, 1024}
    {
        for (unsigned number = 0; number < size; ++number) {
            workers.ports(number).local.up = protocol::plane_mask{0xff};
            workers.add({}, {.sockets = &sockets,
                             .engines = std::vector<datapath::transmit_engine *>(MRC_MAX_PORTS, &engine),
                             .paths = &tables.paths,
                             .qps = &tables.qps,
                             .overlay = &tables.overlay,
                             .write_verdict = [](std::uint32_t, std::uint64_t) { return false; },
                             .on_peer_change = {},
                             .on_path_state = {},
                             .on_batch_done = {},
                             .number = number,
                             .states = &states});
        }
    }

    [[nodiscard]] mrc_ip address(std::uint32_t leaf, std::uint32_t downlink) const
    {
        return rules.address_of(host_place{.leaf = leaf, .downlink = downlink});
    }
    // As control_service does it.
    [[nodiscard]] std::expected<held_peer, peer_refusal> hold(std::uint32_t leaf, std::uint32_t downlink)
    {
        auto held = peers.hold(address(leaf, downlink));
        if (!held && held.error().is_full) {
            (void)peers.release_unused(true);
            held = peers.hold(address(leaf, downlink));
        }
        return held;
    }
    [[nodiscard]] std::size_t path_rows_in_use() const
    {
        std::size_t used = 0;
        for (std::size_t row = 0; row < tables.paths.size(); ++row)
            used += tables.paths[row].state != MRC_PATH_UNUSED ? 1 : 0;
        return used;
    }

    daemon_config config;
    srv6_fabric rules;
    kernel::host_tables tables;
    limited_rows rows;
    test::counting_engine engine;
    std::vector<std::unique_ptr<kernel::xsk_socket_pair>> sockets;
    datapath::shared_path_states states{tables.paths};
    worker_crew workers;
    peer_directory peers;
};

TEST(peer_directory, every_endpoint_of_a_cluster_can_be_spoken_to_in_one_life)
{
    constexpr std::uint32_t at_once = 4096;
    directory_in_memory here{{.peers = at_once, .paths = leaves * rows_of_a_leaf}};
    std::set<std::uint32_t> numbers;
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
        for (std::uint32_t downlink = 0; downlink < hosts_per_leaf; ++downlink) {
            if (host_place{.leaf = leaf, .downlink = downlink} == self)
                continue;
            const auto held = here.hold(leaf, downlink);
            ASSERT_TRUE(held) << held.error().text;
            numbers.insert(held->peer.number);
            ASSERT_LE(here.rows.rows.size(), at_once * (planes + 1));
        }
    EXPECT_EQ(numbers.size(), leaves * hosts_per_leaf - 1) << "none is taken for another";
    (void)here.peers.release_unused(true);
    EXPECT_TRUE(here.rows.rows.empty());
    EXPECT_EQ(here.path_rows_in_use(), 0u);
    EXPECT_FALSE(here.peers.any_unused());
}

// Each worker knows paths and peers by itself; what controllers and the peer say all of them know.
TEST(peer_directory, each_worker_has_its_own_view_of_a_peer)
{
    directory_in_memory here{{.peers = 8, .paths = 4 * rows_of_a_leaf}, 3};
    no_effects effects;
    control::ev_format_store formats{{}};
    control::ev_profile_store profiles{{}, {.planes = planes, .uplinks = 256}, formats, effects};
    const mrc_ip peer = here.address(1, 0);
    {
        const auto first = here.peers.hold(peer, session::built_in_profile, profiles, 0);
        const std::array denied{control::path_verdict{.where = {.plane = 1, .uplink = 2}, .denied = true}};
        here.peers.set_denied(session::built_in_profile, denied);
        const auto last = here.peers.hold(peer, session::built_in_profile, profiles, 2);
        ASSERT_TRUE(first && last);
        EXPECT_NE(first->peer.paths, last->peer.paths);
        EXPECT_NE(first->peer.planes, last->peer.planes);
        EXPECT_EQ(first->peer.number, last->peer.number);
        EXPECT_EQ(here.path_rows_in_use(), rows_of_a_leaf) << "the rows are all workers'";
        EXPECT_EQ(here.workers.first().connected().peers().size(), 1U) << "who tells it of this host's ports";
        std::size_t left = 0;
        for (unsigned slot = 0; slot < last->peer.paths->size(); ++slot) {
            EXPECT_EQ(last->peer.paths->path(slot).entropy, first->peer.paths->path(slot).entropy);
            EXPECT_EQ(last->peer.paths->state(slot), first->peer.paths->state(slot)) << slot;
            left += last->peer.paths->state(slot) == protocol::path_state::denied ? 1 : 0;
        }
        EXPECT_EQ(left, 1U) << "what was denied before";
        here.peers.spread_ports(peer, protocol::plane_mask{0b101});
        EXPECT_EQ(last->peer.ports->peer_ports(), protocol::plane_mask{0b101});
        EXPECT_NE(first->peer.ports->peer_ports(), protocol::plane_mask{0b101}) << "who has been told by the peer";
        // By whichever address a worker knows the host, it has one name.
        std::vector<std::string> told;
        const auto tell = [&](const mrc_ip &host, const peer_condition &) { told.push_back(to_text(host)); };
        here.peers.follow(2, last->peer, tell);
        const auto on_a_plane = here.rules.address_of({.leaf = 1, .downlink = 0}, protocol::plane_index{3});
        ASSERT_TRUE(on_a_plane);
        datapath::worker_peer by_plane = last->peer;
        by_plane.address = *on_a_plane;
        here.peers.follow(2, by_plane, tell);
        EXPECT_EQ(told, std::vector(2, to_text(peer)));
    }
    EXPECT_TRUE(here.workers.first().connected().peers().empty());
    (void)here.peers.release_unused(true);
    EXPECT_EQ(here.path_rows_in_use(), 0U);
}

// The neighbours of a host on its leaf tell whether a silence is its own link's or a path's: a worker with queue pairs
// to one asks those that others have queue pairs to.
TEST(peer_directory, workers_ask_all_hosts_of_a_leaf_that_is_theirs)
{
    directory_in_memory here{{.peers = 8, .paths = 4 * rows_of_a_leaf}, 4};
    no_effects effects;
    control::ev_format_store formats{{}};
    control::ev_profile_store profiles{{}, {.planes = planes, .uplinks = 256}, formats, effects};
    const auto hold = [&](std::uint32_t leaf, std::uint32_t downlink, unsigned worker) {
        return here.peers.hold(here.address(leaf, downlink), session::built_in_profile, profiles, worker);
    };
    // Besides those that its own queue pairs would ask; here nothing connects any.
    const auto asked = [&](unsigned worker) {
        std::set<std::string> hosts;
        for (const auto &known : here.workers[worker].connected().peers())
            hosts.insert(to_text(known.peer.address));
        return hosts;
    };
    using texts = std::set<std::string>;
    const std::string one = to_text(here.address(1, 0));
    const std::string two = to_text(here.address(1, 7));
    const auto other_leaf = hold(2, 0, 3);
    auto first = hold(1, 0, 1);
    EXPECT_EQ(asked(1), texts{}) << "nobody else has queue pairs there";
    auto second = hold(1, 7, 2);
    ASSERT_TRUE(other_leaf && first && second);
    EXPECT_EQ(asked(1), texts{two});
    EXPECT_EQ(asked(2), texts{one});
    EXPECT_EQ(asked(3), texts{}) << "whose leaf is another";
    EXPECT_EQ(asked(0), (texts{one, two, to_text(here.address(2, 0))})) << "the first tells all of this host's ports";
    const auto again = hold(1, 7, 1);
    EXPECT_EQ(asked(2), texts({one, two}));
    second = std::unexpected{peer_refusal{}};
    EXPECT_EQ(asked(1), texts{}) << "its own queue pairs ask the second";
    EXPECT_EQ(asked(2), texts{}) << "without queue pairs there";
    first = std::unexpected{peer_refusal{}};
    EXPECT_EQ(asked(0), (texts{two, to_text(here.address(2, 0))}));
}

TEST(peer_directory, sessions_spread_over_the_workers)
{
    directory_in_memory here{{.peers = 8, .paths = 4 * rows_of_a_leaf}, 3};
    std::vector<worker_crew::seat> seats;
    std::array<unsigned, 3> seated{};
    for (unsigned n = 0; n < 7; ++n) {
        seats.emplace_back(here.workers);
        ++seated.at(seats.back().number());
    }
    EXPECT_EQ(seated, (std::array{2U, 2U, 3U})) << "the first has the host's business besides";
    const unsigned gone = seats[1].number();
    seats.erase(seats.begin() + 1);
    const worker_crew::seat one{here.workers};
    const worker_crew::seat two{here.workers};
    EXPECT_TRUE(one.number() == gone || two.number() == gone);
}

TEST(peer_directory, four_thousand_peers_on_eight_planes_at_once)
{
    constexpr std::uint32_t most = 4096;
    directory_in_memory here{{.peers = most, .paths = leaves * rows_of_a_leaf}};
    std::vector<held_peer> held;
    for (std::uint32_t n = 0; n < most; ++n) {
        auto peer = here.hold(n % 256, n / 256);
        ASSERT_TRUE(peer) << peer.error().text;
        held.push_back(std::move(*peer));
    }
    EXPECT_EQ(here.rows.rows.size(), most * (planes + 1));
    const auto refused = here.hold(400, 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text, "all 4096 peers are in use; a larger tables.peers makes room");
    EXPECT_TRUE(here.hold(255, 15)) << "one of them";
    held.pop_back();
    EXPECT_TRUE(here.hold(400, 0));
}

TEST(peer_directory, all_leaves_at_once_by_some_of_their_uplinks)
{
    directory_in_memory here{{.peers = leaves, .paths = leaves * rows_of_a_leaf}};
    std::vector<held_peer> held;
    std::set<std::uint32_t> rows;
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        auto peer = here.hold(leaf, 0);
        ASSERT_TRUE(peer) << peer.error().text;
        const protocol::path_group &group = *peer->peer.paths;
        const mrc_peer_row row = here.rows.rows.at(to_text(here.address(leaf, 0)));
        ASSERT_EQ(row.chosen, leaf == self.leaf ? 0 : 1);
        ASSERT_EQ(group.size(), row.uplinks * planes);
        ASSERT_EQ(here.rows.paths.at(row.group_base).rows, group.size());
        ASSERT_EQ(here.rows.paths.at(row.group_base).group, leaf);
        ASSERT_EQ(row.address, to_text(here.address(leaf, 0)));
        for (unsigned slot = 0; slot < group.size(); ++slot) {
            const protocol::path_choice path = group.path(slot);
            const mrc_path_row &of = here.tables.paths[path.index.value];
            ASSERT_TRUE(rows.insert(path.index.value).second) << "two paths on one row";
            ASSERT_EQ(of.group, leaf);
            ASSERT_EQ(of.ev, path.entropy.value);
            ASSERT_EQ(of.uplink, mrc_ev_uplink(path.entropy.value));
            // As host_rx finds it: bpf/path_row.h.
            ASSERT_EQ(row.group_base + of.plane * row.uplinks + (of.uplink & (row.uplinks - 1u)), path.index.value);
        }
        held.push_back(std::move(*peer));
    }
    EXPECT_EQ(rows.size(), (leaves - 1) * rows_of_a_leaf + planes);
    EXPECT_EQ(here.rows.paths.size(), leaves);
}

TEST(peer_directory, a_leaf_for_whose_paths_there_is_no_room_is_refused)
{
    directory_in_memory here{{.peers = 10, .paths = 2 * rows_of_a_leaf}};
    auto first = here.hold(1, 0);
    const auto second = here.hold(2, 0);
    ASSERT_TRUE(first && second);
    const auto refused = here.hold(3, 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text,
              "all 512 path rows are in use; a larger tables.paths, or a smaller fabric.paths, makes room");
    EXPECT_TRUE(here.hold(1, 5)) << "another host of a leaf in use";
    first = std::unexpected{peer_refusal{}};
    EXPECT_TRUE(here.hold(3, 0));
}

// Who comes back soon finds its paths as they were.
TEST(peer_directory, what_is_unused_stays_until_the_second_look)
{
    directory_in_memory here{{.peers = 10, .paths = 4 * rows_of_a_leaf}};
    unsigned unused = 0;
    here.peers.call_when_unused([&] { ++unused; });
    std::uint32_t number = 0;
    {
        const auto held = here.hold(1, 0);
        const auto again = here.hold(1, 0);
        ASSERT_TRUE(held && again);
        number = held->peer.number;
        held->peer.paths->deny(3);
    }
    EXPECT_EQ(unused, 1u);
    EXPECT_TRUE(here.peers.release_unused(false).peers.empty());
    {
        const auto held = here.hold(1, 0);
        ASSERT_TRUE(held);
        EXPECT_EQ(held->peer.number, number);
        EXPECT_EQ(held->peer.paths->state(3), protocol::path_state::denied);
        EXPECT_TRUE(here.peers.release_unused(true).peers.empty()) << "it is held";
    }
    EXPECT_TRUE(here.peers.release_unused(false).peers.empty());
    const peer_directory::released gone = here.peers.release_unused(false);
    ASSERT_EQ(gone.peers.size(), 1u);
    EXPECT_EQ(to_text(gone.peers.front()), to_text(here.address(1, 0)));
    EXPECT_EQ(gone.groups, (std::vector{group_key{.leaf = 1}}));
    EXPECT_TRUE(here.rows.rows.empty());
    EXPECT_EQ(here.path_rows_in_use(), 0u);
    const auto held = here.hold(1, 0);
    ASSERT_TRUE(held);
    EXPECT_NE(held->peer.number, number) << "nothing of the old one is taken for the new one's";
    EXPECT_EQ(held->peer.paths->state(3), protocol::path_state::good);
}

TEST(peer_directory, a_leaf_keeps_its_rows_until_its_last_host_goes)
{
    directory_in_memory here{{.peers = 10, .paths = 4 * rows_of_a_leaf}};
    const auto stays = here.hold(1, 0);
    ASSERT_TRUE(stays && here.hold(1, 1));
    const peer_directory::released gone = here.peers.release_unused(true);
    EXPECT_EQ(gone.peers.size(), 1u);
    EXPECT_TRUE(gone.groups.empty());
    EXPECT_EQ(here.path_rows_in_use(), rows_of_a_leaf);
    EXPECT_EQ(here.rows.rows.size(), planes + 1u);
}

// A packet that waits for its engine names a row: it must not become another's meanwhile.
TEST(peer_directory, rows_are_nobodys_while_packets_wait)
{
    directory_in_memory here{{.peers = 10, .paths = rows_of_a_leaf}};
    ASSERT_TRUE(here.hold(1, 0));
    here.engine.waiting = 1;
    const auto refused = here.hold(2, 0);
    EXPECT_FALSE(refused);
    EXPECT_EQ(here.path_rows_in_use(), 0u) << "what waits is refused";
    EXPECT_TRUE(here.peers.any_unused()) << "somebody has to look again";
    here.engine.waiting = 0;
    EXPECT_TRUE(here.hold(2, 0));
}

TEST(peer_directory, signals_are_not_those_of_whoever_had_the_row)
{
    directory_in_memory here{{.peers = 10, .paths = rows_of_a_leaf}};
    ASSERT_TRUE(here.hold(1, 0));
    here.tables.signals[1].packets = 9;
    const auto held = here.hold(2, 0);
    ASSERT_TRUE(held);
    EXPECT_EQ(here.tables.paths[1].group, 2u);
    EXPECT_EQ(here.tables.signals[1].packets, 0u);
}

TEST(peer_directory, an_automatic_profile_has_rows_for_its_evs_only)
{
    directory_in_memory here{{.peers = 10, .paths = 4 * rows_of_a_leaf}};
    const session::profile_limits limits{};
    no_effects effects;
    control::ev_format_store formats{limits};
    control::ev_profile_store profiles{limits, {.planes = planes, .uplinks = 256}, formats, effects};
    control::ev_profile_change make{.state = static_cast<std::uint32_t>(session::profile_state::offline),
                                    .mode = static_cast<std::uint32_t>(session::ev_mode::automatic),
                                    .count = planes * 4,
                                    .min_active = 1,
                                    .event_mask = 0};
    ASSERT_TRUE(profiles.modify(5, make, std::nullopt).result);
    ASSERT_TRUE(
        profiles.modify(5, {.state = static_cast<std::uint32_t>(session::profile_state::online)}, std::nullopt).result);
    {
        const auto held = here.peers.hold(here.address(1, 0), 5, profiles, 0);
        ASSERT_TRUE(held) << held.error().text;
        const protocol::path_group &group = *held->peer.paths;
        ASSERT_EQ(group.size(), planes * 4u);
        EXPECT_EQ(here.path_rows_in_use(), rows_of_a_leaf + planes * 4);
        for (unsigned slot = 0; slot < group.size(); ++slot)
            EXPECT_EQ(group.slot_of(group.path(slot).entropy), slot);
        // What arrives on paths that both have is known by the profile's own.
        for (std::uint32_t row = 1; row <= rows_of_a_leaf; ++row)
            if (const auto slot = group.slot_at(protocol::path_index{row})) {
                EXPECT_EQ(group.path(*slot).plane.value, here.tables.paths[row].plane);
                EXPECT_EQ(mrc_ev_uplink(group.path(*slot).entropy.value), here.tables.paths[row].uplink);
            }
    }
    const peer_directory::released gone = here.peers.release_unused(true);
    EXPECT_EQ(gone.groups.size(), 2u);
    EXPECT_EQ(here.path_rows_in_use(), 0u);
}

TEST(peer_directory, controllers_deny_paths_of_leaves_that_have_them)
{
    directory_in_memory here{{.peers = 10, .paths = 4 * rows_of_a_leaf}};
    const auto one = here.hold(1, 0);
    ASSERT_TRUE(one);
    const mrc_path_row first = here.tables.paths[one->peer.paths->path(0).index.value];
    here.peers.set_denied(session::built_in_profile,
                          std::vector<control::path_verdict>{{.where = {0, first.uplink}, .denied = true}});
    EXPECT_EQ(one->peer.paths->state(0), protocol::path_state::denied);
    for (std::uint32_t leaf = 2; leaf < 5; ++leaf) { // made later
        const auto other = here.hold(leaf, 0);
        ASSERT_TRUE(other);
        const protocol::path_group &group = *other->peer.paths;
        const bool has_it = mrc_ev_uplink(group.path(0).entropy.value) == first.uplink;
        EXPECT_EQ(group.state(0) == protocol::path_state::denied, has_it);
        for (unsigned slot = 1; slot < group.size(); ++slot)
            ASSERT_EQ(group.state(slot), protocol::path_state::good);
    }
    EXPECT_EQ(here.peers.place_of(one->peer.paths->path(5).index)->uplink,
              mrc_ev_uplink(one->peer.paths->path(5).entropy.value));
    EXPECT_EQ(here.peers.place_of(one->peer.paths->path(5).index)->paths, paths);
}

// Uplinks of the group's first plane that are denied.
std::set<unsigned> denied_on_plane_0(const directory_in_memory &here, const protocol::path_group &group)
{
    std::set<unsigned> denied;
    for (unsigned slot = 0; slot < group.uplinks(); ++slot)
        if (group.state(slot) == protocol::path_state::denied)
            denied.insert(here.tables.paths[group.path(slot).index.value].uplink);
    return denied;
}

TEST(peer_directory, leaves_the_paths_that_the_fabric_map_names_and_takes_them_back)
{
    directory_in_memory here{{.peers = 8, .paths = 512}};
    const auto one = here.hold(1, 0);
    ASSERT_TRUE(one);
    const protocol::path_group &group = *one->peer.paths;
    const unsigned first = here.tables.paths[group.path(0).index.value].uplink;
    std::set<left_path> left{left_path{.plane = 0, .uplink = first}};
    for (unsigned uplink = 0; uplink < 256; ++uplink)
        left.insert(left_path{.plane = 0, .uplink = uplink, .leaf = 2});
    here.peers.set_left(left);
    EXPECT_EQ(denied_on_plane_0(here, group), std::set<unsigned>{first}) << "not what is left toward another leaf only";
    const auto other = here.hold(2, 0); // made later
    ASSERT_TRUE(other);
    EXPECT_EQ(denied_on_plane_0(here, *other->peer.paths).size(), group.uplinks() - 1U) << "one stays";

    here.peers.set_denied(session::built_in_profile,
                          std::vector<control::path_verdict>{{.where = {0, first}, .denied = true}});
    here.peers.set_left({});
    EXPECT_EQ(denied_on_plane_0(here, group), std::set<unsigned>{first}) << "a controller's word stays";
    here.peers.set_denied(session::built_in_profile,
                          std::vector<control::path_verdict>{{.where = {0, first}, .denied = false}});
    EXPECT_TRUE(denied_on_plane_0(here, group).empty());
}

TEST(peer_directory, never_leaves_the_last_spines_of_a_plane)
{
    directory_in_memory here{{.peers = 8, .paths = 512}};
    here.config.fabric_map.min_spines = 2;
    const auto one = here.hold(1, 0);
    ASSERT_TRUE(one);
    const protocol::path_group &group = *one->peer.paths;
    std::set<left_path> all;
    for (unsigned uplink = 0; uplink < 256; ++uplink)
        all.insert(left_path{.plane = 0, .uplink = uplink});
    here.peers.set_left(all);
    EXPECT_EQ(denied_on_plane_0(here, group).size(), group.uplinks() - 2);
}

} // namespace
} // namespace mrc::service
