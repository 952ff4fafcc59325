// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "protocol/paths/port_status.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

path_group_config four_planes()
{
    path_group_config config;
    config.planes = 4;
    config.uplinks = 2;
    config.base = path_index{1};
    return config;
}

class port_status_test : public testing::Test
{
protected:
    // Everything that leaves until `until`, at its deadlines.
    std::vector<outgoing> run(port_status &from, instant until)
    {
        std::vector<outgoing> all;
        while (now_ <= until) {
            while (const auto packet = from.next_packet(now_))
                all.push_back(*packet);
            const instant next = from.next_deadline();
            if (next > until)
                break;
            now_ = std::max(next, now_ + 1us);
        }
        now_ = until;
        return all;
    }
    static endpoint_request_packet update(std::uint16_t id, std::uint32_t mask)
    {
        endpoint_request_packet request;
        request.request_id = id;
        request.operation = MRC_EP_PORT_STATUS_UPDATE;
        request.port_status_mask = mask;
        return request;
    }
    static const endpoint_request_packet &request_of(const outgoing &packet)
    {
        return std::get<endpoint_request_packet>(packet.content);
    }
    void confirm(const outgoing &packet)
    {
        endpoint_response_packet response;
        response.request_id = request_of(packet).request_id;
        EXPECT_TRUE(status_.on_response(response));
    }

    instant now_{1s};
    local_ports local_{plane_mask{0b1111}};
    path_group paths_{four_planes(), local_};
    port_status status_{{}, paths_};
};

TEST_F(port_status_test, a_peer_without_traffic_gets_no_update)
{
    local_.up = plane_mask{0b0111};
    EXPECT_TRUE(run(status_, now_ + 5s).empty());
}

// Also where nobody asks it between its deadlines.
TEST_F(port_status_test, a_peer_in_use_again_is_told_at_once)
{
    status_.watch(now_ + 10ms);
    const auto first = run(status_, now_);
    ASSERT_EQ(first.size(), 1U);
    confirm(first[0]);
    EXPECT_TRUE(run(status_, now_ + 100ms).empty());
    EXPECT_EQ(status_.next_deadline(), never);
    status_.watch(now_ + 10ms);
    EXPECT_LE(status_.next_deadline(), now_);
    EXPECT_EQ(run(status_, now_).size(), 1U);
}

TEST_F(port_status_test, change_is_announced_at_once_and_repeated_on_other_planes)
{
    status_.watch(now_ + 10ms);
    (void)run(status_, now_ + 5ms);
    local_.up = plane_mask{0b1101};
    const instant changed = now_;
    const auto first = status_.next_packet(now_);
    ASSERT_TRUE(first);
    EXPECT_EQ(request_of(*first).port_status_mask, 0b11010u) << "port 1 is bit 1";
    auto all = run(status_, changed + 500ms);
    all.insert(all.begin(), *first);
    ASSERT_EQ(all.size(), 3u);
    std::set<unsigned> planes;
    for (const outgoing &packet : all) {
        EXPECT_EQ(request_of(packet).request_id, request_of(*first).request_id);
        EXPECT_EQ(packet.dscp, MRC_DSCP_CONTROL);
        planes.insert(mrc_ev_plane(packet.entropy.value));
    }
    EXPECT_EQ(planes.size(), 3u);
    EXPECT_FALSE(planes.contains(1)) << "the lost port";
}

TEST_F(port_status_test, confirmed_update_is_not_repeated_but_refreshed)
{
    status_.watch(now_ + 3500ms);
    const auto first = run(status_, now_);
    ASSERT_EQ(first.size(), 1u);
    confirm(first[0]);
    EXPECT_EQ(run(status_, now_ + 900ms).size(), 0u);
    EXPECT_EQ(run(status_, now_ + 200ms).size(), 3u) << "the refresh is not confirmed";
    EXPECT_EQ(status_.counters().confirmed, 1u);
    endpoint_response_packet foreign;
    foreign.request_id = 1;
    EXPECT_FALSE(status_.on_response(foreign));
    EXPECT_EQ(status_.counters().rejected_response, 1u);
    (void)run(status_, now_ + 3s);
    EXPECT_EQ(status_.next_deadline(), never) << "traffic has ended";
}

