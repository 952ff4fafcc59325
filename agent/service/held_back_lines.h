// SPDX-License-Identifier: Apache-2.0
// Has the lines written that a transition_log holds back, as soon as it may write them. On the thread of the context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "kernel/monotonic_clock.h"
#include "service/transition_log.h"

namespace mrc::service
{

class held_back_lines
{
public:
    held_back_lines(boost::asio::io_context &context, transition_log &log) : log_{log}, timer_{context} {}

    // After each line that the log was given: it may hold some back now.
    void schedule()
    {
        const protocol::instant due = log_.next_deadline();
        if (due == protocol::never)
            return;
        timer_.expires_after(due - kernel::monotonic_now());
        timer_.async_wait([this](const boost::system::error_code &error) {
            if (error)
                return;
            log_.on_deadline(kernel::monotonic_now());
            schedule();
        });
    }

private:
    transition_log &log_;
    boost::asio::steady_timer timer_;
};

} // namespace mrc::service
