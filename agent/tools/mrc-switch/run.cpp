// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-switch/run.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "mrc/abi/switch_maps.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <switch.skel.h>

namespace mrc::lab_switch
{
namespace
{

// libbpf's own warnings stay quiet: every failure here is reported in one line of ours.
int keep_quiet(libbpf_print_level, const char *, va_list)
{
    return 0;
}

void put(int map_fd, const void *key, const void *value, const char *what)
{
    if (const int error = bpf_map_update_elem(map_fd, key, value, BPF_ANY); error != 0)
        throw switch_error{fmt::format("{}: {}", what, std::strerror(-error))};
}

std::string attach_hint(int error, switch_xdp_mode mode)
{
    if (error == EBUSY || error == EEXIST)
        return " (another XDP program is attached to it)";
    if (error == EOPNOTSUPP && mode == switch_xdp_mode::native)
        return " (its driver has no native XDP; mode = \"generic\" works on every device)";
    return "";
}

} // namespace

void running_switch::destroy_program::operator()(switch_bpf *program) const
{
    switch_bpf__destroy(program);
}

running_switch::running_switch(const switch_config &config) : config_{config}
{
    for (const port_config &port : config_.ports)
        devices_.push_back(find_device(port.device));
    pins_ = std::make_unique<pin_directory>(config_.pin);
    load();
    fill_info();
    fill_ports();
    fill_routes();
    fill_transmit();
    pin_maps();
    attach();
}

running_switch::~running_switch() = default;

running_switch::port_device running_switch::find_device(const std::string &name)
{
    const kernel::unique_fd socket{::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    port_device found{.ifindex = if_nametoindex(name.c_str()), .mac = {}};
    ifreq request{};

    if (found.ifindex == 0)
        throw switch_error{fmt::format("port {}: no such device in this network namespace", name)};
    std::copy_n(name.data(), std::min<std::size_t>(name.size(), IFNAMSIZ - 1), request.ifr_name);
    if (!socket || ioctl(socket.get(), SIOCGIFHWADDR, &request) != 0)
        throw switch_error{fmt::format("port {}: reading its MAC address: {}", name, std::strerror(errno))};
    std::copy_n(request.ifr_hwaddr.sa_data, found.mac.size(), found.mac.begin());
    return found;
}

void running_switch::load()
{
    libbpf_set_print(keep_quiet);
    program_.reset(switch_bpf__open());
    if (!program_)
        throw switch_error{fmt::format("opening the switch program: {}", std::strerror(errno))};
    mrc_sw_config &own = program_->rodata->config;
    std::memcpy(&own.block, config_.block.bytes.data(), sizeof(own.block));
    std::memset(&own.block_mask, UINT8_MAX, config_.block.length);
    own.block_bytes = config_.block.length;
    own.usid = config_.usid;
    own.forward_in_kernel = config_.forward == forwarding::kernel ? 1 : 0;
    for (__u32 row = 0; row < devices_.size(); row++)
        mrc_sw_add_device(program_->rodata->devices, devices_[row].ifindex, row);
    if (const int error = switch_bpf__load(program_.get()); error != 0)
        throw switch_error{fmt::format("loading the switch program: {}{}", std::strerror(-error),
                                       error == -EPERM ? " (needs root, or CAP_BPF and CAP_NET_ADMIN)" : "")};
}

void running_switch::fill_info()
{
    const __u32 row = 0;
    mrc_sw_info info{};

    std::copy_n(config_.name.data(), config_.name.size(), info.name);
    std::ranges::copy(config_.block.bytes, info.block);
    info.block_bytes = config_.block.length;
    info.usid = config_.usid;
    if (config_.forward == forwarding::kernel)
        info.flags |= MRC_SW_INFO_KERNEL;
    if (config_.mode == switch_xdp_mode::generic)
        info.flags |= MRC_SW_INFO_GENERIC;
    info.ports = static_cast<__u32>(config_.ports.size());
    info.pid = static_cast<__u32>(getpid());
    put(bpf_map__fd(program_->maps.sw_info), &row, &info, "sw_info");
}

void running_switch::fill_ports()
{
    for (__u32 row = 0; row < devices_.size(); row++) {
        const port_config &configured = config_.ports[row];
        mrc_sw_port_row port{};

        std::copy_n(configured.device.data(), configured.device.size(), port.device);
        port.ifindex = devices_[row].ifindex;
        port.flags = MRC_SW_PORT_PRESENT;
        if (configured.host_facing)
            port.flags |= MRC_SW_PORT_HOST_FACING;
        std::memcpy(port.mac, devices_[row].mac.data(), sizeof(port.mac));
        put(bpf_map__fd(program_->maps.sw_ports), &row, &port, "sw_ports");
    }
}

void running_switch::fill_routes()
{
    for (const route_config &configured : config_.routes) {
        const __u32 usid = configured.usid;
        mrc_sw_route_row route{};

        route.port = static_cast<__u32>(configured.port);
        std::memcpy(route.mac, configured.mac.data(), sizeof(route.mac));
        put(bpf_map__fd(program_->maps.sw_routes), &usid, &route, "sw_routes");
    }
}

// The pairs go into sw_twice in one call: each update of a map of maps waits for an RCU grace period.
void running_switch::fill_transmit()
{
    std::vector<kernel::unique_fd> pairs;
    std::vector<__u32> rows;
    std::vector<__u32> pair_fds;

    for (__u32 row = 0; row < devices_.size(); row++) {
        const __u32 ifindex = devices_[row].ifindex;

        put(bpf_map__fd(program_->maps.sw_tx), &row, &ifindex, "sw_tx");
        pairs.emplace_back(bpf_map_create(BPF_MAP_TYPE_DEVMAP, "sw_pair", sizeof(__u32), sizeof(__u32), 2, nullptr));
        if (!pairs.back())
            throw switch_error{fmt::format("sw_pair: {}", std::strerror(errno))};
        for (const __u32 slot : {0U, 1U})
            put(pairs.back().get(), &slot, &ifindex, "sw_pair");
        rows.push_back(row);
        pair_fds.push_back(static_cast<__u32>(pairs.back().get()));
    }
    auto count = static_cast<__u32>(rows.size());
    if (const int error =
            bpf_map_update_batch(bpf_map__fd(program_->maps.sw_twice), rows.data(), pair_fds.data(), &count, nullptr);
        error != 0)
        throw switch_error{fmt::format("sw_twice: {}", std::strerror(-error))};
}

void running_switch::pin_maps()
{
    for (const bpf_map *map : {program_->maps.sw_info, program_->maps.sw_ports, program_->maps.sw_routes,
                               program_->maps.sw_impair, program_->maps.sw_queues, program_->maps.verdicts})
        pins_->pin(bpf_map__fd(map), bpf_map__name(map));
}

void running_switch::attach()
{
    if (!config_.share.empty())
        entry_ = std::make_unique<shared_entry>(config_.share);
    for (std::size_t i = 0; i < devices_.size(); i++)
        attach_to(i);
}

void running_switch::attach_to(std::size_t port)
{
    const std::string &name = config_.ports[port].device;
    const bool had_offload = has_receive_offload(name);
    LIBBPF_OPTS(bpf_link_create_opts, opts);
    opts.flags = config_.mode == switch_xdp_mode::generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;

    const int own = bpf_program__fd(program_->progs.switch_port);
    const bool shares = entry_ && entry_->add(devices_[port].ifindex, own);
    const int link =
        bpf_link_create(shares ? entry_->program_fd() : own, static_cast<int>(devices_[port].ifindex), BPF_XDP, &opts);
    if (link < 0)
        throw switch_error{fmt::format("port {}: attaching the switch program: {}{}", name, std::strerror(-link),
                                       attach_hint(-link, config_.mode))};
    links_.emplace_back(link);
    if (config_.forward == forwarding::kernel && has_receive_offload(name))
        merging_nothing_.emplace_back(name, had_offload);
}

void run_switch(const switch_config &config)
{
    sigset_t end;
    int received = 0;

    sigemptyset(&end);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP})
        sigaddset(&end, signal);
    // Before anything is attached, so that a signal cannot end the process halfway.
    pthread_sigmask(SIG_BLOCK, &end, nullptr);
    const running_switch running{config};
    fmt::print("READY {}\n", config.name);
    std::fflush(stdout);
    sigwait(&end, &received);
}

} // namespace mrc::lab_switch
