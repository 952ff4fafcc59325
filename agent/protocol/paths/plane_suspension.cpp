// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/plane_suspension.h"

namespace mrc::protocol
{

std::optional<plane_suspension::step> plane_suspension::next_step(instant now)
{
    if (now < next_)
        return std::nullopt;
    next_ = never;
    for (std::uint8_t number = 0; number < records_.size(); ++number) {
        const plane_index plane{number};
        record &at = records_[number];
        if (!planes_.has(plane))
            continue;
        // Looked at much too late, this host was off its CPU, and the answer may wait unread: asked anew.
        if (now >= at.ends_at + patience_ / 2)
            at = {.since = at.since, .ask_at = now, .ends_at = now + patience_};
        if (now >= at.ends_at) {
            next_ = now; // there may be more
            planes_.set(plane, false);
            return step{plane, true, at.since};
        }
        if (now >= at.ask_at) {
            const bool first = at.ask_at + patience_ == at.ends_at;
            at.ask_at = first ? at.ask_at + patience_ / 2 : never;
            next_ = now;
            return step{plane, false, at.since};
        }
        next_ = std::min({next_, at.ask_at, at.ends_at});
    }
    return std::nullopt;
}

} // namespace mrc::protocol
