// SPDX-License-Identifier: Apache-2.0
// Where trace events go (trace_event.h). While nobody traces, an event costs a load and a branch that is always the
// same: it is made only when it is wanted.
#pragma once

#include "protocol/trace_event.h"

namespace mrc::protocol
{

class trace_sink
{
public:
    trace_sink() = default;
    trace_sink(const trace_sink &) = delete;
    trace_sink &operator=(const trace_sink &) = delete;
    virtual ~trace_sink() = default;

    [[nodiscard]] bool is_on() const { return on_; }
    // The time of whoever drives the state machines, for calls that are not told it.
    [[nodiscard]] instant now() const { return now_; }
    virtual void record(const trace_event &event) = 0;

protected:
    void set(bool on, instant now)
    {
        on_ = on;
        now_ = now;
    }

private:
    bool on_ = false;
    instant now_;
};

// Of those that nobody traces, ever.
class no_trace final : public trace_sink
{
public:
    void record(const trace_event &) override {}
};
inline no_trace untraced;

[[nodiscard]] inline trace_sink &trace_or_none(trace_sink *sink)
{
    return sink != nullptr ? *sink : untraced;
}

// make() gives the event.
template <typename Make>
[[gnu::always_inline]] inline void trace(trace_sink &to, const Make &make)
{
    if (to.is_on()) [[unlikely]]
        to.record(make());
}

} // namespace mrc::protocol
