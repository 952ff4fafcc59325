// SPDX-License-Identifier: Apache-2.0
#include "service/ports/host_ports.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "kernel/monotonic_clock.h"
#include "kernel/probes/device.h"
#include "kernel/probes/ring_cost.h"
#include "kernel/shared_word.h"
#include "kernel/startup_error.h"
#include "kernel/transmit_counter.h"
#include "service/log.h"
#include "service/ports/nic_drivers.h"

namespace mrc::service
{

namespace
{

packet_memory memory_for(const host_modes &modes, unsigned workers)
{
    std::vector<std::uint32_t> queues;
    queues.reserve(modes.ports.size());
    for (const port_modes &port : modes.ports)
        queues.push_back(port.queues);
    return packet_memory_for(queues, workers);
}

// A port that got generic XDP for its MTU would have the driver's own with a smaller one.
void warn_of_mtu(const port_options &port, std::string_view driver, bool several_buffers, std::string_view attached)
{
    const std::uint32_t mtu = kernel::probes::mtu_of(port.device);
    if (attached != "generic" || port.mode != attach_mode::automatic || !has_headroom(driver) ||
        !refuses_mtu(driver, mtu, several_buffers))
        return;
    const std::uint32_t largest = largest_single_buffer_mtu(driver);
    log::warn("port {}: XDP is generic, several times slower, as {} takes an MTU of {} at most and the port has {}: ip "
              "link set dev {} mtu {}",
              port.device, driver, largest, mtu, port.device, largest);
}

std::uint64_t eui64_of(const mac_address &mac)
{
    const std::array<std::uint8_t, 8> eui64{
        static_cast<std::uint8_t>(mac[0] ^ 2U), mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5]};
    return std::bit_cast<std::uint64_t>(eui64);
}

// Of the first port that is there; 0: none is.
std::uint64_t guid_of(const link_monitor &links)
{
    const auto first = std::ranges::find_if(links.ports(), &port_condition::is_present);
    return first == links.ports().end() ? 0 : eui64_of(first->mac);
}

} // namespace

host_ports::host_ports(const daemon_config &config, const fabric_rules &rules, kernel::host_programs &programs,
                       const port_plan &plan, const host_modes &modes, const link_monitor &links,
                       port_preparation &preparation)
    : config_{config}, rules_{rules}, programs_{programs}, plan_{plan}, preparation_{preparation},
      attached_(links.ports().begin(), links.ports().end()),
      sockets_{memory_for(modes, programs.workers()), modes.force_copy ? programs.scratch_device() : std::string{},
               plan.multi_buffer},
      capture_{programs.map_fd("capture_ring"), programs.map_fd("capture_slots")}, ways_out_(programs.workers())
{
    for (const port_modes &port : modes.ports)
        uses_.push_back(
            {.queues = port.queues, .uses_xdp = port.uses_xdp(), .force_copy = modes.force_copy || !port.was_tried});
    bind_sockets();
    measure_costs(modes);
    for (unsigned worker = 0; worker < sockets_.workers(); ++worker)
        build_engines(worker);
}

port_sockets::binding host_ports::binding_of(std::size_t port) const
{
    return {.device = config_.ports[port].device,
            .queues = uses_[port].queues,
            .multi_buffer = plan_.multi_buffer,
            .force_copy = uses_[port].force_copy};
}

void host_ports::bind_sockets()
{
    for (std::size_t i = 0; i < config_.ports.size(); ++i) {
        if (!attached_[i].is_present())
            continue;
        const std::uint32_t row = config_.ports[i].plane.value;
        sockets_.bind(row, binding_of(i));
        for (unsigned worker = 0; worker < sockets_.workers(); ++worker)
            for (std::uint32_t queue = 0; queue < uses_[i].queues; ++queue)
                programs_.set_socket(row, queue, worker, sockets_.of(worker, row)[queue]->fd());
    }
}

// Both ways carry traffic through this machine's own links in the lab, so they are measured by the fastest try. A port
// whose device is not there has the usual costs.
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
        kernel::xsk_socket_pair *socket = sockets_.first(0, row);
        const auto rings = live && socket != nullptr
                               ? kernel::probes::ring_cost(sockets_.memory(0), *socket, config_.ports[i].device)
                               : std::nullopt;
        if (!rings)
            continue;
        log::debug("port {}: {} ns a call with live frames and {} a frame; AF_XDP {}, {} and {} a KB",
                   config_.ports[i].device, live->call_ns, live->frame_ns, rings->call_ns, rings->frame_ns,
                   rings->kilobyte_ns);
        costs_[row] = {.live = *live, .rings = *rings};
    }
}

