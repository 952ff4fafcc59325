// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/rates.h"

#include <algorithm>
#include <ctime>

#include <boost/json/array.hpp>

#include "tools/mrcctl/views.h"
#include "tools/mrcctl/workers.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

double seconds_between(const sample &before, const sample &after)
{
    return static_cast<double>(after.time_ns - before.time_ns) * 1e-9;
}

// What is greater comes first.
double rank_of(const json::value &qp, qp_order by)
{
    const auto number = [&qp](const char *key) { return qp.at(key).is_null() ? 0 : qp.at(key).to_number<double>(); };
    switch (by) {
    case qp_order::loss:
        return number("loss_ratio");
    case qp_order::rtt:
        return number("rtt_ns");
    case qp_order::qpn:
        return -number("qpn");
    case qp_order::rate:
        break;
    }
    return number("tx_bits_per_s") + number("rx_bits_per_s");
}

} // namespace

sample take_sample(const host_maps &maps)
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    sample taken;
    taken.time_ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
    for (std::uint32_t row = 0; row < MRC_MAX_QPS; ++row) {
        if (maps.qps().in_place(row).qpn == 0)
            continue; // most are free, and copying them all takes milliseconds
        if (const mrc_qp_row qp = maps.qps()[row]; qp.qpn != 0)
            taken.qps.emplace(qp.qpn, qp);
    }
    for (std::uint32_t plane = 0; plane < MRC_MAX_PORTS; ++plane)
        taken.ports[plane] = maps.ports()[plane];
    for (std::uint32_t number = 0; number < MRC_MAX_WORKERS; ++number)
        taken.workers[number] = maps.workers()[number];
    taken.verdicts = maps.verdicts();
    return taken;
}

double rate_between(std::uint64_t before, std::uint64_t after, double seconds)
{
    return seconds > 0 ? static_cast<double>(grown(before, after)) / seconds : 0;
}

json::value ratio_or_null(std::uint64_t part, std::uint64_t whole)
{
    return whole == 0 ? json::value(nullptr)
                      : json::value(std::min(1.0, static_cast<double>(part) / static_cast<double>(whole)));
}

json::object plane_rates(std::uint32_t plane, const mrc_port_row &before, const mrc_port_row &after, double seconds)
{
    json::object view = port_view(plane, after);
    view["tx_packets_per_s"] = rate_between(before.tx_packets, after.tx_packets, seconds);
    view["rx_packets_per_s"] = rate_between(before.rx_packets, after.rx_packets, seconds);
    view["tx_bits_per_s"] = 8 * rate_between(before.tx_bytes, after.tx_bytes, seconds);
    view["rx_bits_per_s"] = 8 * rate_between(before.rx_bytes, after.rx_bytes, seconds);
    return view;
}

json::object qp_rates(const mrc_qp_row &before, const mrc_qp_row &after, double seconds)
{
    json::object view = qp_view(after);
    for (const auto &[name, value] :
         {qp_counter{"tx_packets_per_s", &mrc_qp_row::tx_packets},
          qp_counter{"rx_packets_per_s", &mrc_qp_row::rx_packets},
          qp_counter{"retransmits_per_s", &mrc_qp_row::retransmits}, qp_counter{"losses_per_s", &mrc_qp_row::losses}})
        view[name] = rate_between(before.*value, after.*value, seconds);
    view["tx_bits_per_s"] = 8 * rate_between(before.tx_bytes, after.tx_bytes, seconds);
    view["rx_bits_per_s"] = 8 * rate_between(before.rx_bytes, after.rx_bytes, seconds);
    view["loss_ratio"] = ratio_or_null(grown(before.losses, after.losses), grown(before.tx_packets, after.tx_packets));
    return view;
}

void sort_qps(json::object &view, qp_order by)
{
    std::ranges::stable_sort(view.at("qps").as_array(), [by](const json::value &a, const json::value &b) {
        return rank_of(a, by) > rank_of(b, by);
    });
}

json::object rates_view(const sample &before, const sample &after, qp_order by)
{
    const double seconds = seconds_between(before, after);
    json::array planes;
    for (std::uint32_t plane = 0; plane < MRC_MAX_PORTS; ++plane)
        if (after.ports[plane].device[0] != '\0')
            planes.push_back(plane_rates(plane, before.ports[plane], after.ports[plane], seconds));
    json::array workers;
    for (std::uint32_t number = 0; number < MRC_MAX_WORKERS; ++number)
        if (after.workers[number].thread != 0)
            workers.push_back(worker_rates(number, before.workers[number], after.workers[number], seconds));
    json::array qps;
    for (const auto &[qpn, qp] : after.qps) {
        const auto earlier = before.qps.find(qpn);
        qps.push_back(qp_rates(earlier == before.qps.end() ? mrc_qp_row{} : earlier->second, qp, seconds));
    }
    json::object view{
        {"seconds", seconds}, {"planes", std::move(planes)}, {"workers", std::move(workers)}, {"qps", std::move(qps)}};
    sort_qps(view, by);
    return view;
}

json::object difference_view(const sample &before, const sample &after)
{
    verdict_counts more(after.verdicts.size());
    for (std::size_t i = 0; i < more.size(); ++i)
        more[i] = after.verdicts[i] - std::min(before.verdicts[i], after.verdicts[i]);
    return {{"seconds", seconds_between(before, after)}, {"verdicts", verdicts_view(more)}};
}

} // namespace mrc::ctl
