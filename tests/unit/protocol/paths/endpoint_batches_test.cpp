// SPDX-License-Identifier: Apache-2.0
//
// Batches of endpoint requests between this host and two others, on simulated time: what is sent when, and which
// answers count.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "protocol/paths/endpoint_batches.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr unsigned planes = 2;
constexpr unsigned uplinks = 4;
constexpr auto trip = 30us;

path_group_config group(std::uint32_t base)
{
    path_group_config config;
    config.planes = planes;
    config.uplinks = uplinks;
    config.base = path_index{base};
    return config;
}

class endpoint_batches_test : public testing::Test
{
protected:
    using batch_packet = endpoint_batches::batch_packet;

    endpoint_batch probes(std::size_t count, duration patience = 10ms)
    {
        endpoint_batch batch{.dscp = 46, .patience = patience, .requests = {}, .answered = {}};
        for (std::size_t i = 0; i < count; ++i)
            batch.requests.push_back({.host = i % 2 == 0 ? &here_ : &there_,
                                      .path = (i % 2 == 0 ? paths_ : far_paths_).path(i % (planes * uplinks)),
                                      .ports = {}});
        return batch;
    }
    endpoint_batch updates(std::size_t count, duration patience = 10ms)
    {
        endpoint_batch batch = probes(count, patience);
        batch.operation = MRC_EP_PORT_STATUS_UPDATE;
        for (endpoint_request &request : batch.requests)
            request.ports = plane_mask{0b10};
        return batch;
    }
    std::vector<batch_packet> take(endpoint_batches &from)
    {
        std::vector<batch_packet> all;
        while (const auto packet = from.next_packet(now_))
            all.push_back(*packet);
        return all;
    }
    // Everything that leaves until then, at its deadlines; finished batches go to over_.
    std::vector<batch_packet> run(endpoint_batches &from, instant until)
    {
        std::vector<batch_packet> all;
        while (true) {
            for (const batch_packet &one : take(from)) {
                all.push_back(one);
                sent_at_.push_back(now_);
            }
            while (const endpoint_batch *batch = from.next_finished(now_))
                over_.push_back(batch);
            const instant next = from.next_deadline();
            if (next > until)
                break;
            EXPECT_GT(next, now_) << "a deadline that nothing is done at";
            now_ = std::max(next, now_ + 1ns);
        }
        now_ = until;
        return all;
    }
    static const endpoint_request_packet &request_of(const batch_packet &sent)
    {
        return std::get<endpoint_request_packet>(sent.packet.content);
    }
    static endpoint_response_packet answer_to(const batch_packet &sent)
    {
        const auto &request = request_of(sent);
        return {request.request_id, request.operation, request.tx_timestamp};
    }
    [[nodiscard]] arrival by(const batch_packet &sent) const
    {
        arrival how;
        how.path = sent.packet.path;
        how.at = now_;
        return how;
    }
    static const port_status &host_of(const batch_packet &sent) { return *sent.batch->requests[sent.request].host; }
    bool answer(endpoint_batches &to, const batch_packet &sent)
    {
        return to.on_response(host_of(sent), answer_to(sent), by(sent));
    }

    instant now_{10s};
    local_ports local_{plane_mask{0b11}};
    path_group paths_{group(1), local_};
    path_group far_paths_{group(101), local_};
    port_status here_{{}, paths_};
    port_status there_{{}, far_paths_};
    std::vector<const endpoint_batch *> over_;
    std::vector<instant> sent_at_;
};

TEST_F(endpoint_batches_test, probes_go_by_the_paths_asked_whatever_their_state)
{
    endpoint_batches batches{{}};
    paths_.deny(2);
    endpoint_batch batch = probes(4);
    batch.requests[2].path.entropy = ev{0xABCD'0010};
    ASSERT_TRUE(batches.start(batch));
    const auto sent = take(batches);
    ASSERT_EQ(sent.size(), 4u);
    EXPECT_EQ(paths_.state(2), path_state::denied);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(sent[i].request, i);
        EXPECT_EQ(sent[i].packet.path, batch.requests[i].path.index);
        EXPECT_EQ(sent[i].packet.entropy, batch.requests[i].path.entropy);
        EXPECT_EQ(sent[i].packet.dscp, 46);
        EXPECT_TRUE(sent[i].packet.dscp_as_is);
        EXPECT_EQ(request_of(sent[i]).operation, MRC_EP_EV_PROBE);
        EXPECT_EQ(request_of(sent[i]).tx_timestamp, wire_timestamp(now_));
        EXPECT_TRUE(batch_probe_ids.contains(request_of(sent[i]).request_id));
    }
}

