// SPDX-License-Identifier: Apache-2.0
// Loads every BPF object, configured as the daemon would, and attaches its programs to a device in every mode that
// their hook has; host_rx for packets of several buffers to one whose MTU needs it. Configured: the verifier skips what
// constant zeros make unreachable, half of host_rx.
// One line per map, and per program and mode; what the verifier says about a refused program follows its line.
#include "mrc/abi/maps.h"
#include "mrc/abi/switch_maps.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/core.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "host_push.skel.h"
#include "host_rx.skel.h"
#include "host_sockets.skel.h"
#include "host_tx.skel.h"
#include "switch.skel.h"
#include "switch_entry.skel.h"

namespace
{

constexpr std::size_t log_bytes = 1U << 20U;
constexpr unsigned verifier_stats = 4; // BPF_LOG_STATS of the kernel's bpf_verifier.h

std::string reason(int error)
{
    return std::system_category().message(error < 0 ? -error : error);
}

struct report {
    int passed = 0;
    int failed = 0;

    void line(std::string_view object, std::string_view program, std::string_view mode, int error,
              std::string_view detail = {})
    {
        ++(error == 0 ? passed : failed);
        fmt::print("{} {:<13} {:<20} {:<11} {}\n", error == 0 ? "PASS" : "FAIL", object, program, mode,
                   error == 0 ? std::string(detail) : reason(error));
    }
};

// The line of the verifier's log with its statistics, e.g. "processed 812 insns (limit 1000000) …", which is the last
// that begins so; empty: none.
std::string_view verifier_figures(std::string_view log)
{
    const auto begin = log.rfind("processed ");
    return begin == std::string_view::npos ? "" : log.substr(begin, log.find('\n', begin) - begin);
}

// Every kernel gives statistics that it is asked for: one without has not verified the program.
void report_load(std::string_view object, std::string_view program, int error, std::string_view log, report &out)
{
    const std::string_view figures = verifier_figures(log);
    out.line(object, program, "load", error == 0 && figures.empty() ? ENODATA : error, figures);
    if (error != 0 || figures.empty()) {
        fmt::print("{}\n", log);
    }
}

int attach_xdp(int program, unsigned device, unsigned mode)
{
    LIBBPF_OPTS(bpf_link_create_opts, options, .flags = mode);
    const int link = bpf_link_create(program, static_cast<int>(device), BPF_XDP, &options);
    if (link < 0) {
        return link;
    }
    return close(link) == 0 ? 0 : -errno;
}

int attach_tc(int program, unsigned device, bpf_tc_attach_point where)
{
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = static_cast<int>(device), .attach_point = where);
    LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = program);
    if (const int error = bpf_tc_hook_create(&hook); error != 0) {
        return error;
    }
    int error = bpf_tc_attach(&hook, &options);
    if (error == 0) {
        options.flags = 0;
        options.prog_fd = 0;
        options.prog_id = 0;
        error = bpf_tc_detach(&hook, &options);
    }
    hook.attach_point = static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS); // both: the whole clsact
    const int left = bpf_tc_hook_destroy(&hook);
    return error != 0 ? error : left;
}

void attach_program(const bpf_program *program, std::string_view object, unsigned device, report &out)
{
    const std::string_view name = bpf_program__name(program);
    const int fd = bpf_program__fd(program);
    switch (bpf_program__type(program)) {
    case BPF_PROG_TYPE_XDP:
        out.line(object, name, "xdp native", attach_xdp(fd, device, XDP_FLAGS_DRV_MODE));
        out.line(object, name, "xdp generic", attach_xdp(fd, device, XDP_FLAGS_SKB_MODE));
        break;
    case BPF_PROG_TYPE_SCHED_CLS:
        out.line(object, name, "tc egress", attach_tc(fd, device, BPF_TC_EGRESS));
        break;
    case BPF_PROG_TYPE_CGROUP_SOCK_ADDR: // to a cgroup: host_sockets_test does
        break;
    default:
        out.line(object, name, "unknown hook", ENOTSUP);
    }
}

struct verifier_log {
    bpf_program *program;
    std::vector<char> text = std::vector<char>(log_bytes);
};

std::vector<verifier_log> ask_for_statistics(bpf_object *object)
{
    std::vector<verifier_log> logs;
    bpf_program *program = nullptr;
    bpf_object__for_each_program(program, object)
    {
        auto &log = logs.emplace_back(program);
        bpf_program__set_log_level(program, verifier_stats);
        bpf_program__set_log_buf(program, log.text.data(), log.text.size());
    }
    return logs;
}

