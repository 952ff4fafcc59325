// SPDX-License-Identifier: Apache-2.0
#include "datapath/mixed_transmit.h"

#include <algorithm>

namespace mrc::datapath
{

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
    if (frames_.queued() != 0 && !by_rings())
        frames_.flush();
    if (frames_.queued() != 0 && by_rings()) // also what a call that had to wait has left
        send_by_rings();
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
