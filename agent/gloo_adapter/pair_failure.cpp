// SPDX-License-Identifier: Apache-2.0
// How a pair ends: by its far end, by a failure, by a time-out of the program.
#include <algorithm>
#include <set>
#include <utility>

#include <gloo/common/error.h>

#include "gloo_adapter/gloo_buffer.h"
#include "gloo_adapter/gloo_context.h"
#include "gloo_adapter/gloo_pair.h"

namespace mrc::gloo_adapter
{

bool gloo_pair::waits() const
{
    return !connected_ || !receives_.empty() || !flying_.empty() || !sends_.empty() || bound_.waits() ||
           context_.waits_for(peer_rank_);
}

bool gloo_pair::uses(const gloo_buffer &buffer) const
{
    const auto is = [&](const auto &entry) { return entry.second.buffer == &buffer; };
    return std::ranges::any_of(receives_, is) || std::ranges::any_of(sends_, is) ||
           std::ranges::any_of(flying_, [&](const auto &entry) { return entry.second == &buffer; });
}

void gloo_pair::drop(const gloo_buffer &buffer)
{
    std::erase_if(receives_, [&](const auto &entry) { return entry.second.buffer == &buffer; });
    std::erase_if(flying_, [&](const auto &entry) { return entry.second == &buffer; });
    std::erase_if(sends_, [&](const auto &entry) { return entry.second.buffer == &buffer; });
}

void gloo_pair::refuse(const std::string &why)
{
    if (!failure_)
        failure_ = std::make_exception_ptr(gloo::IoException(why));
    connected_changed_.notify_all();
}

// What has not begun does not begin any more.
void gloo_pair::fail_waiting()
{
    std::set<gloo_buffer *> waiting;
    for (const auto &[id, one] : receives_)
        waiting.insert(one.buffer);
    for (const auto &[slot, one] : sends_)
        waiting.insert(one.buffer);
    receives_.clear();
    sends_.clear();
    far_receives_.clear();
    for (gloo_buffer *buffer : waiting)
        buffer->on_failure(failure_);
    context_.on_pair_failed(peer_rank_, failure_);
}

void gloo_pair::signal()
{
    for (const auto &[flight, buffer] : flying_)
        buffer->on_failure(failure_);
    flying_.clear();
    fail_waiting();
    bound_.on_over();
}

void gloo_pair::fail_connection(const std::string &why)
{
    refuse("mrc: " + peer_name() + " " + why);
    if (connection_ != nullptr && !std::exchange(cutting_, true))
        context_.endpoint().cut_later(connection_, [this] {
            connection_ = nullptr;
            signal();
        });
}

void gloo_pair::on_failure(const std::string &why)
{
    refuse("mrc: " + peer_name() + ": " + why);
    signal(); // the queue pair is in error: nothing reaches this process's memory
}

// What is under way to the far end completes, or fails, by itself: it may have been received before.
void gloo_pair::on_closed()
{
    refuse("mrc: " + peer_name() + " closed the connection");
    fail_waiting();
    bound_.on_closed();
}

} // namespace mrc::gloo_adapter
