// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/options.h"

#include <algorithm>
#include <bit>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "tools/completion/completion.h"
#include "tools/mrc-perf/error.h"
#include "tools/sizes/parse_size.h"
#include "tools/usage.h"

namespace mrc::perf
{

namespace
{

constexpr std::uint64_t ring_bytes = 32 << 20; // of a default window
constexpr std::uint32_t terminal_interval_ms = 500;
constexpr std::uint64_t largest_of_all = 64 << 20; // -a

// What was given, before defaults that depend on each other.
struct given {
    std::string size;
    bool all_sizes = false;
    std::string memory = "shared";
    std::uint64_t iterations = 0;
    std::uint32_t window = 0;
    std::uint32_t interval_ms = 0;
    bool latency = false;
    std::optional<std::uint32_t> rate;
};

void add_server_options(CLI::App &app, options &to)
{
    app.add_option(
        "HOST", to.host,
        "Address or name of the server, reachable through the kernel, or a peer's name; without: be a server");
    app.add_option("--port", to.port, "TCP port of the server; 0 at the server: any free one")->capture_default_str();
    app.add_option("-d,--device", to.device,
                   "Verbs device, such as mrc0; default: that of the instance in MRC_INSTANCE, or the only one");
    app.add_flag("--once", to.once, "Server: serve one client, then end with the status of its run");
    app.add_option("--output", to.output, "Server: where to store a received file, once its SHA-256 is right");
    app.add_flag("--json", to.json, "Report as one JSON object; progress as JSON lines on standard error");
}

void add_run_options(CLI::App &app, options &to, given &raw)
{
    app.add_option(
        "-s,--size", raw.size,
        "Bytes per message, such as 64K, 1.5M or 1G, up to 2G, or FROM:TO for a sweep; default 1M, 8 with --lat");
    app.add_flag("-a,--all", raw.all_sizes, "Sweep: every power of two from 1 byte to 64M, one run and one line each");
    app.add_option("-n,--iterations", raw.iterations,
                   "Messages to send per direction; default with --lat: 10000, of a sweep 1000");
    app.add_option("-D,--duration", to.plan.seconds, "Seconds to send for, instead of -n; default: 5, of a sweep 1");
    app.add_option("-q,--qps", to.plan.qps, "Queue pairs")->capture_default_str();
    app.add_option("--window", raw.window, "Messages outstanding per queue pair; default: 32 MiB, at most 256");
    app.add_option("--memory", raw.memory, "Memory of both ends: shared with mrcd, or the process's own")
        ->check(CLI::IsMember({"shared", "process"}))
        ->capture_default_str();
    app.add_flag("--lat", raw.latency, "Latency: ping-pong by WRITE into polled memory, half a round trip");
    app.add_flag("--events", to.plan.events,
                 "With --lat: both ends sleep until a completion event says that a message has arrived");
    app.add_option("--percentiles", to.percentiles, "With --lat: write the percentiles to this file, as CSV");
    app.add_option("--rate", raw.rate, "Send at most this many messages a second per direction");
    app.add_flag("--bidir", to.plan.bidir, "Send in both directions at once");
    app.add_flag("--verify", to.plan.verify, "Check a pattern in every byte at the receiver");
    app.add_option("--file", to.file, "Send this file's bytes and compare its SHA-256 at the far end");
    app.add_option("--interval", raw.interval_ms, "Milliseconds between lines of progress; 500 on a terminal");
    app.add_option("--timeout", to.plan.timeout, "Time-out of a packet: 1.024 us * 2^N, 0 to 24")
        ->capture_default_str();
    app.add_option("--linear", to.plan.linear, "Retries after that time each, 0 to 7")->capture_default_str();
    app.add_option("--exponential", to.plan.exponential,
                   "Further retries, each after twice the time, 0 to 25; 25: for ever")
        ->capture_default_str();
}

template <typename T>
void check_range(const char *name, T value, T low, T high)
{
    if (value < low || value > high)
        throw perf_error{fmt::format("{} is {}; allowed: {} to {}", name, value, low, high)};
}

void check_combinations(const options &chosen, const given &raw)
{
    const auto refuse = [](bool wrong, const char *text) {
        if (wrong)
            throw perf_error{text};
    };
    const bool client = !chosen.host.empty();
    const bool file = !chosen.file.empty();
    refuse(!client && (raw.latency || file || chosen.plan.bidir || chosen.plan.verify || raw.iterations != 0 ||
                       chosen.plan.seconds != 0 || raw.rate || chosen.plan.events || !chosen.percentiles.empty() ||
                       !raw.size.empty() || raw.all_sizes),
           "without HOST this is a server, and the client says what to do; a server takes "
           "--port, --once, --output, --device, --json");
    refuse(client && (chosen.once || !chosen.output.empty()),
           "--once and --output are the server's, which has no HOST");
    refuse(client && chosen.port == 0, "--port is 0; allowed with HOST: 1 to 65535");
    const bool sweep = raw.all_sizes || raw.size.contains(':');
    refuse(raw.all_sizes && !raw.size.empty(), "-a and -s exclude each other");
    refuse(sweep && file, "--file has one size, without -a or -s FROM:TO");
    refuse(raw.iterations != 0 && chosen.plan.seconds != 0, "-n and -D exclude each other");
    refuse(raw.latency && (file || chosen.plan.bidir || chosen.plan.verify || chosen.plan.qps != 1),
           "--lat sends one message at a time on one queue pair, without --file, --bidir, --verify or -q");
    refuse(!raw.latency && chosen.plan.events, "--events goes with --lat only: other tests sleep as it is");
    refuse(!chosen.percentiles.empty() && (!raw.latency || sweep), "--percentiles goes with --lat and one size only");
    refuse(raw.latency && raw.rate, "--lat sends one message at a time, without --rate");
    refuse(file && (chosen.plan.bidir || raw.iterations != 0 || chosen.plan.seconds != 0),
           "--file sends the file once, in one direction, without --bidir, -n or -D");
}

std::uint64_t one_size(const std::string &text)
{
    const auto size = sizes::parse_size(text);
    if (!size || *size == 0 || *size > largest_message)
        throw perf_error{fmt::format("-s is '{}'; allowed: 1 to 2G, such as 64, 64K, 1.5M or 1G", text)};
    return *size;
}

void take_sizes(test_plan &plan, const given &raw)
{
    const auto colon = raw.size.find(':');
    if (!raw.all_sizes && colon == std::string::npos) {
        plan.size = !raw.size.empty() ? one_size(raw.size) : raw.latency ? 8 : 1 << 20;
        return;
    }
    const std::uint64_t from = raw.all_sizes ? 1 : one_size(raw.size.substr(0, colon));
    const std::uint64_t to = raw.all_sizes ? largest_of_all : one_size(raw.size.substr(colon + 1));
    if (from > to)
        throw perf_error{fmt::format("-s is '{}'; allowed: FROM:TO with FROM not above TO", raw.size)};
    for (std::uint64_t size = from; size <= to; size *= 2)
        plan.sizes.push_back(size);
    plan.size = plan.sizes.back();
}

void take_amount(test_plan &plan, const given &raw)
{
    const bool sweep = !plan.sizes.empty();
    plan.messages = raw.iterations;
    if (raw.iterations != 0 || plan.seconds != 0)
        return;
    if (raw.latency)
        plan.messages = sweep ? 1000 : 10000;
    else
        plan.seconds = sweep ? 1 : 5;
}

void check_plan(const test_plan &plan)
{
    check_range("--timeout", plan.timeout, 0U, 24U);
    check_range("--linear", plan.linear, 0U, 7U);
    check_range("--exponential", plan.exponential, 0U, 25U);
    for (const test_plan &run : plan.runs()) {
        check_range("--window", run.window, 1U, largest_window);
        if (run.memory_bytes() > largest_memory)
            throw perf_error{
                fmt::format("{} messages of {} bytes in flight need {} bytes of registered memory; allowed: {}: "
                            "lower --window, -q or -s",
                            run.slots(), run.size, run.memory_bytes(), largest_memory)};
    }
}

void take_file(options &chosen)
{
    test_plan &plan = chosen.plan;
    std::error_code error;
    plan.file_bytes = std::filesystem::file_size(chosen.file, error);
    if (error)
        throw perf_error{fmt::format("cannot send '{}': {}", chosen.file, error.message())};
    plan.messages = (plan.file_bytes + plan.size - 1) / plan.size;
    plan.seconds = 0;
}

void complete_plan(options &chosen, const given &raw)
{
    test_plan &plan = chosen.plan;
    check_range("-q", plan.qps, 1U, most_qps);
    if (raw.rate)
        check_range("--rate", plan.rate = *raw.rate, 1U, highest_rate);
    plan.memory = raw.memory == memory_name(memory_kind::shared) ? memory_kind::shared : memory_kind::process;
    take_sizes(plan, raw);
    take_amount(plan, raw);
    plan.mode = raw.latency ? test_mode::latency : chosen.file.empty() ? test_mode::write : test_mode::file;
    plan.window = raw.window != 0 || !plan.sizes.empty() ? raw.window : plan.default_window();
    plan.interval_ms = raw.interval_ms != 0 ? raw.interval_ms : ::isatty(STDERR_FILENO) != 0 ? terminal_interval_ms : 0;
    check_plan(plan);
    if (plan.mode == test_mode::file)
        take_file(chosen);
}

} // namespace

const char *memory_name(memory_kind kind)
{
    return kind == memory_kind::shared ? "shared" : "process";
}

std::uint64_t test_plan::message_bytes(std::uint64_t index) const
{
    return mode == test_mode::file ? std::min(size, file_bytes - index * size) : size;
}

std::uint32_t test_plan::default_window() const
{
    // What fits the ring, and a power of two, as send queues are.
    return std::bit_floor(
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(ring_bytes / slot_bytes() / qps, checked() ? 2 : 1, 256)));
}

