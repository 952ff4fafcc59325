// SPDX-License-Identifier: Apache-2.0
// How much may be in flight. One controller serves one QP or all QPs to a destination; it decides nothing else.
//
// Bytes are nominal packet sizes: inner IPv6 packet without the SRv6 header (UDP length + 40, decision D10). Every
// transmission is reported by on_sent and leaves the flight exactly once: by on_sack, on_nack, on_loss or on_abandoned.
// The requester knows from bitmaps which; rcvd_bytes, from which NSCC would have to guess it, is not needed.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/types.h"

namespace mrc::protocol
{

// What one SACK tells a controller.
struct sack_signal {
    std::uint64_t newly_bytes = 0;       // transmissions that this SACK confirmed: they leave the flight
    std::uint64_t credited_bytes = 0;    // left it before, by a Transport ACK, which says nothing about congestion
    bool congestion_experienced = false; // m != NONE
    std::optional<duration> rtt;         // only when unambiguous
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
    virtual void on_abandoned(std::uint32_t bytes) = 0;         // leaves the flight without a word: QP failed, or ACK

    // This controller is one of several that send to a destination, and its fair share of it is known before anything
    // is sent: 0 < share <= 1. Advice for the beginning: the window starts there, and moves as ever.
    virtual void begin_with(double share) { static_cast<void>(share); }

    // True once, when the controller wants the RTT of an idle path: the QP then sends one probe in the control class.
    [[nodiscard]] virtual bool take_clean_probe() { return false; }
    virtual void on_clean_rtt(duration) {} // that probe's answer

    [[nodiscard]] virtual bool can_send(std::uint32_t bytes) const = 0;
    [[nodiscard]] virtual std::uint64_t cwnd() const = 0;     // bytes
    [[nodiscard]] virtual std::uint64_t max_cwnd() const = 0; // bytes; what cwnd may grow to
    [[nodiscard]] virtual std::int64_t inflight() const = 0;  // bytes; signed as NSCC's may dip below zero
};

} // namespace mrc::protocol