// Of live frames a device gets what one of its rings holds: it would drop more. A device that is not there yet is taken
// for a NIC.
datapath::slow_devices host_ports::slow_devices() const
{
    constexpr std::uint32_t usual_ring = 512;
    datapath::slow_devices slow;
    for (std::size_t i = 0; i < config_.ports.size(); ++i) {
        const std::string &device = config_.ports[i].device;
        if (!uses_[i].uses_xdp || returns_frames(kernel::probes::driver_of(device)))
            continue;
        slow[config_.ports[i].plane.value] = datapath::slow_device{
            .frames = kernel::probes::transmit_ring(device).value_or(usual_ring),
            .sent = [counter = std::make_shared<kernel::transmit_counter>(device)] { return counter->read(); }};
    }
    return slow;
}

void host_ports::build_engines(unsigned worker)
{
    worker_engines &built = ways_out_[worker];
    if (std::ranges::any_of(uses_, &use::uses_xdp))
        built.xdp = std::make_unique<datapath::xdp_transmit>(
            datapath::xdp_transmit_options{.program_fd = programs_.push_program_fd(worker),
                                           .slots_fd = programs_.map_fd("push_slots"),
                                           .ring_fd = programs_.map_fd("push_ring"),
                                           .worker = worker,
                                           .workers = programs_.workers(),
                                           .burst = config_.transmit.burst});
    std::vector<kernel::xsk_socket_pair *> first(MRC_MAX_PORTS);
    for (std::uint32_t row = 0; row < MRC_MAX_PORTS; ++row)
        first[row] = sockets_.first(worker, row);
    const datapath::link_rows links{
        .paths = programs_.paths(), .ports = programs_.ports(), .next_hops = programs_.next_hops()};
    built.af_xdp = std::make_unique<datapath::af_xdp_transmit>(
        sockets_.memory(worker), first, links, plan_.payload_bytes + packet_overhead(config_.fabric.mode), &capture_);
    if (built.xdp)
        built.mixed =
            std::make_unique<datapath::mixed_transmit>(*built.xdp, *built.af_xdp, links, costs_, slow_devices());
    built.engines.resize(MRC_MAX_PORTS);
    for (std::size_t i = 0; i < config_.ports.size(); ++i)
        built.engines[config_.ports[i].plane.value] =
            uses_[i].uses_xdp ? static_cast<datapath::transmit_engine *>(built.mixed.get()) : built.af_xdp.get();
}

std::string host_ports::describe(const port_options &port) const
{
    const std::uint32_t row = port.plane.value;
    const worker_engines &first = ways_out_.front();
    const bool mixed = first.mixed && first.engines[row] == first.mixed.get();
    return "transmit " + std::string{first.engines[row]->name()} + ", AF_XDP " +
           (sockets_.first(0, row)->zero_copy() ? "zero copy" : "copy") +
           (sockets_.memory(0).uses_huge_pages() ? ", huge pages" : "") +
           (mixed ? fmt::format(", bursts up to {} packets by AF_XDP", costs_[row].crossing(config_.transmit.burst))
                  : "");
}

datapath::transmit_counters host_ports::transmitted(unsigned worker) const
{
    const worker_engines &of = ways_out_[worker];
    return of.mixed ? of.mixed->counters() : of.af_xdp->counters();
}

ports_view host_ports::view() const
{
    const std::scoped_lock lock{changing_};
    return view_;
}

std::uint64_t host_ports::socket_drops() const
{
    const std::scoped_lock lock{changing_};
    return drops_of_removed_ + drops_of_all();
}

std::uint64_t host_ports::drops_of_all() const
{
    std::uint64_t sum = 0;
    for (unsigned worker = 0; worker < sockets_.workers(); ++worker)
        for (const auto &socket : sockets_.all(worker)) {
            const auto drops = socket->drops();
            sum += drops.receive_dropped + drops.receive_ring_full;
        }
    return sum;
}

bool host_ports::is_unattached(std::size_t port, const port_condition &status) const
{
    return status.is_present() &&
           (status.ifindex != attached_[port].ifindex || status.departures != attached_[port].departures);
}

void host_ports::change_sockets(std::uint32_t row, port_sockets::fresh_sockets fresh)
{
    const std::scoped_lock lock{changing_};
    if (fresh.empty()) {
        const std::uint64_t before = drops_of_all();
        sockets_.remove(row);
        drops_of_removed_ += before - drops_of_all();
    } else {
        sockets_.install(row, std::move(fresh));
    }
    for (unsigned worker = 0; worker < sockets_.workers(); ++worker)
        ways_out_[worker].af_xdp->use_socket(row, sockets_.first(worker, row));
}

