// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <set>

#include "protocol/random_source.h"
#include "unit/protocol/paths/path_group_fixture.h"

namespace mrc::protocol
{
namespace
{

TEST_F(path_group_test, maps_evs_to_rows_and_back)
{
    path_group group{four_by(8), local};
    std::set<std::uint32_t> evs;
    for (unsigned slot = 0; slot < group.size(); ++slot) {
        const path_choice path = group.path(slot);
        EXPECT_EQ(path.index.value, 100 + slot);
        EXPECT_EQ(mrc_ev_plane(path.entropy.value), slot / 8);
        EXPECT_EQ(mrc_ev_uplink(path.entropy.value), slot % 8);
        EXPECT_NE(path.entropy.value, 0u);
        EXPECT_EQ(group.slot_of(path.entropy), slot);
        EXPECT_EQ(group.slot_at(path.index), slot);
        evs.insert(path.entropy.value);
    }
    EXPECT_EQ(evs.size(), 32u);
    EXPECT_FALSE(group.slot_of(ev{group.path(3).entropy.value ^ 1u << 20})) << "entropy that was never used";
    EXPECT_FALSE(group.slot_of(ev{mrc_ev_make(5, 0, 1)}));
    EXPECT_FALSE(group.slot_at(path_index{99}));
    EXPECT_FALSE(group.slot_at(path_index{132}));
}

TEST_F(path_group_test, every_plane_has_the_same_number_of_active_paths)
{
    const path_group group{four_by(8, 3), local};
    for (unsigned plane = 0; plane < 4; ++plane)
        EXPECT_EQ(active_paths(group, plane), 3u);
}

// Direct mode: a plane that is one cable has as many EVs as fabric.paths says. States are the EVs'.
TEST_F(path_group_test, evs_that_share_their_links_have_states_of_their_own)
{
    path_group_config one_cable = four_by(4);
    one_cable.planes = 1;
    path_group group{one_cable, local};
    group.on_loss(2, instant{1s});
    group.on_loss(2, instant{1s});
    group.deny(3);
    EXPECT_EQ(group.state(2), path_state::assumed_bad);
    EXPECT_EQ(group.state(3), path_state::denied);
    for (const unsigned other : {0u, 1u})
        EXPECT_EQ(group.state(other), path_state::good);
    for (unsigned slot = 0; slot < 4; ++slot)
        EXPECT_EQ(group.slot_of(group.path(slot).entropy), slot) << "answers tell them apart";
    EXPECT_EQ(paths_in_use(group, 0), 2u);
}

// Direct mode: the neighbour on the way to one peer may be gone while the port serves others.
TEST_F(path_group_test, a_plane_without_a_neighbour_on_the_way_is_not_usable)
{
    plane_mask linked{0b1011};
    const path_group group{four_by(2), local, linked};
    const path_group other{four_by(2), local};
    EXPECT_EQ(group.usable().bits(), local.usable().bits() & 0b1011u);
    EXPECT_EQ(other.usable().bits(), local.usable().bits() & 0b1111u);
    linked.set(plane_index{2}, true);
    EXPECT_EQ(group.usable(), other.usable()) << "one store, and it is back";
    local.up.set(plane_index{0}, false);
    EXPECT_FALSE(group.usable().has(plane_index{0})) << "the port is everybody's";
}

// The table of path_group.h.
TEST_F(path_group_test, walks_the_table)
{
    path_group group{four_by(4), local};
    const auto expect_change = [&](unsigned slot, path_state from, path_state to) {
        const auto change = group.next_transition();
        ASSERT_TRUE(change);
        EXPECT_EQ(change->path, group.path(slot).index);
        EXPECT_EQ(change->entropy, group.path(slot).entropy);
        EXPECT_EQ(change->from, from);
        EXPECT_EQ(change->to, to);
        EXPECT_EQ(group.state(slot), to);
    };
    group.on_always_skip(1, start);
    expect_change(1, path_state::good, path_state::assumed_bad);
    group.on_loss(2, start);
    EXPECT_EQ(group.state(2), path_state::good) << "one loss costs a turn, not the path";
    group.on_loss(2, start);
    expect_change(2, path_state::good, path_state::assumed_bad);
    group.on_silence(8, start, start);
    expect_change(8, path_state::good, path_state::assumed_bad);
    EXPECT_TRUE(group.silenced(8));
    EXPECT_FALSE(group.silenced(2));
    group.on_unanswered(12, start, start);
    EXPECT_EQ(group.state(12), path_state::good);
    group.on_unanswered(12, start, start);
    expect_change(12, path_state::good, path_state::assumed_bad);
    group.deny(2);
    expect_change(2, path_state::assumed_bad, path_state::denied);
    group.on_always_skip(2, start);
    group.on_silence(2, start, start);
    EXPECT_EQ(group.state(2), path_state::denied) << "only the controller brings it back";
    group.allow(2);
    expect_change(2, path_state::denied, path_state::good);
    group.allow(8);
    EXPECT_EQ(group.state(8), path_state::assumed_bad);
    EXPECT_FALSE(group.next_transition());
}

// EVs of some uplinks on each of four planes.
std::vector<profile_entry> evs_of(const std::vector<unsigned> &uplinks, unsigned of, std::uint32_t entropy = 1)
{
    std::vector<profile_entry> evs;
    for (std::uint8_t plane = 0; plane < 4; ++plane)
        for (const unsigned uplink : uplinks)
            evs.push_back({ev{mrc_ev_make(plane, uplink, entropy)}, plane_index{plane},
                           static_cast<std::uint16_t>(plane * of + uplink)});
    return evs;
}

path_group_config listed(const std::vector<unsigned> &uplinks, unsigned of, unsigned active = 0)
{
    path_group_config config = four_by(of, active);
    config.universe = evs_of(uplinks, of);
    return config;
}

TEST_F(path_group_test, exchanged_evs_are_drawn_and_the_old_ones_still_known)
{
    path_group group{listed({0, 1}, 4), local};
    group.exchange(evs_of({1, 3}, 4), {});
    for (unsigned plane = 0; plane < 4; ++plane) {
        EXPECT_EQ(paths_in_use(group, plane), 2u);
        const unsigned first = plane * 4;
        EXPECT_FALSE(group.exists(first));
        EXPECT_EQ(group.state(first), path_state::denied);
        EXPECT_EQ(group.state(first + 3), path_state::good);
        EXPECT_EQ(group.slot_of(ev{mrc_ev_make(plane, 0, 1)}), first) << "a packet may be under way";
        EXPECT_EQ(group.slot_of(ev{mrc_ev_make(plane, 3, 1)}), first + 3);
    }
    EXPECT_EQ(group.good_planes(), plane_mask{0xF});
    group.allow(0);
    EXPECT_EQ(group.state(0), path_state::denied) << "there is no EV for it";
}

TEST_F(path_group_test, a_path_keeps_its_health_under_another_ev)
{
    path_group group{listed({0, 1, 2}, 4), local};
    group.on_silence(1, start, start);
    group.deny(2);
    ASSERT_EQ(group.state(1), path_state::assumed_bad);
    group.exchange(evs_of({0, 1, 2}, 4, 9), {5});
    EXPECT_EQ(group.state(1), path_state::assumed_bad);
    EXPECT_EQ(group.state(2), path_state::good) << "the new EV is not denied";
    EXPECT_EQ(group.state(5), path_state::denied) << "and this one is";
    EXPECT_EQ(group.slot_of(ev{mrc_ev_make(0, 1, 1)}), 1u);
    EXPECT_EQ(group.slot_of(ev{mrc_ev_make(0, 1, 9)}), 1u);
    group.exchange(evs_of({0, 1, 2}, 4, 10), {});
    EXPECT_FALSE(group.slot_of(ev{mrc_ev_make(0, 1, 1)})) << "the last but one";
}

// Whatever was exchanged, blamed and denied: each plane has its active paths once, those with an EV are counted right,
// and nothing without an EV is in use.
TEST_F(path_group_test, keeps_its_books_through_random_exchanges)
{
    constexpr unsigned uplinks = 8;
    constexpr unsigned active = 3;
    path_group group{listed({0, 1, 2, 3, 4}, uplinks, active), local};
    random_source random{7};
    instant now = start;
    for (unsigned round = 0; round < 2000; ++round) {
        now += 10us;
        const unsigned slot = random.below(4 * uplinks);
        switch (random.below(5)) {
        case 0: {
            std::vector<unsigned> chosen{0, 1, 2, 3, 4, 5, 6, 7};
            for (unsigned i = 0; i < 5; ++i)
                std::swap(chosen[i], chosen[i + random.below(uplinks - i)]);
            chosen.resize(5);
            group.exchange(evs_of(chosen, uplinks, 1 + round), {random.below(4 * uplinks)});
            break;
        }
        case 1:
            group.on_silence(slot, now, now);
            break;
        case 2:
            group.deny(slot);
            break;
        case 3:
            group.allow(slot);
            break;
        default:
            group.on_delivered(slot, now);
        }
        for (unsigned plane = 0; plane < 4; ++plane) {
            std::set<unsigned> slots;
            unsigned usable = 0;
            for (unsigned position = 0; position < active; ++position) {
                const std::uint16_t at = group.active_slot(plane_index{static_cast<std::uint8_t>(plane)}, position);
                slots.insert(at);
                usable += group.in_use(at) ? 1 : 0;
                ASSERT_TRUE(group.active(at)) << round;
            }
            ASSERT_EQ(slots.size(), active) << round;
            ASSERT_EQ(active_paths(group, plane), active) << round;
            ASSERT_EQ(group.good_planes().has(plane_index{static_cast<std::uint8_t>(plane)}), usable != 0) << round;
        }
        for (unsigned any = 0; any < group.size(); ++any)
            ASSERT_TRUE(group.exists(any) || group.state(any) == path_state::denied) << round;
    }
}

TEST_F(path_group_test, probes_bring_a_path_back)
{
    path_group group{four_by(2), local};
    group.on_silence(2, start, start);
    ASSERT_EQ(group.state(2), path_state::assumed_bad);
    for (int answer = 0; answer < 3; ++answer) {
        instant now = group.next_deadline();
        auto probe = group.next_packet(now);
        while (!probe) {
            now = group.next_deadline();
            ASSERT_LT(now, start + 1s);
            probe = group.next_packet(now);
        }
        EXPECT_EQ(probe->path, group.path(2).index);
        const auto &request = std::get<endpoint_request_packet>(probe->content);
        EXPECT_EQ(request.operation, MRC_EP_EV_PROBE);
        arrival how;
        how.at = now + 40us;
        how.path = probe->path;
        group.on_packet({.request_id = request.request_id}, how);
    }
    EXPECT_EQ(group.state(2), path_state::good);
    EXPECT_FALSE(group.silenced(2));
    EXPECT_EQ(group.next_deadline(), never);
}

TEST_F(path_group_test, deliveries_disprove_silence_but_not_losses)
{
    path_group group{four_by(4), local};
    group.on_silence(0, start, start);
    group.on_loss(4, start);
    group.on_loss(4, start);
    for (int i = 0; i < 3; ++i) {
        group.on_delivered(0, start + 1us);
        group.on_delivered(4, start + 1us);
    }
    EXPECT_EQ(group.state(0), path_state::good);
    EXPECT_EQ(group.state(4), path_state::assumed_bad);
}

TEST_F(path_group_test, backup_of_the_same_plane_takes_over)
{
    path_group group{four_by(8, 3), local};
    const std::uint16_t retired = group.active_slot(plane_index{2}, 1);
    group.on_silence(retired, start, start);
    EXPECT_FALSE(group.active(retired));
    EXPECT_EQ(active_paths(group, 2), 3u);
    EXPECT_EQ(paths_in_use(group, 2), 3u);
    EXPECT_EQ(group.path(group.active_slot(plane_index{2}, 1)).plane, plane_index{2});
    // All backups used up: the plane has fewer, and takes the first that comes back.
    for (int i = 0; i < 5; ++i)
        group.on_silence(group.active_slot(plane_index{2}, 0), start, start);
    EXPECT_EQ(paths_in_use(group, 2), 2u);
    group.deny(retired);
    group.allow(retired);
    EXPECT_EQ(paths_in_use(group, 2), 3u);
    EXPECT_TRUE(group.active(retired));
}

TEST_F(path_group_test, floors_hold)
{
    path_group group{four_by(4), local};
    for (unsigned slot = 0; slot < 4; ++slot) {
        group.on_loss(slot, start);
        group.on_loss(slot, start);
    }
    EXPECT_EQ(paths_in_use(group, 0), 2u) << "loss takes at most half of a plane";
    for (unsigned slot = 0; slot < 16; ++slot)
        group.on_silence(slot, start, start);
    unsigned good = 0;
    for (unsigned slot = 0; slot < 16; ++slot)
        good += group.in_use(slot) ? 1 : 0;
    EXPECT_EQ(good, 1u) << "ev_min_active";
}

// Two paths of a plane lose alike. Whoever sees one of them called good would look for the fault in the other.
TEST_F(path_group_test, what_a_floor_keeps_in_use_is_not_called_good)
{
    path_group group{four_by(2), local};
    for (unsigned slot = 0; slot < 2; ++slot) {
        group.on_loss(slot, start);
        group.on_loss(slot, start);
    }
    EXPECT_EQ(group.state(0), path_state::assumed_bad);
    EXPECT_EQ(group.state(1), path_state::kept);
    EXPECT_TRUE(group.in_use(1));
    EXPECT_TRUE(group.good_planes().has(plane_index{0})) << "packets are sent on it as before";
    EXPECT_EQ(group.state(2), path_state::good) << "other planes are as they were";
}

TEST_F(path_group_test, a_kept_path_is_good_again_after_a_second_without_a_reason)
{
    path_group group{four_by(1), local};
    group.on_loss(0, start);
    group.on_loss(0, start);
    ASSERT_EQ(group.state(0), path_state::kept);
    const auto kept = group.next_transition();
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->to, path_state::kept);
    EXPECT_EQ(group.next_deadline(), start + 1s);
    group.on_loss(0, start + 600ms); // once more: the second begins anew
    (void)group.next_packet(start + 1s);
    EXPECT_EQ(group.state(0), path_state::kept);
    EXPECT_EQ(group.next_deadline(), start + 1600ms);
    (void)group.next_packet(start + 1600ms);
    EXPECT_EQ(group.state(0), path_state::good);
    EXPECT_EQ(group.next_deadline(), never) << "nothing is left to wait for";
    const auto change = group.next_transition();
    ASSERT_TRUE(change);
    EXPECT_EQ(change->to, path_state::good);
}

TEST_F(path_group_test, a_kept_path_is_retired_when_the_floor_no_longer_holds_it)
{
    path_group group{four_by(2), local};
    for (unsigned slot : {0u, 0u, 1u, 1u})
        group.on_loss(slot, start);
    ASSERT_EQ(group.state(1), path_state::kept);
    group.allow(0);
    group.deny(0);
    group.allow(0); // the operator brings the other one back
    ASSERT_EQ(group.state(0), path_state::good);
    group.on_loss(1, start + 1ms);
    EXPECT_EQ(group.state(1), path_state::assumed_bad);
}

TEST_F(path_group_test, one_store_loses_a_plane_for_every_group)
{
    path_group one{four_by(2), local};
    path_group other{four_by(2), local};
    local.up.set(plane_index{3}, false);
    EXPECT_EQ(one.usable().bits(), 0b0111u);
    EXPECT_EQ(other.usable().bits(), 0b0111u);
    local.enabled.set(plane_index{1}, false);
    EXPECT_EQ(one.usable().bits(), 0b0101u);
    EXPECT_EQ(other.usable().bits(), 0b0101u);
    one.on_silence(6, start, start);
    EXPECT_EQ(one.state(6), path_state::good) << "a lost port is no path's fault";
}

TEST_F(path_group_test, a_late_reader_learns_of_every_path_that_changed)
{
    path_group group{four_by(64), local};
    for (unsigned slot = 0; slot < group.size(); ++slot)
        group.deny(slot);
    for (int round = 0; round < 200; ++round) {
        group.allow(7);
        group.deny(7);
    }
    for (unsigned slot = 0; slot < group.size(); ++slot) {
        const auto change = group.next_transition();
        ASSERT_TRUE(change);
        EXPECT_EQ(change->path, group.path(slot).index);
        EXPECT_EQ(change->from, path_state::good);
        EXPECT_EQ(change->to, path_state::denied);
    }
    EXPECT_FALSE(group.next_transition());
    group.allow(7);
    group.deny(7);
    EXPECT_FALSE(group.next_transition()) << "it is as it was told";
    group.allow(7);
    const auto back = group.next_transition();
    ASSERT_TRUE(back);
    EXPECT_EQ(back->from, path_state::denied);
    EXPECT_EQ(back->to, path_state::good);
    EXPECT_FALSE(group.next_transition());
}

TEST_F(path_group_test, paths_without_an_ev_are_never_used)
{
    path_group_config config = four_by(4);
    for (unsigned plane = 0; plane < 4; ++plane)
        for (const unsigned uplink : {1u, 3u})
            config.universe.push_back({ev{mrc_ev_make(plane, uplink, 5)}, plane_index{static_cast<std::uint8_t>(plane)},
                                       static_cast<std::uint16_t>(plane * 4 + uplink)});
    config.active_per_plane = 1;
    path_group group{config, local};
    EXPECT_FALSE(group.exists(0));
    EXPECT_FALSE(group.slot_of(ev{0}));
    EXPECT_EQ(group.slot_of(ev{mrc_ev_make(2, 3, 5)}), 11);
    group.allow(0);
    EXPECT_EQ(group.state(0), path_state::denied);
    const unsigned first = group.active_slot(plane_index{1}, 0);
    group.on_silence(first, start, start);
    const unsigned second = group.active_slot(plane_index{1}, 0);
    EXPECT_EQ(first + second, 5u + 7u) << "the backup is the plane's other EV";
    EXPECT_EQ(paths_in_use(group, 1), 1u);
}

TEST_F(path_group_test, one_unanswered_packet_of_a_living_plane_is_weak_evidence)
{
    path_group group{four_by(8), local};
    for (unsigned slot = 0; slot < 32; ++slot)
        group.on_sent(slot, false);
    group.on_delivered(18, start);
    group.on_unanswered(17, start, start + 50us);
    EXPECT_EQ(group.state(17), path_state::good);
    group.on_unanswered(17, start, start + 50us);
    EXPECT_EQ(group.state(17), path_state::assumed_bad) << "two of eight";
    EXPECT_EQ(group.state(16), path_state::good);
}

TEST_F(path_group_test, paths_that_lag_and_deliver_are_not_blamed)
{
    path_group group{four_by(2), local};
    const duration tolerance = 100us;
    group.on_sent(3, false);
    group.on_delivered(0, start + 60us);
    group.on_silence(3, start, start + 300us, tolerance);
    EXPECT_EQ(group.state(3), path_state::good) << "others were known to be so much ahead";
    EXPECT_EQ(group.counters(3).losses, 1u);
    group.on_delivered(3, start + 1us);
    group.on_delivered(0, start + 120us);
    group.on_silence(3, start + 50us, start + 350us, tolerance);
    EXPECT_EQ(group.state(3), path_state::good) << "it has delivered: the silence began later";
    group.on_delivered(0, start + 150us);
    group.on_silence(3, start + 140us, start + 450us, tolerance);
    EXPECT_EQ(group.state(3), path_state::assumed_bad) << "silent since the first complaint, not the last";
}

// A fabric of 256 uplinks, of which the group has four a plane.
TEST_F(path_group_test, evs_of_a_few_uplinks_need_no_rows_for_the_others)
{
    constexpr std::array<unsigned, 4> uplinks{200, 5, 254, 3};
    path_group_config config = four_by(4);
    for (std::uint8_t plane = 0; plane < 4; ++plane)
        for (const unsigned uplink : uplinks)
            config.universe.push_back({ev{mrc_ev_make(plane, uplink, 1)}, plane_index{plane}});
    config.universe = in_rows(config.universe, 4);
    path_group group{config, local};
    EXPECT_EQ(group.size(), 16u);
    for (unsigned plane = 0; plane < 4; ++plane)
        for (unsigned row = 0; row < 4; ++row) {
            const unsigned slot = plane * 4 + row;
            EXPECT_EQ(group.path(slot).entropy, (ev{mrc_ev_make(plane, uplinks[row], 1)}));
            EXPECT_EQ(group.slot_of(group.path(slot).entropy), slot);
        }
    EXPECT_FALSE(group.slot_of(ev{mrc_ev_make(0, 204, 1)})) << "another uplink that would have the same row";
    EXPECT_FALSE(group.slot_of(ev{mrc_ev_make(0, 0, 1)}));
}

// Packets arrive by the rows of profile 0, which may be others, and more or fewer, than a profile's own.
TEST_F(path_group_test, arrivals_by_other_rows_are_known_by_their_slots)
{
    path_group_config config = four_by(2);
    config.base = path_index{500};
    config.arrivals = path_index{100};
    config.arrival_slots = {no_slot, 1, 0, no_slot, 7};
    const path_group group{config, local};
    EXPECT_EQ(group.slot_at(path_index{101}), 1u);
    EXPECT_EQ(group.slot_at(path_index{102}), 0u);
    EXPECT_EQ(group.slot_at(path_index{104}), 7u);
    for (const std::uint32_t row : {0u, 99u, 100u, 103u, 105u, 501u})
        EXPECT_FALSE(group.slot_at(path_index{row})) << row;
}

// IPv4 has no flow label: an EV is the UDP source port, and the peer reflects it with the upper half zero (§1.9).
TEST_F(path_group_test, evs_for_ipv4_have_sixteen_bits)
{
    path_group_config config = four_by(256);
    config.ev_bits = 16;
    path_group group{config, local};
    for (unsigned slot = 0; slot < group.size(); ++slot) {
        const ev entropy = group.path(slot).entropy;
        ASSERT_NE(entropy.value, 0u);
        ASSERT_EQ(entropy.value >> 16, 0u);
        ASSERT_EQ(group.slot_of(ev{entropy.value & 0xFFFF}), slot);
    }
}

} // namespace
} // namespace mrc::protocol
