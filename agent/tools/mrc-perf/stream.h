// SPDX-License-Identifier: Apache-2.0
// One direction of a run: the sender's window of WRITEs, and the receiver's look at what arrived.
//
// Message i goes through queue pair i % Q into its slot (i / Q) % window. A completion means that all bytes are in the
// far end's memory. Where the receiver checks bytes, it is told of completions (`placed`) and gives the slots back one
// by one (`consumed`); else slots are overwritten as the window moves.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/mrc-perf/channel.h"
#include "tools/mrc-perf/endpoint.h"
#include "tools/mrc-perf/payload.h"

namespace mrc::perf
{

using run_clock = std::chrono::steady_clock;

class stream_sender
{
public:
    stream_sender(endpoint &local, channel &peer, const test_plan &plan, std::unique_ptr<message_source> source);

    // Takes completions, posts what may be posted, says `done` at the end. False: nothing could be done.
    bool step();
    void on_consumed(std::uint64_t messages) { consumed_ = messages; }
    void stop(); // before the plan's end
    [[nodiscard]] bool finished() const { return done_; }
    // When --rate allows the message for which there is room; nothing: it waits for something else, or for nothing.
    [[nodiscard]] std::optional<run_clock::time_point> next_post() const;
    [[nodiscard]] boost::json::object summary();

private:
    [[nodiscard]] bool has_room() const;
    [[nodiscard]] bool may_post() const;
    bool take_completions();
    bool post();
    void announce();
    void finish();
    [[nodiscard]] std::uint64_t completed_bytes() const;

    endpoint &local_;
    channel &peer_;
    const test_plan &plan_;
    std::unique_ptr<message_source> source_;
    std::optional<run_clock::time_point> deadline_;
    std::uint64_t limit_; // messages
    std::uint64_t posted_ = 0;
    std::uint64_t consumed_ = 0;
    std::uint64_t completed_ = 0;
    run_clock::time_point first_post_;
    run_clock::time_point last_completion_;
    bool stopped_ = false;
    bool done_ = false;
    boost::json::object summary_; // once done
};

class stream_receiver
{
public:
    stream_receiver(endpoint &local, channel &peer, const test_plan &plan, std::unique_ptr<payload_sink> sink);

    // Checks one message that is there, samples when due, answers `result` at the end. False: nothing could be done.
    bool step();
    void on_placed(const boost::json::object &body);
    void on_done(boost::json::object body);
    void on_mark();
    [[nodiscard]] bool finished() const { return finished_; }
    [[nodiscard]] std::optional<run_clock::time_point> next_sample() const { return next_sample_; }
    [[nodiscard]] const boost::json::object &sender_summary() const { return sender_; }
    [[nodiscard]] boost::json::object summary();

private:
    bool check_one();
    bool sample(run_clock::time_point now);
    void end_phase(const traffic &counted);
    void finish();
    [[nodiscard]] double elapsed_ms() const;

    endpoint &local_;
    channel &peer_;
    const test_plan &plan_;
    std::unique_ptr<payload_sink> sink_;
    std::vector<std::uint64_t> placed_; // per queue pair
    std::uint64_t checked_ = 0;
    std::optional<std::uint64_t> total_;
    boost::json::object sender_;
    payload_verdict verdict_;
    run_clock::time_point started_;
    std::optional<run_clock::time_point> next_sample_;
    run_clock::time_point last_sample_;
    traffic last_counted_;
    run_clock::duration fastest_query_;
    boost::json::array phases_;
    double phase_from_ms_ = 0;
    bool finished_ = false;
    boost::json::object summary_; // once finished
};

} // namespace mrc::perf
