// SPDX-License-Identifier: Apache-2.0
#include "raw/ports.h"

#include <cstring>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>

#include "raw_steer.skel.h"

#include "kernel/probes/device.h"
#include "kernel/probes/xdp_attach.h"
#include "kernel/startup_error.h"
#include "raw/crc_tables.h"

namespace mrc::raw
{

namespace
{

std::uint32_t frames_for(std::size_t ports)
{
    const kernel::xsk_options usual;
    return static_cast<std::uint32_t>(ports) * (usual.receive_frames + usual.transmit_frames);
}

} // namespace

void ports::unload::operator()(raw_steer_bpf *program) const
{
    raw_steer_bpf__destroy(program);
}

ports::ports(const std::vector<path> &paths, raw_mode mode, bool icrc)
    : memory_{frames_for(paths.size()), kernel::usual_ring_size}
{
    for (std::uint32_t i = 0; i < paths.size(); ++i) {
        const std::string &device = paths[i].device;
        if (kernel::probes::ifindex_of(device) == 0)
            throw kernel::startup_error{"there is no device '" + device + "'"};
        kernel::xsk_options options;
        options.device = device;
        sockets_.push_back(std::make_unique<kernel::xsk_socket_pair>(memory_, options));
        raw_steer_bpf *const program = load({.port = i,
                                             .udp_port = udp_port,
                                             .mode = static_cast<std::uint8_t>(mode),
                                             .icrc = static_cast<std::uint8_t>(icrc)});
        if (i == 0) {
            rows_ = {program->maps.ports, program->maps.next_hops, program->maps.paths};
            placed_ = {program->maps.raw_region, program->maps.raw_marks, program->maps.raw_session, paths.size()};
        }
        rows_.describe(paths[i], i);
        attach(program, device, sockets_.back()->fd());
    }
}

// The first one's maps are those of all, but for the sockets.
raw_steer_bpf *ports::load(const raw_config &config)
{
    programs_.emplace_back(raw_steer_bpf__open());
    raw_steer_bpf *const program = programs_.back().get();
    if (program == nullptr)
        kernel::fail_startup("cannot open BPF program raw_steer");
    std::memcpy(&program->rodata->config, &config, sizeof config);
    fill_crc_tables(program->rodata->crc_tables);
    const auto share = [&](bpf_map *(*of)(const raw_steer_bpf &)) {
        if (programs_.size() > 1)
            bpf_map__reuse_fd(of(*program), bpf_map__fd(of(*programs_.front())));
    };
    share([](const raw_steer_bpf &one) { return one.maps.raw_region; });
    share([](const raw_steer_bpf &one) { return one.maps.raw_marks; });
    share([](const raw_steer_bpf &one) { return one.maps.raw_session; });
    share([](const raw_steer_bpf &one) { return one.maps.ports; });
    share([](const raw_steer_bpf &one) { return one.maps.next_hops; });
    share([](const raw_steer_bpf &one) { return one.maps.paths; });
    if (const int result = raw_steer_bpf__load(program); result != 0)
        kernel::fail_startup("cannot load BPF program raw_steer", -result);
    return program;
}

void ports::attach(raw_steer_bpf *program, const std::string &device, int socket_fd)
{
    const std::uint32_t queue = 0;
    if (bpf_map_update_elem(bpf_map__fd(program->maps.raw_sockets), &queue, &socket_fd, BPF_ANY) != 0)
        kernel::fail_startup("cannot register the AF_XDP socket of '" + device + "'");
    kernel::probes::xdp_attachment attached = kernel::probes::attach_xdp(
        bpf_program__fd(program->progs.raw_steer), kernel::probes::ifindex_of(device), kernel::xdp_mode::automatic);
    if (!attached.attached())
        throw kernel::startup_error{"cannot attach XDP program raw_steer to '" + device +
                                    "': " + attached.last().text()};
    links_.push_back(std::move(attached.link));
}

void ports::wait(int limit_ms) const
{
    std::vector<pollfd> watched;
    watched.reserve(sockets_.size());
    for (const auto &socket : sockets_)
        watched.push_back({.fd = socket->fd(), .events = POLLIN, .revents = 0});
    ::poll(watched.data(), watched.size(), limit_ms);
}

} // namespace mrc::raw
