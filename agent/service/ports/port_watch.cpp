// SPDX-License-Identifier: Apache-2.0
#include "service/ports/port_watch.h"

#include <string>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "kernel/map_names.h"
#include "service/log.h"

namespace mrc::service
{

namespace
{

std::string remedy_for(fabric_mode fabric, const port_options &port, mrc_port_reason reason)
{
    switch (reason) {
    case MRC_PORT_MISSING:
        return "it is taken in when the device appears";
    case MRC_PORT_DOWN:
        return fmt::format("ip link set dev {} up", port.device);
    case MRC_PORT_NO_CARRIER:
        return "the cable, or the far end of it";
    case MRC_PORT_NO_NEIGHBOUR:
        if (fabric == fabric_mode::direct)
            return "no peer, nor a router on the way to one, has answered there so far: it may be down, have another "
                   "address, or [fabric] mode \"srv6\"; ip route get ADDRESS oif " +
                   port.device + " shows the way to a peer";
        return "nothing has answered there so far; a leaf that answers no neighbour discovery is named by its MAC "
               "address, [[port]] gateway; a network without SRv6 takes [fabric] mode \"direct\"";
    case MRC_PORT_SEVERAL_NEIGHBOURS:
        return "[[port]] gateway names the leaf among them";
    case MRC_PORT_SMALL_MTU:
        return fmt::format("ip link set dev {} mtu, as the other ports have it", port.device);
    default:
        return "it is used when it is ready";
    }
}

} // namespace

port_watch::port_watch(surroundings around, boost::asio::io_context &context, announcement announce)
    : around_{std::move(around)}, context_{context}, announce_{std::move(announce)},
      refusals_(around_.config.ports.size()), watch_{around_.links.fd(), [this] {
                                                         if (!around_.links.on_readable())
                                                             return;
                                                         publish(); // whatever taking in takes
                                                         if (take_in_new_devices())
                                                             publish();
                                                     }}
{
}

void port_watch::publish()
{
    boost::asio::post(context_, [this, changes = follow_links()] { announce_(changes); });
}

bool port_watch::take_in_new_devices()
{
    bool any_taken = false;
    bool any_refused = false;
    for (std::size_t i = 0; i < refusals_.size(); ++i) {
        const port_condition &status = around_.links.ports()[i];
        if (!around_.ports.is_unattached(i, status))
            continue;
        const port_options &port = around_.config.ports[i];
        around_.prepare(port);
        const auto taken = around_.ports.take_in(i, status, [this](const std::function<void()> &task) {
            around_.workers.call_at_rest([&] {
                for (unsigned number = 0; number < around_.workers.size(); ++number)
                    around_.workers[number].forget_packet_sources();
                task();
            });
        });
        if (taken)
            log::info("port {} (plane {}): device {} taken in, {}", port.device, port.plane.value, status.ifindex,
                      *taken);
        else if (refusals_[i] != taken.error())
            log::warn("port {} (plane {}): its device cannot be taken in yet: {}", port.device, port.plane.value,
                      taken.error());
        refusals_[i] = taken ? std::string{} : taken.error();
        any_taken = any_taken || taken;
        any_refused = any_refused || !taken;
    }
    around_.links.retry_each_second(any_refused || keeps_next_hops_);
    return any_taken;
}

std::vector<port_change> port_watch::follow_links()
{
    const protocol::plane_mask before = around_.ports.view().up;
    const host_ports::ways_out out = around_.ports.update(around_.links);
    const protocol::plane_mask now = out.up;
    keeps_next_hops_ = out.keeps_next_hops;
    protocol::plane_mask usable;
    around_.workers.call_each([&](unsigned number, datapath::worker &worker) {
        worker_ports &ports = around_.workers.ports(number);
        ports.local.up = now;
        ports.linked.follow(out.linked);
        worker.ports_changed();
        usable = ports.local.usable();
    });
    std::vector<port_change> changes;
    for (const port_options &port : around_.config.ports)
        if (before.has(port.plane) != now.has(port.plane))
            changes.push_back({.plane = port.plane,
                               .up = now.has(port.plane),
                               .usable = usable.has(port.plane),
                               .reason = reason_of(port.plane)});
    return changes;
}

mrc_port_reason port_watch::reason_of(protocol::plane_index plane) const
{
    return static_cast<mrc_port_reason>(around_.tables.ports[plane.value].reason);
}

void port_watch::warn_of_unusable() const
{
    const protocol::plane_mask up = around_.ports.view().up;
    for (const port_options &port : around_.config.ports)
        if (!up.has(port.plane))
            log::warn("port {} (plane {}): out of use, {}: {}", port.device, port.plane.value,
                      kernel::port_reason_names[reason_of(port.plane)],
                      remedy_for(around_.config.fabric.mode, port, reason_of(port.plane)));
}

} // namespace mrc::service
