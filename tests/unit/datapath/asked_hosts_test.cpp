// SPDX-License-Identifier: Apache-2.0
//
// Two hosts behind one T0, idle queue pairs to both, and links that die: whose fault is it? A path is the leaf's, a
// link from the leaf to a host is the host's.
#include <array>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "codec/frame_codec.h"
#include "datapath/endpoint_desk.h"
#include "unit/datapath/queue_pair_in_memory.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;
using protocol::plane_mask;

constexpr plane_mask both{0b11};
constexpr plane_mask first_only{0b01};
constexpr plane_mask second_only{0b10};
constexpr auto heartbeat = 1s;

class leaf_of_two_hosts : public testing::Test
{
protected:
    struct host {
        host(std::uint8_t number, protocol::path_group &paths) : usid{number}, ports{{}, paths}, planes{{}, paths}
        {
            address.bytes[15] = number;
        }
        mrc_ip address{{0xfd, 2}};
        std::uint16_t usid;
        protocol::port_status ports;
        protocol::peer_planes planes;
        plane_mask links = both; // that are alive
        std::size_t asked_in_vain = 0;
    };
    struct question {
        std::uint16_t usid = 0;
        std::uint32_t path = 0;
        std::uint16_t id = 0;
    };

    void SetUp() override
    {
        for (std::uint32_t row = 1; row <= 2; ++row)
            paths_[row].port = static_cast<__u8>(row - 1);
        for (host &each : hosts_)
            desk_.add_peer(peer(each));
        engine_.on_commit = [this](const departure &packet, std::span<const std::byte> bytes) {
            const auto parsed = codec::decode(bytes, false);
            const auto *request = parsed ? std::get_if<protocol::endpoint_request_packet>(&parsed->content) : nullptr;
            if (request != nullptr && request->operation == MRC_EP_EV_PROBE)
                questions_.push_back({packet.host_usid, packet.path, request->request_id});
        };
    }

    [[nodiscard]] worker_peer peer(host &each)
    {
        return {.address = each.address,
                .host_usid = each.usid,
                .paths = &group_,
                .ports = &each.ports,
                .planes = &each.planes};
    }

    // Queue pairs to the first `used_` hosts stay connected and send nothing.
    void run(protocol::duration time)
    {
        for (const instant end = now_ + time; now_ < end; now_ += 1ms) {
            if (now_.time_since_epoch() % probe_targets::watch_interval == 0ns) {
                std::vector<connections::peer_in_use> used;
                used.reserve(used_);
                for (std::size_t n = 0; n < used_; ++n)
                    used.push_back({.peer = peer(hosts_[n]), .queue_pairs = 1});
                desk_.watch(used, now_);
            }
            desk_.transmit(now_);
            for (const question &each : std::exchange(questions_, {}))
                answer(each);
            while (const auto change = group_.next_transition())
                changes_.push_back(change->to);
        }
    }

    void answer(const question &asked)
    {
        host &at = hosts_[asked.usid - 1U];
        if (!at.links.has(group_.path(asked.path - 1).plane)) {
            ++at.asked_in_vain;
            return;
        }
        codec::decoded packet{};
        packet.source = at.address;
        packet.content = protocol::endpoint_response_packet{.request_id = asked.id, .operation = MRC_EP_EV_PROBE};
        EXPECT_EQ(desk_.on_packet(packet, {.entropy = {}, .path = protocol::path_index{asked.path}, .at = now_ + 100us},
                                  now_),
                  MRC_AGENT_ACCEPTED);
    }

    void tell_ports(const host &from, plane_mask usable)
    {
        codec::decoded packet{};
        packet.source = from.address;
        protocol::endpoint_request_packet update;
        update.request_id = protocol::port_status_ids.first;
        update.operation = MRC_EP_PORT_STATUS_UPDATE;
        update.port_status_mask = usable.bits() << 1;
        packet.content = update;
        EXPECT_EQ(desk_.on_packet(packet, {.entropy = {}, .path = protocol::path_index{1}, .at = now_}, now_),
                  MRC_AGENT_ACCEPTED);
    }

