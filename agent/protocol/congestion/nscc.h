// SPDX-License-Identifier: Apache-2.0
// NSCC, the sender-based congestion control of Ultra Ethernet 1.0 that MRC mandates ("uet-1.0-nscc", protocol.md §5):
// a window that ECN and the RTT move together. T = target_delay, d = RTT - base_rtt:
//
// ECN  delay   quadrant                 window
// no   d < T   proportional increase    inc += alpha * newly * (T - d), due with the next adjustment
// no   d ≈ 0   …for a whole window      fast increase: cwnd += fi_scale * newly at once, until d ≥ delay_zero
// no   d ≥ T   fair increase            inc += fi * newly
// yes  d ≥ T   multiplicative decrease  if avg > T, once per base_rtt: cwnd *= max(1 - gamma * (avg - T) / avg,
//                                       max_md_jump)
// yes  d < T   hold                     nothing: the path selector moves away from that path
//
// mode           event                                             next; action
// normal         SACKs of more than a window, d < delay_zero       fast increase
// fast increase  delay_zero ≤ d < T, multiplicative decrease       normal
// others         SACK, rcv_cwnd_pen > 0                            limited; cwnd = min(cwnd, inflight), and as below
// limited        SACK, rcv_cwnd_pen > 0                            limited; no increase, cwnd -= pen / 128 * newly
// limited        SACK, pen = 0 and restore_cwnd                    as before; cwnd as before
// limited        SACK, pen = 0                                     increases again; a later restore still counts; for
//                                                                  base_rtt without penalty: as before
// any            period over, little achieved; trims or d high     ignoring; quick adapt: cwnd = what was achieved
// ignoring       SACK or trim with ECN                             ignoring; nothing, their news is old
// ignoring       as many bytes answered as were in flight          normal
// others         NACK TRIMMED or TRIMMED_LASTHOP                   the same; cwnd -= bytes
// any            inferred loss                                     the same; cwnd -= bytes
// any            other NACKs                                       the same; out of the flight, nothing else
// any            RTT below base_rtt, or the clean probe's          the same; base_rtt = it, at least the floor; max_wnd
// any            begin_with(share), nothing sent yet               the same; cwnd = share * max_wnd, at least a packet
// any            measured: a median is complete                    the same; every constant anew from the new base_rtt,
//                                                                  and from a T no less than the idle jitter
//
// An adjustment, every adjust_period_threshold or adjust_bytes_threshold: cwnd += inc / cwnd (+ eta with the period).
//
// Where UEC's pseudo-code (§5.4) is silent, tests/vectors/nscc.py, an independent model, says how it is read; both give
// the same trajectories (nscc_trace_test). Inflight may be negative for a moment: reports of several packets overlap.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "protocol/congestion/base_rtt_meter.h"
#include "protocol/congestion/congestion_control.h"
#include "protocol/types.h"

namespace mrc::protocol
{

// What the constants are derived from (§5.2, §5.6).
struct nscc_link {
    std::uint64_t bits_per_second = 100'000'000'000; // the slower of the sender's and the receiver's
    duration base_rtt{12'000};                       // of one full packet over the longest idle path
    std::uint32_t mtu = 4184;                        // nominal_bytes() of a full packet
    bool trimming = true;                            // the fabric trims instead of dropping
    duration target_delay{0};                        // T; 0: 0.75 * base_rtt with trimming, else base_rtt
    // Extras of a software host; off, the constants are UEC's.
    bool software = false;        // "delay ≈ 0" scales with T
    duration idle_jitter{0};      // p99 of the idle RTT above base_rtt: T is not below it
    duration base_rtt_floor{0};   // base_rtt does not fall below it: one lucky sample is not the path's RTT
    std::uint64_t min_window = 0; // max_wnd does not fall below it: 4 * tx_batch * packet, bytes
};

// Names and order as in mrc_ctl_cc_nscc_cfg, then what that structure has no field for.
struct nscc_config {
    bool disable_qa = false;
    std::uint32_t adjust_bytes_threshold = 0; // bytes
    duration adjust_period_threshold{0};
    duration base_rtt{0}; // initial; falls with the samples
    double eta = 0;       // bytes per adjustment period
    double fi = 0;        // bytes per acknowledged window
    double fi_scale = 0;  // bytes per acknowledged byte
    double gamma = 0;
    double max_md_jump = 0;       // the factor by which one decrease may shrink the window
    std::uint64_t max_cwnd = 0;   // bytes, fixed; 0: 1.5 * rate * base_rtt, follows base_rtt
    std::uint8_t qa_gate = 0;     // quick adapt when less than max_wnd >> qa_gate was achieved
    duration qa_threshold{0};     // quick adapt when d is above it
    duration target_delay{0};     // T
    std::uint64_t link_bps = 0;   // bits/s
    std::uint32_t mtu = 0;        // nominal bytes of a full packet; the least window
    double alpha = 0;             // bytes per nanosecond below T and acknowledged window
    duration delay_zero{0};       // d below it counts as no queue
    double ewma = 0;              // weight of a new sample in the average delay
    duration base_rtt_floor{0};   // 0: none
    std::uint64_t min_window = 0; // bytes; 0: none
};

// The constants of §5.2; every field may be changed afterwards (T before, by nscc_link: others derive from it).
[[nodiscard]] nscc_config derive_nscc(const nscc_link &link);

enum class nscc_quadrant : std::uint8_t {
    proportional_increase,
    fair_increase,
    multiplicative_decrease,
    hold,
};
inline constexpr std::size_t nscc_quadrants = 4;

struct nscc_counters {
    std::array<std::uint64_t, nscc_quadrants> quadrants{}; // SACKs with a sample, by nscc_quadrant
    std::uint64_t fast_increases = 0;                      // times that the mode was entered
    std::uint64_t decreases = 0;                           // multiplicative decreases that cut the window
    std::uint64_t quick_adapts = 0;
    std::uint64_t quick_adapt_ignored = 0; // SACKs and NACKs about what was in flight at a quick adapt
    std::uint64_t nack_cuts = 0;
    std::uint64_t loss_cuts = 0;
    std::uint64_t penalties = 0; // SACKs that shrank the window at the receiver's wish
    std::uint64_t restores = 0;
    std::uint64_t base_rtt_drops = 0;
    std::uint64_t base_rtt_changes = 0; // of a measured one