TEST_F(endpoint_batches_test, answers_are_reported_in_order_of_arrival_with_their_rtt)
{
    endpoint_batches batches{{}};
    endpoint_batch batch = probes(3);
    ASSERT_TRUE(batches.start(batch));
    const auto sent = take(batches);
    for (const std::size_t i : {2, 0, 1}) {
        EXPECT_EQ(batches.next_finished(now_), nullptr);
        now_ += trip;
        EXPECT_TRUE(answer(batches, sent[i]));
    }
    EXPECT_EQ(batches.next_finished(now_), &batch);
    EXPECT_EQ(batches.next_finished(now_), nullptr);
    EXPECT_EQ(batch.answered, (std::vector<std::uint16_t>{2, 0, 1}));
    EXPECT_EQ(batch.requests[2].rtt, trip);
    EXPECT_EQ(batch.requests[1].rtt, 3 * trip);
    EXPECT_FALSE(batch.requests[1].service_time);
    EXPECT_EQ(batch.requests[1].arrived_on, plane_index{0});
    EXPECT_TRUE(batches.idle());
    EXPECT_EQ(batches.next_deadline(), never);
}

TEST_F(endpoint_batches_test, the_plane_of_the_answer_is_that_of_its_path)
{
    endpoint_batches batches{{}};
    endpoint_batch batch = probes(1);
    ASSERT_TRUE(batches.start(batch));
    const auto sent = take(batches);
    arrival other = by(sent[0]);
    other.path = paths_.path(uplinks).index;
    EXPECT_TRUE(batches.on_response(here_, answer_to(sent[0]), other));
    EXPECT_EQ(batch.requests[0].arrived_on, plane_index{1});
}

TEST_F(endpoint_batches_test, lost_probes_time_out_one_by_one_and_are_not_repeated)
{
    endpoint_batches batches{{}};
    endpoint_batch batch = probes(3, 2ms);
    ASSERT_TRUE(batches.start(batch));
    const instant start = now_;
    const auto sent = take(batches);
    now_ += trip;
    EXPECT_TRUE(answer(batches, sent[1]));
    EXPECT_TRUE(run(batches, start + 2ms - 1ns).empty());
    EXPECT_TRUE(over_.empty());
    EXPECT_TRUE(run(batches, start + 2ms).empty());
    EXPECT_EQ(over_, (std::vector<const endpoint_batch *>{&batch}));
    EXPECT_EQ(batch.answered, (std::vector<std::uint16_t>{1}));
    EXPECT_EQ(batch.requests[0].state, request_state::timed_out);
    EXPECT_EQ(batch.requests[2].state, request_state::timed_out);
    EXPECT_FALSE(answer(batches, sent[0])) << "after the end";
}

TEST_F(endpoint_batches_test, an_answer_that_comes_late_does_not_count)
{
    endpoint_batches batches{{}};
    endpoint_batch batch = probes(2, 2ms);
    ASSERT_TRUE(batches.start(batch));
    const auto sent = take(batches);
    now_ += 2ms;
    EXPECT_TRUE(answer(batches, sent[0])) << "just in time";
    now_ += 1ns;
    EXPECT_FALSE(answer(batches, sent[1])) << "before anybody has looked at the time";
    EXPECT_EQ(batches.next_finished(now_), &batch);
    EXPECT_EQ(batch.requests[1].state, request_state::timed_out);
}

TEST_F(endpoint_batches_test, duplicates_count_once)
{
    endpoint_batches batches{{}};
    endpoint_batch batch = probes(2);
    ASSERT_TRUE(batches.start(batch));
    const auto sent = take(batches);
    now_ += trip;
    EXPECT_TRUE(answer(batches, sent[0]));
    now_ += trip;
    EXPECT_FALSE(answer(batches, sent[0]));
    EXPECT_EQ(batch.answered.size(), 1u);
    EXPECT_EQ(batch.requests[0].rtt, trip);
}

