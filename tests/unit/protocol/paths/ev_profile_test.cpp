// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/paths/ev_profile.h"

namespace mrc::protocol
{
namespace
{

constexpr mrc_ev_field entropy_of_one{.width = 21, .init = 1, .min = 0, .max = 0, .mask = 0};
constexpr mrc_ev_field all_of(unsigned width, unsigned max)
{
    return {.width = width, .init = 0, .min = 0, .max = max, .mask = (1u << width) - 1};
}

ev_profile_spec listed(std::vector<listed_ev> list)
{
    return {.mode = profile_mode::listed, .list = std::move(list), .fields = {}};
}

ev_profile_spec generated(std::vector<mrc_ev_field> fields)
{
    return {.mode = profile_mode::generated, .list = {}, .fields = std::move(fields)};
}

// An EV with entropy 5.
ev path(unsigned plane, unsigned uplink)
{
    return ev{mrc_ev_make(plane, uplink, 5)};
}

void expect_sound(const std::vector<profile_entry> &entries, unsigned planes, unsigned uplinks)
{
    std::set<unsigned> slots;
    for (const auto &[entropy, plane, slot] : entries) {
        EXPECT_NE(entropy.value, 0u);
        EXPECT_EQ(mrc_ev_plane(entropy.value), plane.value);
        EXPECT_EQ(slot, plane.value * uplinks + mrc_ev_uplink(entropy.value));
        EXPECT_LT(plane.value, planes);
        EXPECT_TRUE(slots.insert(slot).second);
    }
    EXPECT_TRUE(std::ranges::is_sorted(entries, {}, &profile_entry::slot));
}

TEST(ev_profile_test, automatic_has_one_ev_per_path_with_entropy)
{
    for (const unsigned ev_bits : {16u, 32u}) {
        const auto entries = expand_profile({}, 4, 8, ev_bits, 7);
        ASSERT_TRUE(entries);
        ASSERT_EQ(entries->size(), 32u);
        expect_sound(*entries, 4, 8);
        std::set<std::uint32_t> entropies;
        for (const auto &entry : *entries) {
            EXPECT_LT(entry.entropy.value, std::uint64_t{1} << ev_bits);
            entropies.insert(entry.entropy.value >> MRC_EV_ENTROPY_SHIFT);
        }
        EXPECT_GT(entropies.size(), 12u);
        EXPECT_FALSE(entropies.contains(0));
        EXPECT_EQ(expand_profile({}, 4, 8, ev_bits, 7), entries) << "by the seed alone";
        EXPECT_NE(expand_profile({}, 4, 8, ev_bits, 8), entries);
    }
}

TEST(ev_profile_test, automatic_with_a_count_takes_random_uplinks_of_each_plane)
{
    const auto entries = expand_profile({.list = {}, .fields = {}, .count = 12, .min_active = 12}, 4, 64, 32, 7);
    ASSERT_TRUE(entries);
    ASSERT_EQ(entries->size(), 12u);
    expect_sound(*entries, 4, 64);
    std::set<unsigned> uplinks;
    for (unsigned plane = 0; plane < 4; ++plane) {
        EXPECT_EQ(std::ranges::count(*entries, plane_index{static_cast<std::uint8_t>(plane)}, &profile_entry::plane),
                  3);
        for (unsigned i = 0; i < 3; ++i)
            uplinks.insert((*entries)[plane * 3 + i].slot % 64u);
    }
    EXPECT_GT(uplinks.size(), 6u) << "planes draw for themselves";
}

// Whatever the count: a group of as many rows as a plane has EVs holds them all.
TEST(ev_profile_test, automatic_evs_have_a_row_each_in_a_group_of_as_many)
{
    for (const unsigned per_plane : {1u, 3u, 16u, 50u, 99u, 100u}) {
        const auto entries = expand_profile({.list = {}, .fields = {}, .count = 2 * per_plane}, 2, 100, 32, per_plane);
        ASSERT_TRUE(entries);
        expect_sound(*entries, 2, 100);
        const auto rows = in_rows(*entries, per_plane);
        for (unsigned slot = 0; slot < 2 * per_plane; ++slot)
            ASSERT_EQ(rows[slot].slot, slot);
        EXPECT_EQ(in_rows(*entries, 100), *entries) << "a row for each uplink";
    }
}

TEST(ev_profile_test, largest_fabric)
{
    const auto entries = expand_profile({}, 8, 256, 16, 1);
    ASSERT_TRUE(entries);
    EXPECT_EQ(entries->size(), 2048u);
    expect_sound(*entries, 8, 256);
}

TEST(ev_profile_test, listed_evs_may_leave_paths_out)
{
    const auto entries =
        expand_profile(listed({{path(1, 3), 2}, {path(0, 2), 1}, {path(0, 0), 1}, {path(1, 0), 2}}), 2, 4, 16, 1);
    ASSERT_TRUE(entries);
    EXPECT_EQ(*entries, (std::vector<profile_entry>{{path(0, 0), plane_index{0}, 0},
                                                    {path(0, 2), plane_index{0}, 2},
                                                    {path(1, 0), plane_index{1}, 4},
                                                    {path(1, 3), plane_index{1}, 7}}));
}

TEST(ev_profile_test, generated_fields_make_the_whole_fabric)
{
    const auto entries = expand_profile(generated({entropy_of_one, all_of(8, 15), all_of(3, 3)}), 4, 16, 32, 1);
    ASSERT_TRUE(entries);
    ASSERT_EQ(entries->size(), 64u);
    expect_sound(*entries, 4, 16);
    EXPECT_EQ(entries->front().entropy.value, 1u << MRC_EV_ENTROPY_SHIFT);
}

TEST(ev_profile_test, generated_values_go_to_the_masked_bits_from_min_to_max)
{
    // Uplinks 0b1v0v: values 1 to 3 make 9, 12 and 13.
    const auto entries = expand_profile(generated({{.width = 5, .init = 0x15, .min = 0, .max = 0, .mask = 0},
                                                   {.width = 8, .init = 0x08, .min = 1, .max = 3, .mask = 0x05},
                                                   {.width = 3, .init = 0x7, .min = 0, .max = 1, .mask = 0x7}}),
                                        2, 16, 16, 1);
    ASSERT_TRUE(entries);
    ASSERT_EQ(entries->size(), 6u);
    const unsigned uplinks[] = {9, 12, 13};
    for (unsigned i = 0; i < 6; ++i)
        EXPECT_EQ((*entries)[i].entropy.value, mrc_ev_make(i / 3, uplinks[i % 3], 0x15)) << i;
}

TEST(ev_profile_test, count_and_min_active_that_fit)
{
    ev_profile_spec profile = listed({{path(0, 0), 1}, {path(1, 0), 2}});
    profile.count = 2;
    profile.min_active = 2;
    EXPECT_TRUE(expand_profile(profile, 2, 1, 32, 1));
    profile.count = 0;
    EXPECT_TRUE(expand_profile(profile, 2, 1, 32, 1));
}

struct refusal {
    const char *name;
    ev_profile_spec profile;
    std::size_t index;
    std::string_view text;
    profile_fault fault;
    unsigned ev_bits = 32;

