// SPDX-License-Identifier: Apache-2.0
// One direction of a reliable connection as RoCEv2 NICs do it, for comparison: packets in order on one path; the
// receiver drops what is out of order and asks once for what it misses; the sender then goes back and sends everything
// from there again. What it is not: no selective repeat, no PFC, no RNR, no reads or atomics.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "sim/dcqcn.h"
#include "sim/engine.h"
#include "sim/frame.h"

namespace mrc::sim
{

struct roce_config {
    std::uint32_t payload = 4096;
    double line_gbps = 100;
    std::uint64_t window_bytes = 0; // unacknowledged at most
    picoseconds timeout = 500 * microsecond;
    bool rate_control = true;
};

struct roce_counters {
    std::uint64_t sent = 0;
    std::uint64_t retransmits = 0;
    std::uint64_t naks = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t notifications = 0;
};

class roce_sender
{
public:
    explicit roce_sender(const roce_config &config) : config_{config}, rate_{config.line_gbps} {}

    void post(const message_part &part);
    // Nothing: wait for an answer, or until next_send_at().
    [[nodiscard]] std::optional<roce_packet> next_packet(picoseconds now);
    void on_packet(const roce_packet &answer, picoseconds now);
    void on_timer(picoseconds now);
    // The next retransmission timer.
    [[nodiscard]] picoseconds deadline() const { return unacked_ < next_ ? timer_at_ : no_time; }
    // Pacing: when the rate allows the next packet.
    [[nodiscard]] picoseconds next_send_at() const { return paced_until_; }
    [[nodiscard]] bool may_send() const { return next_ < end_ && inflight_bytes() < config_.window_bytes; }
    [[nodiscard]] std::optional<message_part> next_completion();
    [[nodiscard]] const roce_counters &counters() const { return counters_; }
    [[nodiscard]] double rate_gbps() const { return rate_.rate_gbps(); }

private:
    struct posted {
        message_part part;
        std::int64_t first = 0;
        std::int64_t packets = 0;
    };

    [[nodiscard]] std::uint64_t inflight_bytes() const
    {
        return static_cast<std::uint64_t>(next_ - unacked_) * config_.payload;
    }
    [[nodiscard]] const posted &part_of(std::int64_t sequence);

    roce_config config_;
    dcqcn rate_;
    std::deque<posted> parts_; // not yet acknowledged as a whole
    std::size_t cursor_ = 0;   // of parts_: holds next_
    std::deque<message_part> completed_;
    std::int64_t unacked_ = 0;
    std::int64_t next_ = 0;
    std::int64_t highest_ = 0; // sent so far
    std::int64_t end_ = 0;
    picoseconds timer_at_ = no_time;
    picoseconds paced_until_ = 0;
    roce_counters counters_;
};

class roce_receiver
{
public:
    struct reaction {
        std::optional<roce_packet> answer; // ACK or NAK
        bool notify = false;               // CNP
        bool accepted = false;             // the payload is in its place
    };

    [[nodiscard]] reaction on_data(const roce_packet &data, bool congested, picoseconds now);

private:
    static constexpr unsigned acks_every = 4; // packets

    std::int64_t expected_ = 0;
    unsigned unanswered_ = 0;
    bool nak_sent_ = false;
    picoseconds notified_at_ = -dcqcn::notification_interval;
};

} // namespace mrc::sim
