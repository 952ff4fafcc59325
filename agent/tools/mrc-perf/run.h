// SPDX-License-Identifier: Apache-2.0
// One run after both ends are connected: sender, receiver, TCP messages and signals in one loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "tools/mrc-perf/signals.h"
#include "tools/mrc-perf/stream.h"

namespace mrc::perf
{

// The summaries that a report is made of; empty where this end does not know them.
struct run_parts {
    boost::json::object sent;          // by this end
    boost::json::object sent_result;   // what the far end received of it
    boost::json::object received_from; // the far end's as sender
    boost::json::object received;      // what this end received of it
    bool interrupted = false;
    std::string missing; // why a summary could not be made
};

struct run_settings {
    bool is_client = false;
    std::string file;   // client
    std::string output; // server
    // A sample from the far end's receiver, with what this end's sender has counted meanwhile.
    std::function<void(const boost::json::object &sample, const traffic &sender)> on_interval;
};

class stream_run
{
public:
    stream_run(endpoint &local, channel &peer, signal_source &signals, const test_plan &plan,
               const run_settings &settings);

    void execute(); // throws perf_error
    // Also after execute() threw: as much as can still be told.
    [[nodiscard]] run_parts parts();

private:
    [[nodiscard]] bool finished() const;
    bool take_messages();
    void handle(const message &what);
    void handle_signals();
    void wait();

    endpoint &local_;
    channel &peer_;
    signal_source &signals_;
    const test_plan &plan_;
    const run_settings &settings_;
    std::optional<stream_sender> sender_;
    std::optional<stream_receiver> receiver_;
    run_parts parts_;
    bool far_end_is_done_ = false; // result or bye, whatever the far end owes last
};

} // namespace mrc::perf