std::vector<test_plan> test_plan::runs() const
{
    if (sizes.empty())
        return {*this};
    std::vector<test_plan> list;
    for (const std::uint64_t one : sizes) {
        test_plan run = *this;
        run.sizes.clear();
        run.size = one;
        if (run.window == 0)
            run.window = run.default_window();
        list.push_back(std::move(run));
    }
    return list;
}

command_line parse_command_line(int argc, char **argv)
{
    CLI::App app{"Performance and integrity tests between two hosts that run mrcd.\n"
                 "Without HOST: a server, for one client after the other until SIGINT or SIGTERM; one that comes\n"
                 "while another is served is told so and ends.\n"
                 "With HOST: a client that runs one test against the server there.",
                 "mrc-perf"};
    command_line result;
    given raw;
    add_server_options(app, result.chosen);
    add_run_options(app, result.chosen, raw);
    app.set_version_flag("--version", "mrc-perf " MRC_VERSION);
    if (const auto words = completion::answer(app, argc, argv)) {
        fmt::print("{}", *words);
        result.exit_status = 0;
        return result;
    }
    try {
        app.parse(argc, argv);
        check_combinations(result.chosen, raw);
        complete_plan(result.chosen, raw);
    } catch (const CLI::ParseError &error) {
        result.exit_status = tools::end_of(app, error, "mrc-perf");
    } catch (const perf_error &error) {
        fmt::print(stderr, "mrc-perf: {}\n", error.what());
        result.exit_status = tools::usage_status;
    }
    return result;
}

} // namespace mrc::perf
