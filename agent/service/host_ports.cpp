// SPDX-License-Identifier: Apache-2.0
#include "service/host_ports.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>

#include "datapath/startup_error.h"

namespace mrc::service
{

namespace
{

constexpr std::uint32_t ring_size = 2048;
constexpr std::uint32_t transmit_frames = 512; // per socket, beyond what its receive side can hold
constexpr std::uint32_t smallest_payload = 256;
constexpr std::uint32_t most_payload = 4096;
constexpr std::uint32_t live_frame_payload = 3072; // fits one live frame with all headers
constexpr std::uint32_t payload_step = 64;
constexpr std::uint32_t single_buffer_mtu = 3400; // a page less XDP headroom and skb_shared_info is 3,506 on x86-64
constexpr std::uint32_t packet_overhead = MRC_MAX_HEADERS + MRC_ICRC_LEN;

// Receive queues of a device, from sysfs: rx-0, rx-1, …
std::uint32_t receive_queues(const std::string &device)
{
    std::uint32_t queues = 0;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator{"/sys/class/net/" + device + "/queues", error})
        queues += entry.path().filename().string().starts_with("rx-") ? 1 : 0;
    if (queues > MRC_MAX_QUEUES)
        throw datapath::startup_error{"'" + device + "' has " + std::to_string(queues) + " receive queues, at most " +
                                      std::to_string(MRC_MAX_QUEUES) + " can be served: ethtool -L " + device +
                                      " combined " + std::to_string(MRC_MAX_QUEUES)};
    return std::max<std::uint32_t>(queues, 1);
}

datapath::xdp_mode mode_of(attach_mode mode)
{
    switch (mode) {
    case attach_mode::automatic:
        return datapath::xdp_mode::automatic;
    case attach_mode::native:
        return datapath::xdp_mode::native;
    case attach_mode::generic:
        return datapath::xdp_mode::generic;
    }
    return datapath::xdp_mode::automatic;
}

} // namespace

namespace
{

std::uint32_t largest_mtu(const link_monitor &links)
{
    return std::ranges::max(links.ports(), {}, &port_status::mtu).mtu;
}

} // namespace

port_plan plan_ports(const daemon_config &config, const link_monitor &links)
{
    const std::uint32_t mtu = smallest_mtu(links);
    const std::uint32_t room = mtu > packet_overhead ? (mtu - packet_overhead) / payload_step * payload_step : 0;
    if (config.transmit.payload && *config.transmit.payload > room)
        throw datapath::startup_error{"transmit.payload is " + std::to_string(*config.transmit.payload) +
                                      ", but the ports' smallest MTU " + std::to_string(mtu) + " carries at most " +
                                      std::to_string(room) + " bytes a packet (MTU - " +
                                      std::to_string(packet_overhead) + ", multiple of 64)"};
    if (room < smallest_payload)
        throw datapath::startup_error{"the ports' smallest MTU is " + std::to_string(mtu) + ": at least " +
                                      std::to_string(smallest_payload + packet_overhead) + " is needed"};
    const std::uint32_t largest = config.peers.payload == payload_sizes::verbs
                                      ? std::bit_floor(std::min(room, most_payload))
                                      : std::min(room, live_frame_payload);
    port_plan plan{.payload_bytes = config.transmit.payload.value_or(largest),
                   .multi_buffer = largest_mtu(links) > single_buffer_mtu,
                   .engine = config.transmit.engine};
    if (config.peers.payload == payload_sizes::verbs && !std::has_single_bit(plan.payload_bytes))
        throw datapath::startup_error{"transmit.payload is " + std::to_string(plan.payload_bytes) +
                                      ", but peer_defaults.payload = 'verbs' allows 256, 512, 1024, 2048 and 4096"};
    if (plan.payload_bytes > live_frame_payload) {
        if (plan.engine == transmit_engine::xdp)
            throw datapath::startup_error{"transmit.payload is " + std::to_string(plan.payload_bytes) +
                                          ", but the engine 'xdp' sends at most " + std::to_string(live_frame_payload) +
                                          " bytes a packet: use 'auto' or 'af_xdp'"};
        plan.engine = transmit_engine::af_xdp;
    }
    return plan;
}