    kernel::mapped_array<mrc_path_row> paths_ = test::table_in_memory<mrc_path_row>(MRC_USUAL_PATHS);
    kernel::mapped_array<mrc_overlay_row> overlay_ = test::table_in_memory<mrc_overlay_row>(MRC_MAX_GROUPS);
    test::counting_engine engine_;
    packet_output output_{
        {.source = {.common = {{0xfd, 1}}}}, std::vector<transmit_engine *>(MRC_MAX_PORTS, &engine_), paths_};
    protocol::local_ports local_{both};
    protocol::path_group group_{test::paths_of(2), local_};
    std::array<host, 2> hosts_{host{1, group_}, host{2, group_}};
    std::vector<question> questions_;
    std::vector<protocol::path_state> changes_;
    endpoint_desk desk_{{.output = output_,
                         .paths = paths_,
                         .overlay = overlay_,
                         .clock = [] { return instant{}; },
                         .on_peer_change = nullptr,
                         .on_batch_done = nullptr}};
    instant now_{10s};
    std::size_t used_ = 2;
};

// Three questions that the first host has not answered, and the second one does.
class missed_questions : public leaf_of_two_hosts
{
protected:
    missed_questions()
    {
        asked_.on_use(peer(hosts_[0]), now_);
        ask_all();
        now_ += 2s;
        hosts_[0].planes.on_delivered(protocol::plane_index{1}, now_);
        asked_.on_use(peer(hosts_[1]), now_);
        asked_.forget_unused(now_);
    }
    void ask_all()
    {
        for (std::uint16_t slot = 0; slot < uplinks; ++slot)
            (void)asked_.ask(slot, static_cast<std::uint16_t>(protocol::path_probe_ids.first + slot), now_);
    }
    void answer_all()
    {
        for (std::uint16_t slot = 0; slot < uplinks; ++slot)
            asked_.on_answer(peer(hosts_[1]), static_cast<std::uint16_t>(protocol::path_probe_ids.first + slot), now_);
    }

    static constexpr std::uint16_t uplinks = 3;
    [[nodiscard]] static protocol::path_group_config two_by_three()
    {
        protocol::path_group_config config = test::paths_of(2);
        config.uplinks = uplinks;
        return config;
    }
    protocol::path_group many_{two_by_three(), local_};
    asked_hosts asked_{many_, peer(hosts_[0])};
};

TEST_F(missed_questions, are_held_against_a_host)
{
    ask_all();
    answer_all();
    EXPECT_EQ(hosts_[0].planes.suspected(), first_only);
}

TEST_F(missed_questions, of_a_host_that_goes_are_forgotten)
{
    ask_all();
    EXPECT_TRUE(asked_.forget({&hosts_[0].ports}));
    answer_all();
    EXPECT_EQ(hosts_[0].planes.suspected(), plane_mask{}) << "it may be no more";
}

TEST_F(missed_questions, that_wait_for_a_host_that_goes_are_forgotten)
{
    EXPECT_TRUE(asked_.forget({&hosts_[0].ports}));
    ask_all();
    answer_all();
    EXPECT_EQ(hosts_[0].planes.suspected(), plane_mask{});
    EXPECT_FALSE(asked_.forget({&hosts_[1].ports})) << "nobody is left to be asked";
}

// Its last questions have no answer: they must not be taken for misses of a host that is no more.
TEST_F(leaf_of_two_hosts, of_hosts_that_go_the_others_are_asked)
{
    run(3s);
    hosts_[0].links = plane_mask{};
    run(3s);
    ASSERT_GT(hosts_[0].asked_in_vain, 0u);
    const std::size_t asked = hosts_[0].asked_in_vain;
    const plane_mask suspected = hosts_[0].planes.suspected();
    desk_.forget({&hosts_[0].ports}, {});
    used_ = 0;
    run(100ms);
    EXPECT_EQ(hosts_[0].asked_in_vain, asked);
    EXPECT_EQ(hosts_[0].planes.suspected(), suspected);
    EXPECT_EQ(desk_.targets().size(), 1u);
    desk_.forget({&hosts_[1].ports}, {});
    EXPECT_EQ(desk_.targets().size(), 0u) << "with the last of its hosts";
    run(10s);
}

