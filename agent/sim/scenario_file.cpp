// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_file.h"

#include <cerrno>
#include <cstring>
#include <expected>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "sim/scenario_reader.h"

namespace mrc::sim
{

namespace
{

constexpr double any = 1e12;

void read_fabric(scenario_reader &in, fabric_config &to)
{
    in.whole("planes", to.planes, 1, 8);
    in.whole("leaves", to.leaves, 1, 64);
    in.whole("spines", to.spines, 1, 64);
    in.whole("hosts_per_leaf", to.hosts_per_leaf, 1, 64);
    in.number("host_gbps", to.host_gbps, 0.1, 1600);
    in.number("uplink_gbps", to.uplink_gbps, 0.1, 1600);
    in.time("host_delay", to.host_delay);
    in.time("uplink_delay", to.uplink_delay);
    in.number("loss", to.loss, 0, 1);
    in.flag("ecn", to.ecn);
    in.flag("ecn_last_hop", to.ecn_last_hop);
    in.number("ecn_min", to.ecn_min, 0, 100);
    in.number("ecn_max", to.ecn_max, 0, 100);
    in.flag("trim", to.trim);
    in.number("trim_at", to.trim_at, 0.01, 100);
    in.number("trim_at_last_hop", to.trim_at_last_hop, 0.01, 100);
    in.number("drop_at", to.drop_at, 0.01, 100);
    in.time("carrier_delay", to.carrier_delay);
    if (to.leaves * to.hosts_per_leaf > 64)
        in.fail("hosts_per_leaf", "at most 64 hosts");
    in.finish();
}

void read_transport(scenario_reader &in, transport_config &to)
{
    in.word("kind", to.kind,
            std::array{std::pair{"mrc", transport_kind::mrc}, std::pair{"roce", transport_kind::roce}});
    in.whole("qps", to.qps, 1, 64);
    in.whole("payload", to.payload, 256, 4096);
    in.word("congestion", to.congestion,
            std::array{std::pair{"nscc", congestion_kind::nscc}, std::pair{"fixed", congestion_kind::fixed}});
    in.word("selector", to.selector,
            std::array{std::pair{"mrc", selector_kind::mrc}, std::pair{"oblivious", selector_kind::oblivious},
                       std::pair{"reps", selector_kind::reps}, std::pair{"single-path", selector_kind::single_path}});
    in.number("window", to.window, 0.01, 100);
    in.whole("window_psns", to.window_psns, 64, 4096);
    in.whole("active_paths", to.active_paths, 0, 256);
    in.whole("timeout", to.timeout, 0, 24);
    in.time("probe_interval", to.probe_interval);
    in.flag("dcqcn", to.dcqcn);
    in.time("roce_timeout", to.roce_timeout);
    in.finish();
}

void read_traffic(scenario_reader &in, traffic_config &to)
{
    in.word("kind", to.kind,
            std::array{std::pair{"pairs", traffic_kind::pairs}, std::pair{"permutation", traffic_kind::permutation},
                       std::pair{"incast", traffic_kind::incast}, std::pair{"all_reduce", traffic_kind::all_reduce},
                       std::pair{"all_to_all", traffic_kind::all_to_all}});
    in.bytes("bytes", to.bytes);
    in.whole("depth", to.depth, 1, 64);
    in.whole("count", to.count, 0, 1'000'000);
    in.flag("both_ways", to.both_ways);
    in.whole("senders", to.senders, 1, 62);
    in.whole("fan_out", to.fan_out, 1, 63);
    in.whole("slices", to.slices, 1, 64);
    in.whole("hosts", to.hosts, 2, 64);
    for (scenario_reader &each : in.tables("flow")) {
        pair_spec pair;
        pair.line = each.line();
        each.text("from", pair.from);
        each.text("to", pair.to);
        each.text("series", pair.series);
        each.time("start", pair.start);
        each.text("pinned", pair.pinned);
        each.finish();
        if (pair.from.empty() || pair.to.empty() || pair.from == pair.to)
            each.fail(pair.from.empty() ? "from" : "to", "two hosts, such as h0 and h1");
        to.pairs.push_back(std::move(pair));
    }
    in.finish();
}

scenario_event read_event(scenario_reader &in)
{
    scenario_event event;
    event.line = in.line();
    in.time("at", event.at);
    in.word("what", event.what,
            std::array{std::pair{"cut", fabric_action::cut}, std::pair{"down", fabric_action::down},
                       std::pair{"up", fabric_action::up}, std::pair{"loss", fabric_action::loss}});
    in.text_pairs("links", event.links);
    in.text("node", event.node);
    in.text("watch", event.watch);
    in.whole("random_uplinks", event.random_uplinks, 1, 4096);
    in.time("every", event.every);
    in.time("restored", event.restored);
    in.number("loss", event.loss, 0, 1);
    in.finish();
    if (!in.has("what"))
        in.fail("what", R"("cut", "down", "up", "loss")");
    if (event.links.empty() && event.node.empty() && event.watch.empty() && event.random_uplinks == 0)
        in.fail("links", "one of links, node, watch, random_uplinks");
    return event;
}

watch_config read_watch(scenario_reader &in)
{
    watch_config watch;
    watch.line = in.line();
    in.text("name", watch.name);
    in.text("from", watch.from);
    in.text("to", watch.to);
    in.whole("plane", watch.plane, 0, 7);
    in.whole("position", watch.position, 0, 255);
    in.finish();
    for (const char *key : {"name", "from", "to"})
        if (!in.has(key))
            in.fail(key, "text in quotes");
    return watch;
}

void read_selector(scenario_reader &in, run_selector &to)
{
    std::string variant;
    double loss = 0;
    std::uint64_t bytes = 0;
    in.text("variant", variant);
    in.number("loss", loss, 0, 1);
    in.bytes("bytes", bytes);
    if (in.has("variant"))
        to.variant = variant;
    if (in.has("loss"))
        to.loss = loss;
    if (in.has("bytes"))
        to.bytes = bytes;
}

bound read_bound(scenario_reader &in)
{
    bound to;
    to.line = in.line();
    in.text("metric", to.metric);
    in.word("op", to.op,
            std::array{std::pair{"<=", comparison::at_most}, std::pair{">=", comparison::at_least},
                       std::pair{"within", comparison::within}});
    in.number("value", to.value, -any, any);
    in.number("tolerance", to.tolerance, 0, any);
    in.text("series", to.series);
    in.text("watch", to.watch);
    in.flag("median", to.median);
    in.text("what", to.what);
    in.text("paper", to.paper);
    read_selector(in, to.runs);
    for (scenario_reader &over : in.tables("over")) {
        read_selector(over, to.over.emplace());
        over.finish();
    }
    if (window part; in.times("in", part.from, part.to))
        to.in = part;
    if (window part; in.times("baseline", part.from, part.to))
        to.baseline = part;
    in.finish();
    for (const char *key : {"metric", "op", "value", "what"})
        if (!in.has(key))
            in.fail(key, "metric, op, value and what");
    return to;
}

void read_run(scenario_reader &in, run_config &to)
{
    in.time("duration", to.duration);
    in.whole("seed", to.seed, 1, 1'000'000'000);
    for (scenario_reader &each : in.tables("fabric"))
        read_fabric(each, to.fabric);
    for (scenario_reader &each : in.tables("transport"))
        read_transport(each, to.transport);
    for (scenario_reader &each : in.tables("traffic"))
        read_traffic(each, to.traffic);
    for (scenario_reader &each : in.tables("measure")) {
        each.time("interval", to.interval);
        each.time("settle", to.settle);
        each.finish();
        if (to.interval < microsecond)
            each.fail("interval", "1us or more");
    }
    std::vector<scenario_reader> events = in.tables("event");
    if (!events.empty()) // a variant's events take the place of the scenario's
        to.events.clear();
    for (scenario_reader &each : events)
        to.events.push_back(read_event(each));
}

void read_sweep(scenario_reader &in, variant &to)
{
    for (scenario_reader &each : in.tables("sweep")) {
        each.numbers("loss", to.losses, 0, 1);
        each.sizes("bytes", to.sizes);
        each.whole("seeds", to.seeds, 1, 1000);
        each.finish();
    }
}

void read_variants(scenario_reader &in, const variant &base, scenario &to)
{
    for (scenario_reader &each : in.tables("variant")) {
        variant fresh = base;
        each.text("name", fresh.name);
        if (fresh.name.empty())
            each.fail("name", "text in quotes");
        read_run(each, fresh.config);
        read_sweep(each, fresh);
        each.finish();
        to.variants.push_back(std::move(fresh));
    }
    if (to.variants.empty())
        to.variants.push_back(base);
}

void read_report(scenario_reader &in, report_config &to)
{
    in.texts("columns", to.columns);
    in.text("y_metric", to.y_metric);
    in.text("y_label", to.y_label);
    in.finish();
}

// Names of hosts, switches and links exist in the fabric that the variant describes.
class name_check
{
public:
    name_check(const std::string &file, const run_config &config)
        : file_{file}, config_{config}, topology_{config.fabric, config.transport.payload}
    {
    }

    void run() const
    {
        for (const pair_spec &each : config_.traffic.pairs)
            for (const std::string &name : {each.from, each.to})
                expect(topology_.find_host(name), each.line, "traffic.flow", name);
        for (const pair_spec &each : config_.traffic.pairs)
            if (!each.pinned.empty())
                expect_watch(each.pinned, each.line, "traffic.flow.pinned");
        for (const watch_config &each : config_.watches)
            for (const std::string &name : {each.from, each.to})
                expect(topology_.find_host(name), each.line, "watch", name);
        for (const scenario_event &each : config_.events)
            check(each);
    }

private:
    template <class T>
    void expect(const std::expected<T, std::string> &result, std::uint32_t line, const char *key,
                const std::string &found) const
    {
        if (!result)
            throw scenario_error{
                fmt::format("{}:{}: {}: found {}; allowed: {}", file_, line, key, found, result.error())};
    }
    void check(const scenario_event &event) const
    {
        for (const auto &[a, b] : event.links)
            expect(topology_.find_link(a, b), event.line, "event.links", a + " and " + b);
        if (!event.node.empty())
            expect(topology_.links_of(event.node), event.line, "event.node", event.node);
        if (!event.watch.empty())
            expect_watch(event.watch, event.line, "event.watch");
    }
    void expect_watch(const std::string &name, std::uint32_t line, const char *key) const
    {
        for (const watch_config &each : config_.watches)
            if (each.name == name)
                return;
        throw scenario_error{
            fmt::format("{}:{}: {}: found {}; allowed: the name of a [[watch]]", file_, line, key, name)};
    }

    const std::string &file_;
    const run_config &config_;
    fabric topology_;
};

} // namespace

scenario parse_scenario(std::string_view text, const std::string &file)
{
    toml::table root;
    try {
        root = toml::parse(text, file);
    } catch (const toml::parse_error &error) {
        throw scenario_error{fmt::format("{}:{}: {}", file, error.source().begin.line, error.description())};
    }
    scenario to;
    to.file = file;
    to.id = std::filesystem::path{file}.stem().string();
    scenario_reader in{file, root, ""};
    in.text("title", to.title);
    in.text("paper", to.paper);
    in.text("scale", to.scale);
    variant base;
    read_run(in, base.config);
    for (scenario_reader &each : in.tables("watch"))
        base.config.watches.push_back(read_watch(each));
    read_sweep(in, base);
    read_variants(in, base, to);
    for (scenario_reader &each : in.tables("bound"))
        to.bounds.push_back(read_bound(each));
    for (scenario_reader &each : in.tables("report"))
        read_report(each, to.report);
    in.finish();
    for (const variant &each : to.variants)
        name_check{file, each.config}.run();
    if (to.title.empty())
        in.fail("title", "text in quotes");
    return to;
}

scenario load_scenario(const std::string &path)
{
    std::ifstream file{path};
    if (!file)
        throw scenario_error{fmt::format("{}: {}", path, std::strerror(errno))};
    std::ostringstream text;
    text << file.rdbuf();
    return parse_scenario(text.str(), path);
}

} // namespace mrc::sim
