// SPDX-License-Identifier: Apache-2.0
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "tools/mrc_perf_channel.h"
#include "tools/mrc_perf_error.h"
#include "tools/mrc_perf_latency.h"
#include "tools/mrc_perf_progress.h"
#include "tools/mrc_perf_report.h"
#include "tools/mrc_perf_roles.h"
#include "tools/mrc_perf_run.h"

namespace mrc::perf
{

namespace
{

void introduce(endpoint &local, channel &server, const test_plan &plan)
{
    local.prepare(plan, true, plan.bidir || plan.mode == test_mode::latency);
    server.send(message_kind::hello, {{"plan", to_json(plan)}, {"side", to_json(local.identity())}});
    local.connect(side_from(server.expect(message_kind::ready).body, plan.qps));
    server.send(message_kind::start);
}

// Tells the far end, too, so that it does not have to find out by silence.
void note_failure(report_context &context, channel &server, const perf_error &error)
{
    context.status = error.status();
    context.error = error.what();
    if (error.status() != "far_end")
        server.try_send(message_kind::error, {{"text", error.what()}});
}

template <typename Run>
run_parts execute(Run &run, channel &server, report_context &context)
{
    try {
        run.execute();
        server.send(message_kind::bye);
    } catch (const perf_error &error) {
        note_failure(context, server, error);
    }
    return run.parts();
}

int print_report(const boost::json::object &report, bool as_json)
{
    if (::isatty(STDERR_FILENO) != 0)
        fmt::print(stderr, "\n");
    if (as_json)
        fmt::print("{}\n", boost::json::serialize(report));
    else
        fmt::print("{}", to_text(report));
    std::fflush(stdout);
    if (const auto &why = report.at("error").as_string(); !why.empty())
        fmt::print(stderr, "mrc-perf: {}\n", std::string_view{why.data(), why.size()});
    return exit_status(report);
}

} // namespace

int run_client(const options &chosen, signal_source &signals)
{
    const test_plan &plan = chosen.plan;
    endpoint local{chosen.socket};
    channel server = channel::connect(chosen.host, chosen.port);
    if (plan.exponential == 25)
        server.wait_for_ever();
    introduce(local, server, plan);
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
        parts = execute(run, server, context);
    } else {
        const run_settings settings{
            .is_client = true,
            .file = chosen.file,
            .output = {},
            .on_interval = [&](const auto &sample, const traffic &sender) { progress.show(sample, sender); }};
        stream_run run{local, server, signals, plan, settings};
        parts = execute(run, server, context);
    }
    context.intervals = progress.samples();
    return print_report(make_report(context, parts), chosen.json);
}

} // namespace mrc::perf
