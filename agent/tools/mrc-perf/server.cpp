// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <csignal>
#include <exception>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <poll.h>

#include "tools/mrc-perf/address.h"
#include "tools/mrc-perf/channel.h"
#include "tools/mrc-perf/client_admission.h"
#include "tools/mrc-perf/error.h"
#include "tools/mrc-perf/failed_run.h"
#include "tools/mrc-perf/latency.h"
#include "tools/mrc-perf/report.h"
#include "tools/mrc-perf/roles.h"
#include "tools/mrc-perf/run.h"
#include "tools/mrc-perf/sweep.h"

namespace mrc::perf
{

namespace
{

void print_line(const std::string &text)
{
    fmt::print("{}\n", text);
    std::fflush(stdout);
}

boost::json::object member_object(const message &from, const char *name)
{
    const auto *found = from.body.if_contains(name);
    if (found == nullptr || !found->is_object())
        throw perf_error{fmt::format("the client's greeting lacks '{}'", name), "far_end"};
    return found->get_object();
}

template <typename Run>
run_parts execute_for(channel &client, Run &run, endpoint &local, report_context &context)
{
    try {
        run.execute();
    } catch (const perf_error &error) {
        note_failure(context, client, local, error);
    }
    return run.parts();
}

struct served_run {
    boost::json::object report;
    bool interrupted = false; // by a signal to this server, not by its client
};

served_run serve_run(const options &chosen, const test_plan &plan, endpoint &local, channel &client,
                     signal_source &signals)
{
    const side identity = local.identity();
    report_context context{.plan = plan,
                           .local = identity,
                           .peer = local.peer(),
                           .is_client = false,
                           .file = chosen.output,
                           .intervals = {},
                           .status = "ok",
                           .error = {}};
    run_parts parts;
    if (plan.mode == test_mode::latency) {
        ping_pong run{local, client, signals, plan, false};
        parts = execute_for(client, run, local, context);
    } else {
        const run_settings settings{.is_client = false, .file = {}, .output = chosen.output, .on_interval = {}};
        stream_run run{local, client, signals, plan, settings};
        parts = execute_for(client, run, local, context);
    }
    return {make_report(context, parts), parts.interrupted};
}

std::string table(const boost::json::object &report, const test_plan &plan)
{
    std::string text = table_head(plan);
    for (const auto &run : report.at("sweep").as_array())
        text += table_line(run.as_object());
    return text;
}

int report_run(const boost::json::object &report, const test_plan &plan, bool as_json)
{
    if (as_json)
        print_line(boost::json::serialize(report));
    else
        print_line(plan.sizes.empty() ? to_text(report) : table(report, plan));
    if (const auto &why = report.at("error").as_string(); !why.empty())
        fmt::print(stderr, "mrc-perf: {}\n", std::string_view{why.data(), why.size()});
    return exit_status(report);
}

// Up to the moment at which the client may begin: its first run has begun here.
test_plan meet(endpoint &local, channel &client)
{
    const message hello = client.expect(message_kind::hello);
    const test_plan plan = plan_from(member_object(hello, "plan"));
    const side peer = side_from(member_object(hello, "side"), plan.qps);
    if (plan.exponential == 25)
        client.wait_for_ever();
    if (is_ipv4(peer.gid) && !local.use_ipv4())
        throw perf_error{"the client asks for IPv4, but mrcd of this host has no fabric.ipv4_prefix"};
    local.prepare(plan, plan.bidir || plan.mode == test_mode::latency, true);
    local.connect(peer);
    local.begin(plan.runs().front());
    client.send(message_kind::ready, to_json(local.identity()));
    return plan;
}

struct service_end {
    int status = EXIT_FAILURE;
    bool interrupted = false; // by a signal to this server
};

service_end serve_runs(const options &chosen, channel &client, signal_source &signals)
{
    endpoint local{chosen.device};
    const test_plan plan = meet(local, client);
    std::vector<boost::json::object> reports;
    bool interrupted = false;
    for (const test_plan &run : plan.runs()) {
        const message start = client.expect(message_kind::start, answer_limit + run.qps * setup_limit_per_qp);
        local.set_peer_payload(static_cast<std::uint32_t>(member(start.body, "payload_bytes", 1, 65536)));
        if (!reports.empty()) {
            local.begin(run);
            client.send(message_kind::ready);
        }
        served_run one = serve_run(chosen, run, local, client, signals);
        interrupted = one.interrupted;
        reports.push_back(std::move(one.report));
        if (exit_status(reports.back()) != 0)
            break;
    }
    return {report_run(combine(plan, reports), plan, chosen.json), interrupted};
}

// One client, whatever becomes of it: a message that is no message of ours ends its own test only.
service_end serve(const options &chosen, channel &client, signal_source &signals)
{
    try {
        return serve_runs(chosen, client, signals);
    } catch (const std::exception &error) {
        fmt::print(stderr, "mrc-perf: client {}: {}\n", client.peer(), error.what());
        client.try_send(message_kind::error, {{"text", error.what()}});
    }
    return {};
}

} // namespace

int run_server(const options &chosen, signal_source &signals)
{
    listener socket{chosen.port};
    { // refused now rather than at the first client
        const endpoint probe{chosen.device};
    }
    const std::uint16_t port = socket.port();
    client_admission clients{std::move(socket)};
    print_line(fmt::format("LISTENING {}", port));
    while (true) {
        std::array<pollfd, 2> fds{{{.fd = clients.fd(), .events = POLLIN, .revents = 0},
                                   {.fd = signals.fd(), .events = POLLIN, .revents = 0}}};
        ::poll(fds.data(), fds.size(), -1);
        while (const auto number = signals.take())
            if (*number != SIGUSR1)
                return EXIT_SUCCESS;
        if (channel *client = clients.next()) {
            const service_end done = serve(chosen, *client, signals);
            clients.release();
            if (chosen.once || done.interrupted)
                return done.status;
        }
    }
}

} // namespace mrc::perf
