// SPDX-License-Identifier: Apache-2.0
//
// Heartbeats question by question, and what a path group makes of the answers that do not come.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "protocol/paths/path_group.h"
#include "protocol/paths/path_heartbeat.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr unsigned planes = 4;
constexpr unsigned uplinks = 2;

// Asks every slot whose turn it is.
std::vector<std::uint16_t> ask_all(path_heartbeat &heartbeat, instant now)
{
    std::vector<std::uint16_t> asked;
    while (const auto slot = heartbeat.next_slot(now)) {
        EXPECT_TRUE(heartbeat_ids.contains(heartbeat.ask(*slot, now)));
        asked.push_back(*slot);
    }
    return asked;
}

TEST(path_heartbeat, asks_nothing_while_nobody_watches)
{
    path_heartbeat heartbeat{{}, planes, uplinks};
    EXPECT_TRUE(ask_all(heartbeat, start).empty());
    EXPECT_EQ(heartbeat.next_deadline(), never);
}

TEST(path_heartbeat, asks_each_path_once_per_period_planes_in_turn)
{
    path_heartbeat heartbeat{{}, planes, uplinks};
    heartbeat.watch(start + 1s);
    EXPECT_EQ(ask_all(heartbeat, start), (std::vector<std::uint16_t>{0, 2, 4, 6, 1, 3, 5, 7}));
    EXPECT_TRUE(ask_all(heartbeat, start + 1ms).empty());
}

TEST(path_heartbeat, large_groups_take_several_periods)
{
    path_heartbeat heartbeat{{.per_period = 3}, planes, uplinks};
    heartbeat.watch(start + 10s);
    std::set<std::uint16_t> asked;
    for (int period = 0; period < 3; ++period) {
        const auto now = start + period * heartbeat.period();
        std::uint16_t slots = 0;
        while (const auto slot = heartbeat.next_slot(now)) {
            asked.insert(*slot);
            EXPECT_TRUE(heartbeat.on_answer(heartbeat.ask(*slot, now)));
            ++slots;
        }
        EXPECT_EQ(slots, 3);
    }
    EXPECT_EQ(asked.size(), planes * uplinks);
}

TEST(path_heartbeat, silence_after_three_questions_10_ms_apart)
{
    path_heartbeat heartbeat{{}, planes, uplinks};
    heartbeat.watch(start + 1s);
    instant now = start;
    std::uint16_t silent_id = 0;
    while (const auto slot = heartbeat.next_slot(now)) {
        const std::uint16_t id = heartbeat.ask(*slot, now);
        if (*slot == 5)
            silent_id = id;
        else
            EXPECT_EQ(heartbeat.on_answer(id)->slot, *slot);
    }
    for (int repetition = 1; repetition < 3; ++repetition) {
        EXPECT_EQ(heartbeat.next_deadline(), now + 10ms);
        now += 10ms;
        EXPECT_FALSE(heartbeat.next_silence(now));
        EXPECT_EQ(ask_all(heartbeat, now), std::vector<std::uint16_t>{5});
    }
    now += 10ms;
    const auto silence = heartbeat.next_silence(now);
    ASSERT_TRUE(silence);
    EXPECT_EQ(silence->slot, 5);
    EXPECT_EQ(silence->since, start);
    EXPECT_FALSE(heartbeat.next_silence(now));
    EXPECT_FALSE(heartbeat.on_answer(silent_id)) << "an answer to another question than the last";
}

TEST(path_heartbeat, a_late_answer_is_an_answer)
{
    path_heartbeat heartbeat{{}, 1, 1};
    heartbeat.watch(start + 1s);
    const std::uint16_t id = heartbeat.ask(*heartbeat.next_slot(start), start);
    EXPECT_FALSE(heartbeat.next_silence(start + 10ms)); // to be asked again
    EXPECT_TRUE(heartbeat.on_answer(id));
    EXPECT_TRUE(ask_all(heartbeat, start + 10ms).empty());
}

TEST(path_heartbeat, rests_when_the_traffic_has_ended)
{
    struct row {
        duration end;
        duration looked_at;
    };
    for (const row &entry : {row{50ms, 50ms}, row{150ms, 151ms}}) { // in the second a round came due meanwhile
        path_heartbeat heartbeat{{}, planes, uplinks};
        heartbeat.watch(start + entry.end);
        EXPECT_FALSE(ask_all(heartbeat, start).empty());
        EXPECT_FALSE(heartbeat.next_silence(start + entry.looked_at));
        EXPECT_TRUE(ask_all(heartbeat, start + entry.looked_at).empty());
        EXPECT_EQ(heartbeat.next_deadline(), never);
        heartbeat.watch(start + 1s);
        EXPECT_EQ(ask_all(heartbeat, start + 200ms).size(), planes * uplinks) << "traffic begins anew";
    }
}