    [[nodiscard]] std::uint64_t in(nscc_quadrant which) const { return quadrants[static_cast<std::size_t>(which)]; }
};

class nscc final : public congestion_control
{
public:
    // The base RTT is known, and falls with the samples down to its floor.
    explicit nscc(const nscc_config &config);
    // The base RTT is measured, `link.base_rtt` holds until then, and so is the idle jitter, unless `link.target_delay`
    // is set; `max_cwnd` as in nscc_config.
    nscc(const nscc_link &link, std::uint64_t max_cwnd);

    void begin_with(double share) override;
    void on_sent(std::uint32_t bytes, instant now) override;
    void on_sack(const sack_signal &signal, instant now) override;
    void on_nack(const nack_signal &signal, instant now) override;
    void on_loss(std::uint32_t bytes, instant now) override;
    void on_abandoned(std::uint32_t bytes) override;
    [[nodiscard]] bool take_clean_probe() override;
    void on_clean_rtt(duration rtt) override { lower_base_rtt(rtt); }

    [[nodiscard]] bool can_send(std::uint32_t bytes) const override;
    [[nodiscard]] std::uint64_t cwnd() const override { return static_cast<std::uint64_t>(cwnd_); }
    [[nodiscard]] std::uint64_t max_cwnd() const override { return static_cast<std::uint64_t>(max_wnd_); }
    [[nodiscard]] std::int64_t inflight() const override { return inflight_; }

    [[nodiscard]] double exact_cwnd() const { return cwnd_; }
    [[nodiscard]] double max_window() const { return max_wnd_; }
    [[nodiscard]] duration base_rtt() const { return base_rtt_; }
    [[nodiscard]] duration average_delay() const { return duration{static_cast<duration::rep>(avg_delay_)}; }
    [[nodiscard]] bool fast_increasing() const { return fast_increasing_; }
    [[nodiscard]] const nscc_config &config() const { return config_; }
    [[nodiscard]] const nscc_counters &counters() const { return counters_; }

private:
    [[nodiscard]] double derived_max_window() const;
    struct measurement {
        nscc_link link;
        base_rtt_meter meter;
    };

    void sample_base_rtt(duration rtt, instant now);
    void lower_base_rtt(duration rtt);
    [[nodiscard]] duration measured_jitter(duration base_rtt) const;
    void derive_from(nscc_link link, duration base_rtt);
    void average(duration delay, bool congested);
    [[nodiscard]] bool penalize(const sack_signal &signal, std::int64_t newly, instant now);
    [[nodiscard]] bool quick_adapt(bool loss, bool congested, duration delay, instant now);
    void move_window(std::int64_t newly, bool congested, duration delay, bool limited, instant now);
    void fast_increase(std::int64_t newly, duration delay);
    void decrease(instant now);
    void adjust(instant now);
    void cut(std::uint32_t bytes);

    nscc_config config_;
    std::optional<measurement> measured_;
    duration base_rtt_;
    double max_wnd_; // bytes
    double cwnd_;    // bytes
    std::int64_t inflight_ = 0;
    double saved_cwnd_ = 0;       // before the receiver's penalty, for it to restore; 0 = none
    double inc_ = 0;              // bytes * window, due with the next adjustment
    double avg_delay_ = 0;        // nanoseconds
    std::int64_t received_ = 0;   // since the last adjustment
    std::int64_t achieved_ = 0;   // in this quick adapt period
    std::int64_t fast_count_ = 0; // bytes in a row without queueing delay
    std::int64_t bytes_to_ignore_ = 0;
    std::int64_t bytes_ignored_ = 0;
    instant last_adjust_;
    instant last_decrease_;
    instant last_penalty_;
    instant qa_end_;     // of the quick adapt period; the clock's epoch = none has begun
    bool begun_ = false; // something was sent
    bool trigger_qa_ = false;
    bool penalized_ = false; // in an episode of the receiver's penalty
    bool fast_increasing_ = false;
    bool clean_probe_taken_ = false;
    nscc_counters counters_;
};

} // namespace mrc::protocol
