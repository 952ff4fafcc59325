// SPDX-License-Identifier: Apache-2.0
// What a controller has set comes back in another daemon, whole or not at all, and beside what its configuration says.
#include "service/control/stored_settings.h"

#include <string>

#include <gtest/gtest.h>

#include "service/control/settings_text.h"
#include "unit/service/control/ev_profile_bench.h"

namespace mrc::service::control
{
namespace
{

using namespace profile_bench;

const unsigned ports = fabric.planes;
constexpr std::uint64_t widest_id = UINT64_MAX;

struct stores_of_a_daemon {
    session::profile_limits limits;
    recorder effects;
    ev_format_store formats{limits};
    ev_profile_store evs{limits, fabric, formats, effects};
    cc_profile_store ccs{limits, {}};

    [[nodiscard]] setting_stores all() { return {.formats = formats, .evs = evs, .ccs = ccs}; }
    void must(const session::outcome<> &result) { EXPECT_TRUE(result) << result.error().text; }
    void edit(std::uint64_t of, session::ev_operation operation, const edit_entries &entries)
    {
        must(evs.modify(of, {}, ev_edit{operation, entries}).result);
    }
    void deny(std::uint64_t of, const session::ev_value &ev) { edit(of, set_state, {entry(ev, {}, denied)}); }
    void list(std::uint64_t of, const edit_entries &entries)
    {
        ev_profile_change change{.state = offline, .mode = listed, .format = 0, .count = 4};
        must(evs.modify(of, change, none).result);
        edit(of, replace, entries);
    }
    void go_online(std::uint64_t of)
    {
        must(evs.modify(of, {.state = online, .min_active = 2, .event_mask = 3}, none).result);
    }
};

session::nscc_values constants()
{
    session::nscc_values values = to_nscc_values(protocol::derive_nscc({}));
    values.eta = 0.1F; // no sum of powers of two
    values.fi_scale = 1e-5F;
    return values;
}

// One of everything that a controller can set.
void set_everything(stores_of_a_daemon &in)
{
    in.must(in.formats.modify(5, {.state = offline, .mode = 1, .widths = std::vector<std::uint8_t>{21, 8, 3}}));
    in.must(in.formats.modify(5, {.state = online}));
    in.must(in.formats.modify(6, {.state = offline, .mode = 2}));
    in.list(id, populate);
    in.go_online(id);
    in.deny(id, ev_of(1, 0));
    in.list(2, {entry({}, ev_of(0, 3))}); // three are not populated yet
    ev_profile_change generate{.state = offline, .mode = generated, .format = 5, .count = 8};
    generate.fields = std::vector<mrc_ev_field>{{21, 7, 0, 0, 0}, {8, 0, 0, 3, 255}, {3, 0, 0, 1, 7}};
    in.must(in.evs.modify(widest_id, generate, none).result);
    in.go_online(widest_id);
    in.deny(widest_id, in.evs.find(widest_id).evs[3].ev);
    in.must(in.evs.modify(0, {.event_mask = 2}, none).result);
    in.deny(0, in.evs.find(0).evs[5].ev);
    in.must(in.ccs.modify(9, {.state = offline, .algorithm = session::nscc_algorithm, .config = constants()}));
    in.must(in.ccs.modify(9, {.state = online}));
    in.must(in.ccs.modify(10, {.state = offline, .algorithm = ""}));
}

std::string text_of(stores_of_a_daemon &in, protocol::plane_mask enabled = protocol::plane_mask{0b01})
{
    return to_text(settings_of(in.all(), {}, enabled, ports));
}

std::string after_a_restart(const std::string &text, stores_of_a_daemon &in)
{
    const auto parsed = parse_settings(text, "controller.toml");
    EXPECT_TRUE(parsed) << parsed.error();
    in.must(restore(*parsed, in.all(), ports));
    return to_text(settings_of(in.all(), {}, protocol::plane_mask{0b01}, ports));
}

TEST(stored_settings, comes_back_as_it_was)
{
    stores_of_a_daemon before;
    set_everything(before);
    stores_of_a_daemon after;
    EXPECT_EQ(after_a_restart(text_of(before), after), text_of(before));
    EXPECT_EQ(after.evs.find(id).state, session::profile_state::online);
    EXPECT_TRUE(after.evs.find(id).evs[1].denied);
    EXPECT_EQ(after.evs.denied(id).size(), 1U);
    EXPECT_EQ(after.evs.denied(0).size(), 1U) << "of a built-in profile, too";
    EXPECT_EQ(after.evs.find(0).event_mask, 2U);
    EXPECT_EQ(after.ccs.find(9).config, constants()) << "to the last bit";
    EXPECT_EQ(after.evs.find(2).evs.size(), 4U);
    EXPECT_EQ(parse_settings(text_of(before), "")->disabled_ports, std::vector<unsigned>{2});
}

TEST(stored_settings, configuration_defines_its_profiles_and_controllers_deny_their_evs)
{
    stores_of_a_daemon before;
    set_everything(before);
    stores_of_a_daemon after; // whose configuration has profiles 1 and 9, and they are others now
    after.list(id, {entry({}, ev_of(0, 2)), entry({}, ev_of(1, 2)), entry({}, ev_of(0, 0)), entry({}, ev_of(1, 0))});
    after.go_online(id);
    after.must(after.ccs.modify(9, {.state = offline, .algorithm = ""}));
    after_a_restart(text_of(before), after);
    EXPECT_EQ(after.evs.find(id).evs[0].ev, ev_of(0, 2));
    EXPECT_TRUE(after.evs.find(id).evs[3].denied);
    EXPECT_EQ(after.evs.denied(id), (std::vector<path_place>{{1, 0}}));
    EXPECT_FALSE(after.ccs.find(9).nscc);
    EXPECT_EQ(after.ccs.find(10).state, session::profile_state::offline) << "others come back";
}

TEST(stored_settings, what_the_configuration_no_longer_names_is_forgotten_with_it)
{
    stores_of_a_daemon before;
    set_everything(before);
    const stored_settings settings =
        settings_of(before.all(), {.ev = {id, 2}, .cc = {9}}, protocol::plane_mask{0b11}, ports);
    stores_of_a_daemon after;
    after.must(restore(*parse_settings(to_text(settings), "f"), after.all(), ports));
    EXPECT_EQ(after.evs.find(id).state, session::profile_state::init);
    EXPECT_EQ(after.evs.find(2).state, session::profile_state::init);
    EXPECT_EQ(after.ccs.find(9).state, session::profile_state::init);
    EXPECT_EQ(after.evs.find(widest_id).state, session::profile_state::online);
}

TEST(stored_settings, a_profile_whose_format_is_gone_does_not_spoil_the_others)
{
    stores_of_a_daemon before;
    set_everything(before);
    before.must(before.evs.modify(widest_id, {.state = offline}, none).result);
    before.must(before.formats.modify(5, {.state = offline}));
    before.must(before.formats.modify(5, {.state = init}));
    stores_of_a_daemon after;
    after_a_restart(text_of(before), after);
    EXPECT_EQ(after.evs.find(widest_id).state, session::profile_state::init);
    EXPECT_EQ(after.evs.find(id).state, session::profile_state::online);
}

TEST(stored_settings, what_a_store_refuses_is_named)
{
    stores_of_a_daemon before;
    set_everything(before);
    stored_settings settings = settings_of(before.all(), {}, protocol::plane_mask{0b11}, ports);
    for (stored_ev_profile &profile : settings.ev_profiles)
        if (profile.id == id)
            profile.evs[2].value = ev_of(0, 0); // two of one path
    stores_of_a_daemon after;
    const auto refused = restore(settings, after.all(), ports);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().text.starts_with("EV profile 1: ")) << refused.error().text;
    settings.disabled_ports = {ports + 1};
    EXPECT_FALSE(restore(settings, stores_of_a_daemon{}.all(), ports));
}

TEST(settings_text, is_refused_when_any_part_of_it_is_missing_or_changed)
{
    stores_of_a_daemon before;
    set_everything(before);
    const std::string text = text_of(before);
    ASSERT_TRUE(parse_settings(text, "f"));
    for (std::size_t kept = 0; kept < text.size(); ++kept)
        ASSERT_FALSE(parse_settings(text.substr(0, kept), "f")) << "cut after " << kept << " bytes";
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::string changed = text;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        ASSERT_FALSE(parse_settings(changed, "f")) << "byte " << at;
    }
    EXPECT_EQ(parse_settings("", "/var/lib/mrc/x/controller.toml").error(),
              "/var/lib/mrc/x/controller.toml: its checksum is not that of what it says");
}

} // namespace
} // namespace mrc::service::control