TEST(path_heartbeat, idle_queue_pairs_have_each_path_asked_once_a_second)
{
    path_heartbeat heartbeat{{}, planes, uplinks};
    heartbeat.watch_idle(start + 10s);
    unsigned asked = 0;
    for (instant now = start; now < start + 10s; now += 1ms)
        while (const auto slot = heartbeat.next_slot(now)) {
            EXPECT_TRUE(heartbeat.on_answer(heartbeat.ask(*slot, now)));
            ++asked;
        }
    EXPECT_EQ(asked, 10 * planes * uplinks);
    EXPECT_TRUE(ask_all(heartbeat, start + 10s).empty());
    EXPECT_EQ(heartbeat.next_deadline(), never);
}

TEST(path_heartbeat, sockets_are_not_held_up_by_idle_queue_pairs)
{
    path_heartbeat heartbeat{{}, planes, uplinks};
    heartbeat.watch_idle(start + 10s);
    while (const auto slot = heartbeat.next_slot(start))
        EXPECT_TRUE(heartbeat.on_answer(heartbeat.ask(*slot, start)));
    EXPECT_EQ(heartbeat.next_deadline(), start + 1s);
    heartbeat.watch(start + 150ms);
    EXPECT_EQ(heartbeat.next_deadline(), start + 100ms);
    while (const auto slot = heartbeat.next_slot(start + 100ms))
        EXPECT_TRUE(heartbeat.on_answer(heartbeat.ask(*slot, start + 100ms)));
    EXPECT_EQ(heartbeat.next_deadline(), start + 1100ms) << "the sockets' traffic has ended";
}

// A path group whose probes are answered on the planes of `alive`.
class watched_group : public testing::Test
{
protected:
    watched_group()
    {
        path_group_config config;
        config.planes = planes;
        config.uplinks = uplinks;
        config.base = path_index{1};
        group_.emplace(config, local_);
    }

    void run(duration time, plane_mask alive)
    {
        for (const instant end = now_ + time; now_ < end; now_ += 1ms) {
            if (idle_)
                group_->watch_idle(now_ + 3s);
            else
                group_->watch(now_ + 1s);
            while (const auto probe = group_->next_packet(now_)) {
                const auto slot = group_->slot_at(probe->path);
                const auto &request = std::get<endpoint_request_packet>(probe->content);
                if (!slot || !alive.has(group_->path(*slot).plane))
                    continue;
                endpoint_response_packet response;
                response.request_id = request.request_id;
                group_->on_packet(response, {.entropy = probe->entropy, .path = probe->path, .at = now_ + 100us});
            }
        }
    }

    [[nodiscard]] plane_mask good_planes() const { return group_->usable() & group_->good_planes(); }

    local_ports local_{plane_mask{0xF}};
    std::optional<path_group> group_;
    instant now_ = start;
    bool idle_ = false;
};

TEST_F(watched_group, leaves_a_dead_plane_within_150_ms_and_returns)
{
    run(200ms, plane_mask{0xF});
    EXPECT_EQ(good_planes().bits(), 0xFu);
    run(150ms, plane_mask{0xB});
    EXPECT_EQ(good_planes().bits(), 0xBu);
    run(200ms, plane_mask{0xF});
    EXPECT_EQ(good_planes().bits(), 0xFu);
}

TEST_F(watched_group, leaves_a_dead_plane_within_a_heartbeat_while_queue_pairs_are_idle)
{
    idle_ = true;
    run(1500ms, plane_mask{0xF});
    EXPECT_EQ(good_planes().bits(), 0xFu);
    run(1050ms, plane_mask{0xB}); // a heartbeat, and three questions 10 ms apart
    EXPECT_EQ(good_planes().bits(), 0xBu);
    run(1s, plane_mask{0xF});
    EXPECT_EQ(good_planes().bits(), 0xFu);
}

TEST_F(watched_group, blames_no_path_when_the_peer_is_gone)
{
    run(200ms, plane_mask{0xF});
    run(1s, plane_mask{0});
    EXPECT_EQ(good_planes().bits(), 0xFu);
}

// As those of several EV profiles do, whose questions come to the same hosts at the same time.
TEST(path_groups, that_ask_the_same_hosts_take_their_own_answers_only)
{
    const local_ports local{plane_mask{0xF}};
    path_group_config config;
    config.planes = planes;
    config.uplinks = uplinks;
    config.base = path_index{1};
    path_group first{config, local};
    config.id_part = 1;
    path_group second{config, local};
    first.watch_idle(start + 1s);
    second.watch_idle(start + 1s);
    while (first.next_packet(start)) {
    }
    unsigned answered = 0;
    for (; const auto probe = second.next_packet(start); ++answered) {
        endpoint_response_packet response;
        response.request_id = std::get<endpoint_request_packet>(probe->content).request_id;
        const arrival how{.entropy = probe->entropy, .path = probe->path, .at = start + 100us};
        EXPECT_FALSE(first.on_packet(response, how));
        EXPECT_TRUE(second.on_packet(response, how));
    }
    EXPECT_EQ(answered, planes * uplinks);
}

} // namespace
} // namespace mrc::protocol