TEST_F(endpoint_batches_test, forged_answers_do_not_count)
{
    endpoint_batches batches{{}};
    endpoint_batch batch = probes(1);
    ASSERT_TRUE(batches.start(batch));
    const auto sent = take(batches);
    now_ += trip;
    const arrival how = by(sent[0]);
    const endpoint_response_packet right = answer_to(sent[0]);
    EXPECT_FALSE(batches.on_response(there_, right, how)) << "another host's";
    for (unsigned id = 0; id <= UINT16_MAX; ++id) {
        endpoint_response_packet guess = right;
        guess.request_id = static_cast<std::uint16_t>(id);
        if (guess.request_id != right.request_id) {
            EXPECT_FALSE(batches.on_response(here_, guess, how)) << id;
        }
    }
    endpoint_response_packet stamp = right;
    --stamp.tx_timestamp;
    EXPECT_FALSE(batches.on_response(here_, stamp, how)) << "a stamp from before it was sent";
    stamp.tx_timestamp = static_cast<std::uint16_t>(wire_timestamp(now_) + 1);
    EXPECT_FALSE(batches.on_response(here_, stamp, how)) << "a stamp from the future";
    EXPECT_TRUE(batch.answered.empty());
    EXPECT_TRUE(batches.on_response(here_, right, how));
}

TEST_F(endpoint_batches_test, service_time_that_the_responder_reports_is_left_out)
{
    endpoint_batches batches{{}};
    endpoint_batch batch = probes(1);
    ASSERT_TRUE(batches.start(batch));
    const auto sent = take(batches);
    now_ += trip;
    endpoint_response_packet response = answer_to(sent[0]);
    response.tx_timestamp = static_cast<std::uint16_t>(response.tx_timestamp + 100);
    EXPECT_TRUE(batches.on_response(here_, response, by(sent[0])));
    EXPECT_EQ(batch.requests[0].rtt, trip - 100 * 128ns);
    EXPECT_TRUE(batch.requests[0].service_time);
}

TEST_F(endpoint_batches_test, thousands_leave_at_the_rate_and_each_has_its_patience)
{
    const endpoint_batch_config config;
    endpoint_batches batches{config};
    endpoint_batch batch = probes(2000, 1ms);
    ASSERT_TRUE(batches.start(batch));
    const instant start = now_;
    const auto sent = run(batches, start + 1s);
    ASSERT_EQ(sent.size(), 2000u);
    for (std::size_t i = 0; i < sent.size(); ++i) {
        const auto past_burst = i < config.burst ? 0 : static_cast<std::int64_t>(i + 1 - config.burst);
        ASSERT_EQ(sent_at_[i], start + past_burst * config.interval) << i;
    }
    EXPECT_EQ(over_.size(), 1u);
    EXPECT_EQ(sent_at_.back() - start, (2000 - 64) * 200us);
}

TEST_F(endpoint_batches_test, batches_take_turns)
{
    endpoint_batches batches{{.burst = 6}};
    endpoint_batch large = probes(1000);
    endpoint_batch small = probes(2);
    ASSERT_TRUE(batches.start(large));
    ASSERT_TRUE(batches.start(small));
    std::vector<const endpoint_batch *> order;
    for (const batch_packet &one : take(batches))
        order.push_back(one.batch);
    EXPECT_EQ(order, (std::vector<const endpoint_batch *>{&large, &small, &large, &small, &large, &large}));
}

TEST_F(endpoint_batches_test, requests_beyond_the_limit_are_refused)
{
    endpoint_batches batches{{.most_requests = 100}};
    endpoint_batch first = probes(60);
    endpoint_batch second = probes(41);
    ASSERT_TRUE(batches.start(first));
    EXPECT_FALSE(batches.start(second));
    batches.cancel(first);
    EXPECT_TRUE(batches.idle());
    EXPECT_TRUE(batches.start(second));
}

