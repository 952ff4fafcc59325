// SPDX-License-Identifier: Apache-2.0
#include "kernel/host_programs.h"

#include <ctime>
#include <system_error>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "host_push.skel.h"
#include "host_rx.skel.h"
#include "host_tx.skel.h"

#include "kernel/monotonic_clock.h"
#include "kernel/socket_programs.h"
#include "kernel/startup_error.h"
#include "kernel/trusted_folder.h"

namespace mrc::kernel
{

namespace
{

bool is_internal(const std::string &map)
{
    return map.find('.') != std::string::npos; // .rodata, .bss belong to their own object
}

} // namespace

host_programs::host_programs(host_programs_options options) : options_{std::move(options)}
{
    try {
        for (const port_attachment &port : options_.ports)
            load_receive(port);
        load_transmit();
        tables_.host = {map_fd("host"), 1, "host"};
        tables_.ports = {map_fd("ports"), MRC_MAX_PORTS, "ports"};
        tables_.next_hops = {map_fd("next_hops"), MRC_MAX_NEXT_HOPS, "next_hops"};
        tables_.paths = {map_fd("paths"), options_.tables.paths, "paths"};
        tables_.signals = {map_fd("signals"), options_.tables.paths, "signals"};
        tables_.qps = {map_fd("qps"), MRC_MAX_QPS, "qps"};
        tables_.overlay = {map_fd("overlay"), MRC_MAX_GROUPS, "overlay"};
        tables_.loops = {map_fd("loops"), options_.tables.loops, "loops"};
        tables_.loop_arrivals = {map_fd("loop_arrivals"), std::size_t{options_.tables.loops} * MRC_LOOP_SLOTS,
                                 "loop_arrivals"};
        tables_.fabric_faults = {map_fd("fabric_faults"), MRC_MAX_FAULTS, "fabric_faults"};
        tables_.events = {map_fd("events"), std::size_t{MRC_EVENT_CLASSES} * MRC_EVENT_ROWS, "events"};
        tables_.workers = {map_fd("workers"), MRC_MAX_WORKERS, "workers"};
        timespec now{};
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        std::string_view{MRC_VERSION}.copy(tables_.host[0].version, sizeof(mrc_host_row::version) - 1);
        tables_.host[0].pid = static_cast<__u32>(::getpid());
        tables_.host[0].started_ns = static_cast<__u64>(now.tv_sec) * 1'000'000'000 + static_cast<__u64>(now.tv_nsec);
        tables_.host[0].real_ahead_ns = static_cast<__u64>(real_time_offset().count());
        maps_.insert(options_.pinned_beside.begin(), options_.pinned_beside.end());
        pin_maps();
    } catch (...) {
        release();
        throw;
    }
}

host_programs::~host_programs()
{
    release();
}

void host_programs::release()
{
    links_.clear();
    for (attached_push &push : push_) {
        push.link.reset();
        host_push_bpf__destroy(push.object);
    }
    push_.clear();
    for (host_rx_bpf *object : receive_)
        host_rx_bpf__destroy(object);
    receive_.clear();
    host_tx_bpf__destroy(overlay_);
    overlay_ = nullptr;
    if (!pins_)
        return;
    unlink_pins();
    ::rmdir(options_.pin_dir.c_str()); // stays, empty, where the folder above is not the user's
}

void host_programs::refuse_other_owners() const
{
    if (const auto problem = find_folder_problem(options_.pin_dir, options_.user.uid))
        throw startup_error{"cannot pin maps in '" + options_.pin_dir + "': " + problem->what + " (" + problem->remedy +
                            ")"};
}

// Only what this program pins: the directory's name comes from the configuration and may hold other things.
void host_programs::unlink_pins()
{
    for (const auto &[name, fd] : maps_)
        ::unlink((options_.pin_dir + "/" + name).c_str());
    for (const char *name : socket_maps) // an earlier daemon's, when this one adopts no sockets
        ::unlink((options_.pin_dir + "/" + name).c_str());
}

// Before share_maps(): one that is there already keeps its size.
void host_programs::size_maps(bpf_object *object) const
{
    const std::pair<const char *, std::uint32_t> sizes[] = {{"peers", options_.tables.peers},
                                                            {"paths", options_.tables.paths},
                                                            {"signals", options_.tables.paths},
                                                            {"paths_in_use", options_.tables.paths},
                                                            {"loops", options_.tables.loops},
                                                            {"loop_arrivals", options_.tables.loops * MRC_LOOP_SLOTS},
                                                            {"push_slots", options_.workers * MRC_PUSH_SLOTS},
                                                            {"push_ring", options_.workers}};
    for (const auto &[name, rows] : sizes)
        if (bpf_map *map = bpf_object__find_map_by_name(object, name))
            if (const int result = bpf_map__set_max_entries(map, rows); result != 0)
                fail_startup("cannot give BPF map '" + std::string{name} + "' " + std::to_string(rows) + " rows",
                             -result);
}

void host_programs::share_maps(bpf_object *object)
{
    bpf_map *map = nullptr;
    bpf_object__for_each_map(map, object)
    {
        const auto known = maps_.find(bpf_map__name(map));
        if (known == maps_.end())
            continue;
        if (const int result = bpf_map__reuse_fd(map, known->second); result != 0)
            fail_startup("cannot share BPF map '" + known->first + "' between programs", -result);
    }
}

void host_programs::adopt_maps(bpf_object *object)
{
    bpf_map *map = nullptr;
    bpf_object__for_each_map(map, object)
    {
        if (!is_internal(bpf_map__name(map)))
            maps_.emplace(bpf_map__name(map), bpf_map__fd(map));
    }
}

void host_programs::load(bpf_object *object, const std::string &what)
{
    size_maps(object);
    share_maps(object);
    const kernel::probes::libbpf_warnings warnings;
    if (const int result = bpf_object__load(object); result != 0)
        throw startup_error{
            "cannot load BPF program " + what + ": " + std::strerror(-result) +
            (result == -EPERM ? " (CAP_BPF and CAP_NET_ADMIN are needed)" : "") +
            (kernel::probes::libbpf_warnings::first().empty() ? "" : "; " + kernel::probes::libbpf_warnings::first())};
    adopt_maps(object);
}

void host_programs::load_receive(const port_attachment &port)
{
    host_rx_bpf *object = host_rx_bpf__open();
    if (object == nullptr)
        fail_startup("cannot open BPF program host_rx");
    receive_.push_back(object);
    static_assert(sizeof(object->rodata->config) == sizeof(port.config));
    std::memcpy(&object->rodata->config, &port.config, sizeof(port.config));
    if (port.multi_buffer)
        bpf_program__set_flags(object->progs.host_rx, BPF_F_XDP_HAS_FRAGS);
    load(object->obj, "host_rx");
}

void host_programs::load_transmit()
{
    for (unsigned worker = 0; worker < options_.workers; ++worker)
        load_push(worker);
    overlay_ = host_tx_bpf__open();
    if (overlay_ == nullptr)
        fail_startup("cannot open BPF program host_tx");
    overlay_->rodata->config.dscp = options_.overlay_dscp;
    overlay_->rodata->config.mrc_from_sockets = options_.mrc_from_sockets ? 1 : 0;
    load(overlay_->obj, "host_tx");
}

void host_programs::load_push(unsigned worker)
{
    attached_push &push = push_.emplace_back(attached_push{.object = host_push_bpf__open()});
    if (push.object == nullptr)
        fail_startup("cannot open BPF program host_push");
    push.object->rodata->config.worker = worker;
    load(push.object->obj, "host_push");
    push.scratch = std::make_unique<tap_device>(tap_options{.name = options_.scratch_device});
    kernel::probes::xdp_attachment scratch =
        kernel::probes::attach_xdp(push_program_fd(worker), push.scratch->ifindex(), xdp_mode::native);
    if (!scratch.attached())
        throw startup_error{"cannot attach host_push to its scratch device '" + push.scratch->name() +
                            "': " + scratch.last().text()};
    push.link = std::move(scratch.link);
}

// The old one first: its end would take from the dispatcher what the new one has put there.
bool host_programs::attach_push_again(unsigned worker)
{
    attached_push &push = push_[worker];
    push.link.reset();
    push.link = kernel::probes::attach_xdp(push_program_fd(worker), push.scratch->ifindex(), xdp_mode::native).link;
    return static_cast<bool>(push.link);
}

void host_programs::pin_maps()
{
    refuse_other_owners();
    const auto claimed = claim_folder(options_.pin_dir, options_.user.uid);
    if (!claimed)
        throw startup_error{"cannot create '" + options_.pin_dir + "': " + claimed.error().message() +
                            " (is bpffs mounted on /sys/fs/bpf?)"};
    refuse_other_owners(); // again: where anybody may write, anybody may have been quicker than claim_folder
    pins_ = true;
    unlink_pins(); // left by a daemon that was killed
    for (const auto &[name, fd] : maps_) {
        const std::string path = options_.pin_dir + "/" + name;
        if (bpf_obj_pin(fd, path.c_str()) != 0)
            fail_startup("cannot pin BPF map '" + path + "' (is bpffs mounted on /sys/fs/bpf?)");
    }
    if (*claimed)
        give_folder(options_.pin_dir, options_.user);
}

kernel::probes::xdp_attachment host_programs::attach_port(std::size_t port, kernel::probes::xdp_attachment held)
{
    const int fd = bpf_program__fd(receive_[port]->progs.host_rx);
    if (held.attached() && bpf_link_update(held.link.get(), fd, nullptr) == 0)
        return held;
    held.link.reset();
    return kernel::probes::attach_xdp(fd, options_.ports[port].ifindex, options_.ports[port].mode);
}

std::vector<std::string> host_programs::attach_ports(std::vector<kernel::probes::xdp_attachment> held)
{
    std::vector<std::string> modes(options_.ports.size());
    held.resize(options_.ports.size());
    links_.resize(options_.ports.size());
    for (std::size_t i = 0; i < options_.ports.size(); ++i)
        if (options_.ports[i].ifindex != 0)
            modes[i] = keep(i, attach_port(i, std::move(held[i])));
    return modes;
}

std::string host_programs::attach_again(std::size_t port, int ifindex)
{
    options_.ports[port].ifindex = ifindex;
    links_[port].reset(); // of a device that is gone
    return keep(port, attach_port(port, {}));
}

std::string host_programs::keep(std::size_t port, kernel::probes::xdp_attachment attachment)
{
    if (!attachment.attached())
        throw startup_error{"cannot attach XDP program host_rx to '" + options_.ports[port].device +
                            "': " + attachment.last().text()};
    links_[port] = std::move(attachment.link);
    tables_.ports[options_.ports[port].config.port].xdp = attachment.native ? MRC_XDP_NATIVE : MRC_XDP_GENERIC;
    return attachment.native ? "native" : "generic";
}

void host_programs::attach_overlay(int ifindex)
{
    LIBBPF_OPTS(bpf_tc_hook, hook);
    hook.ifindex = ifindex;
    hook.attach_point = BPF_TC_EGRESS;
    if (const int result = bpf_tc_hook_create(&hook); result != 0 && result != -EEXIST)
        fail_startup("cannot create the clsact qdisc on the overlay", -result);
    LIBBPF_OPTS(bpf_tc_opts, filter);
    filter.prog_fd = bpf_program__fd(overlay_->progs.host_tx);
    if (const int result = bpf_tc_attach(&hook, &filter); result != 0)
        fail_startup("cannot attach host_tx to the overlay", -result);
}

int host_programs::map_fd(const std::string &name) const
{
    const auto map = maps_.find(name);
    if (map == maps_.end())
        throw startup_error{"BPF objects have no map '" + name + "'"};
    return map->second;
}

int host_programs::push_program_fd(unsigned worker) const
{
    return bpf_program__fd(push_[worker].object->progs.host_push);
}

void host_programs::set_socket(std::uint32_t port, std::uint32_t queue, std::uint32_t worker, int socket_fd)
{
    const std::uint32_t key = MRC_SOCKET_ROW(port, queue, worker);
    if (bpf_map_update_elem(map_fd("xsks"), &key, &socket_fd, BPF_ANY) != 0)
        fail_startup("cannot register the AF_XDP socket of port " + std::to_string(port));
}

bool host_programs::set_peer(const mrc_ip &address, const mrc_peer_row &peer)
{
    return bpf_map_update_elem(map_fd("peers"), &address, &peer, BPF_ANY) == 0;
}

void host_programs::remove_peer(const mrc_ip &address)
{
    bpf_map_delete_elem(map_fd("peers"), &address);
}

void host_programs::set_peer_planes(const mrc_ip &address, std::uint8_t planes)
{
    mrc_peer_row row{};
    if (bpf_map_lookup_elem(map_fd("peers"), &address, &row) != 0)
        return;
    row.plane_mask = planes;
    bpf_map_update_elem(map_fd("peers"), &address, &row, BPF_EXIST);
}

bool host_programs::set_paths(std::uint32_t first_row, const mrc_paths_in_use &paths)
{
    return bpf_map_update_elem(map_fd("paths_in_use"), &first_row, &paths, BPF_ANY) == 0;
}

void host_programs::remove_paths(std::uint32_t first_row)
{
    bpf_map_delete_elem(map_fd("paths_in_use"), &first_row);
}

bool host_programs::set_client(std::uint32_t session, const mrc_client_row &client)
{
    return bpf_map_update_elem(map_fd("clients"), &session, &client, BPF_ANY) == 0;
}

void host_programs::remove_client(std::uint32_t session)
{
    bpf_map_delete_elem(map_fd("clients"), &session);
}

bool host_programs::set_queue_pair(std::uint32_t row, const mrc_qp_in_use &qp)
{
    return bpf_map_update_elem(map_fd("qps_in_use"), &row, &qp, BPF_ANY) == 0;
}

void host_programs::remove_queue_pair(std::uint32_t row)
{
    bpf_map_delete_elem(map_fd("qps_in_use"), &row);
}

bool host_programs::set_transmit_port(std::uint32_t port, int ifindex)
{
    return bpf_map_update_elem(map_fd("tx_ports"), &port, &ifindex, BPF_ANY) == 0;
}

} // namespace mrc::kernel
