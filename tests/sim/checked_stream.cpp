// SPDX-License-Identifier: Apache-2.0
#include "checked_stream.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace mrc::sim
{

using namespace protocol;

namespace
{

constexpr std::uint32_t wrong_key = 0xBAD;

std::span<const std::byte> part(std::span<const std::byte> whole, const write_plan &plan)
{
    return whole.subspan(plan.offset, plan.bytes);
}

} // namespace

void checked_stream::post()
{
    for (; posted_ < plans_.size() && !abandoned_; ++posted_) {
        const write_plan &plan = plans_[posted_];
        if (plan.not_before > net_->now())
            return;
        write_request request;
        request.id = posted_;
        request.source = {1, plan.offset, plan.bytes};
        request.remote_va = host_memory::base + plan.offset;
        request.rkey = plan.forbidden ? wrong_key : host_memory::key;
        request.immediate = plan.immediate;
        request.solicited = plan.solicited;
        request.signaled = plan.signaled;
        if (!net_->post(*from_, from_end_, request))
            return;
        immediates_posted_ += plan.immediate ? 1 : 0;
    }
}

void checked_stream::check()
{
    const auto &completions = sender().completions;
    while (completions_seen_ < completions.size())
        check_completion(completions[completions_seen_++]);
    const auto &receives = receiver().receives;
    while (receives_seen_ < receives.size())
        check_receive(receives[receives_seen_++]);
}

std::size_t checked_stream::forbidden_at() const
{
    return static_cast<std::size_t>(std::ranges::find(plans_, true, &write_plan::forbidden) - plans_.begin());
}

void checked_stream::verify_until(std::size_t end)
{
    for (; verified_ < end; ++verified_)
        EXPECT_TRUE(
            std::ranges::equal(part(from_->source, plans_[verified_]), part(to_->memory.bytes(), plans_[verified_])))
            << "write " << verified_ << " is not in memory";
}

void checked_stream::check_completion(const completion &got)
{
    if (abandoned_ && got.status != completion_status::success)
        return;
    const std::size_t refused = forbidden_at();
    while (next_completion_ < std::min(refused, plans_.size()) && !plans_[next_completion_].signaled)
        ++next_completion_;
    ASSERT_LT(next_completion_, plans_.size()) << "one completion too many";
    const std::size_t index = next_completion_++;
    EXPECT_EQ(got.id, index) << "completions are in order";
    if (index < refused) {
        EXPECT_EQ(got.status, completion_status::success);
        EXPECT_EQ(got.bytes, plans_[index].bytes);
        verify_until(index + 1);
    } else {
        EXPECT_EQ(got.status, index == refused ? completion_status::remote_access_error : completion_status::flushed);
    }
}

void checked_stream::check_receive(const receive_completion &got)
{
    EXPECT_EQ(got.id, receives_seen_ - 1) << "receive requests are taken in order";
    if (got.status == completion_status::flushed) {
        EXPECT_TRUE(fails_ || abandoned_) << "flushed although nothing failed";
        return;
    }
    const auto next = std::find_if(plans_.begin() + static_cast<std::ptrdiff_t>(next_immediate_), plans_.end(),
                                   [](const write_plan &plan) { return plan.immediate.has_value(); });
    ASSERT_NE(next, plans_.end()) << "one immediate too many";
    const auto index = static_cast<std::size_t>(next - plans_.begin());
    next_immediate_ = index + 1;
    ++immediates_delivered_;
    EXPECT_LT(index, forbidden_at()) << "an immediate from behind a refused write";
    EXPECT_EQ(got.status, completion_status::success);
    EXPECT_EQ(got.immediate, *next->immediate);
    EXPECT_EQ(got.bytes, next->bytes);
    EXPECT_EQ(got.solicited, next->solicited);
    verify_until(std::min(index + 1, forbidden_at()));
}

bool checked_stream::done() const
{
    if (abandoned_)
        return true;
    const std::size_t refused = forbidden_at();
    if (refused < plans_.size())
        return posted_ > refused && sender().qp.state() == qp_state::error &&
               receiver().qp.state() == qp_state::error && sender().qp.outstanding() == 0;
    return posted_ == plans_.size() && sender().qp.outstanding() == 0;
}

void checked_stream::check_end() const
{
    if (abandoned_)
        return;
    const std::size_t refused = std::min(forbidden_at(), plans_.size());
    const auto wanted = std::count_if(plans_.begin(), plans_.begin() + static_cast<std::ptrdiff_t>(refused),
                                      [](const write_plan &plan) { return plan.immediate.has_value(); });
    const auto &receives = receiver().receives;
    EXPECT_EQ(std::ranges::count(receives, completion_status::success, &receive_completion::status), wanted)
        << "immediates";
    for (std::size_t index = next_completion_; index < refused; ++index)
        EXPECT_FALSE(plans_[index].signaled) << "write " << index << " has not completed";
    EXPECT_TRUE(refused == plans_.size() || next_completion_ == posted_) << "posted, never flushed";
    EXPECT_EQ(sender().qp.state() == qp_state::error, fails_);
    EXPECT_EQ(sender().qp.inflight_packets(), 0u);
    EXPECT_EQ(sender().qp.next_deadline(), never) << "a timer is left";
}

bool checked_stream::held_by_immediates() const
{
    return immediates_posted_ - immediates_delivered_ > sender().config.max_wimm;
}

bool checked_stream::fills_window() const
{
    const qp_counters &counters = sender().qp.counters();
    const std::uint64_t underway = counters.tx_packets - counters.retransmits - receiver().qp.counters().rx_packets;
    const std::uint32_t unknown = (16 << 10) / sender().config.payload_bytes;
    return underway + unknown >= sender().config.window_psns;
}

bool checked_stream::wraps() const
{
    const qp_counters &counters = sender().qp.counters();
    return sender().config.first_send.value() + counters.tx_packets - counters.retransmits > MRC_PSN_MASK;
}

} // namespace mrc::sim
