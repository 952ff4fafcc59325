// SPDX-License-Identifier: Apache-2.0
// Has the drops logged that programs write into `events` by themselves, and tells those programs the wall clock. Looks
// at one word of the map every `interval`: programs wake nobody. On the thread of the context.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "kernel/event_history.h"
#include "kernel/host_tables.h"
#include "kernel/monotonic_clock.h"

namespace mrc::service
{

class drop_watch
{
public:
    static constexpr std::chrono::milliseconds interval{500};

    // The tables are borrowed; `tell` is given each event once, in order.
    drop_watch(boost::asio::io_context &context, const kernel::host_tables &tables,
               std::function<void(const mrc_event_row &)> tell)
        : tables_{tables}, tell_{std::move(tell)}, timer_{context}
    {
    }

    void look()
    {
        tables_.host[0].real_ahead_ns = static_cast<__u64>(kernel::real_time_offset().count());
        for (const mrc_event_row &drop :
             reader_.take(kernel::last_drop_event(tables_.host[0]),
                          [this](std::uint64_t row) -> const mrc_event_row & { return tables_.events[row]; }))
            tell_(drop);
        timer_.expires_after(interval);
        timer_.async_wait([this](const boost::system::error_code &error) {
            if (!error)
                look();
        });
    }

private:
    const kernel::host_tables &tables_;
    std::function<void(const mrc_event_row &)> tell_;
    boost::asio::steady_timer timer_;
    kernel::drop_reader reader_;
};

} // namespace mrc::service