TEST_F(endpoint_batches_test, ids_count_round_without_those_in_use)
{
    endpoint_batches batches{{.interval = 1ns, .burst = 5000, .first_id = UINT16_MAX - 2}};
    endpoint_batch waiting = probes(4, 1h);
    ASSERT_TRUE(batches.start(waiting));
    const auto kept = take(batches);
    ASSERT_EQ(kept.size(), 4u);
    std::set<std::uint16_t> used;
    for (const batch_packet &one : kept)
        used.insert(request_of(one).request_id);
    EXPECT_EQ(used, (std::set<std::uint16_t>{0xE000, 0xE001, 0xFFFE, 0xFFFF})) << "round within their range";
    for (int round = 0; round < 3; ++round) {
        endpoint_batch others = probes(4000, 1ms);
        ASSERT_TRUE(batches.start(others));
        std::set<std::uint16_t> seen = used;
        std::vector<batch_packet> sent;
        while (sent.size() < 4000) {
            for (const batch_packet &one : take(batches)) {
                EXPECT_TRUE(batch_probe_ids.contains(request_of(one).request_id));
                EXPECT_TRUE(seen.insert(request_of(one).request_id).second) << "an id twice at a time";
                sent.push_back(one);
            }
            now_ += 1us;
        }
        for (const batch_packet &one : sent)
            EXPECT_TRUE(answer(batches, one));
        EXPECT_EQ(batches.next_finished(now_), &others);
    }
    for (const batch_packet &one : kept)
        EXPECT_TRUE(answer(batches, one)) << "its id was nobody else's";
}

TEST_F(endpoint_batches_test, time_stamps_count_round)
{
    endpoint_batches batches{{}};
    now_ = instant{std::chrono::nanoseconds{(std::int64_t{1} << 40) - 128}}; // the last tick: 0xFFFF
    ASSERT_EQ(wire_timestamp(now_), UINT16_MAX);
    endpoint_batch batch = probes(2, 1s);
    ASSERT_TRUE(batches.start(batch));
    const auto sent = take(batches);
    now_ += trip;
    EXPECT_TRUE(answer(batches, sent[0]));
    now_ += 100ms; // many times round
    EXPECT_TRUE(answer(batches, sent[1]));
    EXPECT_EQ(batch.requests[0].rtt, trip);
    EXPECT_EQ(batch.requests[1].rtt, 100ms + trip);
    EXPECT_FALSE(batch.requests[1].service_time);
}

TEST_F(endpoint_batches_test, updates_are_repeated_until_they_are_answered)
{
    endpoint_batches batches{{}};
    endpoint_batch batch = updates(2, 10ms);
    ASSERT_TRUE(batches.start(batch));
    const instant start = now_;
    const auto first = take(batches);
    ASSERT_EQ(first.size(), 2u);
    EXPECT_EQ(request_of(first[0]).operation, MRC_EP_PORT_STATUS_UPDATE);
    EXPECT_EQ(request_of(first[0]).port_status_mask, 0b100u) << "port 2 is bit 2";
    now_ += trip;
    EXPECT_TRUE(answer(batches, first[0]));
    const auto again = run(batches, start + 5ms);
    ASSERT_EQ(again.size(), 2u) << "three times in all";
    for (std::size_t i = 0; i < again.size(); ++i) {
        EXPECT_EQ(again[i].request, 1u);
        EXPECT_EQ(request_of(again[i]).request_id, request_of(first[1]).request_id);
        EXPECT_EQ(sent_at_[i], start + (i + 1) * 1ms);
        EXPECT_EQ(request_of(again[i]).tx_timestamp, wire_timestamp(sent_at_[i]));
    }
    // The answer to the second of the three: its own RTT.
    EXPECT_TRUE(answer(batches, again[0]));
    EXPECT_EQ(batch.requests[1].rtt, 4ms);
    EXPECT_EQ(batches.next_finished(now_), &batch);
    EXPECT_FALSE(answer(batches, again[1]));
}

TEST_F(endpoint_batches_test, unanswered_updates_time_out)
{
    endpoint_batches batches{{}};
    endpoint_batch batch = updates(2, 4ms);
    ASSERT_TRUE(batches.start(batch));
    const instant start = now_;
    EXPECT_EQ(run(batches, start + 1s).size(), 6u);
    EXPECT_EQ(over_.size(), 1u);
    EXPECT_TRUE(batch.answered.empty());
    EXPECT_EQ(batches.next_deadline(), never);
}

