// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/endpoint_desk.h"
#include "unit/datapath/queue_pair_in_memory.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;

constexpr mrc_ip here{{0xfd, 1}};
instant clock_now; // what batches read

class desk : public testing::Test
{
protected:
    void SetUp() override
    {
        for (std::uint32_t row = 1; row <= 4; ++row)
            paths_[row].port = static_cast<__u8>(row - 1);
        desk_.add_peer(host_.peer());
    }

    [[nodiscard]] static codec::decoded from(const mrc_ip &source, const protocol::packet &content)
    {
        codec::decoded packet{};
        packet.source = source;
        packet.content = content;
        return packet;
    }
    [[nodiscard]] static protocol::endpoint_request_packet probe(std::uint16_t id)
    {
        protocol::endpoint_request_packet request;
        request.request_id = id;
        request.operation = MRC_EP_EV_PROBE;
        return request;
    }
    [[nodiscard]] protocol::arrival on_path(std::uint32_t path) const
    {
        return {.entropy = protocol::ev{path + 5}, .path = protocol::path_index{path}, .at = now_};
    }

    kernel::mapped_array<mrc_path_row> paths_ = test::table_in_memory<mrc_path_row>(MRC_USUAL_PATHS);
    kernel::mapped_array<mrc_overlay_row> overlay_ = test::table_in_memory<mrc_overlay_row>(MRC_MAX_GROUPS);
    test::counting_engine engine_;
    packet_output output_{
        {.source = {.common = here}}, std::vector<transmit_engine *>(MRC_MAX_PORTS, &engine_), paths_};
    test::remote_host host_{1, 4};
    std::vector<std::uint32_t> told_;
    unsigned batches_done_ = 0;
    endpoint_desk desk_{
        {.output = output_,
         .paths = paths_,
         .overlay = overlay_,
         .clock = [] { return clock_now; },
         .on_peer_change = [this](const worker_peer &peer) { told_.push_back(peer.ports->peer_ports().bits()); },
         .on_batch_done = [this] { ++batches_done_; }}};
    instant now_{1s};
};

TEST_F(desk, a_probe_is_answered_on_its_own_path)
{
    EXPECT_EQ(desk_.on_packet(from(host_.address, probe(5)), on_path(3), now_), MRC_AGENT_ACCEPTED);
    EXPECT_EQ(desk_.transmit(now_), 1U);
    ASSERT_EQ(engine_.sent.size(), 1U);
    EXPECT_EQ(engine_.sent[0].path, 3U);
    EXPECT_EQ(engine_.sent[0].flow_label, 8U) << "the probe's own EV";
}

TEST_F(desk, unknown_hosts_and_unasked_answers_are_dropped)
{
    EXPECT_EQ(desk_.on_packet(from({{0xfd, 9}}, probe(5)), on_path(1), now_), MRC_AGENT_DROP_WRONG_PEER);
    EXPECT_EQ(desk_.on_packet(from(host_.address, protocol::endpoint_response_packet{}), on_path(1), now_),
              MRC_AGENT_DROP_UNASKED);
    EXPECT_EQ(desk_.on_packet(from(host_.address, protocol::data_packet{}), on_path(1), now_), MRC_AGENT_DROP_UNASKED);
    EXPECT_EQ(desk_.transmit(now_), 0U);
}

TEST_F(desk, a_peer_is_known_by_its_other_address)
{
    const mrc_ip address4{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}};
    EXPECT_EQ(desk_.on_packet(from(address4, probe(5)), on_path(1), now_), MRC_AGENT_DROP_WRONG_PEER);
    desk_.add_peer_address(host_.peer(), address4);
    EXPECT_EQ(desk_.on_packet(from(address4, probe(5)), on_path(1), now_), MRC_AGENT_ACCEPTED);
}