    friend std::ostream &operator<<(std::ostream &out, const refusal &of) { return out << of.name; }
};

// In a fabric of 4 planes with 8 uplinks each.
const refusal refusals[] = {
    {"ev_zero", listed({{path(0, 0), 1}, {ev{0}, 0}}), 1,
     "EV 1 of the profile is 0, which is never used: some NICs take it for no EV; allowed: any other value",
     profile_fault::ev_zero},
    {"ev_too_wide", listed({{ev{0x10001}, 2}}), 0,
     "EV 0 of the profile is 0x10001; allowed: 16 bits, as many as this peer's packets carry",
     profile_fault::ev_too_wide, 16},
    {"port_zero", listed({{path(0, 0), 0}}), 0, "EV 0 of the profile is on port 0; allowed: 1 to 4",
     profile_fault::port_outside},
    {"port_outside", listed({{path(0, 0), 1}, {path(3, 1), 5}}), 1, "EV 1 of the profile is on port 5; allowed: 1 to 4",
     profile_fault::port_outside},
    {"port_of_another_plane", listed({{path(2, 0), 2}}), 0,
     "EV 0 of the profile is on port 2; allowed: port 3, that of the plane in its bits 2:0",
     profile_fault::port_of_another_plane},
    {"plane_outside", listed({{path(4, 0), 5}}), 0,
     "EV 0 of the profile names plane 4 in its bits 2:0; allowed: 0 to 3", profile_fault::plane_outside},
    {"uplink_outside", listed({{path(0, 8), 1}}), 0,
     "EV 0 of the profile names uplink 8 in its bits 10:3; allowed: 0 to 7", profile_fault::uplink_outside},
    {"same_path", listed({{path(1, 1), 2}, {path(0, 1), 1}, {ev{mrc_ev_make(1, 1, 9)}, 2}}), 2,
     "EV 2 of the profile, 0x4809, names the same path as EV 0; allowed: one EV per plane and uplink",
     profile_fault::same_path},
    {"listed_none", listed({}), 0, "the profile has no EV; allowed: at least one on each plane", profile_fault::no_ev},
    {"unequal_planes", listed({{path(0, 0), 1}, {path(1, 0), 2}, {path(3, 0), 4}}), 2,
     "plane 2 has 0 EVs; allowed: 1, as many as plane 0, for planes carry equal load", profile_fault::unequal_planes},
    {"count_mismatch",
     {.mode = profile_mode::listed, .list = {{path(0, 0), 1}}, .fields = {}, .count = 2},
     0,
     "count is 2; allowed: 1, as many as the profile has EVs, or 0",
     profile_fault::count_mismatch},
    {"count_not_divisible",
     {.list = {}, .fields = {}, .count = 6},
     0,
     "count is 6; allowed: a multiple of 4, the number of planes",
     profile_fault::count_not_divisible},
    {"count_too_large",
     {.list = {}, .fields = {}, .count = 36},
     0,
     "count is 36; allowed: up to 32, one EV per path",
     profile_fault::count_too_large},
    {"min_active_too_large",
     {.list = {}, .fields = {}, .count = 8, .min_active = 9},
     0,
     "min_active is 9; allowed: up to 8, as many as the profile has EVs",
     profile_fault::min_active_too_large},
    {"field_width", generated({entropy_of_one, all_of(3, 3), {.width = 33, .init = 0, .min = 0, .max = 0, .mask = 0}}),
     2, "field 2 is 33 bits wide; allowed: 1 to 32", profile_fault::field_width},
    {"field_without_width", generated({{.width = 0, .init = 0, .min = 0, .max = 0, .mask = 0}}), 0,
     "field 0 is 0 bits wide; allowed: 1 to 32", profile_fault::field_width},
    {"fields_too_wide", generated({entropy_of_one, all_of(8, 7), all_of(4, 3)}), 2,
     "fields 0 to 2 are 33 bits wide together; allowed: 32, as many as this peer's packets carry",
     profile_fault::fields_too_wide},
    {"fields_too_wide_for_ipv4", generated({all_of(8, 7), all_of(8, 7), all_of(3, 3)}), 2,
     "fields 0 to 2 are 19 bits wide together; allowed: 16, as many as this peer's packets carry",
     profile_fault::fields_too_wide, 16},
    {"init_too_wide", generated({{.width = 4, .init = 0x10, .min = 0, .max = 0, .mask = 0}}), 0,
     "field 0: init is 0x10; allowed: 4 bits, the field's width", profile_fault::field_init_too_wide},
    {"mask_outside", generated({{.width = 4, .init = 0, .min = 0, .max = 0, .mask = 0x1F}}), 0,
     "field 0: mask is 0x1f; allowed: 4 bits, the field's width", profile_fault::field_mask_outside},
    {"min_above_max", generated({{.width = 4, .init = 0, .min = 3, .max = 2, .mask = 0xF}}), 0,
     "field 0: min is 3; allowed: up to max, which is 2", profile_fault::field_min_above_max},
    {"max_too_large", generated({{.width = 8, .init = 0, .min = 0, .max = 4, .mask = 0x81}}), 0,
     "field 0: max is 4; allowed: up to 3, which fills the bits of the mask", profile_fault::field_max_too_large},
    {"constant_field_with_values", generated({{.width = 8, .init = 0, .min = 0, .max = 1, .mask = 0}}), 0,
     "field 0: max is 1; allowed: up to 0, which fills the bits of the mask", profile_fault::field_max_too_large},
    {"too_many_fields", generated(std::vector<mrc_ev_field>(17, all_of(1, 1))), 0,
     "the profile has 17 fields; allowed: 16", profile_fault::too_many_fields},
    {"generated_none", generated({}), 0, "the profile has no EV; allowed: at least one on each plane",
     profile_fault::no_ev},
    {"generated_zero", generated({all_of(8, 7), all_of(3, 3)}), 0,
     "EV 0 of the profile is 0, which is never used: some NICs take it for no EV; allowed: any other value",
     profile_fault::ev_zero},
    {"generated_outside", generated({entropy_of_one, all_of(8, 7), all_of(3, 7)}), 4,
     "EV 4 of the profile names plane 4 in its bits 2:0; allowed: 0 to 3", profile_fault::plane_outside},
    // 2^32 combinations: refused at the first that leaves the fabric.
    {"generated_too_many",
     generated({{.width = 32, .init = 1 << 11, .min = 1 << 11, .max = 0xFFFFFFFF, .mask = 0xFFFFFFFF}}), 4,
     "EV 4 of the profile names plane 4 in its bits 2:0; allowed: 0 to 3", profile_fault::plane_outside},
    {"generated_entropies",
     generated({{.width = 21, .init = 0, .min = 1, .max = 0x1FFFFF, .mask = 0x1FFFFF}, all_of(8, 7), all_of(3, 3)}), 32,
     "EV 32 of the profile, 0x1000, names the same path as EV 0; allowed: one EV per plane and uplink",
     profile_fault::same_path},
};

class ev_profile_refusal_test : public testing::TestWithParam<refusal>
{
};

TEST_P(ev_profile_refusal_test, names_what_was_wrong_and_what_is_allowed)
{
    const refusal &of = GetParam();
    const auto entries = expand_profile(of.profile, 4, 8, of.ev_bits, 1);
    ASSERT_FALSE(entries);
    EXPECT_EQ(entries.error().fault, of.fault);
    EXPECT_EQ(entries.error().index, of.index);
    EXPECT_EQ(describe(entries.error()).view(), of.text);
}

INSTANTIATE_TEST_SUITE_P(all, ev_profile_refusal_test, testing::ValuesIn(refusals),
                         [](const auto &instance) { return std::string{instance.param.name}; });

TEST(ev_profile_test, no_message_is_cut_short)
{
    for (unsigned fault = 0; fault <= static_cast<unsigned>(profile_fault::min_active_too_large); ++fault) {
        const profile_message message =
            describe({static_cast<profile_fault>(fault), 4'294'967'295, UINT32_MAX, UINT32_MAX});
        EXPECT_LT(message.length, message.text.size()) << message.view();
        EXPECT_EQ(message.view().find('$'), std::string_view::npos);
        EXPECT_NE(message.view(), "unknown fault");
    }
}

} // namespace
} // namespace mrc::protocol
