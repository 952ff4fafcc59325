// SPDX-License-Identifier: Apache-2.0
// Who has subscribed to EV events, and what waits for each to be polled.
#pragma once

#include <cstdint>
#include <map>

#include "service/control/controller_answer.h"
#include "session/control_protocol.h"
#include "session/ev_event_queue.h"

namespace mrc::service::control
{

class ev_subscriptions
{
public:
    // Of a session: nobody else can poll or end what it has subscribed to.
    [[nodiscard]] controller_answer subscribe(std::uint64_t session, const session::control_request &request);
    [[nodiscard]] controller_answer poll(std::uint64_t session, const session::control_request &request);
    [[nodiscard]] controller_answer unsubscribe(std::uint64_t session, const session::control_request &request);
    void end_session(std::uint64_t session);

    // Queues the event for all; wake(session, subscription) of those that had none and have one now.
    template <typename Wake>
    void push(const session::ev_event &event, const Wake &wake)
    {
        for (auto &[id, known] : subscriptions_)
            if (known.queue.push(event) && known.queue.size() == 1)
                wake(known.session, id);
    }

private:
    struct subscription {
        std::uint64_t session;
        session::ev_event_queue queue;
    };
    [[nodiscard]] subscription *find(std::uint64_t session, std::uint64_t id);

    std::map<std::uint64_t, subscription> subscriptions_;
    std::uint64_t next_ = 1;
};

} // namespace mrc::service::control