TEST_F(desk, a_host_that_is_forgotten_is_unknown_and_owed_nothing)
{
    const mrc_ip other{{0xfd, 3}};
    desk_.add_peer_address(host_.peer(), other);
    EXPECT_EQ(desk_.on_packet(from(host_.address, probe(5)), on_path(3), now_), MRC_AGENT_ACCEPTED);
    desk_.watch(std::array{connections::peer_in_use{.peer = host_.peer(), .queue_pairs = 1}}, now_);
    ASSERT_EQ(desk_.talking().size(), 1U);
    desk_.forget({&host_.ports}, {&host_.group});
    EXPECT_EQ(desk_.transmit(now_ + 1min), 0U);
    EXPECT_EQ(desk_.talking().size(), 0U);
    EXPECT_EQ(desk_.targets().size(), 0U);
    for (const mrc_ip &address : {host_.address, other})
        EXPECT_EQ(desk_.on_packet(from(address, probe(5)), on_path(1), now_), MRC_AGENT_DROP_WRONG_PEER);
    desk_.add_peer(host_.peer());
    EXPECT_EQ(desk_.on_packet(from(host_.address, probe(5)), on_path(1), now_), MRC_AGENT_ACCEPTED);
}

TEST_F(desk, answers_to_probes_are_limited_in_rate)
{
    unsigned accepted = 0;
    for (unsigned n = 0; n < 200; ++n) {
        accepted += desk_.on_packet(from(host_.address, probe(5)), on_path(1), now_) == MRC_AGENT_ACCEPTED ? 1 : 0;
        desk_.transmit(now_);
    }
    EXPECT_EQ(accepted, protocol::endpoint_burst);
    EXPECT_EQ(desk_.on_packet(from(host_.address, probe(5)), on_path(1), now_ + protocol::endpoint_interval),
              MRC_AGENT_ACCEPTED);
}

TEST_F(desk, what_a_full_engine_refuses_stays)
{
    engine_.room = 0;
    EXPECT_EQ(desk_.on_packet(from(host_.address, probe(5)), on_path(1), now_), MRC_AGENT_ACCEPTED);
    EXPECT_EQ(desk_.transmit(now_), 0U);
    engine_.room = 10;
    EXPECT_EQ(desk_.transmit(now_), 1U);
}

TEST_F(desk, port_status_of_a_peer_is_reported_and_answered)
{
    protocol::endpoint_request_packet update;
    update.request_id = protocol::port_status_ids.first;
    update.operation = MRC_EP_PORT_STATUS_UPDATE;
    update.port_status_mask = 0b10110;
    EXPECT_EQ(desk_.on_packet(from(host_.address, update), on_path(1), now_), MRC_AGENT_ACCEPTED);
    EXPECT_EQ(told_, std::vector<std::uint32_t>{0b1011});
    EXPECT_TRUE(desk_.talking().contains(host_.peer()));
    EXPECT_GE(desk_.transmit(now_), 1U);
}

// The watch compared each queue pair with each peer that was talked to.
TEST_F(desk, a_watched_host_is_talked_to_once_by_whatever_paths_it_is_used)
{
    std::deque<test::remote_host> hosts;
    std::deque<protocol::path_group> profiles;
    std::vector<connections::peer_in_use> used;
    for (unsigned n = 2; n < 200; ++n) {
        worker_peer peer = hosts.emplace_back(static_cast<std::uint8_t>(n)).peer();
        desk_.add_peer(peer);
        used.push_back({.peer = peer, .queue_pairs = 50});
        peer.paths = &profiles.emplace_back(test::paths_of(1), hosts.back().local);
        used.push_back({.peer = peer, .queue_pairs = 50});
    }
    desk_.watch(used, now_);
    desk_.watch(used, now_);
    EXPECT_EQ(desk_.talking().size(), hosts.size());
}

