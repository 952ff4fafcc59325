// SPDX-License-Identifier: Apache-2.0
#include "datapath/mixed_transmit.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "kernel/monotonic_clock.h"

namespace mrc::datapath
{

namespace
{

std::array<frames_in_flight, MRC_MAX_PORTS> bounds_of(const slow_devices &slow)
{
    const auto of = [&](std::size_t port) { return frames_in_flight{slow[port] ? slow[port]->frames : 0}; };
    return [&]<std::size_t... ports>(std::index_sequence<ports...>) {
        return std::array{of(ports)...};
    }(std::make_index_sequence<MRC_MAX_PORTS>{});
}

} // namespace

mixed_transmit::mixed_transmit(xdp_transmit &frames, af_xdp_transmit &rings, const link_rows &links,
                               const std::array<port_costs, MRC_MAX_PORTS> &costs, slow_devices slow)
    : frames_{frames}, rings_{rings}, links_{links}, burst_{costs}, slow_{std::move(slow)}, in_flight_{bounds_of(slow_)}
{
}

bool mixed_transmit::by_rings() const
{
    if (!frames_.calls().in_use() || frames_.handing_over())
        return true;
    if (!burst_.rings_are_cheaper())
        return false;
    for (std::uint32_t port = 0; port < MRC_MAX_PORTS; ++port)
        if (!rings_.takes(port, burst_.packets(port)))
            return false;
    return true;
}

// For the burst's live frames. Each that has none counts its packets.
bool mixed_transmit::devices_have_room()
{
    bool all = true;
    for (std::size_t port = 0; port < slow_.size(); ++port) {
        const std::uint32_t packets = burst_.packets(static_cast<std::uint32_t>(port));
        const auto &slow = slow_[port];
        if (packets == 0 || !slow || has_room(port, *slow))
            continue;
        std::atomic_ref{links_.ports[port].tx_held}.fetch_add(packets, std::memory_order_relaxed);
        all = false;
    }
    return all;
}

bool mixed_transmit::has_room(std::size_t port, const slow_device &slow)
{
    frames_in_flight &device = in_flight_[port];
    const std::uint32_t packets = burst_.packets(static_cast<std::uint32_t>(port));
    const std::uint64_t pushed = std::atomic_ref{links_.ports[port].tx_packets}.load(std::memory_order_relaxed);
    if (device.has_room(packets, pushed))
        return true;
    const protocol::instant now = kernel::monotonic_now();
    if (!device.may_look(now))
        return false;
    const auto sent = slow.sent();
    if (!sent)
        return false;
    device.look(pushed, *sent, now);
    if (device.has_room(packets, pushed))
        return true;
    if (!device.is_held())
        device.hold(now);
    return false;
}

void mixed_transmit::send_by_rings()
{
    frames_.hand_over([this](const departure &packet, std::span<const std::byte> inner) {
        if (!rings_.ready())
            return false;
        std::ranges::copy(inner, rings_.reserve(packet.path).begin());
        rings_.commit(packet);
        return true;
    });
}

void mixed_transmit::flush()
{
    if (frames_.queued() != 0) {
        const bool rings = by_rings() || !devices_have_room();
        if (!rings)
            frames_.flush();
        if (frames_.queued() != 0 && (rings || by_rings())) // also what a call that had to wait has left
            send_by_rings();
    }
    if (frames_.queued() == 0)
        burst_.clear();
    rings_.flush();
}

transmit_counters mixed_transmit::counters() const
{
    transmit_counters sum = frames_.counters();
    sum += rings_.counters();
    return sum;
}

} // namespace mrc::datapath