void report_maps(std::string_view object, const bpf_object *loaded, report &out)
{
    const bpf_map *map = nullptr;
    bpf_object__for_each_map(map, loaded)
    {
        const int fd = bpf_map__fd(map);
        out.line(
            object, bpf_map__name(map), "map", fd < 0 ? fd : 0,
            fmt::format("{} of {} entries", libbpf_bpf_map_type_str(bpf_map__type(map)), bpf_map__max_entries(map)));
    }
}

template <typename Skeleton, typename Configure>
void try_skeleton(std::string_view name, Configure configure, unsigned device, report &out)
{
    const std::unique_ptr<Skeleton, decltype(&Skeleton::destroy)> skeleton(Skeleton::open(), &Skeleton::destroy);
    if (!skeleton) {
        out.line(name, "-", "open", errno);
        return;
    }
    configure(*skeleton);
    const auto logs = ask_for_statistics(skeleton->obj);
    const int error = bpf_object__load(skeleton->obj);
    for (const auto &log : logs) {
        report_load(name, bpf_program__name(log.program), error, log.text.data(), out);
    }
    if (error != 0) {
        return;
    }
    report_maps(name, skeleton->obj, out);
    for (const auto &log : logs) {
        attach_program(log.program, name, device, out);
    }
}

void configure_host_rx(host_rx_bpf &program)
{
    auto &config = program.rodata->config;
    config.port = 1;
    config.fabric = 1;
    config.address_count = MRC_RX_ADDRESSES;
    config.probes_per_second = 1000;
    config.outer.bytes[0] = 0xfc;
    config.block_bytes = MRC_USID_USUAL_BLOCK;
    for (auto &address : config.addresses) {
        address.bytes[0] = 0xfd;
    }
}

void configure_host_rx_of_several_buffers(host_rx_bpf &program)
{
    configure_host_rx(program);
    bpf_program__set_flags(program.progs.host_rx, BPF_F_XDP_HAS_FRAGS);
}

void configure_switch(switch_bpf &program, bool forward_in_kernel)
{
    mrc_sw_config &config = program.rodata->config;
    config.block = 0xfc;
    config.block_mask = UINT32_MAX;
    config.block_bytes = MRC_USID_USUAL_BLOCK;
    config.usid = 0x2000;
    config.forward_in_kernel = forward_in_kernel;
}

// Prints what is wrong with the name; 0 then.
unsigned device_of(const char *name)
{
    const unsigned device = if_nametoindex(name);
    if (device == 0) {
        fmt::print(stderr, "mrc-bpf-load: {}: {}\n", name, reason(errno));
    }
    return device;
}

} // namespace

int main(int argc, char **argv)
{
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    if (arguments.size() != 3) {
        fmt::print(stderr, "usage: mrc-bpf-load DEVICE DEVICE_OF_LARGE_MTU\n");
        return 2;
    }
    const unsigned device = device_of(arguments[1]);
    const unsigned large_device = device_of(arguments[2]);
    if (device == 0 || large_device == 0) {
        return 2;
    }
    setvbuf(stdout, nullptr, _IOLBF, 0); // libbpf's messages stand beside the line they belong to
    report out;
    try_skeleton<host_rx_bpf>("host_rx", configure_host_rx, device, out);
    try_skeleton<host_rx_bpf>("host_rx-frags", configure_host_rx_of_several_buffers, large_device, out);
    try_skeleton<host_push_bpf>("host_push", [](host_push_bpf &) {}, device, out);
    try_skeleton<host_tx_bpf>("host_tx", [](host_tx_bpf &) {}, device, out);
    try_skeleton<host_sockets_bpf>("host_sockets", [](host_sockets_bpf &) {}, device, out);
    for (const bool forward_in_kernel : {false, true}) {
        try_skeleton<switch_bpf>(
            forward_in_kernel ? "switch-kernel" : "switch",
            [&](switch_bpf &program) { configure_switch(program, forward_in_kernel); }, device, out);
    }
    try_skeleton<switch_entry_bpf>("switch_entry", [](switch_entry_bpf &) {}, device, out);
    fmt::print("{} passed, {} failed\n", out.passed, out.failed);
    return out.failed == 0 && out.passed > 0 ? 0 : 1;
}
