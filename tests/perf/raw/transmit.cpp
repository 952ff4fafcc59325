// SPDX-License-Identifier: Apache-2.0
#include "raw/transmit.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "host_push.skel.h"

#include "kernel/probes/device.h"
#include "kernel/probes/xdp_attach.h"
#include "kernel/startup_error.h"

namespace mrc::raw
{

ring_transmit::ring_transmit(ports &way, const std::vector<path> &paths) : ports_{way}
{
    for (const path &to : paths)
        outers_.push_back(outer_of(to));
}

bool ring_transmit::ready()
{
    if (!current_)
        current_ = ports_.memory().allocate();
    bool room = static_cast<bool>(current_);
    for (std::size_t port = 0; port < ports_.count(); ++port)
        room = room && ports_.socket(port).has_room(1);
    return room;
}

std::span<std::byte> ring_transmit::reserve(std::uint32_t path)
{
    const std::span whole{ports_.memory().data(current_.address()), kernel::umem::frame_bytes};
    std::ranges::copy(outers_[path], whole.begin());
    return whole.subspan(codec::outer_header_bytes);
}

void ring_transmit::commit(const datapath::departure &packet)
{
    set_inner_length({ports_.memory().data(current_.address()), codec::outer_header_bytes}, packet.bytes);
    const auto length = static_cast<std::uint32_t>(codec::outer_header_bytes + packet.bytes);
    ++(ports_.socket(packet.path).transmit(std::exchange(current_, {}), length) ? counters_.sent : counters_.refused);
}

void ring_transmit::flush()
{
    for (std::size_t port = 0; port < ports_.count(); ++port) {
        ports_.socket(port).flush();
        ports_.socket(port).reap();
    }
}

std::size_t ring_transmit::queued() const
{
    std::size_t frames = 0;
    for (std::size_t port = 0; port < ports_.count(); ++port)
        frames += ports_.socket(port).refused_for_now();
    return frames;
}

void live_transmit::unload::operator()(host_push_bpf *program) const
{
    host_push_bpf__destroy(program);
}

live_transmit::live_transmit(const std::vector<path> &paths, std::uint32_t burst)
    : program_{host_push_bpf__open_and_load()}, scratch_{{.name = "raw%d"}}
{
    if (!program_)
        kernel::fail_startup("cannot load BPF program host_push");
    attach();
    ports_ = {bpf_map__fd(program_->maps.ports), MRC_MAX_PORTS, "ports"};
    next_hops_ = {bpf_map__fd(program_->maps.next_hops), MRC_MAX_NEXT_HOPS, "next_hops"};
    paths_ = {bpf_map__fd(program_->maps.paths), MRC_USUAL_PATHS, "paths"};
    for (std::size_t i = 0; i < paths.size(); ++i)
        describe(paths[i], static_cast<std::uint32_t>(i));
    engine_ = std::make_unique<datapath::xdp_transmit>(
        datapath::xdp_transmit_options{.program_fd = bpf_program__fd(program_->progs.host_push),
                                       .slots_fd = bpf_map__fd(program_->maps.push_slots),
                                       .ring_fd = bpf_map__fd(program_->maps.push_ring),
                                       .burst = burst});
}

// Unattached, each call would rebuild the kernel's XDP dispatcher.
void live_transmit::attach()
{
    kernel::probes::xdp_attachment attached = kernel::probes::attach_xdp(bpf_program__fd(program_->progs.host_push),
                                                                         scratch_.ifindex(), kernel::xdp_mode::native);
    if (!attached.attached())
        throw kernel::startup_error{"cannot attach host_push to its scratch device '" + scratch_.name() +
                                    "': " + attached.last().text()};
    link_ = std::move(attached.link);
}

void live_transmit::describe(const path &to, std::uint32_t row)
{
    const auto ifindex = static_cast<std::uint32_t>(kernel::probes::ifindex_of(to.device));
    mrc_port_row &port = ports_[row];
    port.ifindex = ifindex;
    port.mtu = static_cast<std::uint16_t>(kernel::probes::mtu_of(to.device));
    std::ranges::copy(kernel::probes::mac_address_of(to.device), std::begin(port.mac));
    port.address = near_address;
    port.flags = MRC_PORT_USABLE;
    mrc_next_hop_row &next_hop = next_hops_[row];
    std::ranges::fill(next_hop.mac, std::uint8_t{0xFF});
    next_hop.resolved = 1;
    mrc_path_row &leading = paths_[row];
    leading.carrier = to.carrier;
    leading.host_usid_at = static_cast<std::uint8_t>(to.host_usid_at);
    leading.port = static_cast<std::uint8_t>(row);
    leading.next_hop = static_cast<std::uint16_t>(row);
    leading.state = MRC_PATH_GOOD;
    if (bpf_map_update_elem(bpf_map__fd(program_->maps.tx_ports), &row, &ifindex, BPF_ANY) != 0)
        kernel::fail_startup("cannot redirect to '" + to.device + "'");
}

} // namespace mrc::raw
