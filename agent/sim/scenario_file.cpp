// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario_file.h"

#include <algorithm>
#include <expected>
#include <filesystem>

#include "options/read.h"
#include "sim/scenario_options.h"
#include <fmt/format.h>

namespace mrc::sim
{

namespace
{

constexpr unsigned most_hosts = 1024;

// What must hold between the options of a variant: names of hosts, switches and links exist in its fabric.
class variant_check
{
public:
    // `prefix` is that of the variant's own keys: "variant[1]."
    variant_check(const options::origins &origin, const run_config &config, std::string prefix)
        : origin_{origin}, config_{config}, prefix_{std::move(prefix)}
    {
    }

    void run() const
    {
        const unsigned hosts = config_.fabric.leaves * config_.fabric.hosts_per_leaf;
        if (hosts > most_hosts)
            fail("fabric.hosts_per_leaf", fmt::format("{} hosts", hosts), fmt::format("at most {}", most_hosts));
        check(config_.host);
        const fabric topology{config_.fabric, config_.transport.payload};
        for (std::size_t row = 0; row < config_.traffic.pairs.size(); ++row)
            check(config_.traffic.pairs[row], fmt::format("traffic.flow[{}].", row), topology);
        for (std::size_t row = 0; row < config_.watches.size(); ++row) {
            expect(topology.find_host(config_.watches[row].from), fmt::format("watch[{}].from", row),
                   config_.watches[row].from);
            expect(topology.find_host(config_.watches[row].to), fmt::format("watch[{}].to", row),
                   config_.watches[row].to);
        }
        for (std::size_t row = 0; row < config_.events.size(); ++row)
            check(config_.events[row], fmt::format("event[{}].", row), topology);
    }

private:
    void check(const worker_model &host) const
    {
        if (!host.in_rounds() && host != worker_model{})
            fail("host.round", "nothing", "a time of more than 0 where [host] says anything");
        if (host.in_rounds() && config_.transport.kind == transport_kind::roce)
            fail("host.round", "a time", "0 for RoCE, whose hosts are NICs");
        if ((host.stall_every != 0) == host.stalls.empty())
            fail(host.stalls.empty() ? "host.stalls" : "host.stall_every", "nothing", "both or neither");
    }
    void check(const pair_spec &flow, const std::string &name, const fabric &topology) const
    {
        expect(topology.find_host(flow.from), name + "from", flow.from);
        expect(topology.find_host(flow.to), name + "to", flow.to);
        if (flow.from == flow.to)
            fail(name + "to", flow.to, "another host than from");
        expect_watch(flow.pinned, name + "pinned");
    }
    void check(const scenario_event &event, const std::string &name, const fabric &topology) const
    {
        if (event.links.empty() && event.node.empty() && event.watch.empty() && event.random_uplinks == 0)
            fail(name + "links", "nothing", "one of links, node, watch, random_uplinks");
        for (const auto &[a, b] : event.links)
            expect(topology.find_link(a, b), name + "links", fmt::format("{} and {}", a, b));
        if (!event.node.empty())
            expect(topology.links_of(event.node), name + "node", event.node);
        expect_watch(event.watch, name + "watch");
    }
    template <class T>
    void expect(const std::expected<T, std::string> &result, const std::string &key, const std::string &found) const
    {
        if (!result)
            fail(key, found, result.error());
    }
    void expect_watch(const std::string &name, const std::string &key) const
    {
        if (!name.empty() && std::ranges::find(config_.watches, name, &watch_config::name) == config_.watches.end())
            fail(key, name, "the name of a [[watch]]");
    }
    // Of the variant, or of the whole file where the variant has no such table.
    [[noreturn]] void fail(const std::string &key, const std::string &found, const std::string &allowed) const
    {
        const bool is_own = origin_.has(prefix_ + key.substr(0, key.rfind('.')));
        throw scenario_error{
            origin_.error_at((is_own ? prefix_ : "") + key, fmt::format("found {}, allowed is {}", found, allowed))
                .text()};
    }

    const options::origins &origin_;
    const run_config &config_;
    std::string prefix_;
};

template <class T>
T value_or_throw(options::result<T> result)
{
    if (!result)
        throw scenario_error{result.error().text()};
    return *std::move(result);
}

} // namespace

scenario parse_scenario(std::string_view text, const std::string &file)
{
    scenario_text read;
    const auto origin = value_or_throw(options::read(text, file, scenario_options(), read));
    scenario &to = read.to;
    to.file = file;
    to.id = std::filesystem::path{file}.stem().string();
    if (to.variants.empty())
        to.variants.push_back(read.base);
    for (std::size_t row = 0; row < to.variants.size(); ++row)
        variant_check{origin, to.variants[row].config, fmt::format("variant[{}].", row)}.run();
    return std::move(to);
}

void keep_variants(scenario &of, const std::vector<std::string> &names)
{
    std::string allowed;
    for (const variant &each : of.variants)
        allowed += fmt::format("{}\"{}\"", allowed.empty() ? "" : ", ", each.name);
    for (const std::string &name : names)
        if (std::ranges::find(of.variants, name, &variant::name) == of.variants.end())
            throw scenario_error{fmt::format("{}: variant: found \"{}\", allowed is {}", of.file, name, allowed)};
    const auto is_other = [&names](const std::optional<std::string> &each) {
        return each && std::ranges::find(names, *each) == names.end();
    };
    std::erase_if(of.variants, [&is_other](const variant &each) { return is_other(each.name); });
    std::erase_if(of.bounds, [&is_other](const bound &each) {
        return is_other(each.runs.variant) || (each.over && is_other(each.over->variant));
    });
}

scenario load_scenario(const std::string &path)
{
    return parse_scenario(value_or_throw(options::read_file(path)), path);
}

} // namespace mrc::sim
