// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>

#include "protocol/paths/peer_planes.h"
#include "protocol/paths/port_status.h"
#include "protocol/random_source.h"
#include "unit/protocol/paths/path_group_fixture.h"

namespace mrc::protocol
{
namespace
{

TEST(attention, each_that_calls_is_taken_once)
{
    std::array<attention, 3> members;
    attention_list list;
    members[0].call(); // of no list yet
    EXPECT_EQ(list.take(), nullptr);
    for (attention &one : members)
        list.enter(one);
    list.leave(members[1]);
    members[1].call();
    members[0].call();
    EXPECT_EQ(list.take(), &members[2]);
    EXPECT_EQ(list.take(), &members[0]);
    EXPECT_EQ(list.take(), nullptr);
    members[2].call();
    EXPECT_EQ(list.take(), &members[2]);
    list.leave(members[0]);
    EXPECT_EQ(list.take(), nullptr);
}

// Whatever happens to a group or a host: a deadline does not move forward, no state changes and nothing is counted
// without a call, but for what next_packet() does.
class calls : public testing::Test
{
protected:
    calls()
    {
        group_.attend(&of_group_);
        ports_.attend(&of_host_);
        planes_.attend(&of_host_);
        for (attention *one : {&of_group_, &of_host_})
            list_.enter(*one);
    }
    [[nodiscard]] instant host_deadline() const { return std::min(ports_.next_deadline(), planes_.next_deadline()); }
    [[nodiscard]] unsigned below(unsigned bound) { return random_.below(bound); }
    [[nodiscard]] unsigned slot() { return below(group_.size()); }
    [[nodiscard]] instant of_late() { return now_ - std::chrono::microseconds{below(2000)}; }

    void happen(unsigned what)
    {
        switch (what) {
        case 0:
            return group_.on_sent(slot(), below(2) == 0);
        case 1:
            return group_.on_delivered(slot(), of_late());
        case 2:
            return group_.on_loss(slot(), now_);
        case 3:
            return group_.on_silence(slot(), of_late(), now_);
        case 4:
            return group_.on_unanswered(slot(), of_late(), now_);
        case 5:
            return group_.on_late(slot(), of_late(), now_);
        case 6:
            return group_.on_plane_silence(slot(), of_late(), now_);
        case 7:
            return group_.on_answer_sent(now_);
        case 8:
            return group_.watch(now_ + 5ms);
        case 9:
            return group_.watch_idle(now_ + 20ms);
        case 10:
            return group_.on_always_skip(slot(), now_);
        case 11:
            return below(2) == 0 ? group_.deny(slot()) : group_.allow(slot());
        case 12:
            return ports_.watch(now_ + 5ms);
        case 13:
            return planes_.watch(now_ + 5ms);
        case 14:
            return (void)planes_.suspect(plane_index{static_cast<std::uint8_t>(below(4))}, plane_mask{0xF}, now_);
        case 15:
            return planes_.on_delivered(plane_index{static_cast<std::uint8_t>(below(4))}, of_late());
        case 16:
            return update();
        default:
            return answer_one();
        }
    }
    void update()
    {
        endpoint_request_packet request;
        request.request_id = ++update_id_;
        request.operation = MRC_EP_PORT_STATUS_UPDATE;
        request.port_status_mask = 1 + below(31);
        (void)ports_.on_request(request, {.entropy = ev{8}, .path = path_index{100}, .at = now_}, now_);
    }
    void answer_one()
    {
        if (asked_.empty())
            return;
        endpoint_response_packet response;
        response.request_id = std::get<endpoint_request_packet>(asked_.front().content).request_id;
        const arrival how{.entropy = asked_.front().entropy, .path = asked_.front().path, .at = now_};
        asked_.pop_front();
        if (!group_.on_packet(response, how) && !planes_.on_packet(response, how))
            (void)ports_.on_response(response);
    }
    // What whoever runs them does where they call, or are due.
    void serve()
    {
        take_calls();
        if (group_called_ || group_.next_deadline() <= now_) {
            ask([&] { return group_.next_packet(now_); });
            while (group_.next_transition())
                ++reported_;
            while (group_.next_counted())
                ++reported_;
        }
        if (host_called_ || host_deadline() <= now_) {
            ask([&] { return ports_.next_packet(now_); });
            ask([&] { return planes_.next_packet(now_); });
        }
        group_called_ = host_called_ = false;
    }
    template <typename Source>
    void ask(Source next)
    {
        while (const std::optional<outgoing> packet = next())
            if (std::holds_alternative<endpoint_request_packet>(packet->content))
                asked_.push_back(*packet);
    }
    void take_calls()
    {
        for (const attention *one = list_.take(); one != nullptr; one = list_.take())
            (one == &of_group_ ? group_called_ : host_called_) = true;
    }

    random_source random_{7};
    instant now_{1s};
    local_ports local_{plane_mask{0xF}};
    path_group group_{four_by(4, 2), local_};
    port_status ports_{{}, group_};
    peer_planes planes_{{}, group_};
    attention of_group_;
    attention of_host_;
    attention_list list_;
    bool group_called_ = false;
    bool host_called_ = false;
    std::uint16_t update_id_ = 0;
    std::deque<outgoing> asked_;
    std::size_t reported_ = 0;
};

TEST_F(calls, whatever_brings_a_deadline_forward)
{
    unsigned forward = 0;
    for (unsigned step = 0; step < 200'000; ++step) {
        serve();
        now_ += std::chrono::microseconds{below(100)};
        const instant group_before = group_.next_deadline();
        const instant host_before = host_deadline();
        const unsigned what = below(18);
        happen(what);
        take_calls();
        const bool group_forward = group_.next_deadline() < group_before;
        const bool host_forward = host_deadline() < host_before;
        forward += (group_forward ? 1u : 0u) + (host_forward ? 1u : 0u);
        ASSERT_TRUE(!group_forward || group_called_) << "step " << step << ", event " << what;
        ASSERT_TRUE(!host_forward || host_called_) << "step " << step << ", event " << what;
        if (!group_called_ && group_.next_deadline() > now_) {
            ASSERT_FALSE(group_.next_transition() || group_.next_counted()) << "step " << step << ", event " << what;
        }
    }
    EXPECT_GT(forward, 500u);
    EXPECT_GT(reported_, 1'000u);
}

} // namespace
} // namespace mrc::protocol
