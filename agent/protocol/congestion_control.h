// SPDX-License-Identifier: Apache-2.0
// How much may be in flight. One controller serves one QP or all QPs to a destination; it decides nothing else.
//
// Bytes are nominal packet sizes: inner IPv6 packet without the SRv6 header (UDP length + 40, decision D10). Every
// transmission is reported by on_sent and leaves the flight exactly once: by on_sack, on_nack, on_loss or on_abandoned.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/types.h"

namespace mrc::protocol
{

// What one SACK tells a controller.
struct sack_signal {
    std::uint64_t newly_bytes = 0;       // transmissions that this SACK confirmed
    bool congestion_experienced = false; // m != NONE
    std::optional<duration> rtt;         // only when unambiguous
    std::uint32_t received_units = 0;    // the responder's rcvd_bytes, 256-byte units modulo 2^24
    std::uint8_t receiver_penalty = 0;   // rcv_cwnd_pen
    bool restore_window = false;         // restore_cwnd
};

// What one NACK tells a controller.
struct nack_signal {
    std::uint32_t bytes = 0; // of the refused transmission; 0 when it had left the flight before
    std::uint8_t reason = 0; // enum mrc_nack_reason
    std::optional<duration> rtt;
};

class congestion_control
{
public:
    congestion_control() = default;
    congestion_control(const congestion_control &) = delete;
    congestion_control &operator=(const congestion_control &) = delete;
    virtual ~congestion_control() = default;

    virtual void on_sent(std::uint32_t bytes, instant now) = 0;
    virtual void on_sack(const sack_signal &signal, instant now) = 0;
    virtual void on_nack(const nack_signal &signal, instant now) = 0;
    virtual void on_loss(std::uint32_t bytes, instant now) = 0; // inferred, or timed out
    virtual void on_abandoned(std::uint32_t bytes) = 0;         // QP failed: leaves the flight, says nothing

    [[nodiscard]] virtual bool can_send(std::uint32_t bytes) const = 0;
    [[nodiscard]] virtual std::uint64_t cwnd() const = 0;    // bytes
    [[nodiscard]] virtual std::int64_t inflight() const = 0; // bytes; signed as NSCC's may dip below zero
};

} // namespace mrc::protocol