TEST_F(port_status_test, drained_port_is_announced_like_a_lost_one)
{
    status_.watch(now_ + 1s);
    local_.enabled.set(plane_index{0}, false);
    EXPECT_EQ(request_of(*status_.next_packet(now_)).port_status_mask, 0b11100u);
}

TEST_F(port_status_test, peer_mask_is_taken_and_answered)
{
    const arrival how{.entropy = ev{77}, .path = path_index{3}, .at = now_};
    status_.on_request(update(9, 0b11010), how, now_);
    EXPECT_EQ(status_.peer_ports().bits(), 0b1101u);
    const auto reply = status_.next_packet(now_);
    ASSERT_TRUE(reply);
    EXPECT_EQ(std::get<endpoint_response_packet>(reply->content).request_id, 9);
    EXPECT_EQ(std::get<endpoint_response_packet>(reply->content).operation, MRC_EP_PORT_STATUS_UPDATE);
    EXPECT_EQ(reply->entropy, ev{77});
    EXPECT_EQ(reply->path, path_index{3});
}

TEST_F(port_status_test, overtaken_update_is_answered_but_not_taken)
{
    const arrival how{.entropy = {}, .path = {}, .at = now_};
    status_.on_request(update(0xFFFF, 0b11110), how, now_);
    status_.on_request(update(3, 0b01110), how, now_ + 1ms);
    status_.on_request(update(1, 0b11110), how, now_ + 2ms);
    EXPECT_EQ(status_.peer_ports().bits(), 0b0111u);
    EXPECT_EQ(status_.counters().overtaken, 1u);
    status_.on_request(update(1, 0b11100), how, now_ + 200ms);
    EXPECT_EQ(status_.peer_ports().bits(), 0b1110u) << "a peer that began anew counts from elsewhere";
}

TEST_F(port_status_test, mask_without_a_plane_of_the_fabric_is_rejected)
{
    const arrival how{.entropy = {}, .path = {}, .at = now_};
    status_.on_request(update(1, 0), how, now_);
    status_.on_request(update(2, 1u << 0 | 1u << 5 | 1u << 31), how, now_);
    EXPECT_EQ(status_.peer_ports().bits(), 0b1111u);
    EXPECT_EQ(status_.counters().rejected_empty, 2u);
    EXPECT_FALSE(status_.next_packet(now_));
}

TEST_F(port_status_test, floods_are_limited)
{
    const arrival how{.entropy = {}, .path = {}, .at = now_};
    for (std::uint16_t id = 1; id <= 50; ++id)
        status_.on_request(update(id, 0b11110), how, now_);
    EXPECT_EQ(status_.counters().taken, 16u);
    EXPECT_EQ(status_.counters().limited, 34u);
    for (std::uint16_t id = 51; id < 1051; ++id)
        status_.on_request(update(id, 0b11110), how, now_ + id * 1ms);
    EXPECT_NEAR(static_cast<double>(status_.counters().taken), 16 + 21, 2) << "20 a second";
}

// Two hosts; what one sends arrives at the other at once.
class port_status_pair : public port_status_test
{
protected:
    void exchange(duration time)
    {
        for (const instant end = now_ + time; now_ < end; now_ += 1ms) {
            carry(status_, far_);
            carry(far_, status_);
        }
    }
    void carry(port_status &from, port_status &to)
    {
        while (const auto packet = from.next_packet(now_)) {
            if (!carrying_.has(plane_index{static_cast<std::uint8_t>(mrc_ev_plane(packet->entropy.value))}))
                continue;
            if (const auto *request = std::get_if<endpoint_request_packet>(&packet->content))
                to.on_request(*request, {.entropy = packet->entropy, .path = packet->path, .at = now_}, now_);
            else
                EXPECT_TRUE(to.on_response(std::get<endpoint_response_packet>(packet->content)));
        }
    }

