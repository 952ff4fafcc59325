// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-switch/impair.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "tools/mrc-switch/pins.h"
#include "tools/mrc-switch/quantity.h"
#include <bpf/bpf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mrc::lab_switch
{
namespace
{

constexpr double default_rtt_ns = 100e3; // a round trip of the lab under load
constexpr double longest_rtt_ns = 100e6; // five of them must drain within the second that the program looks back
constexpr double slowest_rate = 10e3;
constexpr double fastest_rate = 1e12;
// Two frames fit under the marking threshold of the smallest queue, else a lone packet would be marked.
constexpr double smallest_bdp_bytes = 32768;

// Shares of a BDP: protocol.md §5.5.
constexpr double ecn_min_share = 0.2;
constexpr double ecn_max_share = 0.8;
constexpr double trim_share = 1.0;
constexpr double trim_share_last_hop = 1.5;
constexpr double drop_share = 5.0;
constexpr double priority_share = 1.0;

[[noreturn]] void refuse(const char *option, const std::string &found, const std::string &allowed)
{
    throw switch_error{fmt::format("{}: found \"{}\"; allowed: {}", option, found, allowed)};
}

void set_probability(__u32 &field, const char *option, const std::optional<std::string> &text)
{
    if (!text)
        return;
    const auto value = parse_probability(*text);
    if (!value)
        refuse(option, *text, "0% to 100%, or a share from 0 to 1");
    field = *value;
}

void set_flag(__u32 &flags, __u32 flag, const char *option, const std::optional<std::string> &text)
{
    if (!text)
        return;
    const auto value = parse_switch(*text);
    if (!value)
        refuse(option, *text, "on or off");
    flags = *value ? flags | flag : flags & ~flag;
}

__u32 bytes_of(double bytes)
{
    return static_cast<__u32>(std::min(std::round(bytes), 4294967295.0));
}

double rtt_of(const std::optional<std::string> &text)
{
    if (!text)
        return default_rtt_ns;
    const auto rtt_ns = parse_duration_ns(*text);
    if (!rtt_ns || *rtt_ns <= 0 || *rtt_ns > longest_rtt_ns)
        refuse("--rtt", *text, "a time up to 100ms, such as 100us");
    return *rtt_ns;
}

void remove_queue(mrc_sw_impair_row &row)
{
    row.rate = 0;
    row.bdp_bytes = row.ecn_min_bytes = row.ecn_max_bytes = 0;
    row.trim_bytes = row.drop_bytes = row.priority_bytes = 0;
    row.flags &= ~static_cast<__u32>(MRC_SW_ECN);
}

void set_rate(mrc_sw_impair_row &row, bool host_facing, const impair_request &request)
{
    if (!request.rate) {
        if (request.rtt)
            refuse("--rtt", *request.rtt, "together with --rate");
        return;
    }
    if (*request.rate == "off")
        return remove_queue(row);
    const auto rate = parse_rate(*request.rate);
    if (!rate || *rate < slowest_rate || *rate > fastest_rate)
        refuse("--rate", *request.rate, "10kbit to 1000Gbit, or off");
    const double bytes_per_ns = *rate / 8e9;
    const double bdp = std::max(bytes_per_ns * rtt_of(request.rtt), smallest_bdp_bytes);

    row.rate = static_cast<__u64>(std::llround(bytes_per_ns * (1 << MRC_SW_RATE_SHIFT)));
    row.bdp_bytes = bytes_of(bdp);
    row.ecn_min_bytes = bytes_of(bdp * ecn_min_share);
    row.ecn_max_bytes = bytes_of(bdp * ecn_max_share);
    row.trim_bytes = bytes_of(bdp * (host_facing ? trim_share_last_hop : trim_share));
    row.drop_bytes = bytes_of(bdp * drop_share);
    row.priority_bytes = bytes_of(bdp * priority_share);
    row.flags |= MRC_SW_ECN;
}

// "MIN", "MIN,MAX" or "off". One value is a step: every ECT packet above it is marked.
void set_ecn(mrc_sw_impair_row &row, const std::optional<std::string> &text)
{
    constexpr const char *allowed = "MIN or MIN,MAX with MIN not above MAX, in bytes (64K) or % of the BDP (20%,80%), "
                                    "or off";

    if (!text)
        return;
    if (*text == "off") {
        row.flags &= ~static_cast<__u32>(MRC_SW_ECN);
        return;
    }
    if (row.rate == 0)
        refuse("--ecn-threshold", *text, "with a virtual queue only: give --rate too");
    const std::size_t comma = text->find(',');
    const auto min = parse_bytes(std::string_view{*text}.substr(0, comma), row.bdp_bytes);
    const auto max =
        comma == std::string::npos ? min : parse_bytes(std::string_view{*text}.substr(comma + 1), row.bdp_bytes);
    if (!min || !max || *min > *max)
        refuse("--ecn-threshold", *text, allowed);
    row.ecn_min_bytes = bytes_of(*min);
    row.ecn_max_bytes = bytes_of(*max);
    row.flags |= MRC_SW_ECN;
}

struct found_port {
    __u32 row;
    mrc_sw_port_row port;
};

found_port find_port(int ports_fd, const std::string &device)
{
    std::vector<std::string> known;

    for (__u32 row = 0; row < MRC_SW_MAX_PORTS; row++) {
        found_port found{.row = row, .port = {}};
        if (bpf_map_lookup_elem(ports_fd, &row, &found.port) != 0 || !(found.port.flags & MRC_SW_PORT_PRESENT))
            break;
        if (device == found.port.device)
            return found;
        known.emplace_back(found.port.device);
    }
    refuse("--port", device, fmt::format("{}", fmt::join(known, ", ")));
}

} // namespace

mrc_sw_impair_row changed_row(mrc_sw_impair_row row, const mrc_sw_port_row &port, const impair_request &request)
{
    if (request.clear)
        row = {};
    set_probability(row.loss, "--loss", request.loss);
    set_probability(row.corrupt, "--corrupt", request.corrupt);
    set_probability(row.duplicate, "--duplicate", request.duplicate);
    set_flag(row.flags, MRC_SW_BLACKHOLE, "--blackhole", request.blackhole);
    set_rate(row, (port.flags & MRC_SW_PORT_HOST_FACING) != 0, request);
    set_ecn(row, request.ecn_threshold);
    set_flag(row.flags, MRC_SW_TRIM, "--trim", request.trim);
    if ((row.flags & MRC_SW_TRIM) != 0 && row.rate == 0)
        refuse("--trim", "on", "with a virtual queue only: give --rate too");
    return row;
}

void check_forwarding(const mrc_sw_info &info, const impair_request &request)
{
    const std::pair<const char *, const std::optional<std::string> &> egress_only[] = {
        {"--duplicate", request.duplicate},         {"--rate", request.rate}, {"--rtt", request.rtt},
        {"--ecn-threshold", request.ecn_threshold}, {"--trim", request.trim},
    };

    if ((info.flags & MRC_SW_INFO_KERNEL) == 0)
        return;
    for (const auto &[option, text] : egress_only) {
        if (text)
            refuse(option, *text, "--loss, --corrupt and --blackhole only: forward = \"kernel\" has no egress program");
    }
}

void apply_impairments(const impair_request &request)
{
    const __u32 info_row = 0;
    mrc_sw_info info{};
    if (const int error = bpf_map_lookup_elem(open_pinned(request.pin, "sw_info").get(), &info_row, &info); error != 0)
        throw switch_error{fmt::format("reading sw_info: {}", std::strerror(-error))};
    check_forwarding(info, request);
    const auto ports = open_pinned(request.pin, "sw_ports");
    const auto impairments = open_pinned(request.pin, "sw_impair");
    const found_port found = find_port(ports.get(), request.port);
    mrc_sw_impair_row row{};

    if (const int error = bpf_map_lookup_elem(impairments.get(), &found.row, &row); error != 0)
        throw switch_error{fmt::format("reading sw_impair: {}", std::strerror(-error))};
    row = changed_row(row, found.port, request);
    if (const int error = bpf_map_update_elem(impairments.get(), &found.row, &row, BPF_ANY); error != 0)
        throw switch_error{fmt::format("writing sw_impair: {}", std::strerror(-error))};
}

} // namespace mrc::lab_switch
