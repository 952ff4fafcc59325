// SPDX-License-Identifier: Apache-2.0
// Has peers forgotten that nobody has used for a while. On the thread of the context; it sleeps while all are used.
#pragma once

#include <chrono>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "service/control/control_service.h"
#include "service/peer_directory.h"

namespace mrc::service
{

class peer_release
{
public:
    // Longer than the worker watches a host that was used (endpoint_desk.cpp). One that is unused goes at the second
    // look, so after one to two of these.
    static constexpr std::chrono::seconds interval{5};

    peer_release(boost::asio::io_context &context, peer_directory &peers, control_service &control)
        : peers_{peers}, control_{control}, timer_{context}
    {
        peers_.call_when_unused([this] { schedule(); });
    }
    peer_release(const peer_release &) = delete;
    peer_release &operator=(const peer_release &) = delete;
    ~peer_release() { peers_.call_when_unused({}); }

private:
    void schedule()
    {
        if (std::exchange(waiting_, true))
            return;
        timer_.expires_after(interval);
        timer_.async_wait([this](const boost::system::error_code &error) {
            if (error)
                return;
            waiting_ = false;
            control_.release_unused_peers(false);
            if (peers_.any_unused())
                schedule();
        });
    }

    peer_directory &peers_;
    control_service &control_;
    boost::asio::steady_timer timer_;
    bool waiting_ = false;
};

} // namespace mrc::service