void require_ports(const daemon_config &config, link_monitor &links)
{
    if (const auto read = links.refresh(); !read)
        throw datapath::startup_error{"cannot read the state of the ports: " + read.error().message()};
    for (std::size_t i = 0; i < config.ports.size(); ++i)
        if (links.ports()[i].ifindex == 0)
            throw datapath::startup_error{"port device '" + config.ports[i].device + "' (plane " +
                                          std::to_string(config.ports[i].plane.value) + ") does not exist"};
}

std::uint32_t smallest_mtu(const link_monitor &links)
{
    return std::ranges::min(links.ports(), {}, &port_status::mtu).mtu;
}

std::vector<datapath::port_attachment> attachments(const daemon_config &config, const fabric &rules,
                                                   const link_monitor &links, const port_plan &plan)
{
    std::vector<datapath::port_attachment> all;
    for (std::size_t i = 0; i < config.ports.size(); ++i) {
        const port_options &port = config.ports[i];
        const port_status &status = links.ports()[i];
        datapath::port_attachment entry{.device = port.device,
                                        .ifindex = static_cast<int>(status.ifindex),
                                        .mode = mode_of(port.mode),
                                        .multi_buffer = plan.multi_buffer};
        mrc_rx_config &receive = entry.config;
        receive.port = port.plane.value;
        receive.fabric = 1;
        receive.dscp_trimmed = config.wire.dscp.trimmed;
        receive.dscp_trimmed_lasthop = config.wire.dscp.trimmed_lasthop;
        receive.dscp_control = config.wire.dscp.control;
        receive.udp_ports[0] = MRC_UDP_PORT_ROCE;
        receive.udp_ports[1] = MRC_UDP_PORT_SPEC;
        receive.usid = rules.own_usid_address(port.plane);
        receive.addresses[receive.address_count++] = rules.address_of(rules.self());
        if (const auto address4 = rules.address4_of(rules.self()))
            receive.addresses[receive.address_count++] = *address4;
        for (std::uint8_t plane = 0; plane < rules.planes(); ++plane)
            receive.addresses[receive.address_count++] = rules.address_of(rules.self(), protocol::plane{plane});
        all.push_back(entry);
    }
    return all;
}

host_ports::host_ports(const daemon_config &config, const fabric &rules, datapath::host_programs &programs,
                       const port_plan &plan, const link_monitor &links)
    : config_{config}, rules_{rules}, programs_{programs}, plan_{plan}, first_socket_(MRC_MAX_PORTS),
      engines_(MRC_MAX_PORTS)
{
    for (const port_status &port : links.ports())
        attached_.push_back(port.ifindex);
    bind_sockets();
    build_engines();
}

void host_ports::bind_sockets()
{
    struct queue {
        const port_options *port;
        std::uint32_t number;
    };
    std::vector<queue> queues;
    for (const port_options &port : config_.ports)
        for (std::uint32_t number = 0; number < port.queues.value_or(receive_queues(port.device)); ++number)
            queues.push_back({&port, number});

    const auto frames = static_cast<std::uint32_t>(queues.size()) * (2 * ring_size + transmit_frames);
    memory_ = std::make_unique<datapath::umem>(frames, ring_size);
    for (const queue &entry : queues) {
        const std::uint32_t row = entry.port->plane.value;
        sockets_.push_back(std::make_unique<datapath::xsk_socket_pair>(
            *memory_, datapath::xsk_options{.device = entry.port->device,
                                            .queue = entry.number,
                                            .ring_size = ring_size,
                                            .multi_buffer = plan_.multi_buffer}));
        programs_.set_socket(row, entry.number, sockets_.back()->fd());
        if (entry.number == 0)
            first_socket_[row] = sockets_.back().get();
    }
}

