// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/run.h"

#include <algorithm>
#include <array>
#include <csignal>

#include <fmt/format.h>

#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

namespace
{

constexpr std::chrono::milliseconds longest_wait{100};

} // namespace

stream_run::stream_run(endpoint &local, channel &peer, signal_source &signals, const test_plan &plan,
                       const run_settings &settings)
    : local_{local}, peer_{peer}, signals_{signals}, plan_{plan}, settings_{settings}
{
    if (settings.is_client || plan.bidir)
        sender_.emplace(local, peer, plan, make_source(plan, settings.file));
    if (!settings.is_client || plan.bidir)
        receiver_.emplace(local, peer, plan, make_sink(plan, settings.output));
}

void stream_run::execute()
{
    while (!finished()) {
        bool active = false;
        active |= take_messages();
        handle_signals();
        active |= sender_ && sender_->step();
        active |= receiver_ && receiver_->step();
        if (!active)
            wait();
    }
}

bool stream_run::take_messages()
{
    bool active = false;
    while (!finished()) { // what follows the last message is the far end's good right to close
        const auto next = peer_.receive();
        if (!next)
            break;
        handle(*next);
        active = true;
    }
    return active;
}

bool stream_run::finished() const
{
    return far_end_is_done_ && (!sender_ || sender_->finished()) && (!receiver_ || receiver_->finished());
}

void stream_run::handle(const message &what)
{
    switch (what.kind) {
    case message_kind::placed:
        if (receiver_)
            receiver_->on_placed(what.body);
        return;
    case message_kind::consumed:
        if (sender_)
            sender_->on_consumed(member(what.body, "messages"));
        return;
    case message_kind::interval:
        if (sender_ && settings_.on_interval)
            settings_.on_interval(what.body, local_.query());
        return;
    case message_kind::mark:
        if (receiver_)
            receiver_->on_mark();
        return;
    case message_kind::stop:
        if (sender_)
            sender_->stop();
        return;
    case message_kind::done:
        if (receiver_)
            receiver_->on_done(what.body);
        return;
    case message_kind::result:
        parts_.sent_result = what.body;
        far_end_is_done_ = settings_.is_client;
        return;
    case message_kind::bye:
        far_end_is_done_ = true;
        return;
    case message_kind::hello:
    case message_kind::ready:
    case message_kind::start:
    case message_kind::error:
        break;
    }
    throw perf_error{
        fmt::format("{} sends message {} in the middle of a run", peer_.peer(), static_cast<int>(what.kind)),
        "far_end"};
}

void stream_run::handle_signals()
{
    while (const auto number = signals_.take()) {
        if (*number == SIGUSR1) {
            if (settings_.is_client)
                peer_.send(message_kind::mark);
            continue;
        }
        if (parts_.interrupted)
            throw perf_error{"interrupted twice", "interrupted"};
        parts_.interrupted = true;
        if (sender_)
            sender_->stop();
        peer_.send(message_kind::stop);
    }
}

void stream_run::wait()
{
    auto until = run_clock::now() + longest_wait;
    if (receiver_)
        until = std::min(until, receiver_->next_sample().value_or(until));
    if (sender_)
        until = std::min(until, sender_->next_post().value_or(until));
    const std::chrono::nanoseconds left = until - run_clock::now();
    const std::array<int, 2> others{peer_.fd(), signals_.fd()};
    (void)local_.wait(others, std::max(left, std::chrono::nanoseconds{0}));
}

run_parts stream_run::parts()
{
    try {
        if (sender_)
            parts_.sent = sender_->summary();
        if (receiver_) {
            parts_.received = receiver_->summary();
            parts_.received_from = receiver_->sender_summary();
        }
    } catch (const perf_error &error) { // mrcd is gone, and its counters with it
        parts_.missing = error.what();
    }
    return parts_;
}

} // namespace mrc::perf
