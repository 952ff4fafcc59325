// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/stream.h"

#include <algorithm>
#include <limits>

namespace mrc::perf
{

stream_sender::stream_sender(endpoint &local, channel &peer, const test_plan &plan,
                             std::unique_ptr<message_source> source)
    : local_{local}, peer_{peer}, plan_{plan}, source_{std::move(source)},
      limit_{plan.messages != 0 || plan.mode == test_mode::file ? plan.messages
                                                                : std::numeric_limits<std::uint64_t>::max()},
      first_post_{run_clock::now()}, last_completion_{first_post_}
{
    if (plan.seconds != 0)
        deadline_ = first_post_ + std::chrono::seconds{plan.seconds};
}

bool stream_sender::step()
{
    if (done_)
        return false;
    if (deadline_ && run_clock::now() >= *deadline_)
        limit_ = std::min(limit_, posted_);
    bool active = take_completions();
    active |= post();
    if (posted_ == limit_ && completed_ == posted_) {
        finish();
        active = true;
    }
    return active;
}

bool stream_sender::take_completions()
{
    (void)local_.take_completions();
    if (local_.all_completed() == completed_)
        return false;
    completed_ = local_.all_completed();
    last_completion_ = run_clock::now();
    if (plan_.checked())
        announce();
    return true;
}

void stream_sender::announce()
{
    const auto each = local_.completed();
    peer_.send(message_kind::placed, {{"messages", boost::json::array(each.begin(), each.end())}});
}

bool stream_sender::has_room() const
{
    const bool slot_is_free = posted_ / plan_.qps - local_.completed()[posted_ % plan_.qps] < plan_.window;
    return posted_ < limit_ && slot_is_free && (!plan_.checked() || posted_ < consumed_ + plan_.slots());
}

std::optional<run_clock::time_point> stream_sender::next_post() const
{
    if (plan_.rate == 0 || !has_room())
        return std::nullopt;
    const std::chrono::duration<double> due{static_cast<double>(posted_) / plan_.rate};
    return first_post_ + std::chrono::ceil<run_clock::duration>(due);
}

bool stream_sender::may_post() const
{
    const auto due = next_post();
    return has_room() && (!due || *due <= run_clock::now());
}

bool stream_sender::post()
{
    bool active = false;
    while (may_post()) {
        const auto qp = static_cast<std::uint32_t>(posted_ % plan_.qps);
        const std::uint64_t slot = posted_ / plan_.qps % plan_.window;
        const std::uint64_t bytes = plan_.message_bytes(posted_);
        source_->fill(posted_, local_.send_slot(qp, slot).first(bytes));
        if (posted_ == 0)
            first_post_ = run_clock::now();
        local_.write(qp, slot, slot, bytes);
        ++posted_;
        active = true;
        if (plan_.checked()) // filling takes time: look at completions between two messages
            break;
    }
    return active;
}

void stream_sender::stop()
{
    stopped_ = stopped_ || posted_ < limit_;
    limit_ = std::min(limit_, posted_);
}

std::uint64_t stream_sender::completed_bytes() const
{
    const std::uint64_t bytes = completed_ * plan_.size;
    return plan_.mode == test_mode::file ? std::min(bytes, plan_.file_bytes) : bytes;
}

void stream_sender::finish()
{
    summary_ = summary();
    summary_["sha256"] = source_->sha256(); // of all that was posted, and all of that has completed
    done_ = true;
    peer_.send(message_kind::done, summary_);
}

boost::json::object stream_sender::summary()
{
    if (done_)
        return summary_;
    const std::chrono::duration<double> seconds = last_completion_ - first_post_;
    return {{"messages", completed_},
            {"bytes", completed_bytes()},
            {"seconds", seconds.count()},
            {"interrupted", stopped_},
            {"sha256", ""},
            {"traffic", to_json(local_.query())}};
}

} // namespace mrc::perf
