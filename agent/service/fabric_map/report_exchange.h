// SPDX-License-Identifier: Apache-2.0
// What other hosts have reported lately, and to whom this one reports when. Only known hosts are listened to. Each is
// sent a report every `interval`; those that have reported lately every `alert_interval` while a fault is new, and at
// once when this host's own verdicts change; all within a budget, in turns. Sans-IO, times as arguments.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "protocol/rate_limit.h"
#include "protocol/types.h"
#include "service/fabric_map/fault_merge.h"
#include "service/fabric_map/link_report.h"

namespace mrc::service
{

class report_exchange
{
public:
    static constexpr protocol::duration interval = std::chrono::seconds{1};
    static constexpr protocol::duration alert_interval = std::chrono::milliseconds{100};
    static constexpr protocol::duration forgotten_after = std::chrono::milliseconds{3500};
    static constexpr protocol::duration per_report = std::chrono::milliseconds{1}; // of all hosts, that are sent
    static constexpr unsigned burst = 64;

    // The hosts that are known now.
    void know(std::span<const host_place> hosts);
    // False: from none of these, or older than what it has said before.
    bool take(host_place from, link_report report, protocol::instant now);
    // Older reports are forgotten.
    void forget_old(protocol::instant now);
    // Of those that have reported lately; valid until the next call of this object.
    [[nodiscard]] std::vector<host_report> reports() const;
    // Of that host; null: none lately.
    [[nodiscard]] const link_report *report_of(host_place host) const;

    // This host's own verdicts are others than before.
    void hurry() { is_in_hurry_ = true; }
    // send(host_place) for each that is to be sent a report now.
    template <typename Send>
    void send_due(bool alert, protocol::instant now, Send send)
    {
        auto at = hosts_.lower_bound(next_);
        for (std::size_t left = hosts_.size(); left > 0; --left, ++at) {
            if (at == hosts_.end())
                at = hosts_.begin();
            if (!is_due(at->second, alert, now))
                continue;
            if (!budget_.take(now)) {
                next_ = at->first; // with whom the next round begins
                return;
            }
            at->second.due = now + interval;
            at->second.sent = now;
            send(at->first);
        }
        is_in_hurry_ = false;
    }

private:
    struct known_host {
        std::optional<link_report> report{};
        protocol::instant heard{};
        protocol::instant sent{};
        protocol::instant due{};
    };

    [[nodiscard]] bool is_due(const known_host &known, bool alert, protocol::instant now) const
    {
        return now >= known.due || (known.report && (is_in_hurry_ || (alert && now - known.sent >= alert_interval)));
    }

    std::map<host_place, known_host> hosts_;
    protocol::rate_limit budget_{per_report, burst};
    host_place next_;
    bool is_in_hurry_ = false;
};

} // namespace mrc::service
