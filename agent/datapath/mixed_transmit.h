// SPDX-License-Identifier: Apache-2.0
// XDP transmit for large bursts, the AF_XDP rings of the same ports for small ones: a call with live frames costs as
// much as sending some packets through a ring. While calls have to wait (slow_calls.h), everything goes by the rings;
// so does a burst for a device that has as many frames to send as it may (frames_in_flight.h): a ring is bounded by
// itself.
//
// Packets are put together in the slots of XDP transmit, and which way they leave is decided once the burst is known.
// None waits for others. On a port, packets of the two ways may overtake each other.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "datapath/af_xdp_transmit.h"
#include "datapath/frames_in_flight.h"
#include "datapath/transmit_costs.h"
#include "datapath/transmit_engine.h"
#include "datapath/xdp_transmit.h"
#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"

namespace mrc::datapath
{

// A port whose device keeps live frames until it has sent them.
struct slow_device {
    std::uint32_t frames = 0;                           // that it may have
    std::function<std::optional<std::uint64_t>()> sent; // how many packets it has sent so far; nothing: it is not there
};
// By port row; none: it gives them back at once.
using slow_devices = std::array<std::optional<slow_device>, MRC_MAX_PORTS>;

class mixed_transmit final : public transmit_engine
{
public:
    // All is borrowed and outlives the engine. `rings` has a socket for each port of this engine.
    mixed_transmit(xdp_transmit &frames, af_xdp_transmit &rings, const link_rows &links,
                   const std::array<port_costs, MRC_MAX_PORTS> &costs, slow_devices slow = {});

    [[nodiscard]] std::string_view name() const override { return frames_.name(); }
    [[nodiscard]] bool ready() override { return frames_.ready() && (frames_.calls().in_use() || rings_.ready()); }
    [[nodiscard]] std::span<std::byte> reserve(std::uint32_t path) override { return frames_.reserve(path); }
    void commit(const departure &packet) override
    {
        burst_.add(links_.paths[packet.path].port, packet.bytes);
        frames_.commit(packet);
    }
    void flush() override;
    [[nodiscard]] std::size_t queued() const override { return frames_.queued() + rings_.queued(); }
    // Of both ways, and of what else leaves by the rings' engine.
    [[nodiscard]] transmit_counters counters() const override;

private:
    [[nodiscard]] bool by_rings() const;
    [[nodiscard]] bool devices_have_room();
    [[nodiscard]] bool has_room(std::size_t port, const slow_device &slow);
    void send_by_rings();

    xdp_transmit &frames_;
    af_xdp_transmit &rings_;
    link_rows links_;
    burst_costs burst_;
    slow_devices slow_;
    std::array<frames_in_flight, MRC_MAX_PORTS> in_flight_; // of these
};

} // namespace mrc::datapath
