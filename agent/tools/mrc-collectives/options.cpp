// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-collectives/options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/sizes/parse_size.h"
#include "tools/usage.h"

namespace mrc::collectives
{

namespace
{

constexpr std::uint64_t bytes_of_iterations = 256 << 20; // of all of one size, by default
constexpr std::uint32_t least_iterations = 5;
constexpr std::uint32_t default_iterations = 1000; // of small ones

// A command line that cannot be done.
class usage_failure : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

struct typed_options {
    std::vector<std::string> operations;
    std::vector<std::string> sizes{"8:256M"};
    std::string transport = "mrc";
    std::optional<std::uint32_t> rank;
    std::optional<std::uint32_t> ranks;
    std::optional<std::uint32_t> iterations;
    std::string master;
    std::uint32_t timeout_s = 30;
};

std::vector<std::string> names()
{
    std::vector<std::string> all;
    for (const collective one : all_collectives)
        all.emplace_back(name_of(one));
    return all;
}

void add_options(CLI::App &app, collectives_options &to, typed_options &raw)
{
    app.add_option("-o,--operations", raw.operations,
                   fmt::format("What to measure, with commas between; default: all of {}", fmt::join(names(), ", ")))
        ->delimiter(',');
    app.add_option("-s,--sizes", raw.sizes,
                   "Bytes, such as 64K, with commas between; FROM:TO is each power of two times FROM; up to 1G; "
                   "default 8:256M")
        ->delimiter(',');
    app.add_option("-n,--iterations", raw.iterations,
                   "Results of each operation and size; default: 1000, less where these are more than 256 MiB, but 5");
    app.add_option("-t,--transport", raw.transport, "mrc, or tcp: Gloo's own")
        ->check(CLI::IsMember({"mrc", "tcp"}))
        ->capture_default_str();
    app.add_option("--interface", to.interface, "With tcp: the device whose address ranks connect to");
    app.add_option("--address", to.address,
                   "With tcp: the address itself, or a name of it; default: the host's name's");
    app.add_option("--rank", raw.rank, "Which one this is, from 0 on; default: RANK, or Open MPI's of its environment");
    app.add_option("--ranks", raw.ranks,
                   "How many there are, 2 to 256; default: WORLD_SIZE, or Open MPI's of its environment");
    app.add_option("--master", raw.master,
                   "ADDRESS:PORT at which rank 0 listens, for all to tell each other their addresses; default: "
                   "MASTER_ADDR and MASTER_PORT");
    app.add_option("--timeout", raw.timeout_s, "Seconds for which a rank waits for another, 1 to 3600")
        ->capture_default_str();
    app.add_flag("--json", to.json, "Report as one JSON object, of rank 0; its progress on standard error");
}

std::string environment(std::initializer_list<const char *> names)
{
    for (const char *name : names)
        if (const char *value = std::getenv(name); value != nullptr)
            return value;
    return {};
}

template <typename T>
std::optional<T> number_of(std::string_view text)
{
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional{number} : std::nullopt;
}

// The option, or what a launcher has set.
std::uint32_t number_or(std::optional<std::uint32_t> option, const char *name,
                        std::initializer_list<const char *> variables)
{
    if (option)
        return *option;
    const std::string text = environment(variables);
    if (text.empty())
        throw usage_failure{fmt::format("{} is missing, and {} not set", name, fmt::join(variables, ", "))};
    if (const auto number = number_of<std::uint32_t>(text))
        return *number;
    throw usage_failure{fmt::format("'{}' of {} is no number", text, fmt::join(variables, " or "))};
}

template <typename T>
void check_range(const char *name, T value, T low, T high)
{
    if (value < low || value > high)
        throw usage_failure{fmt::format("{} is {}; allowed: {} to {}", name, value, low, high)};
}

std::uint64_t one_size(const std::string &text, const std::string &whole)
{
    const auto size = sizes::parse_size(text);
    if (!size || *size == 0 || *size > largest_size)
        throw usage_failure{
            fmt::format("--sizes has '{}'; allowed: 1 to 1G, such as 8, 64K or 1.5M, and FROM:TO", whole)};
    return *size;
}

void take_sizes(collectives_options &to, const typed_options &raw)
{
    for (const std::string &text : raw.sizes) {
        const auto colon = text.find(':');
        const std::uint64_t from = one_size(text.substr(0, colon), text);
        const std::uint64_t last = colon == std::string::npos ? from : one_size(text.substr(colon + 1), text);
        if (from > last)
            throw usage_failure{fmt::format("--sizes has '{}'; allowed: FROM:TO with FROM not above TO", text)};
        for (std::uint64_t size = from; size <= last; size *= 2)
            to.sizes.push_back(size);
    }
}

void take_operations(collectives_options &to, const typed_options &raw)
{
    for (const std::string &text : raw.operations.empty() ? names() : raw.operations) {
        const auto *const found =
            std::ranges::find_if(all_collectives, [&](collective one) { return text == name_of(one); });
        if (found == std::end(all_collectives))
            throw usage_failure{fmt::format("--operations has '{}'; allowed: {}", text, fmt::join(names(), ", "))};
        to.operations.push_back(*found);
    }
}

void take_master(collectives_options &to, const typed_options &raw)
{
    std::string text = raw.master;
    if (text.empty()) {
        to.master_host = environment({"MASTER_ADDR"});
        text = to.master_host + ":" + environment({"MASTER_PORT"});
    }
    const auto colon = text.rfind(':');
    const std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
    to.master_host = text.substr(0, colon);
    if (to.master_host.starts_with('[') && to.master_host.ends_with(']'))
        to.master_host = to.master_host.substr(1, to.master_host.size() - 2);
    to.master_port = number_of<std::uint16_t>(number).value_or(0);
    if (to.master_host.empty() || to.master_port == 0)
        throw usage_failure{
            fmt::format("--master is '{}'; allowed: ADDRESS:PORT of rank 0, such as 192.0.2.1:29500, or "
                        "MASTER_ADDR and MASTER_PORT in the environment",
                        raw.master)};
}

void complete(collectives_options &to, const typed_options &raw)
{
    take_operations(to, raw);
    take_sizes(to, raw);
    to.ranks = number_or(raw.ranks, "--ranks", {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"});
    check_range("--ranks", to.ranks, 2U, most_ranks);
    to.rank = number_or(raw.rank, "--rank", {"RANK", "OMPI_COMM_WORLD_RANK"});
    check_range("--rank", to.rank, 0U, to.ranks - 1);
    if (raw.iterations)
        check_range("--iterations", to.iterations = *raw.iterations, 1U, most_iterations);
    check_range("--timeout", raw.timeout_s, 1U, 3600U);
    to.timeout = std::chrono::seconds{raw.timeout_s};
    to.transport = raw.transport == "mrc" ? transport_kind::mrc : transport_kind::tcp;
    if (to.transport == transport_kind::mrc && !(to.interface.empty() && to.address.empty()))
        throw usage_failure{"--interface and --address go with --transport tcp only: mrc uses all planes"};
    if (!to.interface.empty() && !to.address.empty())
        throw usage_failure{"--interface and --address exclude each other"};
    take_master(to, raw);
}

} // namespace

const char *name_of(collective one)
{
    switch (one) {
    case collective::all_reduce:
        return "all-reduce";
    case collective::all_gather:
        return "all-gather";
    case collective::reduce_scatter:
        return "reduce-scatter";
    case collective::all_to_all:
        return "all-to-all";
    case collective::broadcast:
        return "broadcast";
    }
    return "";
}

std::uint32_t collectives_options::iterations_of(std::uint64_t bytes) const
{
    if (iterations != 0)
        return iterations;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(bytes_of_iterations / bytes, least_iterations, default_iterations));
}

parsed_line parse_command_line(int argc, char **argv)
{
    CLI::App app{
        "One rank of a measurement of Gloo's collectives: latency and bandwidth by size, every result verified.\n"
        "Start one on each host, or several, with the same options but --rank; rank 0 reports.",
        "mrc-collectives"};
    parsed_line result;
    typed_options raw;
    add_options(app, result.chosen, raw);
    app.set_version_flag("--version", "mrc-collectives " MRC_VERSION);
    try {
        app.parse(argc, argv);
        complete(result.chosen, raw);
    } catch (const CLI::ParseError &error) {
        result.exit_status = tools::end_of(app, error, "mrc-collectives");
    } catch (const usage_failure &error) {
        fmt::print(stderr, "mrc-collectives: {}\n", error.what());
        result.exit_status = tools::usage_status;
    }
    return result;
}

} // namespace mrc::collectives
