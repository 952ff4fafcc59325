// SPDX-License-Identifier: Apache-2.0
#include "service/ports/host_ports.h"
#include "kernel/probes/ring_cost.h"
#include "service/log.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mrc::service
{

namespace
{

constexpr std::uint32_t ring_size = kernel::usual_ring_size;
constexpr std::uint32_t receive_frames = 2 * ring_size; // per queue: in copy mode, what its two rings hold
constexpr std::uint32_t transmit_frames = 512;          // per queue

std::uint64_t eui64_of(const mac_address &mac)
{
    const std::array<std::uint8_t, 8> eui64{
        static_cast<std::uint8_t>(mac[0] ^ 2U), mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5]};
    return std::bit_cast<std::uint64_t>(eui64);
}

} // namespace

std::size_t packet_memory_bytes(std::uint32_t queues)
{
    return std::size_t{queues} * (receive_frames + transmit_frames) * kernel::umem::frame_bytes;
}

host_ports::host_ports(const daemon_config &config, const fabric_rules &rules, kernel::host_programs &programs,
                       const port_plan &plan, const host_modes &modes, const link_monitor &links)
    : config_{config}, rules_{rules}, programs_{programs}, plan_{plan},
      attached_(links.ports().begin(), links.ports().end()), first_socket_(MRC_MAX_PORTS), engines_(MRC_MAX_PORTS)
{
    bind_sockets(modes);
    measure_costs(modes);
    build_engines(modes);
}

void host_ports::bind_sockets(const host_modes &modes)
{
    std::uint32_t queues = 0;
    for (const port_modes &port : modes.ports)
        queues += port.queues;
    memory_ = std::make_unique<kernel::umem>(
        static_cast<std::uint32_t>(packet_memory_bytes(queues) / kernel::umem::frame_bytes), ring_size);
    for (std::size_t i = 0; i < config_.ports.size(); ++i) {
        const std::uint32_t row = config_.ports[i].plane.value;
        for (std::uint32_t queue = 0; queue < modes.ports[i].queues; ++queue) {
            sockets_.push_back(std::make_unique<kernel::xsk_socket_pair>(
                *memory_,
                kernel::xsk_options{.device = config_.ports[i].device,
                                    .queue = queue,
                                    .ring_size = ring_size,
                                    .transmit_frames = std::min(ring_size, modes.ports[i].queues * transmit_frames),
                                    .receive_frames = receive_frames,
                                    .multi_buffer = plan_.multi_buffer,
                                    .force_copy = modes.force_copy}));
            programs_.set_socket(row, queue, sockets_.back()->fd());
            if (queue == 0)
                first_socket_[row] = sockets_.back().get();
        }
    }
}

// Both ways carry traffic through this machine's own links in the lab, so they are measured by the fastest try.
void host_ports::measure_costs(const host_modes &modes)
{
    for (std::size_t i = 0; i < config_.ports.size(); ++i) {
        const std::uint32_t row = config_.ports[i].plane.value;
        costs_[row] = datapath::usual_costs;
        if (!modes.ports[i].uses_xdp())
            continue;
        if (const auto configured = config_.transmit.ring_packets) {
            costs_[row] = datapath::rings_up_to(*configured);
            continue;
        }
        const auto &live = modes.ports[i].live_cost;
        const auto rings =
            live ? kernel::probes::ring_cost(*memory_, *first_socket_[row], config_.ports[i].device) : std::nullopt;
        if (rings)
            log::debug("port {}: {} ns a call with live frames and {} a frame; AF_XDP {}, {} and {} a KB",
                       config_.ports[i].device, live->call_ns, live->frame_ns, rings->call_ns, rings->frame_ns,
                       rings->kilobyte_ns);
        if (rings)
            costs_[row] = {
                .live = {.call_ns = live->call_ns, .packet_ns = live->frame_ns},
                .rings = {.call_ns = rings->call_ns, .packet_ns = rings->frame_ns, .kilobyte_ns = rings->kilobyte_ns}};
    }
}

void host_ports::build_engines(const host_modes &modes)
{
    const bool any_xdp = std::ranges::any_of(modes.ports, [](const port_modes &port) { return port.uses_xdp(); });
    if (any_xdp)
        xdp_ = std::make_unique<datapath::xdp_transmit>(
            datapath::xdp_transmit_options{.program_fd = programs_.push_program_fd(),
                                           .slots_fd = programs_.map_fd("push_slots"),
                                           .ring_fd = programs_.map_fd("push_ring"),
                                           .burst = config_.transmit.burst});
    af_xdp_ = std::make_unique<datapath::af_xdp_transmit>(*memory_, first_socket_, programs_.paths(), programs_.ports(),
                                                          plan_.payload_bytes + packet_overhead);
    if (xdp_)
        mixed_ = std::make_unique<datapath::mixed_transmit>(*xdp_, *af_xdp_, programs_.paths(), costs_);
    for (std::size_t i = 0; i < config_.ports.size(); ++i)
        engines_[config_.ports[i].plane.value] =
            modes.ports[i].uses_xdp() ? static_cast<datapath::transmit_engine *>(mixed_.get()) : af_xdp_.get();
}

std::string host_ports::describe(const port_options &port) const
{
    const std::uint32_t row = port.plane.value;
    const bool mixed = mixed_ && engines_[row] == mixed_.get();
    return "transmit " + std::string{engines_[row]->name()} + ", AF_XDP " +
           (mixed ? "up to " + std::to_string(costs_[row].crossing(config_.transmit.burst)) + " packets, " : "") +
           (first_socket_[row]->zero_copy() ? "zero copy" : "copy") +
           (memory_->uses_huge_pages() ? ", huge pages" : "");
}

