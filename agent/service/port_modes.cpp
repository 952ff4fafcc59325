// SPDX-License-Identifier: Apache-2.0
#include "service/port_modes.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "datapath/probes/device.h"
#include "datapath/startup_error.h"

namespace mrc::service
{

namespace
{

namespace probes = datapath::probes;

using all_abilities = std::vector<probes::port_abilities>;

all_abilities try_ports(const daemon_config &config, const link_monitor &links, const port_plan &plan,
                        probes::live_frames *frames)
{
    all_abilities all;
    for (std::size_t i = 0; i < config.ports.size(); ++i)
        all.push_back(probes::try_port({.device = config.ports[i].device,
                                        .ifindex = static_cast<int>(links.ports()[i].ifindex),
                                        .mode = xdp_mode_of(config.ports[i].mode),
                                        .queues = served_queues(config.ports[i]),
                                        .multi_buffer = plan.multi_buffer},
                                       frames));
    return all;
}

// Of the first port that does not do what was wished; empty: all do. One that is in use says nothing of what it can.
std::string first_refusal(const daemon_config &config, const all_abilities &all)
{
    for (std::size_t i = 0; i < all.size(); ++i) {
        const probes::attempt &result = all[i].attachment.attached() ? all[i].af_xdp : all[i].attachment.last();
        if (result.refused() && result.error != EBUSY)
            return "'" + config.ports[i].device + "': " + result.text();
    }
    return {};
}

void require_attached(const daemon_config &config, const all_abilities &all)
{
    for (std::size_t i = 0; i < all.size(); ++i) {
        const probes::attempt &last = all[i].attachment.last();
        if (!all[i].attachment.attached())
            throw datapath::startup_error{"cannot attach an XDP program to '" + config.ports[i].device +
                                          "': " + last.text() +
                                          (last.error == EPERM ? " (CAP_BPF and CAP_NET_ADMIN are needed)" : "")};
    }
}

} // namespace

engine_choice choose_engine(transmit_engine configured, const probes::port_abilities &port,
                            const probes::attempt &live_frames)
{
    using enum transmit_engine;
    if (configured != automatic)
        return {.engine = configured, .reason = {}};
    if (port.zero_copy)
        return {.engine = af_xdp, .reason = {}};
    if (live_frames.refused())
        return {.engine = af_xdp, .reason = "the kernel refuses live frames: " + live_frames.text()};
    if (port.redirect.refused())
        return {.engine = af_xdp, .reason = "XDP redirect into the port: " + port.redirect.text()};
    return {.engine = xdp, .reason = {}};
}

namespace
{

// Nothing but a packet from the wire could show it: XDP_TX of a frame in zero-copy memory sends a copy without headroom
// (net/core/xdp.c, xdp_convert_zc_to_xdp_frame), and virtio_net, as of Linux 7.2, drops what has no room for its
// header.
bool loses_answers(const probes::port_abilities &port, const std::string &device)
{
    return port.zero_copy && probes::driver_of(device) == "virtio_net";
}

} // namespace

std::uint32_t served_queues(const port_options &port)
{
    if (port.queues)
        return *port.queues;
    const std::uint32_t queues = probes::receive_queues(port.device);
    if (queues > MRC_MAX_QUEUES)
        throw datapath::startup_error{"'" + port.device + "' has " + std::to_string(queues) +
                                      " receive queues, at most " + std::to_string(MRC_MAX_QUEUES) +
                                      " can be served: ethtool -L " + port.device + " combined " +
                                      std::to_string(MRC_MAX_QUEUES)};
    return queues;
}

host_modes choose_modes(const daemon_config &config, const link_monitor &links, port_plan &plan)
{
    host_modes chosen;
    std::optional<probes::live_frames> frames;
    if (plan.engine == transmit_engine::automatic)
        frames.emplace(true);
    probes::live_frames *sender = frames ? &*frames : nullptr;
    all_abilities all = try_ports(config, links, plan, sender);
    if (plan.multi_buffer)
        chosen.single_buffer = first_refusal(config, all);
    if (!chosen.single_buffer.empty()) {
        if (plan.payload_bytes > live_frame_payload)
            throw datapath::startup_error{
                "transmit.payload is " + std::to_string(plan.payload_bytes) +
                ", which takes packets of several buffers (kernel 6.6): " + chosen.single_buffer};
        plan.multi_buffer = false;
        all.clear(); // before the ports are tried again
        all = try_ports(config, links, plan, sender);
    }
    require_attached(config, all);
    const auto with_zero_copy = std::ranges::count_if(all, &probes::port_abilities::zero_copy);
    chosen.force_copy = with_zero_copy != static_cast<std::ptrdiff_t>(all.size());
    chosen.some_zero_copy = with_zero_copy != 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].zero_copy = all[i].zero_copy && !chosen.force_copy;
        chosen.ports.push_back(
            {.queues = served_queues(config.ports[i]),
             .attachment = std::move(all[i].attachment),
             .transmit = choose_engine(plan.engine, all[i], frames ? frames->possible() : probes::worked()),
             .agent_answers = loses_answers(all[i], config.ports[i].device)});
    }
    return chosen;
}

} // namespace mrc::service
