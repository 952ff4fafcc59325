// SPDX-License-Identifier: Apache-2.0
// Ping-pong by WRITEs into memory that the other end polls: no completion and no system call in the measured path. With
// --events, by WRITEs with an immediate, for whose completion events the other end sleeps.
//
// A message has arrived when the last byte of each of its packets has the message's number: packets are placed in any
// order, so the last byte of the message alone would prove nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/mrc-perf/channel.h"
#include "tools/mrc-perf/endpoint.h"
#include "tools/mrc-perf/run.h"
#include "tools/mrc-perf/signals.h"

namespace mrc::perf
{

class ping_pong
{
public:
    ping_pong(endpoint &local, channel &peer, signal_source &signals, const test_plan &plan, bool is_client);

    void execute(); // throws perf_error
    [[nodiscard]] run_parts parts();
    [[nodiscard]] std::vector<std::uint32_t> sorted_ns() const; // half round trips, of the client

private:
    void ping();
    void pong();
    void write(std::uint64_t number);
    [[nodiscard]] bool has_arrived(std::uint64_t number);
    [[nodiscard]] bool is_in_memory(std::uint64_t number);
    [[nodiscard]] bool is_completed(std::uint64_t number);
    // What the fast path leaves aside; false when the run is over.
    bool look_around();
    [[nodiscard]] boost::json::object own_summary();

    endpoint &local_;
    channel &peer_;
    signal_source &signals_;
    const test_plan &plan_;
    bool is_client_;
    std::vector<std::uint64_t> send_marks_; // offsets of the last byte of each packet
    std::vector<std::uint64_t> receive_marks_;
    std::uint64_t written_ = 0;
    std::vector<std::uint32_t> samples_ns_; // half round trips
    std::optional<run_clock::time_point> deadline_;
    run_clock::time_point started_;
    run_clock::time_point ended_;
    run_parts parts_;
    bool over_ = false;
};

} // namespace mrc::perf