TEST_F(leaf_of_two_hosts, a_dead_link_to_one_host_costs_its_neighbour_nothing_while_both_are_idle)
{
    run(2 * heartbeat);
    hosts_[0].links = first_only;
    run(8 * heartbeat);
    EXPECT_TRUE(changes_.empty()) << "no path has changed";
    EXPECT_EQ(hosts_[0].planes.suspected(), second_only);
    EXPECT_TRUE(hosts_[1].planes.suspected().empty());
    hosts_[0].links = both;
    run(100ms);
    EXPECT_TRUE(hosts_[0].planes.suspected().empty()) << "three probes in a row are answered";
}

TEST_F(leaf_of_two_hosts, a_plane_dead_to_all_of_them_is_the_paths_fault_within_a_heartbeat)
{
    run(2 * heartbeat);
    for (host &each : hosts_)
        each.links = first_only;
    run(heartbeat + 50ms);
    EXPECT_EQ(group_.good_planes(), first_only);
    for (host &each : hosts_)
        EXPECT_TRUE(each.planes.suspected().empty());
    for (host &each : hosts_)
        each.links = both;
    run(50ms);
    EXPECT_EQ(group_.good_planes(), both);
}

// Nor does what they miss say anything of them: it comes too soon.
TEST_F(leaf_of_two_hosts, questions_about_the_ways_of_answers_go_to_each_in_turn)
{
    hosts_[0].links = first_only;
    std::array<unsigned, 2> asked{};
    for (const instant end = now_ + 9ms; now_ < end;) { // no heartbeat is overdue yet
        for (int n = 0; n < 128; ++n)
            group_.on_answer_sent(now_);
        desk_.watch(std::vector<connections::peer_in_use>{{.peer = peer(hosts_[0]), .queue_pairs = 1},
                                                          {.peer = peer(hosts_[1]), .queue_pairs = 1}},
                    now_);
        desk_.transmit(now_);
        for (const question &each : questions_)
            asked[each.usid - 1U] += protocol::reverse_ids.contains(each.id) && each.path == 2 ? 1 : 0;
        run(1ms);
    }
    EXPECT_EQ(asked[0] + asked[1], 5U) << "each 2 ms";
    EXPECT_GE(std::min(asked[0], asked[1]), 2U);
    EXPECT_TRUE(hosts_[0].planes.suspected().empty());
    EXPECT_TRUE(changes_.empty());
}

TEST_F(leaf_of_two_hosts, a_path_returns_when_one_of_them_answers)
{
    run(heartbeat);
    for (host &each : hosts_)
        each.links = first_only;
    run(2 * heartbeat);
    EXPECT_EQ(group_.good_planes(), first_only);
    hosts_[1].links = both;
    run(100ms);
    EXPECT_EQ(group_.good_planes(), both);
    run(8 * heartbeat);
    EXPECT_EQ(group_.good_planes(), both);
    EXPECT_EQ(hosts_[0].planes.suspected(), second_only) << "its own link is still dead";
}

TEST_F(leaf_of_two_hosts, a_host_is_not_asked_on_a_port_that_it_has_said_is_down)
{
    used_ = 1;
    run(2 * heartbeat);
    hosts_[0].links = first_only;
    for (int second = 0; second < 5; ++second) {
        tell_ports(hosts_[0], first_only);
        run(heartbeat);
    }
    EXPECT_EQ(hosts_[0].asked_in_vain, 0U);
    EXPECT_TRUE(changes_.empty());
}

TEST_F(leaf_of_two_hosts, a_silent_host_is_no_paths_fault_nor_a_planes)
{
    run(2 * heartbeat);
    hosts_[0].links = plane_mask{};
    run(8 * heartbeat);
    EXPECT_GT(hosts_[0].asked_in_vain, 0U);
    EXPECT_TRUE(changes_.empty());
    EXPECT_TRUE(hosts_[0].planes.suspected().empty());
}

TEST_F(leaf_of_two_hosts, alone_in_use_a_host_speaks_for_the_path)
{
    used_ = 1;
    run(2 * heartbeat);
    hosts_[0].links = first_only;
    run(heartbeat + 50ms);
    EXPECT_EQ(group_.good_planes(), first_only);
    EXPECT_GT(hosts_[0].asked_in_vain, 0U);
    EXPECT_EQ(hosts_[1].asked_in_vain, 0U);
    used_ = 2; // and so does another one, as soon as it is in use
    run(300ms);
    EXPECT_EQ(group_.good_planes(), both);
}

} // namespace
} // namespace mrc::datapath
