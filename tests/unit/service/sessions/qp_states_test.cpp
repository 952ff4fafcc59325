// SPDX-License-Identifier: Apache-2.0
// States and connections of queue pairs: two daemons in memory, a client of each.
#include "service/sessions/qp_states.h"

#include <cerrno>
#include <chrono>

#include <gtest/gtest.h>

#include "unit/service/sessions/session_in_memory.h"

namespace mrc::service
{
namespace
{

using enum protocol::qp_state;

class qp_states : public testing::Test
{
protected:
    void connect()
    {
        ASSERT_EQ(here_.modify(mine_, init), 0);
        ASSERT_EQ(there_.modify(theirs_, init), 0);
        ASSERT_EQ(here_.modify(mine_, ready_to_receive, &there_, theirs_), 0);
        ASSERT_EQ(there_.modify(theirs_, ready_to_receive, &here_, mine_), 0);
        ASSERT_EQ(here_.modify(mine_, ready_to_send), 0);
        ASSERT_EQ(there_.modify(theirs_, ready_to_send), 0);
    }
    [[nodiscard]] const mrc_qp_row &row() const { return here_.state.shared.tables.qps[MRC_QPN_ROW(mine_)]; }

    test::daemon_in_memory a_{0};
    test::daemon_in_memory b_{1};
    test::session_in_memory here_{a_};
    test::session_in_memory there_{b_};
    std::uint32_t mine_ = here_.make_qp();
    std::uint32_t theirs_ = there_.make_qp();
};

TEST_F(qp_states, of_every_pair_those_move_that_verbs_allows)
{
    connect();
    EXPECT_EQ(here_.state_of(mine_), ready_to_send);
    EXPECT_EQ(here_.modify(mine_, send_queue_drained), 0);
    EXPECT_EQ(here_.state_of(mine_), send_queue_drained);
    EXPECT_EQ(here_.modify(mine_, ready_to_receive), EINVAL);
    EXPECT_EQ(here_.modify(mine_, ready_to_send), 0);
    EXPECT_EQ(here_.modify(mine_, error), 0);
    EXPECT_EQ(here_.state_of(mine_), error);
    EXPECT_EQ(here_.modify(mine_, ready_to_send), EINVAL);
    EXPECT_EQ(here_.modify(mine_, reset), 0);
    EXPECT_EQ(here_.state_of(mine_), reset);
}

TEST_F(qp_states, a_queue_pair_of_another_session_is_unknown)
{
    test::session_in_memory other{a_, 2};
    EXPECT_EQ(other.modify(mine_, init), EINVAL);
    EXPECT_EQ(query_qp(other.state, mine_).reply.error, EINVAL);
    EXPECT_EQ(here_.state_of(mine_), reset);
}

TEST_F(qp_states, the_worker_has_it_from_rtr_until_reset)
{
    EXPECT_EQ(a_.worker().find_qp(protocol::qpn{mine_}), nullptr);
    connect();
    EXPECT_NE(a_.worker().find_qp(protocol::qpn{mine_}), nullptr);
    EXPECT_EQ(row().peer_qpn, theirs_);
    EXPECT_EQ(std::memcmp(&row().peer, std::array{b_.address()}.data(), sizeof(mrc_ip)), 0);
    ASSERT_EQ(here_.modify(mine_, reset), 0);
    EXPECT_EQ(a_.worker().find_qp(protocol::qpn{mine_}), nullptr);
    EXPECT_EQ(row().peer.bytes[0], 0) << "nothing comes in any more";
    EXPECT_EQ(row().qpn, mine_) << "and the number stays its own";
    ASSERT_EQ(there_.modify(theirs_, reset), 0);
    connect();
    EXPECT_NE(a_.worker().find_qp(protocol::qpn{mine_}), nullptr) << "again";
}

// Before RTR, and until something was sent.
TEST_F(qp_states, a_hint_of_incast_narrows_the_window_to_begin_with)
{
    session::qp_attributes hint{};
    hint.qpn = mine_;
    hint.mask = session::qp_sets_hint;
    hint.senders_elsewhere = 7;
    ASSERT_EQ(modify_qp(here_.state, hint).reply.error, 0);
    connect();
    const protocol::congestion_control &control = *a_.worker().find_qp(protocol::qpn{mine_})->congestion;
    EXPECT_EQ(control.cwnd(), control.max_cwnd() / 8);
    hint.senders_elsewhere = 3;
    ASSERT_EQ(modify_qp(here_.state, hint).reply.error, 0);
    EXPECT_EQ(control.cwnd(), control.max_cwnd() / 4);
}

struct spoken_to {
    bool trims = false;
    bool tells_window = false;
    bool tells_service_time = false;
    friend bool operator==(const spoken_to &, const spoken_to &) = default;
};

// How a connected queue pair treats its peer: by its first packet of data, and its answer to a probe 1 ms after that
// came.
spoken_to behaviour(const datapath::worker_qp &qp)
{
    constexpr auto wait = std::chrono::milliseconds{1};
    const protocol::instant now{std::chrono::seconds{1}};
    protocol::queue_pair &transport = *qp.protocol;
    spoken_to seen;
    EXPECT_TRUE(transport.post_write({.id = 1, .source = {.bytes = 8}}, now));
    if (const auto data = transport.next_packet(now))
        seen.trims = data->dscp == MRC_DSCP_TRIMMABLE;
    protocol::probe_packet probe;
    probe.destination = qp.number;
    probe.probe_id = 1;
    transport.on_packet(probe, {}, {.entropy = {}, .path = qp.peer.paths->path(0).index, .at = now}, now);
    const auto answer = transport.next_packet(now + wait);
    const auto *sack = answer ? std::get_if<protocol::sack_packet>(&answer->content) : nullptr;
    EXPECT_NE(sack, nullptr);
    if (sack != nullptr) {
        seen.tells_window = sack->mpr != 0;
        seen.tells_service_time = sack->tx_timestamp == wait / std::chrono::nanoseconds{1} >> MRC_TS_TICK_SHIFT;
    }
    return seen;
}

TEST_F(qp_states, a_queue_pair_treats_its_peer_by_the_capabilities_that_were_set)
{
    struct row {
        std::uint32_t capabilities;
        spoken_to expected;
    };
    using enum session::qp_capability;
    const row rows[] = {
        {0, {.trims = true, .tells_service_time = true}},
        {qp_peer_lacks_trim_nack, {.tells_service_time = true}},
        {qp_dynamic_mpr, {.trims = true, .tells_window = true, .tells_service_time = true}},
        {qp_peer_lacks_service_time, {.trims = true}},
        {qp_all_capabilities, {.tells_window = true}},
    };
    for (const row &each : rows) {
        ASSERT_EQ(here_.modify(mine_, init), 0);
        session::qp_attributes wanted{};
        wanted.qpn = mine_;
        wanted.mask = session::qp_sets_capabilities;
        wanted.capabilities = each.capabilities;
        ASSERT_EQ(modify_qp(here_.state, wanted).reply.error, 0);
        ASSERT_EQ(here_.modify(mine_, ready_to_receive, &there_, theirs_), 0);
        ASSERT_EQ(here_.modify(mine_, ready_to_send), 0);
        a_.worker().call([&] {
            (void)a_.worker().memory().replenish(); // as each of its rounds begins
            EXPECT_EQ(behaviour(*a_.worker().find_qp(protocol::qpn{mine_})), each.expected)
                << "capabilities " << each.capabilities;
        });
        ASSERT_EQ(here_.modify(mine_, reset), 0);
    }
}

TEST_F(qp_states, rtr_needs_a_peer_that_the_fabric_has)
{
    ASSERT_EQ(here_.modify(mine_, init), 0);
    EXPECT_EQ(here_.modify(mine_, ready_to_receive), EINVAL) << "no peer";
    session::qp_attributes wanted{};
    wanted.qpn = mine_;
    wanted.mask = session::qp_sets_state | session::qp_sets_peer | session::qp_sets_receive_psn;
    wanted.state = static_cast<std::uint8_t>(ready_to_receive);
    wanted.peer_qpn = theirs_;
    wanted.peer.bytes[0] = 0xfe;
    EXPECT_EQ(modify_qp(here_.state, wanted).reply.error, EHOSTUNREACH);
    EXPECT_EQ(here_.state_of(mine_), init) << "nothing of a refused change stays";
    EXPECT_EQ(here_.state.qps.at(mine_).now.peer_qpn, 0U);
}

TEST_F(qp_states, no_two_clients_of_a_host_are_connected_to_one_queue_pair)
{
    connect();
    test::session_in_memory other{a_, 2};
    const std::uint32_t intruder = other.make_qp();
    ASSERT_EQ(other.modify(intruder, init), 0);
    EXPECT_EQ(other.modify(intruder, ready_to_receive, &there_, theirs_), EBUSY);
    ASSERT_EQ(here_.modify(mine_, reset), 0);
    EXPECT_EQ(other.modify(intruder, ready_to_receive, &there_, theirs_), 0);
}

TEST_F(qp_states, requests_of_an_unconnected_queue_pair_are_flushed_in_error)
{
    ASSERT_EQ(here_.modify(mine_, init), 0);
    owned_qp &qp = here_.state.qps.at(mine_);
    auto receives = layout_of(qp.numbers).receives(qp.rings.get());
    ASSERT_TRUE(receives.push({.id = 71}));
    ASSERT_TRUE(receives.push({.id = 72}));
    ASSERT_EQ(here_.modify(mine_, error), 0);
    owned_cq &cq = here_.state.cqs.at(qp.made.receive_cq);
    const std::size_t bytes = session::completion_layout{64}.bytes();
    const kernel::mapping memory = map_whole(cq.memory, bytes);
    auto completions = session::completion_layout{64}.completions(memory.get());
    session::completion_entry entry;
    for (const std::uint64_t id : {71U, 72U}) {
        ASSERT_TRUE(completions.pop(entry));
        EXPECT_EQ(entry.id, id);
        EXPECT_EQ(entry.status, static_cast<std::uint8_t>(protocol::completion_status::flushed));
    }
    EXPECT_FALSE(completions.pop(entry));
}

TEST_F(qp_states, profiles_are_held_while_attributes_name_them)
{
    control::cc_profile_store &profiles = here_.state.shared.control.cc_profiles();
    const auto change = [&](std::uint32_t state) { return profiles.modify(3, {.state = state, .algorithm = {}}); };
    ASSERT_TRUE(profiles.modify(3, {.state = 1, .algorithm = ""}));
    session::qp_attributes wanted{};
    wanted.qpn = mine_;
    wanted.mask = session::qp_sets_state | session::qp_sets_cc_profile;
    wanted.state = static_cast<std::uint8_t>(init);
    wanted.cc_profile = 3;
    EXPECT_EQ(modify_qp(here_.state, wanted).reply.error, EINVAL) << "the profile is OFFLINE";
    ASSERT_TRUE(change(2));
    EXPECT_EQ(modify_qp(here_.state, wanted).reply.error, 0);
    EXPECT_EQ(profiles.find(3).queue_pairs, 1U);
    EXPECT_EQ(change(1).error().code, EBUSY);
    wanted.state = static_cast<std::uint8_t>(ready_to_send);
    EXPECT_EQ(modify_qp(here_.state, wanted).reply.error, EINVAL);
    EXPECT_EQ(profiles.find(3).queue_pairs, 1U) << "a refused change holds nothing twice";
    EXPECT_EQ(here_.modify(mine_, reset), 0);
    EXPECT_EQ(profiles.find(3).queue_pairs, 0U);
    EXPECT_TRUE(change(1));
}

} // namespace
} // namespace mrc::service
