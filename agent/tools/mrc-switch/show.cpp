// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-switch/show.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/map_names.h"
#include "mrc/abi/maps.h"
#include "mrc/abi/switch_maps.h"
#include "tools/mrc-switch/device.h"
#include "tools/mrc-switch/pins.h"
#include <boost/json.hpp>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

namespace mrc::lab_switch
{
namespace
{

namespace json = boost::json;

struct port_view {
    mrc_sw_port_row port;
    mrc_sw_impair_row impair;
    mrc_sw_queue_row queue;
    device_counters drops;
};

struct switch_view {
    mrc_sw_info info;
    std::vector<port_view> ports;
    std::size_t routes = 0;
    std::vector<std::pair<std::string_view, std::uint64_t>> verdicts;
};

template <class row_type>
row_type read_row(int map_fd, __u32 row, const char *map)
{
    row_type value{};

    if (const int error = bpf_map_lookup_elem(map_fd, &row, &value); error != 0)
        throw switch_error{fmt::format("reading {}: {}", map, std::strerror(-error))};
    return value;
}

std::vector<std::pair<std::string_view, std::uint64_t>> read_verdicts(int map_fd)
{
    const int cpus = libbpf_num_possible_cpus();
    std::vector<std::pair<std::string_view, std::uint64_t>> verdicts;

    if (cpus <= 0)
        throw switch_error{"the number of CPUs is unknown"};
    std::vector<std::uint64_t> per_cpu(static_cast<std::size_t>(cpus));
    for (__u32 row = MRC_SW_FORWARDED; row < MRC_AGENT_ACCEPTED; row++) {
        std::uint64_t sum = 0;
        if (const int error = bpf_map_lookup_elem(map_fd, &row, per_cpu.data()); error != 0)
            throw switch_error{fmt::format("reading verdicts: {}", std::strerror(-error))};
        for (const std::uint64_t value : per_cpu)
            sum += value;
        verdicts.emplace_back(kernel::name_in_group(static_cast<mrc_verdict>(row)), sum);
    }
    return verdicts;
}

std::size_t count_routes(int map_fd)
{
    std::size_t count = 0;
    __u32 key = 0;

    for (const __u32 *after = nullptr; bpf_map_get_next_key(map_fd, after, &key) == 0; after = &key)
        count++;
    return count;
}

switch_view read_view(const std::string &pin)
{
    const auto ports = open_pinned(pin, "sw_ports");
    const auto impairments = open_pinned(pin, "sw_impair");
    const auto queues = open_pinned(pin, "sw_queues");
    switch_view view{.info = read_row<mrc_sw_info>(open_pinned(pin, "sw_info").get(), 0, "sw_info"),
                     .ports = {},
                     .routes = count_routes(open_pinned(pin, "sw_routes").get()),
                     .verdicts = read_verdicts(open_pinned(pin, "verdicts").get())};

    for (__u32 row = 0; row < view.info.ports && row < MRC_SW_MAX_PORTS; row++) {
        const auto port = read_row<mrc_sw_port_row>(ports.get(), row, "sw_ports");
        view.ports.push_back({.port = port,
                              .impair = read_row<mrc_sw_impair_row>(impairments.get(), row, "sw_impair"),
                              .queue = read_row<mrc_sw_queue_row>(queues.get(), row, "sw_queues"),
                              .drops = read_drops(static_cast<pid_t>(view.info.pid), port.device)});
    }
    return view;
}

std::string usid_text(const mrc_sw_info &info)
{
    std::string text;
    for (__u32 at = 0; at + 1 < std::min<__u32>(info.block_bytes, sizeof(info.block)); at += MRC_USID_BYTES)
        text += fmt::format("{:x}:", info.block[at] << 8 | info.block[at + 1]);
    return fmt::format("{}{:x}::/{}", text, info.usid, 8 * (info.block_bytes + MRC_USID_BYTES));
}

double share(__u32 probability)
{
    return probability == MRC_SW_ALWAYS ? 1.0 : probability / 4294967296.0;
}

double rate_bps(const mrc_sw_impair_row &impair)
{
    return static_cast<double>(impair.rate) / (1 << MRC_SW_RATE_SHIFT) * 8e9;
}

const char *forward_text(const mrc_sw_info &info)
{
    return (info.flags & MRC_SW_INFO_KERNEL) != 0 ? "kernel" : "xdp";
}

const char *mode_text(const mrc_sw_info &info)
{
    return (info.flags & MRC_SW_INFO_GENERIC) != 0 ? "generic" : "native";
}

json::object impair_json(const mrc_sw_impair_row &impair)
{
    return {{"blackhole", (impair.flags & MRC_SW_BLACKHOLE) != 0},
            {"loss", share(impair.loss)},
            {"corrupt", share(impair.corrupt)},
            {"duplicate", share(impair.duplicate)},
            {"rate_bps", rate_bps(impair)},
            {"bdp_bytes", impair.bdp_bytes},
            {"ecn", (impair.flags & MRC_SW_ECN) != 0},
            {"ecn_min_bytes", impair.ecn_min_bytes},
            {"ecn_max_bytes", impair.ecn_max_bytes},
            {"trim", (impair.flags & MRC_SW_TRIM) != 0},
            {"trim_bytes", impair.trim_bytes},
            {"drop_bytes", impair.drop_bytes},
            {"priority_bytes", impair.priority_bytes}};
}

json::object port_json(const port_view &view)
{
    json::object drops;

    for (const auto &[name, value] : view.drops)
        drops[name] = value;
    return {{"device", view.port.device},
            {"host_facing", (view.port.flags & MRC_SW_PORT_HOST_FACING) != 0},
            {"rx_packets", view.port.rx_packets},
            {"rx_bytes", view.port.rx_bytes},
            {"tx_packets", view.port.tx_packets},
            {"tx_bytes", view.port.tx_bytes},
            {"impair", impair_json(view.impair)},
            {"queue",
             {{"backlog_bytes", view.queue.backlog >> MRC_SW_RATE_SHIFT},
              {"priority_backlog_bytes", view.queue.priority_backlog >> MRC_SW_RATE_SHIFT},
              {"peak_bytes", view.queue.peak_bytes},
              {"priority_peak_bytes", view.queue.priority_peak_bytes}}},
            {"kernel_drops", drops}};
}

void print_json(const switch_view &view)
{
    json::array ports;
    json::object verdicts;

    for (const port_view &port : view.ports)
        ports.push_back(port_json(port));
    for (const auto &[name, count] : view.verdicts)
        verdicts[name] = count;
    const json::object all{{"name", view.info.name},
                           {"usid", usid_text(view.info)},
                           {"forward", forward_text(view.info)},
                           {"mode", mode_text(view.info)},
                           {"pid", view.info.pid},
                           {"routes", view.routes},
                           {"ports", ports},
                           {"verdicts", verdicts}};
    fmt::print("{}\n", json::serialize(all));
}

std::string impair_text(const mrc_sw_impair_row &impair)
{
    std::string text;
    const auto add_share = [&text](const char *name, __u32 probability) {
        if (probability != 0)
            text += fmt::format(" {} {:.4g}%", name, share(probability) * 100);
    };

    if ((impair.flags & MRC_SW_BLACKHOLE) != 0)
        text += " blackhole";
    add_share("loss", impair.loss);
    add_share("corrupt", impair.corrupt);
    add_share("duplicate", impair.duplicate);
    if (impair.rate != 0)
        text += fmt::format(" rate {:.4g}Mbit bdp {}B", rate_bps(impair) / 1e6, impair.bdp_bytes);
    if ((impair.flags & MRC_SW_ECN) != 0)
        text += fmt::format(" ecn {}..{}B", impair.ecn_min_bytes, impair.ecn_max_bytes);
    if ((impair.flags & MRC_SW_TRIM) != 0)
        text += fmt::format(" trim {}B", impair.trim_bytes);
    return text;
}

void print_port(const port_view &view)
{
    fmt::print("{:<16}{:>14}{:>18}{:>14}{:>18}{}\n", view.port.device, view.port.rx_packets, view.port.rx_bytes,
               view.port.tx_packets, view.port.tx_bytes,
               (view.port.flags & MRC_SW_PORT_HOST_FACING) != 0 ? "  host-facing" : "");
    if (const std::string impairments = impair_text(view.impair); !impairments.empty())
        fmt::print("    impaired:{}\n", impairments);
    if (view.impair.rate != 0)
        fmt::print("    queue: peak {}B, priority peak {}B\n", view.queue.peak_bytes, view.queue.priority_peak_bytes);
    for (const auto &[name, value] : view.drops) {
        if (value != 0)
            fmt::print("    kernel: {} {}\n", name, value);
    }
}

void print_text(const switch_view &view)
{
    fmt::print("switch {} {} forward {} mode {} routes {} pid {}\n", view.info.name, usid_text(view.info),
               forward_text(view.info), mode_text(view.info), view.routes, view.info.pid);
    fmt::print("{:<16}{:>14}{:>18}{:>14}{:>18}\n", "port", "rx packets", "rx bytes", "tx packets", "tx bytes");
    for (const port_view &port : view.ports)
        print_port(port);
    fmt::print("verdicts\n");
    for (const auto &[name, count] : view.verdicts) {
        if (count != 0)
            fmt::print("    {:<20}{:>14}\n", name, count);
    }
}

} // namespace

void show_switch(const show_request &request)
{
    const switch_view view = read_view(request.pin);

    if (request.json)
        print_json(view);
    else
        print_text(view);
}

} // namespace mrc::lab_switch