datapath::transmit_counters host_ports::transmitted() const
{
    datapath::transmit_counters sum = af_xdp_->counters();
    if (xdp_) {
        sum.sent += xdp_->counters().sent;
        sum.refused += xdp_->counters().refused;
    }
    return sum;
}

ports_view host_ports::view() const
{
    const std::scoped_lock lock{changing_};
    return view_;
}

std::uint64_t host_ports::socket_drops() const
{
    std::uint64_t sum = 0;
    for (const auto &socket : sockets_) {
        const auto drops = socket->drops();
        sum += drops.receive_dropped + drops.receive_ring_full;
    }
    return sum;
}

// A device that came back, from another network namespace or as another one, has none of our sockets, and one whose MTU
// has shrunk carries probes but no data: neither is usable, whatever the link says.
mrc_port_reason host_ports::reason_of(std::size_t port, const port_condition &status)
{
    if (status.reason == MRC_PORT_MISSING)
        return MRC_PORT_MISSING;
    const std::uint32_t row = config_.ports[port].plane.value;
    const bool came_back = status.ifindex != attached_[port].ifindex || status.departures != attached_[port].departures;
    if (came_back || !programs_.set_transmit_port(row, static_cast<int>(status.ifindex)))
        return MRC_PORT_REPLACED;
    const bool small = status.mtu < plan_.payload_bytes + packet_overhead;
    return small && status.reason == MRC_PORT_IN_USE ? MRC_PORT_SMALL_MTU : status.reason;
}

protocol::plane_mask host_ports::update(const link_monitor &links)
{
    const std::scoped_lock lock{changing_};
    protocol::plane_mask usable;
    for (std::size_t i = 0; i < config_.ports.size(); ++i) {
        const port_condition &status = links.ports()[i];
        const protocol::plane_index plane = config_.ports[i].plane;
        mrc_port_row &row = programs_.ports()[plane.value];
        const mrc_port_reason reason = reason_of(i, status);
        const bool ours = reason != MRC_PORT_REPLACED && reason != MRC_PORT_SMALL_MTU;
        const std::uint32_t flags = ours ? status.flags : status.flags & ~std::uint32_t{MRC_PORT_UP};
        const bool ready = (flags & MRC_PORT_USABLE) == MRC_PORT_USABLE;
        if (!ready)
            row.flags = flags; // out of use before its addresses change
        row.ifindex = status.ifindex;
        std::memcpy(row.mac, status.mac.data(), sizeof(row.mac));
        std::memcpy(row.gateway_mac, status.gateway_mac.data(), sizeof(row.gateway_mac));
        row.mtu = static_cast<__u16>(std::min<std::uint32_t>(status.mtu, UINT16_MAX));
        row.outer_source = rules_.address_of(rules_.self(), plane);
        row.usid = rules_.own_usid_address(plane);
        config_.ports[i].device.copy(row.device, sizeof(row.device) - 1);
        view_.mtu[plane.value] = status.mtu;
        reasons_[plane.value] = reason;
        show_reason(plane.value);
        row.flags = flags;
        usable.set(plane, ready);
    }
    programs_.host()[0].planes = rules_.planes();
    programs_.host()[0].payload_bytes = plan_.payload_bytes;
    view_.up = usable;
    view_.guid = eui64_of(links.ports().front().mac);
    show_plane_mask();
    return usable;
}

void host_ports::enable(protocol::plane_mask enabled)
{
    const std::scoped_lock lock{changing_};
    view_.enabled = enabled;
    for (const port_options &port : config_.ports)
        show_reason(port.plane.value);
    show_plane_mask();
}

// What the kernel says comes first: it is what an operator has to fix.
void host_ports::show_reason(std::uint32_t row)
{
    const bool disabled = !view_.enabled.has(protocol::plane_index{static_cast<std::uint8_t>(row)});
    programs_.ports()[row].reason =
        reasons_[row] == MRC_PORT_IN_USE && disabled ? __u16{MRC_PORT_DISABLED} : static_cast<__u16>(reasons_[row]);
}

void host_ports::show_plane_mask()
{
    programs_.host()[0].plane_mask = (view_.up & view_.enabled).bits();
}

void attach_ports(const daemon_config &config, kernel::host_programs &programs, const host_ports &ports,
                  host_modes &modes)
{
    std::vector<kernel::probes::xdp_attachment> held;
    held.reserve(modes.ports.size());
    for (port_modes &port : modes.ports)
        held.push_back(std::move(port.attachment));
    const std::vector<std::string> attached = programs.attach_ports(std::move(held));
    for (std::size_t i = 0; i < config.ports.size(); ++i) {
        const std::string &reason = modes.ports[i].transmit.reason;
        log::info("port {} (plane {}): XDP {}, {}{}{}", config.ports[i].device, config.ports[i].plane.value,
                  attached[i], ports.describe(config.ports[i]), reason.empty() ? "" : "; " + reason,
                  modes.ports[i].agent_answers ? "; mrcd answers EV probes, for the driver loses XDP_TX" : "");
    }
    if (!modes.single_buffer.empty())
        log::warn("packets longer than one buffer are not received, port {}", modes.single_buffer);
    if (modes.force_copy && modes.some_zero_copy)
        log::warn("not all ports have AF_XDP zero copy, so none uses it");
}

} // namespace mrc::service
