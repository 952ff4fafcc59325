// SPDX-License-Identifier: Apache-2.0
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "tools/mrc-perf/address.h"
#include "tools/mrc-perf/channel.h"
#include "tools/mrc-perf/error.h"
#include "tools/mrc-perf/failed_run.h"
#include "tools/mrc-perf/latency.h"
#include "tools/mrc-perf/percentiles.h"
#include "tools/mrc-perf/progress.h"
#include "tools/mrc-perf/report.h"
#include "tools/mrc-perf/roles.h"
#include "tools/mrc-perf/run.h"
#include "tools/mrc-perf/sweep.h"

namespace mrc::perf
{

namespace
{

// A HOST given as IPv4 address asks for IPv4 packets; the server answers in the family that it is asked in.
void introduce(endpoint &local, channel &server, const std::string &host, const test_plan &plan)
{
    if (const auto address = parse_gid(host); address && is_ipv4(*address))
        (void)local.use_ipv4(); // without one of its own, IPv4 was but the way to the server
    local.prepare(plan, true, plan.bidir || plan.mode == test_mode::latency);
    server.send(message_kind::hello, {{"plan", to_json(plan)}, {"side", to_json(local.identity())}});
    local.connect(
        side_from(server.expect(message_kind::ready, answer_limit + plan.qps * setup_limit_per_qp).body, plan.qps));
}

// The server has begun the first run before it said that it is ready.
void begin(endpoint &local, channel &server, const test_plan &run, bool first)
{
    local.begin(run);
    server.send(message_kind::start, {{"payload_bytes", local.identity().payload_bytes}});
    if (!first)
        (void)server.expect(message_kind::ready, answer_limit + run.qps * setup_limit_per_qp);
}

template <typename Run>
run_parts execute(Run &run, channel &server, endpoint &local, report_context &context)
{
    try {
        run.execute();
        server.send(message_kind::bye);
    } catch (const perf_error &error) {
        note_failure(context, server, local, error);
    }
    return run.parts();
}

boost::json::object execute_run(const options &chosen, const test_plan &plan, endpoint &local, channel &server,
                                signal_source &signals, std::optional<percentile_file> &percentiles)
{
    const side identity = local.identity();
    report_context context{.plan = plan,
                           .local = identity,
                           .peer = local.peer(),
                           .is_client = true,
                           .file = chosen.file,
                           .intervals = {},
                           .status = "ok",
                           .error = {}};
    progress_lines progress{plan, chosen.json};
    run_parts parts;
    progress.start();
    if (plan.mode == test_mode::latency) {
        ping_pong run{local, server, signals, plan, true};
        parts = execute(run, server, local, context);
        if (percentiles)
            percentiles->write(run.sorted_ns());
    } else {
        const run_settings settings{
            .is_client = true,
            .file = chosen.file,
            .output = {},
            .on_interval = [&](const auto &sample, const traffic &sender) { progress.show(sample, sender); }};
        stream_run run{local, server, signals, plan, settings};
        parts = execute(run, server, local, context);
    }
    context.intervals = progress.samples();
    return make_report(context, parts);
}

void print_now(const std::string &text)
{
    fmt::print("{}", text);
    std::fflush(stdout);
}

int print_report(const boost::json::object &report, const options &chosen)
{
    if (::isatty(STDERR_FILENO) != 0)
        fmt::print(stderr, "\n");
    if (chosen.json)
        print_now(boost::json::serialize(report) + "\n");
    else if (chosen.plan.sizes.empty()) // a sweep has printed its table
        print_now(to_text(report));
    if (const auto &why = report.at("error").as_string(); !why.empty())
        fmt::print(stderr, "mrc-perf: {}\n", std::string_view{why.data(), why.size()});
    return exit_status(report);
}

} // namespace

int run_client(const options &chosen, signal_source &signals)
{
    const test_plan &plan = chosen.plan;
    std::optional<percentile_file> percentiles;
    if (!chosen.percentiles.empty())
        percentiles.emplace(chosen.percentiles);
    endpoint local{chosen.device};
    channel server = channel::connect(chosen.host, chosen.port);
    if (plan.exponential == 25)
        server.wait_for_ever();
    introduce(local, server, chosen.host, plan);
    const bool as_table = !plan.sizes.empty() && !chosen.json;
    if (as_table)
        print_now(table_head(plan));
    std::vector<boost::json::object> reports;
    for (const test_plan &run : plan.runs()) {
        begin(local, server, run, reports.empty());
        reports.push_back(execute_run(chosen, run, local, server, signals, percentiles));
        if (as_table)
            print_now(table_line(reports.back()));
        if (exit_status(reports.back()) != 0)
            break;
    }
    return print_report(combine(plan, reports), chosen);
}

} // namespace mrc::perf
