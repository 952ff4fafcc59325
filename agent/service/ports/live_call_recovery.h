// SPDX-License-Identifier: Apache-2.0
// What the service thread does once the worker has given XDP transmit up because its calls wait for the kernel's XDP
// dispatcher (datapath/slow_calls.h): it says so (dispatcher_lines.h), attaches host_push again, for the dispatcher may
// have a place for it now, and tries calls until a number of them in a row do not wait. Then the worker may make calls
// again.
#pragma once

#include <chrono>
#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "protocol/types.h"
#include "service/ports/dispatcher_lines.h"

namespace mrc::service
{

struct recovery_pace {
    std::chrono::milliseconds between_tries{20};
    unsigned tries = 25;                       // in a row that do not wait
    std::chrono::milliseconds after_wait{250}; // before the next try; twice that after each further one
    std::chrono::milliseconds longest_wait{2000};
    unsigned waits_per_attach = 4; // host_push is attached again after each so many tries that had to wait
};

class live_call_recovery
{
public:
    // Of live_calls and host_programs; all on the context's thread.
    struct surroundings {
        int bell_fd = -1; // borrowed
        std::function<void()> acknowledge;
        std::function<protocol::duration()> slowest;
        std::function<bool()> attach_again;
        std::function<bool()> try_one; // false: it had to wait
        std::function<void()> give_back;
    };

    // `lines`: of all workers; borrowed.
    live_call_recovery(boost::asio::io_context &context, surroundings around, dispatcher_lines &lines,
                       recovery_pace pace = {});

private:
    void await_bell();
    void begin();
    void try_again();
    void try_after(std::chrono::milliseconds delay);
    void on_wait();
    void end();

    surroundings around_;
    dispatcher_lines &lines_;
    recovery_pace pace_;
    boost::asio::posix::stream_descriptor bell_;
    boost::asio::steady_timer timer_;
    unsigned in_a_row_ = 0; // tries that did not wait
    unsigned waits_ = 0;    // tries that did, since the worker gave up
    std::chrono::milliseconds delay_{};
    protocol::instant back_since_ = protocol::instant{}; // when the worker was last given calls back
};

} // namespace mrc::service
