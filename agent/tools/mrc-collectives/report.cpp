// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-collectives/report.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace mrc::collectives
{

namespace
{

namespace json = boost::json;

constexpr const char *columns = "{:<15} {:>10} {:>8} {:>12} {:>12} {:>12} {:>8} {:>8} {:>14}\n";

double gbps_of(const collective_times &one)
{
    return static_cast<double>(one.bytes) * 8e-3 / one.median_us;
}

double bus_gbps_of(const collective_times &one, const collectives_options &chosen)
{
    return gbps_of(one) * bus_factor(one.what, chosen.ranks);
}

const char *transport_name(const collectives_options &chosen)
{
    return chosen.transport == transport_kind::mrc ? "mrc" : "tcp";
}

} // namespace

std::string table_head(const collectives_options &chosen)
{
    return fmt::format("{} ranks, {}: times of one result in us, of the slowest rank; Gbit/s\n", chosen.ranks,
                       transport_name(chosen)) +
           fmt::format(fmt::runtime(columns), "OPERATION", "BYTES", "RESULTS", "MEDIAN", "LEAST", "MOST", "RATE", "BUS",
                       "VERIFIED");
}

std::string table_line(const collective_times &one, const collectives_options &chosen)
{
    const auto rate = [](double gbps) { return fmt::format("{:.3f}", gbps); };
    const auto time = [](double us) { return fmt::format("{:.1f}", us); };
    return fmt::format(fmt::runtime(columns), name_of(one.what), one.bytes, one.results, time(one.median_us),
                       time(one.least_us), time(one.most_us), rate(gbps_of(one)), rate(bus_gbps_of(one, chosen)),
                       one.verified_bytes);
}

std::string json_text(std::span<const collective_times> all, const collectives_options &chosen)
{
    json::array rows;
    for (const collective_times &one : all)
        rows.push_back(json::object{
            {"operation", name_of(one.what)},
            {"bytes", one.bytes},
            {"results", one.results},
            {"latency_us", json::object{{"median", one.median_us}, {"min", one.least_us}, {"max", one.most_us}}},
            {"gbps", gbps_of(one)},
            {"bus_gbps", bus_gbps_of(one, chosen)},
            {"verified_bytes", one.verified_bytes}});
    return json::serialize(json::object{
               {"transport", transport_name(chosen)}, {"ranks", chosen.ranks}, {"rows", std::move(rows)}}) +
           '\n';
}

} // namespace mrc::collectives