void host_ports::build_engines()
{
    using enum transmit_engine;
    if (plan_.engine != af_xdp)
        xdp_ = std::make_unique<datapath::xdp_transmit>(
            datapath::xdp_transmit_options{.program_fd = programs_.push_program_fd(),
                                           .slots_fd = programs_.map_fd("push_slots"),
                                           .ring_fd = programs_.map_fd("push_ring"),
                                           .burst = config_.transmit.burst});
    af_xdp_ = std::make_unique<datapath::af_xdp_transmit>(*memory_, first_socket_, programs_.paths(), programs_.ports(),
                                                          plan_.payload_bytes + packet_overhead);
    for (const port_options &port : config_.ports) {
        const std::uint32_t row = port.plane.value;
        const bool use_af_xdp =
            plan_.engine == af_xdp || (plan_.engine == automatic && first_socket_[row]->zero_copy());
        engines_[row] = use_af_xdp ? static_cast<datapath::transmit_engine *>(af_xdp_.get()) : xdp_.get();
    }
}

std::string host_ports::describe(const port_options &port) const
{
    const std::uint32_t row = port.plane.value;
    return "transmit " + std::string{engines_[row]->name()} + ", AF_XDP " +
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

std::uint64_t host_ports::guid(const link_monitor &links)
{
    const mac_address &mac = links.ports().front().mac;
    const std::array<std::uint8_t, 8> eui64{
        static_cast<std::uint8_t>(mac[0] ^ 2U), mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5]};
    return std::bit_cast<std::uint64_t>(eui64);
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

// A device that came back under another index has neither our program nor our sockets, and one whose MTU has shrunk
// carries probes but no data: neither is usable, whatever the link says.
mrc_port_reason host_ports::reason_of(std::size_t port, const port_status &status)
{
    if (status.reason == MRC_PORT_MISSING)
        return MRC_PORT_MISSING;
    const std::uint32_t row = config_.ports[port].plane.value;
    if (status.ifindex != attached_[port] || !programs_.set_transmit_port(row, static_cast<int>(status.ifindex)))
        return MRC_PORT_REPLACED;
    const bool small = status.mtu < plan_.payload_bytes + packet_overhead;
    return small && status.reason == MRC_PORT_IN_USE ? MRC_PORT_SMALL_MTU : status.reason;
}

protocol::plane_mask host_ports::update(const link_monitor &links)
{
    protocol::plane_mask usable;
    for (std::size_t i = 0; i < config_.ports.size(); ++i) {
        const port_status &status = links.ports()[i];
        const protocol::plane plane = config_.ports[i].plane;
        mrc_port &row = programs_.ports()[plane.value];
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
        reasons_[plane.value] = reason;
        show_reason(plane.value);
        row.flags = flags;
        usable.set(plane, ready);
    }
    programs_.host()[0].planes = rules_.planes();
    programs_.host()[0].payload_bytes = plan_.payload_bytes;
    usable_ = usable;
    show_plane_mask();
    return usable;
}

void host_ports::enable(protocol::plane_mask enabled)
{
    enabled_ = enabled;
    for (const port_options &port : config_.ports)
        show_reason(port.plane.value);
    show_plane_mask();
}

// What the kernel says comes first: it is what an operator has to mend.
void host_ports::show_reason(std::uint32_t row)
{
    const bool disabled = !enabled_.has(protocol::plane{static_cast<std::uint8_t>(row)});
    programs_.ports()[row].reason =
        reasons_[row] == MRC_PORT_IN_USE && disabled ? __u16{MRC_PORT_DISABLED} : static_cast<__u16>(reasons_[row]);
}

void host_ports::show_plane_mask()
{
    programs_.host()[0].plane_mask = (usable_ & enabled_).bits();
}

} // namespace mrc::service
