// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/workers.h"

#include <array>
#include <iterator>
#include <numeric>

#include "tools/mrcctl/rates.h"
#include "tools/table/table.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

using bucket_counts = std::array<std::uint64_t, MRC_RTT_BUCKETS>;

// The end of the bucket in which that part of all is reached; null: there are none, or that bucket has no end.
json::value below_which(const bucket_counts &counts, double part)
{
    const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
    std::uint64_t sum = 0;
    for (std::size_t bucket = 0; bucket + 1 < counts.size(); ++bucket) {
        sum += counts[bucket];
        if (all > 0 && static_cast<double>(sum) >= part * all)
            return std::uint64_t{1} << (MRC_RTT_SHIFT + bucket);
    }
    return nullptr;
}

void show_lag(json::object &view, const bucket_counts &counts)
{
    view["lag_log2"] = json::array(counts.begin(), counts.end());
    view["lag_p50_below_ns"] = below_which(counts, 0.5);
    view["lag_p99_below_ns"] = below_which(counts, 0.99);
}

json::object worker_view(std::uint32_t number, const mrc_worker_row &row)
{
    json::object view{{"worker", number},
                      {"thread", row.thread},
                      {"rounds", row.rounds},
                      {"sleeps", row.sleeps},
                      {"rx_packets", row.rx_packets},
                      {"rx_late", row.rx_late},
                      {"rx_dropped", row.rx_dropped},
                      {"ran_ns", row.ran_ns},
                      {"waited_ns", row.waited_ns}};
    bucket_counts lag{};
    std::ranges::copy(row.lag_log2, lag.begin());
    show_lag(view, lag);
    return view;
}

constexpr column worker_columns[] = {
    {"WORKER", "worker"},
    {"RAN", "ran_ns", column_unit::time},
    {"WAITED FOR A CPU", "waited_ns", column_unit::time},
    {"RX PACKETS", "rx_packets"},
    {"LATE", "rx_late"},
    {"DROPPED", "rx_dropped"},
    {"HALF TAKEN WITHIN", "lag_p50_below_ns", column_unit::time},
    {"99 % WITHIN", "lag_p99_below_ns", column_unit::time},
};

constexpr column worker_rate_columns[] = {
    {"WORKER", "worker"},
    {"LOAD", "load_ratio", column_unit::share},
    {"WAITED FOR A CPU", "waited_ratio", column_unit::share},
    {"RX PACKETS", "rx_packets_per_s", column_unit::rate},
    {"DROPPED", "rx_dropped"},
    {"HALF TAKEN WITHIN", "lag_p50_below_ns", column_unit::time},
    {"99 % WITHIN", "lag_p99_below_ns", column_unit::time},
};

} // namespace

json::array workers_of(const host_maps &maps)
{
    json::array all;
    for (std::uint32_t number = 0; number < maps.workers().size(); ++number)
        if (const mrc_worker_row row = maps.workers()[number]; row.thread != 0)
            all.push_back(worker_view(number, row));
    return all;
}

json::object worker_rates(std::uint32_t number, const mrc_worker_row &before, const mrc_worker_row &after,
                          double seconds)
{
    json::object view = worker_view(number, after);
    const std::uint64_t looked = grown(before.looked_ns, after.looked_ns);
    view["load_ratio"] = ratio_or_null(grown(before.ran_ns, after.ran_ns), looked);
    view["waited_ratio"] = ratio_or_null(grown(before.waited_ns, after.waited_ns), looked);
    view["rx_packets_per_s"] = rate_between(before.rx_packets, after.rx_packets, seconds);
    bucket_counts lag{};
    for (std::size_t bucket = 0; bucket < lag.size(); ++bucket)
        lag[bucket] = grown(before.lag_log2[bucket], after.lag_log2[bucket]);
    show_lag(view, lag);
    return view;
}

std::string workers_text(const json::array &workers)
{
    return workers.empty() ? "no workers\n" : to_table(worker_columns, workers);
}

std::string worker_rates_text(const json::array &workers)
{
    return workers.empty() ? "no workers\n" : to_table(worker_rate_columns, workers);
}

} // namespace mrc::ctl
