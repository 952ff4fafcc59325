// SPDX-License-Identifier: Apache-2.0
// What the service thread has the worker do between two of its rounds: set-up and queries, never per packet.
#pragma once

#include <cstddef>
#include <semaphore>

#include <boost/lockfree/spsc_queue.hpp>

namespace mrc::datapath
{

class service_calls
{
public:
    struct call {
        virtual ~call() = default;
        virtual void run() = 0;
        std::binary_semaphore done{0};
    };

    // Threads of the service, one at a time. The call is done when `done` is; it stays there until then.
    void put(call &request) { waiting_.push(&request); }

    // The worker's thread.
    std::size_t run_all()
    {
        return waiting_.consume_all([](call *request) {
            request->run();
            request->done.release();
        });
    }
    [[nodiscard]] bool any() const { return waiting_.read_available() != 0; }

private:
    boost::lockfree::spsc_queue<call *, boost::lockfree::capacity<64>> waiting_;
};

} // namespace mrc::datapath
