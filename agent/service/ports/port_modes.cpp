// SPDX-License-Identifier: Apache-2.0
#include "service/ports/port_modes.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "kernel/probes/device.h"
#include "kernel/startup_error.h"
#include "service/ports/nic_drivers.h"

namespace mrc::service
{

namespace
{

void try_each(std::vector<tried_port> &ports, kernel::probes::live_frames *frames)
{
    for (tried_port &port : ports)
        port.abilities = {}; // of an earlier try: programs and sockets must be gone before the next one
    for (tried_port &port : ports)
        port.abilities = kernel::probes::try_port(port.wish, frames);
}

// Of the first port that does not do what was wished; empty: all do. One that is in use says nothing of what it can.
std::string first_refusal(const std::vector<tried_port> &ports)
{
    for (const auto &[wish, abilities] : ports) {
        const kernel::probes::attempt &result =
            abilities.attachment.attached() ? abilities.af_xdp : abilities.attachment.last();
        if (result.refused() && result.error != EBUSY)
            return "'" + wish.device + "': " + result.text();
    }
    return {};
}

void require_attached(const std::vector<tried_port> &ports)
{
    for (const auto &[wish, abilities] : ports) {
        const kernel::probes::attempt &last = abilities.attachment.last();
        if (!abilities.attachment.attached())
            throw kernel::startup_error{"cannot attach an XDP program to '" + wish.device + "': " + last.text() +
                                        (last.error == EPERM ? " (CAP_BPF and CAP_NET_ADMIN are needed)" : "")};
    }
}

std::vector<kernel::probes::port_wish> wishes_for(const daemon_config &config, const link_monitor &links,
                                                  const port_plan &plan)
{
    std::vector<kernel::probes::port_wish> wishes;
    wishes.reserve(config.ports.size());
    for (std::size_t i = 0; i < config.ports.size(); ++i)
        if (links.ports()[i].is_present())
            wishes.push_back(
                {.device = config.ports[i].device,
                 .ifindex = static_cast<int>(links.ports()[i].ifindex),
                 .mode = xdp_mode_of(config.ports[i]),
                 .queues = served_queues(config.ports[i]),
                 .multi_buffer = plan.multi_buffer,
                 .redirect = may_redirect(plan.engine, kernel::probes::driver_of(config.ports[i].device))});
    return wishes;
}

// Puts those between that could not be tried. Their driver is unknown: they send as the others, by XDP where all do.
void add_missing(const daemon_config &config, const link_monitor &links, host_modes &modes)
{
    const engine_choice transmit{
        .engine = std::ranges::all_of(modes.ports, &port_modes::uses_xdp) ? engine_kind::xdp : engine_kind::af_xdp,
        .reason = {}};
    const std::uint32_t most_queues = std::ranges::max_element(modes.ports, {}, &port_modes::queues)->queues;
    for (std::size_t i = 0; i < config.ports.size(); ++i) {
        if (links.ports()[i].is_present())
            continue;
        const auto at = modes.ports.begin() + static_cast<std::ptrdiff_t>(i);
        modes.ports.insert(at, port_modes{.queues = config.ports[i].queues.value_or(most_queues),
                                          .attachment = {},
                                          .transmit = transmit,
                                          .live_cost = {},
                                          .was_tried = false});
    }
}

// Nothing but a packet from the wire could show it: XDP_TX of a frame in zero-copy memory sends a copy without headroom
// (net/core/xdp.c, xdp_convert_zc_to_xdp_frame), and virtio_net, as of Linux 7.2, drops what has no room for its
// header.
bool loses_answers(const kernel::probes::port_abilities &port)
{
    return port.zero_copy && port.driver == "virtio_net";
}

// A veth's far end is told of what XDP_TX has sent it only if it has an XDP program itself (veth_xdp_flush, as of Linux
// 6.18): on a bridge or a router the answer would lie there until something else comes. A redirect is told of always.
bool keeps_answers(const kernel::probes::port_abilities &port)
{
    return port.driver == "veth";
}

} // namespace

engine_choice choose_engine(engine_kind configured, const kernel::probes::port_abilities &port,
                            const kernel::probes::attempt &live_frames)
{
    using enum engine_kind;
    if (configured != automatic)
        return {.engine = configured, .reason = {}};
    if (port.zero_copy)
        return {.engine = af_xdp, .reason = {}};
    if (live_frames.refused())
        return {.engine = af_xdp, .reason = "the kernel refuses live frames: " + live_frames.text()};
    if (!returns_frames(port.driver))
        return {.engine = af_xdp,
                .reason = (port.driver.empty() ? "its driver" : port.driver) +
                          " keeps live frames until they are sent, and later"};
    if (port.redirect.refused())
        return {.engine = af_xdp, .reason = "XDP redirect into the port: " + port.redirect.text()};
    return {.engine = xdp, .reason = {}};
}

bool may_redirect(engine_kind configured, std::string_view driver)
{
    return configured == engine_kind::xdp || (configured == engine_kind::automatic && returns_frames(driver));
}

std::uint32_t served_queues(const port_options &port)
{
    if (port.queues)
        return *port.queues;
    return std::min<std::uint32_t>(kernel::probes::receive_queues(port.device), MRC_MAX_QUEUES);
}

port_trials try_ports(std::vector<kernel::probes::port_wish> wishes, kernel::probes::live_frames *frames)
{
    port_trials tried;
    for (kernel::probes::port_wish &wish : wishes)
        tried.ports.push_back({.wish = std::move(wish), .abilities = {}});
    try_each(tried.ports, frames);
    if (std::ranges::none_of(tried.ports, [](const tried_port &port) { return port.wish.multi_buffer; }))
        return tried;
    tried.single_buffer = first_refusal(tried.ports);
    if (!tried.single_buffer.empty()) {
        for (tried_port &port : tried.ports)
            port.wish.multi_buffer = false;
        try_each(tried.ports, frames);
    }
    return tried;
}

std::string buffers_refusal(const port_plan &plan, const port_trials &tried)
{
    if (!plan.requires_several_buffers() || tried.single_buffer.empty())
        return {};
    return "transmit.payload is " + std::to_string(plan.payload_bytes) +
           ", which takes packets of several buffers (kernel 6.6): " + tried.single_buffer;
}

host_modes settle_modes(engine_kind configured, port_trials tried, const kernel::probes::attempt &live_frames)
{
    const auto has_zero_copy = [](const tried_port &port) { return port.abilities.zero_copy; };
    host_modes settled;
    settled.single_buffer = std::move(tried.single_buffer);
    settled.force_copy = !std::ranges::all_of(tried.ports, has_zero_copy);
    settled.some_zero_copy = std::ranges::any_of(tried.ports, has_zero_copy);
    for (auto &[wish, abilities] : tried.ports) {
        abilities.zero_copy = !settled.force_copy;
        settled.ports.push_back({.queues = wish.queues,
                                 .attachment = std::move(abilities.attachment),
                                 .transmit = choose_engine(configured, abilities, live_frames),
                                 .live_cost = abilities.redirect_cost,
                                 .redirect_answers = keeps_answers(abilities),
                                 .agent_answers = loses_answers(abilities)});
    }
    return settled;
}

host_modes choose_modes(const daemon_config &config, const link_monitor &links, port_plan &plan)
{
    std::optional<kernel::probes::live_frames> frames;
    if (plan.engine != engine_kind::af_xdp)
        frames.emplace(true);
    port_trials tried = try_ports(wishes_for(config, links, plan), frames ? &*frames : nullptr);
    if (const std::string refusal = buffers_refusal(plan, tried); !refusal.empty())
        throw kernel::startup_error{refusal};
    plan.multi_buffer = plan.multi_buffer && tried.single_buffer.empty();
    require_attached(tried.ports);
    host_modes modes =
        settle_modes(plan.engine, std::move(tried), frames ? frames->possible() : kernel::probes::worked());
    modes.several_buffers = plan.multi_buffer;
    add_missing(config, links, modes);
    return modes;
}

} // namespace mrc::service