std::expected<std::string, std::string> host_ports::take_in(std::size_t port, const port_condition &status,
                                                            const at_rest &run)
{
    const std::uint32_t row = config_.ports[port].plane.value;
    run([&] { change_sockets(row, {}); });
    try {
        preparation_.prepare(config_.ports[port], uses_[port].queues); // there is packet memory for so many
        const std::uint32_t queues = std::min(served_queues(config_.ports[port]), uses_[port].queues);
        port_sockets::binding how = binding_of(port);
        how.queues = queues;
        port_sockets::fresh_sockets fresh = sockets_.bind_later(how);
        for (unsigned worker = 0; worker < sockets_.workers(); ++worker)
            for (std::uint32_t queue = 0; queue < queues; ++queue)
                programs_.set_socket(row, queue, worker, fresh.of_worker[worker][queue]->fd());
        const std::string mode = programs_.attach_again(port, static_cast<int>(status.ifindex));
        run([&] { change_sockets(row, std::move(fresh)); });
        const std::scoped_lock lock{changing_};
        attached_[port] = status;
        return fmt::format("XDP {}, {}", mode, describe(config_.ports[port]));
    } catch (const kernel::startup_error &refusal) {
        return std::unexpected{refusal.what()};
    }
}

// A device that has not been taken in has none of our sockets, and one whose MTU has shrunk carries probes but no data:
// neither is usable, whatever the link says.
mrc_port_reason host_ports::reason_of(std::size_t port, const port_condition &status)
{
    if (status.reason == MRC_PORT_MISSING)
        return MRC_PORT_MISSING;
    const std::uint32_t row = config_.ports[port].plane.value;
    if (is_unattached(port, status) || !programs_.set_transmit_port(row, static_cast<int>(status.ifindex)))
        return MRC_PORT_REPLACED;
    const bool small = status.mtu < plan_.payload_bytes + packet_overhead(config_.fabric.mode);
    return small && status.reason == MRC_PORT_IN_USE ? MRC_PORT_SMALL_MTU : status.reason;
}

// The peer, or the leaf, has acknowledged what was sent there, a moment ago.
bool host_ports::is_confirmed(std::uint32_t next_hop) const
{
    constexpr std::chrono::seconds moment{1};
    const auto since = static_cast<std::uint64_t>(
        std::max(kernel::monotonic_now().time_since_epoch() - moment, protocol::instant::duration::zero()).count());
    const auto &paths = programs_.paths();
    for (std::size_t path = 1; path < paths.size(); ++path)
        if (paths[path].next_hop == next_hop && kernel::shared_word(programs_.signals()[path].last_ack_ns) > since)
            return true;
    return false;
}

// Who answers neighbour discovery for an address gets what is sent to it. As long as a peer acknowledges what goes to
// the present neighbour it is the right one, whatever others on the link say.
host_ports::frame_targets host_ports::targets_of(std::size_t port, const port_condition &status, mrc_port_reason reason)
{
    const port_options &options = config_.ports[port];
    const bool has_link = reason == MRC_PORT_IN_USE || reason == MRC_PORT_NO_NEIGHBOUR ||
                          reason == MRC_PORT_SEVERAL_NEIGHBOURS || reason == MRC_PORT_SMALL_MTU;
    frame_targets targets;
    const auto settled = [&](std::uint32_t row, const std::optional<mac_address> &told) {
        const mrc_next_hop_row &present = programs_.next_hops()[row];
        mac_address mac{};
        std::ranges::copy(present.mac, mac.begin());
        if (!has_link || present.resolved == 0 || told == mac || !is_confirmed(row))
            return told;
        targets.are_kept = true;
        if (kept_hops_.insert(row).second)
            log::warn("port {} (plane {}): a neighbour is {} now by what was said on the link; frames go to the one "
                      "before, which answers, until it falls silent",
                      options.device, options.plane.value, told ? "another" : "gone");
        return std::optional{mac};
    };
    const bool has_gateway = (status.flags & MRC_PORT_NEIGHBOUR) != 0 && listed_hosts(config_).empty();
    if (listed_hosts(config_).empty())
        targets.gateway = settled(options.plane.value, has_gateway ? std::optional{status.gateway_mac} : std::nullopt);
    targets.hosts.resize(listed_hosts(config_).size());
    for (std::uint32_t host = 0; host < targets.hosts.size(); ++host)
        targets.hosts[host] = settled(MRC_NEXT_HOP_ROW(host, options.plane.value),
                                      host < status.next_hops.size() ? status.next_hops[host] : std::nullopt);
    return targets;
}

