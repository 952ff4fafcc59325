// SPDX-License-Identifier: Apache-2.0
#include "raw/transmit.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "host_push.skel.h"
#include "raw_push.skel.h"

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

namespace
{

template <typename Skeleton>
std::pair<std::shared_ptr<void>, const bpf_object *> load(const char *name)
{
    std::shared_ptr<Skeleton> loaded{Skeleton::open_and_load(), [](Skeleton *one) { Skeleton::destroy(one); }};
    if (!loaded)
        kernel::fail_startup(std::string{"cannot load BPF program "} + name);
    const bpf_object *const object = loaded->obj;
    return {std::move(loaded), object};
}

} // namespace

live_transmit::live_transmit(const std::vector<path> &paths, std::uint32_t burst, bool from_region)
    : scratch_{{.name = "raw%d"}}
{
    std::tie(owner_, object_) = from_region ? load<raw_push_bpf>("raw_push") : load<host_push_bpf>("host_push");
    program_ = bpf_object__find_program_by_name(object_, from_region ? "raw_push" : "host_push");
    attach();
    rows_ = {map("ports"), map("next_hops"), map("paths")};
    for (std::uint32_t row = 0; row < paths.size(); ++row) {
        rows_.describe(paths[row], row);
        const auto ifindex = static_cast<std::uint32_t>(kernel::probes::ifindex_of(paths[row].device));
        if (bpf_map_update_elem(bpf_map__fd(map("tx_ports")), &row, &ifindex, BPF_ANY) != 0)
            kernel::fail_startup("cannot redirect to '" + paths[row].device + "'");
    }
    if (from_region)
        region_ = {bpf_map__fd(map("raw_region")), 1, "raw_region"};
    engine_ = std::make_unique<datapath::xdp_transmit>(
        datapath::xdp_transmit_options{.program_fd = bpf_program__fd(program_),
                                       .slots_fd = bpf_map__fd(map("push_slots")),
                                       .ring_fd = bpf_map__fd(map("push_ring")),
                                       .burst = burst});
}

const bpf_map *live_transmit::map(const char *name) const
{
    return bpf_object__find_map_by_name(object_, name);
}

// Unattached, each call would rebuild the kernel's XDP dispatcher.
void live_transmit::attach()
{
    kernel::probes::xdp_attachment attached =
        kernel::probes::attach_xdp(bpf_program__fd(program_), scratch_.ifindex(), kernel::xdp_mode::native);
    if (!attached.attached())
        throw kernel::startup_error{"cannot attach host_push to its scratch device '" + scratch_.name() +
                                    "': " + attached.last().text()};
    link_ = std::move(attached.link);
}

} // namespace mrc::raw