// A round looked at each group and each host.
TEST_F(desk, thousands_of_idle_path_groups_and_hosts_cost_a_round_nothing)
{
    constexpr unsigned count = 4096;
    std::deque<test::remote_host> hosts;
    std::vector<connections::peer_in_use> used;
    for (unsigned n = 0; n < count; ++n) {
        test::remote_host &host = hosts.emplace_back(static_cast<std::uint8_t>(n), 2);
        host.address.bytes[14] = static_cast<std::uint8_t>(1 + n / 256);
        desk_.add_peer(host.peer());
        used.push_back({.peer = host.peer(), .queue_pairs = 1});
    }
    desk_.watch(used, now_);
    EXPECT_GE(desk_.transmit(now_), count) << "each is told and asked";
    ASSERT_EQ(desk_.talking().size(), count);
    const auto looks = [&] { return desk_.targets().looks() + desk_.talking().looks(); };
    unsigned changed = 0;
    const auto report = [&] {
        desk_.visit_changed([&](protocol::path_group &) { ++changed; });
        desk_.forget_changed();
    };
    const auto round = [&] {
        desk_.transmit(now_);
        report();
        EXPECT_GT(desk_.next_deadline(), now_);
    };
    round();
    const std::uint64_t before = looks();
    changed = 0;
    for (unsigned n = 0; n < 1000; ++n)
        round();
    EXPECT_EQ(changed, 0U);
    EXPECT_LE(looks() - before, 2 * 1000U) << "the first of each, which the sleep's end is asked of";

    // One that something happens to is looked at, and found.
    const std::uint64_t quiet = looks();
    hosts[17].group.on_loss(0, now_);
    hosts[18].suspected.suspect(protocol::plane_index{1}, protocol::plane_mask{0b11}, now_);
    desk_.transmit(now_);
    report();
    EXPECT_EQ(changed, 1U);
    EXPECT_LE(looks() - quiet, 4U);
    desk_.forget({&hosts[17].ports, &hosts[18].ports}, {&hosts[17].group, &hosts[18].group});
    hosts[17].group.on_loss(0, now_);
    EXPECT_EQ(desk_.talking().size(), count - 2);
    round();
}

TEST_F(desk, peers_are_told_of_a_port_in_the_next_round)
{
    desk_.watch(std::array{connections::peer_in_use{.peer = host_.peer(), .queue_pairs = 1}}, now_);
    desk_.transmit(now_);
    EXPECT_EQ(desk_.transmit(now_), 0U);
    host_.local.up = protocol::plane_mask{0b0111};
    desk_.ports_changed();
    EXPECT_EQ(desk_.transmit(now_), 1U);
}

TEST_F(desk, peers_are_told_of_a_port_once_there_is_room_though_the_worker_has_slept)
{
    desk_.watch(std::array{connections::peer_in_use{.peer = host_.peer(), .queue_pairs = 1}}, now_);
    desk_.transmit(now_);
    engine_.room = 0;
    host_.local.up = protocol::plane_mask{0b0111};
    desk_.ports_changed();
    EXPECT_EQ(desk_.transmit(now_), 0U);
    EXPECT_LE(desk_.next_deadline(), now_) << "it is still to be done";
    engine_.room = SIZE_MAX;
    EXPECT_EQ(desk_.transmit(now_), 1U);
    EXPECT_GT(desk_.next_deadline(), now_);
}

TEST_F(desk, a_batch_is_sent_at_once_and_its_end_is_reported)
{
    worker_batch batch;
    batch.patience = 10ms;
    batch.requests.push_back({.host = &host_.ports, .path = host_.group.path(0), .ports = {}});
    batch.destinations.push_back({.address = host_.address, .host_usid = 1});
    clock_now = now_;
    ASSERT_TRUE(desk_.start_batch(batch));
    EXPECT_EQ(desk_.transmit(now_), 1U);
    EXPECT_GE(engine_.flushes, 1U);
    EXPECT_LE(desk_.next_deadline(), now_ + 10ms);
    EXPECT_EQ(batches_done_, 0U);
    clock_now = now_ + 11ms;
    desk_.transmit(clock_now);
    EXPECT_TRUE(batch.done);
    EXPECT_EQ(batches_done_, 1U);
    EXPECT_EQ(batch.requests[0].state, protocol::request_state::timed_out);
}

} // namespace
} // namespace mrc::datapath