void host_ports::show_targets(protocol::plane_index plane, const frame_targets &targets, ways_out &out)
{
    const auto show = [&](std::uint32_t row, const std::optional<mac_address> &mac) {
        mrc_next_hop_row next{};
        if (mac) {
            std::ranges::copy(*mac, std::begin(next.mac));
            next.resolved = 1;
        }
        programs_.next_hops()[row] = next;
    };
    show(plane.value, targets.gateway);
    for (std::uint32_t host = 0; host < targets.hosts.size(); ++host) {
        show(MRC_NEXT_HOP_ROW(host, plane.value), targets.hosts[host]);
        out.linked[host].set(plane, targets.hosts[host].has_value());
    }
    out.keeps_next_hops = out.keeps_next_hops || targets.are_kept;
}

host_ports::ways_out host_ports::update(const link_monitor &links)
{
    const std::scoped_lock lock{changing_};
    ways_out out{
        .up = {}, .linked = std::vector<protocol::plane_mask>(listed_hosts(config_).size()), .keeps_next_hops = false};
    for (std::size_t i = 0; i < config_.ports.size(); ++i) {
        const port_condition &status = links.ports()[i];
        const protocol::plane_index plane = config_.ports[i].plane;
        mrc_port_row &row = programs_.ports()[plane.value];
        mrc_port_reason reason = reason_of(i, status);
        const frame_targets targets = targets_of(i, status, reason);
        const bool ours = reason != MRC_PORT_REPLACED && reason != MRC_PORT_SMALL_MTU;
        std::uint32_t flags = ours ? status.flags : status.flags & ~std::uint32_t{MRC_PORT_UP};
        if (targets.are_kept && (reason == MRC_PORT_NO_NEIGHBOUR || reason == MRC_PORT_SEVERAL_NEIGHBOURS)) {
            flags |= MRC_PORT_NEIGHBOUR;
            reason = MRC_PORT_IN_USE;
        }
        const bool ready = (flags & MRC_PORT_USABLE) == MRC_PORT_USABLE;
        if (!ready)
            row.flags = flags; // out of use before its addresses change
        row.ifindex = status.ifindex;
        std::memcpy(row.mac, status.mac.data(), sizeof(row.mac));
        row.mtu = static_cast<__u16>(std::min<std::uint32_t>(status.mtu, UINT16_MAX));
        row.address = rules_.address_of(rules_.self(), plane).value_or(mrc_ip{});
        write_text(row.address_text, row.address);
        row.outer = rules_.outer_destination(plane);
        config_.ports[i].device.copy(row.device, sizeof(row.device) - 1);
        row.engine = uses_[i].uses_xdp ? MRC_ENGINE_XDP : MRC_ENGINE_AF_XDP;
        row.queues = static_cast<__u16>(uses_[i].queues);
        view_.mtu[plane.value] = status.mtu;
        reasons_[plane.value] = reason;
        show_reason(plane.value);
        show_targets(plane, targets, out);
        row.flags = flags;
        out.up.set(plane, ready);
    }
    programs_.host()[0].planes = rules_.planes();
    programs_.host()[0].leaf = rules_.self().leaf;
    programs_.host()[0].block_bytes = rules_.block_bytes();
    programs_.host()[0].payload_bytes = plan_.payload_bytes;
    view_.up = out.up;
    if (view_.guid == 0) // it stays what clients have seen, whatever device the port has later
        view_.guid = guid_of(links);
    show_plane_mask();
    return out;
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
    programs_.ports()[row].reason = reasons_[row] == MRC_PORT_IN_USE && disabled ? MRC_PORT_DISABLED : reasons_[row];
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
        if (attached[i].empty())
            continue;
        const std::string &reason = modes.ports[i].transmit.reason;
        const std::string driver = kernel::probes::driver_of(config.ports[i].device);
        log::info("port {} (plane {}): XDP {}, {}{}{}{}", config.ports[i].device, config.ports[i].plane.value,
                  attached[i], ports.describe(config.ports[i]), reason.empty() ? "" : "; " + reason,
                  modes.ports[i].agent_answers ? "; mrcd answers EV probes, for the driver loses XDP_TX" : "",
                  has_headroom(driver) ? "" : "; the driver's own XDP may have no room in front of packets");
        if (!has_headroom(driver) && config.ports[i].mode == attach_mode::native)
            log::warn("port {}: host_rx drops every MRC packet where native XDP of {} has no room in front of them; "
                      "safe is mode = \"generic\" or \"auto\"",
                      config.ports[i].device, driver);
        warn_of_mtu(config.ports[i], driver, modes.several_buffers, attached[i]);
    }
    if (!modes.single_buffer.empty())
        log::warn("packets longer than one buffer are not received, port {}", modes.single_buffer);
    if (modes.force_copy && modes.some_zero_copy)
        log::warn("not all ports have AF_XDP zero copy, so none uses it");
}

} // namespace mrc::service
