// SPDX-License-Identifier: Apache-2.0
// Hosts that share a group of paths: whom the probes go to, whose answers count, and what sockets change.
#include "datapath/probe_targets.h"

#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "unit/datapath/queue_pair_in_memory.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;

constexpr std::uint32_t overlay_row = 3;

class probe_targets_of_two_hosts : public testing::Test
{
protected:
    void SetUp() override
    {
        paths_[1].group = overlay_row;
        targets_.add(first_);
        targets_.add(second_);
    }
    // Behind the same leaf as `first_`.
    [[nodiscard]] worker_peer neighbour()
    {
        worker_peer peer = second_host_.peer();
        peer.paths = &first_host_.group;
        peer.host_usid = 0x8002;
        return peer;
    }
    [[nodiscard]] const worker_peer &target() const { return targets_.groups()[0].target; }
    void send_over_overlay(std::uint16_t usid, instant at)
    {
        overlay_[overlay_row].host_usid = usid;
        overlay_[overlay_row].last_tx_ns = static_cast<__u64>(at.time_since_epoch().count());
    }
    // A probe that the group has sent, and the answer to it.
    [[nodiscard]] std::pair<protocol::endpoint_response_packet, protocol::arrival> answered_probe()
    {
        protocol::path_group &group = first_host_.group;
        group.on_silence(1, now_, now_);
        std::optional<protocol::outgoing> sent;
        for (unsigned rounds = 0; !sent && rounds < 10; ++rounds)
            sent = group.next_packet(now_ = group.next_deadline());
        const auto &request = std::get<protocol::endpoint_request_packet>(sent.value().content);
        return {
            {.request_id = request.request_id, .operation = request.operation, .tx_timestamp = request.tx_timestamp},
            {.entropy = sent->entropy, .path = sent->path, .at = now_}};
    }

    kernel::mapped_array<mrc_path_row> paths_ = test::table_in_memory<mrc_path_row>(MRC_MAX_PATHS);
    kernel::mapped_array<mrc_overlay_row> overlay_ = test::table_in_memory<mrc_overlay_row>(MRC_MAX_GROUPS);
    test::remote_host first_host_{1, 4};
    test::remote_host second_host_{2, 4};
    worker_peer first_ = first_host_.peer();
    worker_peer second_ = neighbour();
    probe_targets targets_{paths_, overlay_};
    instant now_{100s};
};

TEST_F(probe_targets_of_two_hosts, the_first_host_behind_a_leaf_is_asked)
{
    ASSERT_EQ(targets_.groups().size(), 1U) << "one group of paths leads to both";
    EXPECT_EQ(target().ports, first_.ports);
    EXPECT_EQ(targets_.groups()[0].row, overlay_row);
}

TEST_F(probe_targets_of_two_hosts, one_that_is_in_use_takes_the_place_of_a_silent_one)
{
    targets_.on_answer(first_, now_);
    targets_.on_use(second_, now_ + 1s);
    EXPECT_EQ(target().ports, first_.ports) << "it answered a second ago";
    targets_.on_use(second_, now_ + 1001ms);
    EXPECT_EQ(target().ports, second_.ports);
    targets_.on_use(first_, now_ + 1500ms);
    EXPECT_EQ(target().ports, second_.ports) << "it has a second to answer, too";
}

TEST_F(probe_targets_of_two_hosts, an_answer_counts_for_the_host_that_gave_it_only)
{
    targets_.on_answer(second_, now_);
    targets_.on_use(second_, now_);
    EXPECT_EQ(target().ports, second_.ports);
}

TEST_F(probe_targets_of_two_hosts, the_answer_to_a_probe_may_come_from_hosts_of_its_group_only)
{
    const auto [response, how] = answered_probe();
    test::remote_host stranger{3, 4};
    EXPECT_FALSE(targets_.on_response(stranger.peer(), response, how));
    EXPECT_TRUE(targets_.on_response(second_, response, how));
    EXPECT_FALSE(targets_.on_response(second_, response, how)) << "once";
}

TEST_F(probe_targets_of_two_hosts, the_host_that_ordinary_sockets_use_is_asked_and_its_paths_are_watched)
{
    targets_.watch_overlay(now_);
    EXPECT_EQ(first_host_.group.next_deadline(), protocol::never) << "nothing was ever sent there";
    send_over_overlay(second_.host_usid, now_ - 500ms);
    targets_.watch_overlay(now_);
    EXPECT_EQ(target().ports, second_.ports);
    EXPECT_NE(first_host_.group.next_deadline(), protocol::never);
}

TEST_F(probe_targets_of_two_hosts, sockets_that_fell_silent_are_forgotten)
{
    send_over_overlay(second_.host_usid, now_ - 1001ms);
    targets_.watch_overlay(now_);
    EXPECT_EQ(target().ports, first_.ports);
    EXPECT_EQ(first_host_.group.next_deadline(), protocol::never);
}

TEST_F(probe_targets_of_two_hosts, a_profile_has_a_group_of_its_own_until_it_is_removed)
{
    protocol::path_group profile{test::paths_of(4), first_host_.local};
    worker_peer by_profile = first_;
    by_profile.paths = &profile;
    targets_.add_profile_group(by_profile);
    ASSERT_EQ(targets_.groups().size(), 2U);
    send_over_overlay(second_.host_usid, now_);
    targets_.watch_overlay(now_);
    EXPECT_EQ(targets_.groups()[1].target.ports, first_.ports) << "sockets do not use it";
    targets_.remove_group(&first_host_.group);
    ASSERT_EQ(targets_.groups().size(), 1U);
    by_profile.ports = second_.ports;
    targets_.on_use(by_profile, now_);
    EXPECT_EQ(target().ports, second_.ports) << "the one that stays is still found by its paths";
}

} // namespace
} // namespace mrc::datapath
