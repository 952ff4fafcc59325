// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/report_exchange.h"

#include <set>
#include <utility>

namespace mrc::service
{

void report_exchange::know(std::span<const host_place> hosts)
{
    const std::set<host_place> wanted{hosts.begin(), hosts.end()};
    std::erase_if(hosts_, [&](const auto &known) { return !wanted.contains(known.first); });
    for (const host_place host : wanted)
        hosts_.try_emplace(host);
}

bool report_exchange::take(host_place from, link_report report, protocol::instant now)
{
    const auto at = hosts_.find(from);
    if (at == hosts_.end())
        return false;
    known_host &known = at->second;
    if (known.report && known.report->run == report.run &&
        static_cast<std::int32_t>(report.number - known.report->number) <= 0)
        return false;
    keep_since(report, known.report.value_or(link_report{}), now);
    known.report = std::move(report);
    known.heard = now;
    return true;
}

void report_exchange::forget_old(protocol::instant now)
{
    for (auto &[host, known] : hosts_)
        if (known.report && now - known.heard > forgotten_after)
            known.report.reset();
}

std::vector<host_report> report_exchange::reports() const
{
    std::vector<host_report> all;
    for (const auto &[host, known] : hosts_)
        if (const auto &report = known.report)
            all.push_back({.host = host, .report = &*report, .heard = known.heard});
    return all;
}

const link_report *report_exchange::report_of(host_place host) const
{
    const auto at = hosts_.find(host);
    if (at == hosts_.end())
        return nullptr;
    const auto &report = at->second.report;
    return report ? &*report : nullptr;
}

} // namespace mrc::service