    plane_mask carrying_{0b1111};
    local_ports far_local_{plane_mask{0b1111}};
    path_group far_paths_{four_planes(), far_local_};
    port_status far_{{}, far_paths_};
};

TEST_F(port_status_pair, lost_port_stays_known_when_the_traffic_has_ended_and_so_does_its_return)
{
    far_.watch(now_ + 3s);
    far_local_.up = plane_mask{0b1011};
    exchange(1s);
    EXPECT_EQ(status_.peer_ports().bits(), 0b1011u);
    exchange(60s);
    EXPECT_EQ(status_.peer_ports().bits(), 0b1011u) << "it is repeated";
    far_local_.up = plane_mask{0b1111};
    exchange(2ms);
    EXPECT_EQ(status_.peer_ports().bits(), 0b1111u);
    exchange(2s);
    EXPECT_EQ(far_.next_deadline(), never) << "nothing is left to tell";
    EXPECT_EQ(status_.next_deadline(), never);
}

TEST_F(port_status_pair, port_that_both_have_lost_is_told_to_be_back_although_all_other_planes_have_died)
{
    status_.watch(now_ + 60s);
    far_.watch(now_ + 60s);
    local_.up = far_local_.up = plane_mask{0b1011};
    exchange(100ms);
    ASSERT_EQ(status_.peer_ports().bits(), 0b1011u);
    ASSERT_EQ(far_.peer_ports().bits(), 0b1011u);
    carrying_ = plane_mask{0b0100};
    local_.up = plane_mask{0b1111};
    exchange(5ms);
    far_local_.up = plane_mask{0b1111};
    exchange(5ms);
    EXPECT_EQ(status_.peer_ports().bits(), 0b1111u);
    exchange(1s);
    EXPECT_EQ(far_.peer_ports().bits(), 0b1111u);
}

TEST_F(port_status_test, peer_that_does_not_answer_gets_no_more_updates_once_traffic_has_ended)
{
    status_.watch(now_ + 500ms);
    local_.up = plane_mask{0b0111};
    EXPECT_EQ(run(status_, now_ + 5s).size(), 6u) << "one update, one refresh";
    EXPECT_EQ(status_.next_deadline(), never);
}

TEST_F(port_status_test, silent_peer_can_be_reached_on_all_ports_again)
{
    const instant told = now_;
    status_.on_request(update(1, 0b11010), {.entropy = {}, .path = {}, .at = now_}, now_);
    (void)run(status_, told + 4900ms);
    EXPECT_EQ(status_.peer_ports().bits(), 0b1101u);
    EXPECT_EQ(status_.next_deadline(), told + 5s);
    (void)run(status_, told + 5s);
    EXPECT_EQ(status_.peer_ports().bits(), 0b1111u);
    EXPECT_EQ(status_.next_deadline(), never);
}

TEST_F(port_status_test, peer_with_traffic_need_not_repeat_its_update)
{
    const instant told = now_;
    status_.on_request(update(1, 0b11010), {.entropy = {}, .path = {}, .at = now_}, now_);
    status_.watch(told + 60s);
    (void)run(status_, told + 64s);
    EXPECT_EQ(status_.peer_ports().bits(), 0b1101u);
    (void)run(status_, told + 66s);
    EXPECT_EQ(status_.peer_ports().bits(), 0b1111u);
}

TEST_F(port_status_test, mask_may_count_from_bit_zero)
{
    port_status ibta{{.mask_base = 0}, paths_};
    ibta.watch(now_ + 1s);
    local_.up = plane_mask{0b0101};
    EXPECT_EQ(request_of(*ibta.next_packet(now_)).port_status_mask, 0b0101u);
    ibta.on_request(update(1, 0b1001), {.entropy = {}, .path = {}, .at = now_}, now_);
    EXPECT_EQ(ibta.peer_ports().bits(), 0b1001u);
}

} // namespace
} // namespace mrc::protocol
