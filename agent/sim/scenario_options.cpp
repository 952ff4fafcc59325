// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_options.h"

#include <algorithm>
#include <cmath>

#include "options/kinds.h"
#include "options/quantity.h"

namespace mrc::sim
{

namespace
{

using namespace options;

constexpr double any = 1e12;

// "250us"
struct time_span {
    picoseconds least = 0;

    [[nodiscard]] std::string allowed() const
    {
        constexpr const char *times = R"(a time such as "250us", in ns, us, ms or s)";
        return least == 0 ? times : fmt::format("{}, of {} us or more", times, in_microseconds(least));
    }
    [[nodiscard]] bool read(const value &from, picoseconds &to) const
    {
        if (from.text() == nullptr)
            return false;
        const auto time = parse_quantity(*from.text(), {{"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}});
        if (!time || !(*time < 1e18) || std::llround(*time) < least)
            return false;
        to = std::llround(*time);
        return true;
    }
};

// 4096 or "64M"
struct byte_count {
    [[nodiscard]] static std::string allowed() { return R"(bytes from 1 to 2G, such as 4096 or "64M")"; }
    [[nodiscard]] static bool read(const value &from, std::uint64_t &to)
    {
        if (from.text() == nullptr)
            return whole{1, std::int64_t{1} << 31}.read(from, to);
        const auto bytes = parse_quantity(*from.text(), {{"", 1}, {"k", 0x1p10}, {"m", 0x1p20}, {"g", 0x1p30}});
        if (!bytes || *bytes < 1 || *bytes > 0x1p31)
            return false;
        to = static_cast<std::uint64_t>(*bytes);
        return true;
    }
};

// ["1ms", "2ms"]
struct time_window {
    [[nodiscard]] static std::string allowed() { return R"(two times in order, such as ["1ms", "2ms"])"; }
    [[nodiscard]] static bool read(const value &from, window &to)
    {
        std::vector<picoseconds> times;
        if (!list_of{time_span{}, "", 2, 2}.read(from, times) || times[0] >= times[1])
            return false;
        to = {.from = times[0], .to = times[1]};
        return true;
    }
};

// [0.95, 1.02]
struct number_range {
    [[nodiscard]] static std::string allowed() { return "two numbers in order, such as [0.95, 1.02]"; }
    [[nodiscard]] static bool read(const value &from, value_range &to)
    {
        std::vector<double> ends;
        if (!list_of{real{-any, any}, "", 2, 2}.read(from, ends) || ends[0] > ends[1])
            return false;
        to = {.least = ends[0], .most = ends[1]};
        return true;
    }
};

// ["p0t0-0", "p0t1-0"]
struct link_ends {
    [[nodiscard]] static bool read(const value &from, std::pair<std::string, std::string> &to)
    {
        std::vector<std::string> ends;
        if (!list_of{string_value{}, "", 2, 2}.read(from, ends))
            return false;
        to = {ends[0], ends[1]};
        return true;
    }
};

// [[0, "20us"], [0.5, "4ms"], [1, "40ms"]]
struct stall_quantiles {
    [[nodiscard]] static std::string allowed()
    {
        return R"(shares from 0 to 1, each with a time, both in order, such as [[0, "20us"], [0.5, "4ms"], [1, "40ms"]])";
    }
    [[nodiscard]] static bool read(const value &from, std::vector<stall_quantile> &to)
    {
        if (from.elements() == nullptr)
            return false;
        to.clear();
        for (const value &each : *from.elements())
            if (const auto *pair = each.elements(); pair == nullptr || pair->size() != 2 ||
                                                    !real{0, 1}.read(pair->at(0), to.emplace_back().share) ||
                                                    !time_span{}.read(pair->at(1), to.back().length))
                return false;
        const auto out_of_order = [](const stall_quantile &a, const stall_quantile &b) {
            return a.share >= b.share || a.length > b.length;
        };
        return to.size() > 1 && to.front().share == 0 && to.back().share == 1 &&
               std::ranges::adjacent_find(to, out_of_order) == to.end();
    }
};

// What the file does not say stays the empty optional.
template <class Inner>
struct optional_of {
    Inner inner;

    [[nodiscard]] std::string allowed() const { return inner.allowed(); }
    template <class T>
    [[nodiscard]] bool read(const value &from, std::optional<T> &to) const
    {
        return inner.read(from, to.emplace());
    }
};
template <class Inner>
optional_of(Inner) -> optional_of<Inner>;

table_of<fabric_config> fabric_table()
{
    using row = fabric_config;
    return table_of<row>{}
        .add("planes", whole{1, 8}, &row::planes)
        .add("leaves", whole{1, 64}, &row::leaves)
        .add("spines", whole{1, 64}, &row::spines)
        .add("hosts_per_leaf", whole{1, 64}, &row::hosts_per_leaf)
        .add("host_gbps", real{0.1, 1600}, &row::host_gbps)
        .add("uplink_gbps", real{0.1, 1600}, &row::uplink_gbps)
        .add("host_delay", time_span{}, &row::host_delay)
        .add("uplink_delay", time_span{}, &row::uplink_delay)
        .add("loss", real{0, 1}, &row::loss)
        .add("ecn", flag{}, &row::ecn)
        .add("ecn_last_hop", flag{}, &row::ecn_last_hop)
        .add("ecn_min", real{0, 100}, &row::ecn_min)
        .add("ecn_max", real{0, 100}, &row::ecn_max)
        .add("trim", flag{}, &row::trim)
        .add("trim_at", real{0.01, 100}, &row::trim_at)
        .add("trim_at_last_hop", real{0.01, 100}, &row::trim_at_last_hop)
        .add("drop_at", real{0.01, 100}, &row::drop_at)
        .add("carrier_delay", time_span{}, &row::carrier_delay);
}

table_of<transport_config> transport_table()
{
    using row = transport_config;
    return table_of<row>{}
        .add("kind", one_of<transport_kind>({{"mrc", transport_kind::mrc}, {"roce", transport_kind::roce}}), &row::kind)
        .add("congestion",
             one_of<congestion_kind>({{"nscc", congestion_kind::nscc}, {"fixed", congestion_kind::fixed}}),
             &row::congestion)
        .add("selector",
             one_of<selector_kind>({{"mrc", selector_kind::mrc},
                                    {"oblivious", selector_kind::oblivious},
                                    {"reps", selector_kind::reps},
                                    {"single-path", selector_kind::single_path}}),
             &row::selector)
        .add("qps", whole{1, 64}, &row::qps)
        .add("payload", whole{256, 4096}, &row::payload)
        .add("window", real{0.01, 100}, &row::window)
        .add("window_psns", whole{64, 32'640}, &row::window_psns)
        .add("active_paths", whole{0, 256}, &row::active_paths)
        .add("timeout", whole{0, 24}, &row::timeout)
        .add("probe_interval", time_span{}, &row::probe_interval)
        .add("dcqcn", flag{}, &row::dcqcn)
        .add("roce_timeout", time_span{}, &row::roce_timeout);
}

table_of<worker_model> host_table()
{
    using row = worker_model;
    return table_of<row>{}
        .add("round", time_span{}, &row::round)
        .add("frame", time_span{}, &row::frame)
        .add("batch", whole{0, 65'536}, &row::batch)
        .add("ring", whole{0, 65'536}, &row::ring)
        .add("stall_every", time_span{}, &row::stall_every)
        .add("stalls", stall_quantiles{}, &row::stalls);
}

table_of<pair_spec> pair_table()
{
    using row = pair_spec;
    return table_of<row>{}
        .add("from", string_value{}, &row::from, required)
        .add("to", string_value{}, &row::to, required)
        .add("series", string_value{}, &row::series)
        .add("start", time_span{}, &row::start)
        .add("pinned", string_value{}, &row::pinned);
}

table_of<traffic_config> traffic_table()
{
    using row = traffic_config;
    return table_of<row>{}
        .add("kind",
             one_of<traffic_kind>({{"pairs", traffic_kind::pairs},
                                   {"permutation", traffic_kind::permutation},
                                   {"incast", traffic_kind::incast},
                                   {"all_reduce", traffic_kind::all_reduce},
                                   {"all_to_all", traffic_kind::all_to_all}}),
             &row::kind)
        .add("bytes", byte_count{}, &row::bytes)
        .add("depth", whole{1, 64}, &row::depth)
        .add("count", whole{0, 1'000'000}, &row::count)
        .add("both_ways", flag{}, &row::both_ways)
        .add("senders", whole{1, 62}, &row::senders)
        .add("fan_out", whole{1, 63}, &row::fan_out)
        .add("slices", whole{1, 64}, &row::slices)
        .add("hosts", whole{2, 1024}, &row::hosts)
        .add_rows("flow", pair_table(), &row::pairs, {.one_per = "flow"});
}

table_of<scenario_event> event_table()
{
    using row = scenario_event;
    return table_of<row>{}
        .add("at", time_span{}, &row::at)
        .add("what",
             one_of<fabric_action>({{"cut", fabric_action::cut},
                                    {"down", fabric_action::down},
                                    {"up", fabric_action::up},
                                    {"loss", fabric_action::loss}}),
             &row::what, required)
        .add("links", list_of{link_ends{}, R"(pairs such as [["p0t0-0", "p0t1-0"]])", 1}, &row::links)
        .add("node", string_value{}, &row::node)
        .add("watch", string_value{}, &row::watch)
        .add("random_uplinks", whole{1, 4096}, &row::random_uplinks)
        .add("every", time_span{}, &row::every)
        .add("restored", time_span{}, &row::restored)
        .add("loss", real{0, 1}, &row::loss);
}

table_of<watch_config> watch_table()
{
    using row = watch_config;
    return table_of<row>{}
        .add("name", string_value{}, &row::name, required)
        .add("from", string_value{}, &row::from, required)
        .add("to", string_value{}, &row::to, required)
        .add("plane", whole{0, 7}, &row::plane)
        .add("position", whole{0, 255}, &row::position);
}

// `member` makes a run_selector of a row.
template <class Row, class Member>
table_of<Row> &add_selector(table_of<Row> &to, Member member)
{
    return to.add("variant", optional_of{string_value{}}, [=](auto &in) -> auto & { return member(in).variant; })
        .add("loss", optional_of{real{0, 1}}, [=](auto &in) -> auto & { return member(in).loss; })
        .add("bytes", optional_of{byte_count{}}, [=](auto &in) -> auto & { return member(in).bytes; });
}

table_of<bound> bound_table()
{
    using row = bound;
    table_of<run_selector> over;
    add_selector(over, [](auto &in) -> auto & { return in; });
    table_of<row> all;
    return add_selector(all, [](auto &in) -> auto & { return in.runs; })
        .add("metric", string_value{}, &row::metric, required)
        .add("between", number_range{}, &row::between, required)
        .add("series", string_value{}, &row::series)
        .add("watch", string_value{}, &row::watch)
        .add("median", flag{}, &row::median)
        .add("what", string_value{}, &row::what, required)
        .add("paper", string_value{}, &row::paper)
        .add("in", optional_of{time_window{}}, &row::in)
        .add("baseline", optional_of{time_window{}}, &row::baseline)
        .add_table("over", over, &row::over);
}

table_of<run_config> measure_table()
{
    return table_of<run_config>{}
        .add("interval", time_span{microsecond}, &run_config::interval)
        .add("settle", time_span{}, &run_config::settle);
}

table_of<variant> sweep_table()
{
    return table_of<variant>{}
        .add("loss", list_of{real{0, 1}, "numbers from 0 to 1", 1}, &variant::losses)
        .add("bytes", list_of{byte_count{}, R"(sizes such as "64M")", 1}, &variant::sizes)
        .add("seeds", whole{1, 1000}, &variant::seeds);
}

// What the file says of all runs, and a variant of its own; `member` makes a variant of a row.
template <class Row, class Member>
table_of<Row> &add_runs(table_of<Row> &to, Member member)
{
    const auto in_config = [member](auto of) { return [=](auto &in) -> auto & { return member(in).config.*of; }; };
    return to.add("duration", time_span{}, in_config(&run_config::duration))
        .add("seed", whole{1, 1'000'000'000}, in_config(&run_config::seed))
        .add_table("fabric", fabric_table(), in_config(&run_config::fabric))
        .add_table("transport", transport_table(), in_config(&run_config::transport))
        .add_table("host", host_table(), in_config(&run_config::host))
        .add_table("traffic", traffic_table(), in_config(&run_config::traffic))
        .add_table("measure", measure_table(), [=](auto &in) -> auto & { return member(in).config; })
        .add_rows("event", event_table(), in_config(&run_config::events), {.one_per = "event"})
        .add_table("sweep", sweep_table(), member);
}

table_of<report_config> report_table()
{
    using row = report_config;
    return table_of<row>{}
        .add("columns", list_of{string_value{}, "words in quotes", 1}, &row::columns)
        .add("y_metric", string_value{}, &row::y_metric)
        .add("y_label", string_value{}, &row::y_label);
}

table_of<scenario_text> whole_file()
{
    const auto in_scenario = [](auto of) { return [of](auto &in) -> auto & { return in.to.*of; }; };
    table_of<variant> variant_table;
    variant_table.add("name", string_value{}, &variant::name, required);
    table_of<scenario_text> all;
    return add_runs(all, [](auto &in) -> auto & { return in.base; })
        .add("title", string_value{}, in_scenario(&scenario::title), required)
        .add("paper", string_value{}, in_scenario(&scenario::paper))
        .add("scale", string_value{}, in_scenario(&scenario::scale))
        .add_rows("watch", watch_table(), [](auto &in) -> auto & { return in.base.config.watches; },
                  {.one_per = "path"})
        .add_rows("variant", add_runs(variant_table, [](auto &in) -> auto & { return in; }),
                  in_scenario(&scenario::variants), {.one_per = "variant"},
                  [](const scenario_text &in) { return in.base; })
        .add_rows("bound", bound_table(), in_scenario(&scenario::bounds), {.one_per = "bound"})
        .add_table("report", report_table(), in_scenario(&scenario::report));
}

} // namespace

const options::table_of<scenario_text> &scenario_options()
{
    static const auto all = whole_file();
    return all;
}

} // namespace mrc::sim
