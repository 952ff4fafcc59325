// SPDX-License-Identifier: Apache-2.0
// Before mrcd ends, what is in flight gets a while: until nothing is, nothing has moved for an interval, or the time is
// over.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"
#include "service/worker_crew.h"

namespace mrc::service
{

class drain
{
public:
    // Packets of all queue pairs so far, a changing number while bytes are in flight; nothing when there are no queue
    // pairs. What peers send counts as well.
    using traffic = std::function<std::optional<std::uint64_t>()>;

    drain(boost::asio::io_context &context, traffic ask) : ask_{std::move(ask)}, timer_{context} {}

    // Calls `done` when there is nothing more to wait for, at once or from the context. Once.
    void start(std::chrono::milliseconds most, std::function<void()> done);

private:
    void wait(std::uint64_t before);

    traffic ask_;
    std::function<void()> done_;
    boost::asio::steady_timer timer_;
    boost::asio::steady_timer::time_point until_;
};

// Each worker's, between two of its rounds.
[[nodiscard]] std::optional<std::uint64_t> traffic_of(const worker_crew &workers,
                                                      const kernel::mapped_array<mrc_qp_row> &qps);

} // namespace mrc::service
