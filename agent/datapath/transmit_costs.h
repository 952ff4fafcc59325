// SPDX-License-Identifier: Apache-2.0
// Which way out is the cheaper one for a burst: one call with live frames, whose fixed part is large, or the AF_XDP
// rings, with a small call for each port and more time for each packet.
#pragma once

#include <array>
#include <cstdint>

#include "kernel/probes/send_cost.h"
#include "mrc/abi/maps.h"

namespace mrc::datapath
{

// The rings are taken where they cost half as much at most: large bursts come of packets that had to wait for the one
// before, and many short bursts are dearer together than few long ones. With rings up to where both cost the same (18
// packets on veth, not 6), processor time per 64-byte message was 7.5 us instead of 5.6, and per 1 MB message 8.7
// ms instead of 5.0 (tests/perf/run messages).
inline constexpr std::int64_t least_gain = 2;

struct port_costs {
    kernel::probes::send_cost live;
    kernel::probes::send_cost rings; // a call for each port that has packets

    // Short packets for this port alone up to which the rings are the cheaper way, at most `most`.
    [[nodiscard]] constexpr std::uint32_t crossing(std::uint32_t most) const
    {
        std::uint32_t packets = 0;
        while (packets < most && least_gain * (rings.call_ns + (packets + 1) * rings.frame_ns) <=
                                     live.call_ns + (packets + 1) * live.frame_ns)
            ++packets;
        return packets;
    }
};

// Where a port could not be measured, because its link was down: as on veth.
inline constexpr port_costs usual_costs{.live = {.call_ns = 20000, .frame_ns = 500},
                                        .rings = {.call_ns = 900, .frame_ns = 1600, .kilobyte_ns = 60}};

// The rings for up to so many packets of a burst, whatever their ports.
[[nodiscard]] constexpr port_costs rings_up_to(std::uint32_t packets)
{
    return {.live = {.call_ns = least_gain * packets, .frame_ns = 0}, .rings = {.call_ns = 0, .frame_ns = 1}};
}

// The burst under construction.
class burst_costs
{
public:
    // Of all ports, by row.
    explicit burst_costs(const std::array<port_costs, MRC_MAX_PORTS> &ports) : ports_{ports} {}

    void add(std::uint32_t port, std::uint32_t bytes)
    {
        const port_costs &costs = ports_[port % MRC_MAX_PORTS];
        std::uint32_t &packets = packets_[port % MRC_MAX_PORTS];
        rings_ns_ +=
            costs.rings.frame_ns + costs.rings.kilobyte_ns * bytes / 1024 + (packets == 0 ? costs.rings.call_ns : 0);
        live_ns_ += costs.live.frame_ns;
        call_ns_ = costs.live.call_ns;
        ++packets;
    }
    [[nodiscard]] bool rings_are_cheaper() const { return least_gain * rings_ns_ <= live_ns_ + call_ns_; }
    [[nodiscard]] std::uint32_t packets(std::uint32_t port) const { return packets_[port]; }
    void clear()
    {
        packets_ = {};
        rings_ns_ = live_ns_ = 0;
    }

private:
    std::array<port_costs, MRC_MAX_PORTS> ports_;
    std::array<std::uint32_t, MRC_MAX_PORTS> packets_{};
    std::int64_t rings_ns_ = 0;
    std::int64_t live_ns_ = 0;
    std::int64_t call_ns_ = 0; // one call serves all ports
};

} // namespace mrc::datapath
