// SPDX-License-Identifier: Apache-2.0
#include "protocol/congestion/fixed_window.h"

namespace mrc::protocol
{

void fixed_window::on_sent(std::uint32_t bytes, instant)
{
    inflight_bytes_ += bytes;
}

void fixed_window::on_sack(const sack_signal &signal, instant)
{
    inflight_bytes_ -= static_cast<std::int64_t>(signal.newly_bytes);
}

void fixed_window::on_nack(const nack_signal &signal, instant)
{
    inflight_bytes_ -= signal.bytes;
}

void fixed_window::on_loss(std::uint32_t bytes, instant)
{
    inflight_bytes_ -= bytes;
}

void fixed_window::on_abandoned(std::uint32_t bytes)
{
    inflight_bytes_ -= bytes;
}

bool fixed_window::can_send(std::uint32_t bytes) const
{
    // One packet may always fly: a window below a packet's size must slow down, not stop.
    return inflight_bytes_ <= 0 || inflight_bytes_ + bytes <= static_cast<std::int64_t>(window_bytes_);
}

} // namespace mrc::protocol