// The peer takes what has a newer id than what it has taken just before.
TEST_F(endpoint_batches_test, updates_have_ids_of_their_host_in_order)
{
    endpoint_batches batches{{}};
    port_status peer{{}, paths_};
    arrival how;
    how.path = paths_.path(0).index;
    here_.watch(now_ + 1s);
    std::uint16_t last = 0;
    for (int round = 0; round < 3; ++round) {
        local_.up = plane_mask{round % 2 == 0 ? 0b01u : 0b11u};
        const auto own = here_.next_packet(now_);
        ASSERT_TRUE(own);
        const auto &told = std::get<endpoint_request_packet>(own->content);
        EXPECT_EQ(peer.on_request(told, how, now_), port_status::outcome::taken);
        endpoint_batch batch = updates(1);
        ASSERT_TRUE(batches.start(batch));
        local_.up = plane_mask{0b11};
        const auto sent = take(batches);
        ASSERT_EQ(sent.size(), 1u);
        EXPECT_EQ(peer.on_request(request_of(sent[0]), how, now_), port_status::outcome::taken);
        EXPECT_EQ(peer.peer_ports(), plane_mask{0b10});
        EXPECT_FALSE(batches.on_response(here_, {told.request_id, told.operation, told.tx_timestamp}, how))
            << "the answer to the host's own update";
        EXPECT_TRUE(here_.on_response({told.request_id, told.operation, told.tx_timestamp}));
        EXPECT_TRUE(answer(batches, sent[0]));
        EXPECT_EQ(batches.next_finished(now_), &batch);
        EXPECT_NE(request_of(sent[0]).request_id, last);
        last = request_of(sent[0]).request_id;
    }
}

TEST_F(endpoint_batches_test, nothing_is_sent_by_a_port_out_of_use)
{
    endpoint_batches batches{{}};
    endpoint_batch batch = probes(2, 2ms);
    batch.requests[0].path = paths_.path(uplinks); // plane 1
    local_.enabled.set(plane_index{1}, false);
    ASSERT_TRUE(batches.start(batch));
    const auto sent = take(batches);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].request, 1u);
    EXPECT_TRUE(answer(batches, sent[0]));
    (void)run(batches, now_ + 2ms);
    EXPECT_EQ(over_.size(), 1u);
    EXPECT_EQ(batch.requests[0].state, request_state::timed_out);
}

TEST_F(endpoint_batches_test, what_is_cancelled_waits_for_nothing)
{
    endpoint_batches batches{{}};
    endpoint_batch gone = probes(100);
    endpoint_batch stays = probes(2);
    ASSERT_TRUE(batches.start(gone));
    ASSERT_TRUE(batches.start(stays));
    const auto sent = take(batches);
    std::map<const endpoint_batch *, std::vector<batch_packet>> by_batch;
    for (const batch_packet &one : sent)
        by_batch[one.batch].push_back(one);
    batches.cancel(gone);
    for (const batch_packet &one : by_batch[&gone])
        EXPECT_FALSE(answer(batches, one));
    for (const batch_packet &one : by_batch[&stays])
        EXPECT_TRUE(answer(batches, one));
    EXPECT_EQ(batches.next_finished(now_), &stays);
    batches.cancel(gone); // again: nothing
    EXPECT_TRUE(batches.idle());
}

TEST_F(endpoint_batches_test, without_patience_all_is_sent_and_nothing_waited_for)
{
    endpoint_batches batches{{}};
    endpoint_batch batch = probes(3, 0ns);
    ASSERT_TRUE(batches.start(batch));
    EXPECT_EQ(run(batches, now_).size(), 3u);
    EXPECT_EQ(over_.size(), 1u);
}

TEST(endpoint_request, states_follow_the_table_and_nothing_else_changes_them)
{
    using enum request_state;
    constexpr std::array events{request_event::ask, request_event::answer, request_event::expire};
    struct row {
        request_state from;
        std::array<request_state, 3> to;
    };
    constexpr std::array table{
        row{waiting, {asked, waiting, waiting}},
        row{asked, {asked, answered, timed_out}},
        row{answered, {answered, answered, answered}},
        row{timed_out, {timed_out, timed_out, timed_out}},
    };
    for (const row &each : table)
        for (std::size_t event = 0; event < events.size(); ++event) {
            endpoint_request request;
            request.state = each.from;
            request.step(events[event]);
            EXPECT_EQ(request.state, each.to[event]) << static_cast<int>(each.from) << " event " << event;
        }
}

} // namespace
} // namespace mrc::protocol
