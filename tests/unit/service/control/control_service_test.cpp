// SPDX-License-Identifier: Apache-2.0
// Settings of one daemon in the next, with the real stores, worker and paths.
#include "service/control/control_service.h"

#include <gtest/gtest.h>

#include "unit/service/daemon_in_memory.h"

namespace mrc::service
{
namespace
{

constexpr auto offline = static_cast<std::uint32_t>(session::profile_state::offline);
constexpr auto online = static_cast<std::uint32_t>(session::profile_state::online);
constexpr auto denied = static_cast<std::uint32_t>(session::ev_state::denied);

void make_profiles(control_service &control)
{
    control::ev_profile_change make;
    make.state = offline;
    make.mode = static_cast<std::uint32_t>(session::ev_mode::automatic);
    ASSERT_TRUE(control.ev_profiles().modify(3, make, std::nullopt).result);
    control::ev_profile_change go;
    go.state = online;
    go.min_active = 1;
    go.event_mask = 0;
    ASSERT_TRUE(control.ev_profiles().modify(3, go, std::nullopt).result);
    const std::vector<session::ev_entry> entries{
        {.subject = control.ev_profiles().find(0).evs[1].ev, .replacement = {}, .state = denied, .flags = 0}};
    const control::ev_edit deny{session::ev_operation::modify_state, entries};
    ASSERT_TRUE(control.ev_profiles().modify(0, {}, deny).result);
    ASSERT_TRUE(control.cc_profiles().modify(4, {.state = offline, .algorithm = ""}));
}

TEST(control_service, paths_are_denied_after_a_restart_before_the_first_packet)
{
    test::daemon_in_memory before{0};
    make_profiles(before.resources().control);
    test::daemon_in_memory after{0};
    test::daemon_in_memory peer{1};
    ASSERT_TRUE(after.resources().control.restore(before.resources().control.settings()));
    const auto way = after.resources().peers.hold(peer.address());
    ASSERT_TRUE(way) << way.error().text;
    EXPECT_EQ(way->peer.paths->state(0), protocol::path_state::good);
    EXPECT_EQ(way->peer.paths->state(1), protocol::path_state::denied);
    EXPECT_TRUE(after.resources().control.peer_for(peer.address(), 3, 0)) << "by a profile that is ONLINE again";
}

TEST(control_service, of_settings_with_one_wrong_piece_nothing_is_applied)
{
    test::daemon_in_memory before{0};
    make_profiles(before.resources().control);
    control::stored_settings settings = before.resources().control.settings();
    settings.cc_profiles.push_back({.id = 5, .nscc = false, .configured = true, .config = {}});
    test::daemon_in_memory after{0};
    const auto restored = after.resources().control.restore(settings);
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.error().text, "CC profile 5: a configuration without an algorithm");
    EXPECT_EQ(after.resources().control.ev_profiles().find(3).state, session::profile_state::init);
    EXPECT_EQ(after.resources().control.cc_profiles().find(4).state, session::profile_state::init);
    EXPECT_TRUE(after.resources().control.ev_profiles().denied(0).empty());
}

TEST(control_service, a_port_stays_disabled)
{
    test::daemon_in_memory before{0};
    control::stored_settings settings = before.resources().control.settings();
    settings.disabled_ports = {1};
    test::daemon_in_memory after{0};
    ASSERT_TRUE(after.resources().control.restore(settings));
    EXPECT_EQ(after.resources().control.settings().disabled_ports, std::vector<unsigned>{1});
}

TEST(control_service, a_plane_that_the_host_leaves_is_no_setting)
{
    test::daemon_in_memory host{0};
    control_service &control = host.resources().control;
    control.leave_plane(protocol::plane_index{0}, true);
    EXPECT_FALSE(host.enabled().has(protocol::plane_index{0}));
    EXPECT_TRUE(control.enabled_planes().has(protocol::plane_index{0}));
    EXPECT_TRUE(control.settings().disabled_ports.empty());
    control.leave_plane(protocol::plane_index{0}, false);
    EXPECT_TRUE(host.enabled().has(protocol::plane_index{0}));
}

TEST(control_service, a_port_that_a_controller_has_disabled_stays_so_when_the_host_comes_back_to_it)
{
    test::daemon_in_memory host{0};
    control_service &control = host.resources().control;
    control::stored_settings settings = control.settings();
    settings.disabled_ports = {1};
    ASSERT_TRUE(control.restore(settings));
    control.leave_plane(protocol::plane_index{0}, true);
    control.leave_plane(protocol::plane_index{0}, false);
    EXPECT_FALSE(host.enabled().has(protocol::plane_index{0}));
}

TEST(control_service, failures_beyond_those_that_fit_are_counted_and_told_as_one)
{
    test::daemon_in_memory host{0};
    control_service &control = host.resources().control;
    constexpr std::uint32_t more = 7;
    for (std::uint32_t qpn = 1; qpn <= control_service::most_noted + more; ++qpn)
        control.note_failure({.qpn = qpn}, MRC_REASON_RETRIES);
    control.take_notes();
    ASSERT_EQ(host.events().size(), control_service::most_noted + 1);
    EXPECT_EQ(host.events().front().kind, MRC_EVENT_QP_ERROR);
    EXPECT_EQ(host.events().back().kind, MRC_EVENT_QP_ERRORS_UNTOLD);
    EXPECT_EQ(host.events().back().queue_pairs, more);
    EXPECT_EQ(host.tables().host[0].untold_qp_errors, more);
    control.note_failure({.qpn = 1}, MRC_REASON_RETRIES);
    control.take_notes();
    EXPECT_EQ(host.events().back().kind, MRC_EVENT_QP_ERROR) << "told once";
    EXPECT_EQ(host.tables().host[0].untold_qp_errors, more);
}

session::ev_value ev_of(unsigned uplink, std::uint32_t entropy)
{
    const std::uint32_t number = mrc_ev_make(0, uplink, entropy);
    session::ev_value ev;
    for (unsigned byte = 0; byte < 4; ++byte)
        ev.bits.at(byte) = static_cast<std::uint8_t>(number >> (24 - 8 * byte));
    ev.port = 1;
    return ev;
}

void replace(control_service &control, const session::ev_value &by, const session::ev_value &what = {})
{
    const std::vector<session::ev_entry> entries{
        {.subject = what, .replacement = by, .state = static_cast<std::uint32_t>(session::ev_state::good), .flags = 0}};
    const control::ev_edit edit{session::ev_operation::replace, entries};
    ASSERT_TRUE(control.ev_profiles().modify(6, {}, edit).result);
}

TEST(control_service, exchanged_evs_are_those_of_the_paths_at_once)
{
    test::daemon_in_memory host{0};
    test::daemon_in_memory peer{1};
    control_service &control = host.resources().control;
    control::ev_profile_change make;
    make.state = offline;
    make.mode = static_cast<std::uint32_t>(session::ev_mode::listed);
    make.format = session::built_in_profile;
    make.count = 1;
    ASSERT_TRUE(control.ev_profiles().modify(6, make, std::nullopt).result);
    replace(control, ev_of(0, 5));
    control::ev_profile_change go;
    go.state = online;
    go.min_active = 1;
    go.event_mask = 0;
    ASSERT_TRUE(control.ev_profiles().modify(6, go, std::nullopt).result);
    const auto way = control.peer_for(peer.address(), 6, 0);
    ASSERT_TRUE(way) << way.error().text;
    ASSERT_TRUE(way->peer.paths->exists(0) && !way->peer.paths->exists(1));
    replace(control, ev_of(1, 9), ev_of(0, 5));
    EXPECT_FALSE(way->peer.paths->exists(0));
    EXPECT_EQ(way->peer.paths->path(1).entropy, protocol::ev{mrc_ev_make(0, 1, 9)});
    EXPECT_EQ(way->peer.paths->state(1), protocol::path_state::good);
    const auto &rows = host.resources().tables.paths;
    EXPECT_EQ(rows[way->peer.paths->path(0).index.value].ev, 0U);
    EXPECT_EQ(rows[way->peer.paths->path(1).index.value].ev, mrc_ev_make(0, 1, 9));
}

} // namespace
} // namespace mrc::service
