// SPDX-License-Identifier: Apache-2.0
// XDP transmit for large bursts, the AF_XDP rings of the same ports for small ones: a call with live frames costs as
// much as sending some packets through a ring. While calls have to wait (slow_calls.h), everything goes by the rings.
//
// Packets are put together in the slots of XDP transmit, and which way they leave is decided once the burst is known.
// None waits for others. On a port, packets of the two ways may overtake each other.
#pragma once

#include <array>

#include "datapath/af_xdp_transmit.h"
#include "datapath/transmit_costs.h"
#include "datapath/transmit_engine.h"
#include "datapath/xdp_transmit.h"
#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"

namespace mrc::datapath
{

class mixed_transmit final : public transmit_engine
{
public:
    // All is borrowed and outlives the engine. `rings` has a socket for each port of this engine.
    mixed_transmit(xdp_transmit &frames, af_xdp_transmit &rings, const kernel::mapped_array<mrc_path_row> &paths,
                   const std::array<port_costs, MRC_MAX_PORTS> &costs)
        : frames_{frames}, rings_{rings}, paths_{paths}, burst_{costs}
    {
    }

    [[nodiscard]] std::string_view name() const override { return frames_.name(); }
    [[nodiscard]] bool ready() override { return frames_.ready() && (frames_.calls().in_use() || rings_.ready()); }
    [[nodiscard]] std::span<std::byte> reserve(std::uint32_t path) override { return frames_.reserve(path); }
    void commit(const departure &packet) override
    {
        burst_.add(paths_[packet.path].port, packet.bytes);
        frames_.commit(packet);
    }
    void flush() override;
    [[nodiscard]] std::size_t queued() const override { return frames_.queued() + rings_.queued(); }
    // Of both ways, and of what else leaves by the rings' engine.
    [[nodiscard]] transmit_counters counters() const override;

private:
    [[nodiscard]] bool by_rings() const;
    void send_by_rings();

    xdp_transmit &frames_;
    af_xdp_transmit &rings_;
    const kernel::mapped_array<mrc_path_row> &paths_;
    burst_costs burst_;
};

} // namespace mrc::datapath
