// SPDX-License-Identifier: Apache-2.0
// Entries, limits, and what profiles do to running traffic.
#include "service/control/ev_profile_store.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <gtest/gtest.h>

#include "unit/service/control/ev_profile_bench.h"

namespace mrc::service::control
{
namespace
{

using namespace profile_bench;

TEST(ev_profile_store, entries_before_a_failure_stay)
{
    const auto made = bench_in(init);
    ASSERT_TRUE(made->modify({.state = offline, .mode = listed, .format = 0, .count = 4}).result);
    const ev_edit_result result =
        made->edit(replace, {populate[0], populate[1], entry(ev_of(0, 3), ev_of(0, 2)), populate[2]});
    EXPECT_EQ(code_of(result.result), ENOENT);
    EXPECT_EQ(result.done, 2U);
    const auto &evs = made->store.find(id).evs;
    EXPECT_EQ(evs[0].ev, ev_of(0, 0));
    EXPECT_EQ(evs[1].ev, ev_of(1, 0));
    EXPECT_TRUE(evs[2].ev.unpopulated());
    EXPECT_TRUE(evs[3].ev.unpopulated());
}

TEST(ev_profile_store, denials_before_a_failure_reach_the_paths)
{
    const auto made = bench_in(online);
    const ev_edit_result result = made->edit(
        set_state, {entry(ev_of(1, 1), {}, denied), entry(ev_of(1, 3), {}, denied), entry(ev_of(0, 0), {}, denied)});
    EXPECT_EQ(code_of(result.result), ENOENT);
    EXPECT_EQ(result.done, 1U);
    ASSERT_EQ(made->effects.all.size(), 1U);
    EXPECT_EQ(made->effects.all[0].where, (path_place{1, 1}));
    EXPECT_TRUE(made->effects.all[0].denied);
    EXPECT_EQ(made->store.denied(id), (std::vector<path_place>{{1, 1}}));
}

TEST(ev_profile_store, denying_what_is_denied_already_reports_nothing)
{
    const auto made = bench_in(online);
    ASSERT_TRUE(made->edit(set_state, {entry(ev_of(1, 1), {}, denied)}).result);
    ASSERT_TRUE(made->edit(set_state, {entry(ev_of(1, 1), {}, denied)}).result);
    EXPECT_EQ(made->effects.all.size(), 1U);
    EXPECT_EQ(*made->store.state_of(id, ev_of(1, 1)), session::ev_state::denied);
}

TEST(ev_profile_store, one_copy_or_all)
{
    const auto made = bench_in(init);
    ASSERT_TRUE(made->modify({.state = offline, .mode = listed, .format = 0, .count = 4}).result);
    EXPECT_EQ(made->edit(replace, {entry({}, ev_of(0, 0), good, session::replace_all_copies)}).done, 1U);
    for (const profile_ev &known : made->store.find(id).evs)
        EXPECT_EQ(known.ev, ev_of(0, 0));
    EXPECT_EQ(code_of(made->modify({.state = online, .min_active = 1, .event_mask = 0}).result), EINVAL);
    EXPECT_TRUE(made->edit(replace, {entry(ev_of(0, 0), ev_of(1, 0))}).result);
    EXPECT_EQ(made->store.find(id).evs[0].ev, ev_of(1, 0));
    EXPECT_EQ(made->store.find(id).evs[1].ev, ev_of(0, 0));
    EXPECT_TRUE(made->edit(set_state, {entry(ev_of(0, 0), {}, denied, session::replace_all_copies)}).result);
    EXPECT_EQ(std::ranges::count(made->store.find(id).evs, true, &profile_ev::denied), 3);
    EXPECT_EQ(*made->store.state_of(id, ev_of(1, 0)), session::ev_state::good);
    EXPECT_FALSE(made->store.state_of(id, ev_of(1, 1)));
}

TEST(ev_profile_store, as_many_entries_and_evs_as_the_limits_say)
{
    const auto made = bench_in(offline, {.ev_profiles = 2, .evs = 6, .evs_per_profile = 4, .entries_per_call = 4});
    EXPECT_EQ(code_of(made->edit(replace, edit_entries(5, entry({}, ev_of(0, 0)))).result), E2BIG);
    EXPECT_EQ(made->store.evs_in_use(), 4U);
    const ev_profile_change configure{.state = offline, .mode = listed, .format = 0, .count = 4};
    EXPECT_EQ(code_of(made->store.modify(2, configure, none).result), E2BIG);
    EXPECT_TRUE(made->store.modify(2, {.state = offline, .mode = listed, .format = 0, .count = 2}, none).result);
    EXPECT_EQ(code_of(made->store.modify(3, {.state = offline, .mode = automatic}, none).result), EIO);
    EXPECT_TRUE(made->modify({.state = init}).result);
    EXPECT_EQ(made->store.evs_in_use(), 2U);
}

TEST(ev_profile_store, stays_online_while_queue_pairs_use_it)
{
    const auto made = bench_in(offline);
    EXPECT_EQ(code_of(made->store.acquire(id)), EINVAL);
    EXPECT_EQ(code_of(made->store.acquire(77)), EINVAL);
    ASSERT_TRUE(made->modify({.state = online, .min_active = 2, .event_mask = 3}).result);
    ASSERT_TRUE(made->store.acquire(id));
    EXPECT_EQ(code_of(made->modify({.state = offline}).result), EBUSY);
    EXPECT_EQ(made->state(), online);
    EXPECT_TRUE(made->effects.offline.empty());
    made->store.release(id);
    EXPECT_TRUE(made->modify({.state = offline}).result);
    EXPECT_EQ(made->effects.offline, std::vector<std::uint64_t>{id});
}

TEST(ev_profile_store, its_format_stays_online_as_long_as_it_does)
{
    const auto made = bench_in(init);
    constexpr std::uint64_t format = 13;
    const std::vector<std::uint8_t> widths{21, 8, 3};
    ASSERT_TRUE(made->formats.modify(format, {.state = offline, .mode = 1, .widths = widths}));
    ASSERT_TRUE(made->modify({.state = offline, .mode = listed, .format = format, .count = 4}).result);
    ASSERT_EQ(made->edit(replace, populate).done, 4U);
    const ev_profile_change go{.state = online, .min_active = 2, .event_mask = 3};
    EXPECT_EQ(code_of(made->modify(go).result), EINVAL); // the format is OFFLINE
    ASSERT_TRUE(made->formats.modify(format, {.state = online}));
    EXPECT_TRUE(made->modify(go).result);
    EXPECT_EQ(code_of(made->formats.modify(format, {.state = offline})), EBUSY);
    ASSERT_TRUE(made->modify({.state = offline}).result);
    EXPECT_TRUE(made->formats.modify(format, {.state = offline}));
    // Another format under a populated array: seen on the way back.
    ASSERT_TRUE(made->formats.modify(format, {.state = online, .widths = std::vector<std::uint8_t>{8, 3}}));
    EXPECT_EQ(code_of(made->modify({.state = online}).result), EINVAL);
}

TEST(ev_profile_store, generates_evs_with_ports_and_aligns_the_count)
{
    const auto made = bench_in(init);
    const std::vector<mrc_ev_field> fields = {{21, 7, 0, 0, 0}, {8, 0, 0, 3, 255}, {3, 0, 0, 1, 7}};
    ASSERT_TRUE(made->modify({.state = offline, .mode = generated, .format = 0, .count = 7, .fields = fields}).result);
    const auto &evs = made->store.find(id).evs;
    ASSERT_EQ(evs.size(), 6U);
    EXPECT_EQ(evs[0].ev.port, 1U);
    EXPECT_EQ(evs[1].ev.port, 2U);
    ASSERT_TRUE(made->edit(set_state, {entry(evs[1].ev, {}, denied)}).result);
    ASSERT_TRUE(made->modify({.count = 8}).result); // denials survive a new count
    EXPECT_TRUE(evs[1].denied);
    EXPECT_EQ(code_of(made->edit(replace, {entry(evs[0].ev, ev_of(0, 0))}).result), EINVAL);
    ASSERT_TRUE(made->modify({.state = online, .min_active = 1, .event_mask = 0}).result);
    const auto universe = made->store.universe(id, fabric.uplinks, 1);
    ASSERT_EQ(universe.size(), 8U);
    EXPECT_EQ(universe[5].entropy, protocol::ev{mrc_ev_make(1, 1, 7)});
    EXPECT_EQ(made->store.denied(id), (std::vector<path_place>{{1, 0}}));
    EXPECT_TRUE(made->store.universe(id, 1, 1).empty()); // the own T0 has no uplink to choose
}

TEST(ev_profile_store, refuses_generated_evs_beyond_the_fabric)
{
    const auto made = bench_in(init);
    const std::vector<mrc_ev_field> fields = {{21, 7, 0, 0, 0}, {8, 0, 0, 7, 255}, {3, 0, 0, 1, 7}};
    ASSERT_TRUE(made->modify({.state = offline, .mode = generated, .format = 0, .count = 16, .fields = fields}).result);
    const auto result = made->modify({.state = online, .min_active = 1, .event_mask = 0}).result;
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, EINVAL);
    EXPECT_NE(result.error().text.find("names uplink 4 in its bits 10:3; allowed: 0 to 3"), std::string::npos)
        << result.error().text;
}

TEST(ev_profile_store, automatic_profile_with_some_of_the_paths)
{
    const auto made = bench_in(init);
    ASSERT_TRUE(made->modify({.state = offline, .mode = automatic, .count = 4}).result);
    ASSERT_TRUE(made->modify({.state = online, .min_active = 1, .event_mask = 0}).result);
    const auto universe = made->store.universe(id, fabric.uplinks, 3);
    ASSERT_EQ(universe.size(), 4U);
    EXPECT_EQ(std::ranges::count(universe, protocol::plane_index{0}, &protocol::profile_entry::plane), 2);
    for (const auto &known : universe)
        EXPECT_GT(known.entropy.value >> MRC_EV_ENTROPY_SHIFT, 0U);
}

TEST(ev_profile_store, built_in_profile_takes_denials_and_an_event_mask_only)
{
    const auto made = bench_in(init);
    EXPECT_EQ(made->store.find(0).state, session::profile_state::online);
    EXPECT_EQ(made->store.find(0).evs.size(), 8U);
    EXPECT_TRUE(made->store.universe(0, fabric.uplinks, 1).empty());
    EXPECT_TRUE(made->store.acquire(0));
    const ev_profile_change refused[] = {{.state = offline}, {.mode = listed},  {.format = 0},
                                         {.count = 8},       {.min_active = 1}, {.fields = plain_fields}};
    for (const ev_profile_change &change : refused)
        EXPECT_EQ(code_of(made->store.modify(0, change, none).result), EINVAL);
    EXPECT_TRUE(made->store.modify(0, {.event_mask = 3}, none).result);
    const edit_entries deny{entry(ev_of(1, 2, 0), {}, denied)};
    EXPECT_TRUE(made->store.modify(0, {}, ev_edit{set_state, deny}).result);
    EXPECT_EQ(made->effects.profiles, std::vector<std::uint64_t>{0});
    EXPECT_EQ(made->effects.all[0].where, (path_place{1, 2}));
    EXPECT_EQ(code_of(made->store.modify(0, {}, ev_edit{replace, deny}).result), EINVAL);
}

TEST(ev_profile_store, reports_what_path_groups_believe)
{
    using protocol::path_state;
    const auto made = bench_in(online);
    const auto events = [&] { return made->effects.events.size(); };
    made->store.observe(id, 5, {1, 1}, path_state::assumed_bad);
    ASSERT_EQ(events(), 1U);
    EXPECT_EQ(made->effects.events[0].profile, id);
    EXPECT_EQ(made->effects.events[0].ev, ev_of(1, 1));
    EXPECT_EQ(made->effects.events[0].state, assumed_bad);
    EXPECT_EQ(*made->store.state_of(id, ev_of(1, 1)), session::ev_state::assumed_bad);
    made->store.observe(id, 5, {1, 1}, path_state::assumed_bad); // told again
    made->store.observe(id, 6, {1, 1}, path_state::assumed_bad); // toward another T0
    made->store.observe(id, 5, {1, 1}, path_state::good);
    EXPECT_EQ(events(), 1U);
    made->store.forget_group(id, 6);
    ASSERT_EQ(events(), 2U);
    EXPECT_EQ(made->effects.events[1].state, good);
    made->store.observe(id, 5, {1, 3}, path_state::assumed_bad); // no EV of this profile
    made->store.observe(99, 5, {1, 1}, path_state::assumed_bad);
    EXPECT_EQ(events(), 2U);
}

TEST(ev_profile_store, event_mask_chooses)
{
    using protocol::path_state;
    const auto made = bench_in(offline);
    ASSERT_TRUE(made->modify({.state = online, .min_active = 2, .event_mask = good}).result);
    made->store.observe(id, 5, {0, 0}, path_state::assumed_bad);
    EXPECT_TRUE(made->effects.events.empty());
    made->store.observe(id, 5, {0, 0}, path_state::good);
    EXPECT_EQ(made->effects.events.size(), 1U);
    ASSERT_TRUE(made->edit(set_state, {entry(ev_of(0, 0), {}, denied)}).result);
    EXPECT_EQ(made->effects.events.size(), 1U);
    ASSERT_TRUE(made->edit(set_state, {entry(ev_of(0, 0), {}, good)}).result);
    EXPECT_EQ(made->effects.events.size(), 2U);
}

TEST(ev_profile_store, replacing_online_changes_the_universe)
{
    const auto made = bench_in(online, {.modify_ev_online = true});
    made->store.observe(id, 5, {0, 0}, protocol::path_state::assumed_bad);
    ASSERT_TRUE(made->edit(replace, {entry(ev_of(0, 0), ev_of(0, 3))}).result);
    EXPECT_EQ(made->effects.changes, 1U);
    EXPECT_EQ(made->store.universe(id, fabric.uplinks, 1)[1].slot, 3U);
    EXPECT_EQ(*made->store.state_of(id, ev_of(0, 3)), session::ev_state::good);
    ASSERT_TRUE(made->edit(replace, {entry(ev_of(0, 3), ev_of(0, 0))}).result);
    EXPECT_EQ(*made->store.state_of(id, ev_of(0, 0)), session::ev_state::good) << "nothing is known of it any more";
}

TEST(ev_profile_store, a_path_that_stays_is_as_bad_by_its_new_ev)
{
    const auto made = bench_in(online, {.modify_ev_online = true});
    made->store.observe(id, 5, {0, 0}, protocol::path_state::assumed_bad);
    made->store.observe(id, 5, {1, 1}, protocol::path_state::assumed_bad);
    made->effects.events.clear();
    ASSERT_TRUE(made->edit(replace, {entry(ev_of(0, 0), ev_of(0, 0, 9))}).result);
    EXPECT_EQ(*made->store.state_of(id, ev_of(0, 0, 9)), session::ev_state::assumed_bad);
    ASSERT_EQ(made->effects.events.size(), 1U) << "of the EV that is new there";
    EXPECT_EQ(made->effects.events[0].ev, ev_of(0, 0, 9));
    EXPECT_EQ(*made->store.state_of(id, ev_of(1, 1)), session::ev_state::assumed_bad);
    made->store.observe(id, 5, {0, 0}, protocol::path_state::good);
    EXPECT_EQ(*made->store.state_of(id, ev_of(0, 0, 9)), session::ev_state::good);
}

TEST(ev_profile_store, entropy_of_a_path_does_not_depend_on_the_others)
{
    const auto entropies = [](std::uint32_t count) {
        const auto made = bench_in(init);
        EXPECT_TRUE(made->modify({.state = offline, .mode = automatic, .count = count}).result);
        EXPECT_TRUE(made->modify({.state = online, .min_active = 1, .event_mask = 0}).result);
        return made->store.universe(id, fabric.uplinks, 77);
    };
    const auto more = entropies(6);
    for (const protocol::profile_entry &one : entropies(4)) {
        const auto same = std::ranges::find(more, one.slot, &protocol::profile_entry::slot);
        if (same != more.end()) {
            EXPECT_EQ(same->entropy, one.entropy);
        }
    }
}

TEST(ev_profile_store, draws_entropy_that_packets_carry)
{
    const fabric_shape with_ipv4{.planes = 2, .uplinks = 4, .usids = usid_plan{}, .ev_bits = 16};
    const session::profile_limits limits;
    recorder effects;
    ev_format_store formats{limits};
    ev_profile_store store{limits, with_ipv4, formats, effects};
    ASSERT_TRUE(store.modify(id, {.state = offline, .mode = automatic, .count = 4}, none).result);
    ASSERT_TRUE(store.modify(id, {.state = online, .min_active = 1, .event_mask = 0}, none).result);
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        for (const auto &known : store.universe(id, with_ipv4.uplinks, seed))
            EXPECT_TRUE(known.entropy.value >> 16 == 0 && known.entropy.value >> MRC_EV_ENTROPY_SHIFT != 0);
}

} // namespace
} // namespace mrc::service::control
