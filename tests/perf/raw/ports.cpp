// SPDX-License-Identifier: Apache-2.0
#include "raw/ports.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>

#include "raw_steer.skel.h"

#include "kernel/probes/device.h"
#include "kernel/probes/xdp_attach.h"
#include "kernel/startup_error.h"
#include "raw/packet.h"

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

ports::ports(const std::vector<std::string> &devices) : memory_{frames_for(devices.size()), kernel::usual_ring_size}
{
    for (const std::string &device : devices) {
        if (kernel::probes::ifindex_of(device) == 0)
            throw kernel::startup_error{"there is no device '" + device + "'"};
        kernel::xsk_options options;
        options.device = device;
        sockets_.push_back(std::make_unique<kernel::xsk_socket_pair>(memory_, options));
        steer(device, sockets_.back()->fd());
    }
}

void ports::steer(const std::string &device, int socket_fd)
{
    programs_.emplace_back(raw_steer_bpf__open());
    raw_steer_bpf *const program = programs_.back().get();
    if (program == nullptr)
        kernel::fail_startup("cannot open BPF program raw_steer");
    program->rodata->udp_port = udp_port;
    if (const int result = raw_steer_bpf__load(program); result != 0)
        kernel::fail_startup("cannot load BPF program raw_steer", -result);
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
