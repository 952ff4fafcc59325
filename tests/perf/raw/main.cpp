// SPDX-License-Identifier: Apache-2.0
// mrc-bench-raw: AF_XDP and live frames without a transport, over the switches of a lab whose hosts run no mrcd: what
// there is for mrcd to lose. See tests/perf/README.md.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "raw/ends.h"
#include "tools/mrc-perf/percentiles.h"
#include "tools/usage.h"

namespace
{

using namespace mrc::raw;

constexpr std::uint32_t ping_bytes = 8;
constexpr std::uint32_t message_bytes = 64;
constexpr std::uint32_t most_seconds = 3600;
constexpr std::uint32_t window_of_path = 192;
constexpr std::uint32_t most_window = 4096; // what one port's receive ring and fill ring hold
constexpr std::uint32_t most_burst = 256;   // of a call with live frames
constexpr std::uint32_t longest_size = 65536;

// Of --in-xdp, by raw_mode.
const std::vector<std::string> modes{"nothing", "place", "answer", "mark"};

struct command_line {
    std::string mode;
    std::vector<std::string> paths;
    std::string transmit = "af_xdp";
    std::string in_xdp = "nothing";
    end_settings own;
    run_settings run{.payload_bytes = 0, .seconds = 3, .window = 0};
    bool json = false;
};

struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void add_options(CLI::App &app, command_line &to)
{
    app.add_option(
           "mode", to.mode,
           "serve: the far end, for as many runs as come; stream: goodput; messages: the same with 64 bytes, for "
           "their number; pingpong: half round trips, one packet at a time")
        ->required()
        ->check(CLI::IsMember({"serve", "stream", "messages", "pingpong"}));
    app.add_option("--path", to.paths,
                   "DEVICE,CARRIER: a plane's port, and the uSIDs to the far host by it, such as "
                   "p0,fcbb:bb00:2000:1000:2001:8000::; one for each plane, in the same order at both ends")
        ->required();
    app.add_option("--transmit", to.transmit, "af_xdp: rings; xdp: live frames, as mrcd's XDP transmit engine")
        ->check(CLI::IsMember({"af_xdp", "xdp"}))
        ->capture_default_str();
    app.add_flag("--from-region", to.own.from_region,
                 "With --transmit xdp, not with serve: payload from memory that the XDP program reads, too, without a "
                 "copy in between");
    app.add_option(
           "--in-xdp", to.in_xdp,
           "What the XDP program does with what arrives, before AF_XDP. nothing. place: payload into memory that "
           "both share, and headers go on. answer: the same with data and pings of up to 256 bytes, and the "
           "answer leaves at once; of those nothing goes on; with serve. mark: pings and pongs of up to 256 "
           "bytes likewise, but the program, which spins on that memory, sends the answer; at both ends")
        ->check(CLI::IsMember(modes))
        ->capture_default_str();
    app.add_flag("--icrc", to.own.icrc,
                 "Packets have an ICRC, which is checked by what takes the payload; at both ends. Without, a place for "
                 "one");
    app.add_option("--seconds", to.run.seconds, "Of the run")
        ->check(CLI::Range(1U, most_seconds))
        ->capture_default_str();
    app.add_option(
           "--size", to.run.payload_bytes,
           "Bytes of payload a packet, at least 4; default: 64 for messages, 8 for pingpong, else 3072, or what "
           "the device takes")
        ->check(CLI::Range(4U, longest_size));
    app.add_option("--window", to.run.window,
                   "Packets that may be under way in stream and messages; default: 192 for each path, of which the "
                   "ring of a veth, which holds 256, loses none")
        ->check(CLI::Range(1U, most_window));
    app.add_option("--burst", to.own.burst, "Packets between two looks at what arrives, and with xdp frames of a call")
        ->check(CLI::Range(1U, most_burst))
        ->capture_default_str();
    app.add_flag("--copy", to.own.copy,
                 "Copy payload from a program's buffer, and with serve into one; without, it only passes");
    app.add_flag("--sleep", to.own.sleep, "Sleep in poll() while there is nothing to do; without, spin");
    app.add_flag("--json", to.json, "Report as one JSON object");
}

void complete(command_line &to)
{
    std::set<std::string> devices;
    for (const std::string &text : to.paths) {
        const auto found = parse_path(text);
        if (!found)
            throw usage_error{fmt::format("--path is '{}'; allowed: DEVICE,CARRIER with uSIDs behind the "
                                          "block, such as p0,fcbb:bb00:2000:1000:2001:8000::",
                                          text)};
        if (!devices.insert(found->device).second)
            throw usage_error{fmt::format("--path has {} twice; allowed: a device once", found->device)};
        to.own.paths.push_back(*found);
    }
    if (to.own.paths.size() > MRC_MAX_PORTS)
        throw usage_error{
            fmt::format("--path is given {} times; allowed: up to {}", to.own.paths.size(), MRC_MAX_PORTS)};
    to.own.live_frames = to.transmit == "xdp";
    to.own.in_xdp = static_cast<raw_mode>(std::ranges::find(modes, to.in_xdp) - modes.begin());
    if (to.own.from_region && (!to.own.live_frames || to.mode == "serve" || to.own.copy))
        throw usage_error{"--from-region; allowed with --transmit xdp, without --copy, and not with serve"};
    if (to.own.in_xdp == RAW_ANSWER && to.mode != "serve")
        throw usage_error{"--in-xdp is 'answer'; allowed with " + to.mode + ": nothing, place, mark"};
    if (to.own.in_xdp == RAW_MARK && to.own.sleep)
        throw usage_error{"--sleep with --in-xdp mark; allowed with --sleep: nothing, place, answer. Nothing wakes a "
                          "program that looks at memory"};
    if (to.run.window == 0)
        to.run.window = window_of_path * static_cast<std::uint32_t>(to.own.paths.size());
}

// Of the payload, once the devices are known.
std::uint32_t size_for(const command_line &chosen, const end &own)
{
    constexpr std::uint32_t usual = 3072;
    if (chosen.run.payload_bytes > own.longest_payload())
        throw usage_error{
            fmt::format("--size is {}; these devices take up to {}", chosen.run.payload_bytes, own.longest_payload())};
    if (chosen.run.payload_bytes != 0)
        return chosen.run.payload_bytes;
    if (chosen.mode == "messages")
        return message_bytes;
    return chosen.mode == "pingpong" ? ping_bytes : std::min(usual, own.longest_payload());
}

// Per second, between the first arrival and the last; 0 where all came at once.
double rate_of(std::uint64_t count, const run_totals &far)
{
    const double seconds = static_cast<double>(far.last_ns - far.first_ns) / 1e9;
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

// That this process has used.
double processor_seconds()
{
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval &time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

boost::json::object report_of(const command_line &chosen, const run_result &result, double cpu_s)
{
    boost::json::object report{{"mode", chosen.mode},
                               {"transmit", chosen.transmit},
                               {"from_region", chosen.own.from_region},
                               {"in_xdp", chosen.in_xdp},
                               {"icrc", chosen.own.icrc},
                               {"copy", chosen.own.copy},
                               {"sleeps", chosen.own.sleep},
                               {"planes", chosen.own.paths.size()},
                               {"payload_bytes", chosen.run.payload_bytes},
                               {"window", chosen.mode == "pingpong" ? 1 : chosen.run.window},
                               {"sent", result.sent},
                               {"foreign", result.foreign + result.far.foreign},
                               {"placed", result.far.placed},
                               {"refused", result.refused},
                               {"cpu_s", cpu_s}};
    if (chosen.mode == "pingpong") {
        const auto at = [&](double share) { return mrc::perf::percentile_us(result.half_ns, share); };
        report["received"] = result.answered;
        report["lat_us"] = {{"p50", at(0.5)}, {"p90", at(0.9)}, {"p99", at(0.99)}, {"p999", at(0.999)}};
        return report;
    }
    report["received"] = result.far.packets;
    report["bytes"] = result.far.bytes;
    report["silences"] = result.silences;
    report["goodput_gbps"] = rate_of(result.far.bytes, result.far) * 8e-9;
    report["msg_rate_mps"] = rate_of(result.far.packets, result.far) / 1e6;
    return report;
}

std::string text_of(const boost::json::object &report)
{
    const auto number = [&](const char *name) { return report.at(name).to_number<double>(); };
    const std::string counted =
        fmt::format("{:.0f} packets of {:.0f} bytes sent, {:.0f} arrived, {:.0f} foreign\n", number("sent"),
                    number("payload_bytes"), number("received"), number("foreign"));
    if (const auto *half = report.if_contains("lat_us")) {
        const auto us = [&](const char *name) { return half->at(name).to_number<double>(); };
        return fmt::format("half round trip p50 {:.2f}, p90 {:.2f}, p99 {:.2f}, p99.9 {:.2f} us; {}", us("p50"),
                           us("p90"), us("p99"), us("p999"), counted);
    }
    return fmt::format("{:.3f} Gbit/s, {:.3f} M/s; {}", number("goodput_gbps"), number("msg_rate_mps"), counted);
}

void run(command_line &chosen)
{
    if (chosen.mode == "serve")
        serve(chosen.own, [] {
            fmt::print("LISTENING\n");
            std::fflush(stdout);
        });
    end own{chosen.own};
    chosen.run.payload_bytes = size_for(chosen, own);
    const double before = processor_seconds();
    const run_result result = chosen.mode == "pingpong" ? run_ping_pong(own, chosen.run) : run_stream(own, chosen.run);
    const boost::json::object report = report_of(chosen, result, processor_seconds() - before);
    fmt::print("{}", chosen.json ? boost::json::serialize(report) + "\n" : text_of(report));
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{
        "Packets as long as MRC's by AF_XDP or live frames, without a transport, between two hosts whose ports\n"
        "nobody else uses; received by AF_XDP. Start one with `serve`, then the other.",
        "mrc-bench-raw"};
    command_line chosen;
    add_options(app, chosen);
    try {
        app.parse(argc, argv);
        complete(chosen);
        run(chosen);
        return EXIT_SUCCESS;
    } catch (const CLI::ParseError &error) {
        return mrc::tools::end_of(app, error, "mrc-bench-raw");
    } catch (const usage_error &error) {
        fmt::print(stderr, "mrc-bench-raw: {}\n", error.what());
        return mrc::tools::usage_status;
    } catch (const std::exception &error) {
        fmt::print(stderr, "mrc-bench-raw: {}\n", error.what());
        return EXIT_FAILURE;
    }
}
