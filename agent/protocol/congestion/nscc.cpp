// SPDX-License-Identifier: Apache-2.0
#include "protocol/congestion/nscc.h"

#include <algorithm>
#include <utility>

namespace mrc::protocol
{

namespace
{

// The fabric that UEC's constants are written for: 100 Gb/s and 12 us (§5.2).
constexpr double reference_bdp = 150'000;
constexpr double reference_rtt_ns = 12'000;
constexpr duration disabled_threshold{std::int64_t{1} << 62};
constexpr duration least_delay_zero{1000};

double nanoseconds(duration d)
{
    return static_cast<double>(d.count());
}

// Bytes that a link carries in `time`.
double bytes_in(std::uint64_t bits_per_second, duration time)
{
    return static_cast<double>(bits_per_second) * nanoseconds(time) / 8e9;
}

nscc_quadrant quadrant_of(bool congested, bool delayed)
{
    if (congested)
        return delayed ? nscc_quadrant::multiplicative_decrease : nscc_quadrant::hold;
    return delayed ? nscc_quadrant::fair_increase : nscc_quadrant::proportional_increase;
}

} // namespace

nscc_config derive_nscc(const nscc_link &link)
{
    const duration usual_target = link.trimming ? link.base_rtt * 3 / 4 : link.base_rtt;
    const duration target =
        std::max(link.target_delay > duration::zero() ? link.target_delay : usual_target, link.idle_jitter);
    const double mtu = link.mtu;
    const double scaling_a = bytes_in(link.bits_per_second, link.base_rtt) / reference_bdp;
    const double scaling_b = nanoseconds(target) / reference_rtt_ns;
    nscc_config config;
    config.adjust_bytes_threshold = 8 * link.mtu;
    config.adjust_period_threshold = link.base_rtt;
    config.base_rtt = link.base_rtt;
    config.eta = 0.15 * mtu * scaling_a;
    config.fi = 5 * mtu * scaling_a;
    config.fi_scale = 0.25 * scaling_a;
    config.gamma = 0.8;
    config.max_md_jump = 0.5;
    config.qa_gate = 3;
    // Trimming tells of every loss; without it a queue five times the BDP deep shows as delay first.
    config.qa_threshold = link.trimming ? disabled_threshold : 4 * target;
    config.target_delay = target;
    config.link_bps = link.bits_per_second;
    config.mtu = link.mtu;
    config.alpha = 4.0 * scaling_a * scaling_b * mtu / nanoseconds(target);
    config.delay_zero = link.software ? std::max(least_delay_zero, target / 16) : least_delay_zero;
    config.ewma = 0.0125;
    config.base_rtt_floor = link.base_rtt_floor;
    config.min_window = link.min_window;
    return config;
}

nscc::nscc(const nscc_config &config)
    : config_{config}, base_rtt_{config.base_rtt}, max_wnd_{derived_max_window()}, cwnd_{max_wnd_}
{
}

nscc::nscc(const nscc_link &link, std::uint64_t max_cwnd)
    : config_{derive_nscc(link)}, measured_{{.link = link, .meter = {}}}, base_rtt_{link.base_rtt}
{
    config_.max_cwnd = max_cwnd;
    max_wnd_ = cwnd_ = derived_max_window();
}

double nscc::derived_max_window() const
{
    const double derived = config_.max_cwnd != 0 ? static_cast<double>(config_.max_cwnd)
                                                 : std::max(1.5 * bytes_in(config_.link_bps, base_rtt_),
                                                            static_cast<double>(config_.min_window));
    // A packet must fit, whatever RTT the peer's reflected stamps pretend.
    return std::max(derived, static_cast<double>(config_.mtu));
}

void nscc::begin_with(double share)
{
    if (!begun_)
        cwnd_ = std::clamp(share * max_wnd_, static_cast<double>(config_.mtu), max_wnd_);
}

void nscc::on_sent(std::uint32_t bytes, instant)
{
    begun_ = true;
    inflight_ += bytes;
}

void nscc::on_abandoned(std::uint32_t bytes)
{
    inflight_ -= bytes;
}

void nscc::on_sack(const sack_signal &signal, instant now)
{
    const auto newly = static_cast<std::int64_t>(signal.newly_bytes + signal.credited_bytes);
    if (newly <= 0)
        return;
    inflight_ -= static_cast<std::int64_t>(signal.newly_bytes);
    bytes_ignored_ += newly;
    received_ += newly;
    achieved_ += newly;
    const bool limited = penalize(signal, newly, now);
    if (!signal.rtt)
        return;
    sample_base_rtt(*signal.rtt, now);
    const duration delay = std::max(duration::zero(), *signal.rtt - base_rtt_);
    average(delay, signal.congestion_experienced);
    if (quick_adapt(false, signal.congestion_experienced, delay, now))
        return;
    move_window(newly, signal.congestion_experienced, delay, limited, now);
    if (now - last_adjust_ >= config_.adjust_period_threshold || received_ > config_.adjust_bytes_threshold)
        adjust(now);
}

void nscc::on_nack(const nack_signal &signal, instant now)
{
    inflight_ -= signal.bytes;
    if (signal.rtt)
        sample_base_rtt(*signal.rtt, now);
    if (signal.reason != MRC_NACK_TRIMMED && signal.reason != MRC_NACK_TRIMMED_LASTHOP)
        return;
    // A trim at the last hop blames no path, but it is congestion: MRC has no receiver credits to handle it (§5.4).
    average(config_.base_rtt, true);
    bytes_ignored_ += signal.bytes;
    trigger_qa_ = true;
    if (quick_adapt(true, true, duration::zero(), now))
        return;
    ++counters_.nack_cuts;
    cut(signal.bytes);
}

void nscc::on_loss(std::uint32_t bytes, instant)
{
    ++counters_.loss_cuts;
    cut(bytes);
    bytes_ignored_ += bytes;
    inflight_ -= bytes;
}

bool nscc::can_send(std::uint32_t bytes) const
{
    // One packet may always fly: a window below a packet's size must slow down, not stop.
    return inflight_ <= 0 || static_cast<double>(inflight_ + bytes) <= cwnd_;
}

// UEC asks once, after the first SACK, past the queues of data (§5.4). What is measured anyway needs no probe.
bool nscc::take_clean_probe()
{
    return !measured_ && !std::exchange(clean_probe_taken_, true);
}

void nscc::sample_base_rtt(duration rtt, instant now)
{
    if (!measured_) {
        lower_base_rtt(rtt);
        return;
    }
    const std::optional<duration> least = measured_->meter.on_sample(rtt, now);
    if (!least)
        return;
    const duration base_rtt = std::max(*least, config_.base_rtt_floor);
    nscc_link &link = measured_->link;
    const duration jitter = measured_jitter(base_rtt);
    const bool moved = std::chrono::abs(jitter - link.idle_jitter) > link.idle_jitter / 8;
    if (base_rtt == base_rtt_ && !moved)
        return;
    link.idle_jitter = jitter;
    derive_from(link, base_rtt);
}

// Bounded, for a host that stalls for milliseconds must not make NSCC blind for queues.
duration nscc::measured_jitter(duration base_rtt) const
{
    constexpr int most_base_rtts = 2;
    if (measured_->link.target_delay != duration{0})
        return duration{0};
    return std::min(measured_->meter.idle_jitter(), most_base_rtts * base_rtt);
}

void nscc::derive_from(nscc_link link, duration base_rtt)
{
    counters_.base_rtt_changes += base_rtt == base_rtt_ ? 0 : 1;
    const std::uint64_t max_cwnd = config_.max_cwnd;
    link.base_rtt = base_rtt_ = base_rtt;
    config_ = derive_nscc(link);
    config_.max_cwnd = max_cwnd;
    max_wnd_ = derived_max_window();
    cwnd_ = std::min(cwnd_, max_wnd_);
}

void nscc::lower_base_rtt(duration rtt)
{
    const duration sample = std::max(rtt, config_.base_rtt_floor);
    if (sample >= base_rtt_)
        return;
    ++counters_.base_rtt_drops;
    base_rtt_ = sample;
    max_wnd_ = derived_max_window();
}

void nscc::average(duration delay, bool congested)
{
    // High delay without a mark: the queue was short again when the packet left it (marks are set at dequeue), so it
    // counts as a part of the RTT only.
    const double sample =
        !congested && delay > config_.target_delay ? 0.25 * nanoseconds(base_rtt_) : nanoseconds(delay);
    avg_delay_ = config_.ewma * sample + (1 - config_.ewma) * avg_delay_;
}

// Every episode of the penalty starts from what is in flight, for an idle window would hide it; then 64 on every SACK
// of a round trip halves the window and 127 leaves 1/128 (§5.4). Were the window held to the flight at every SACK, it
// would chase the flight, always some bytes lower, down to one packet at any penalty. So an episode lasts until SACKs
// have been free of it for a round trip: of several workers of the receiver, each for its QPs, some may be well.
bool nscc::penalize(const sack_signal &signal, std::int64_t newly, instant now)
{
    if (signal.receiver_penalty > 0) {
        ++counters_.penalties;
        if (saved_cwnd_ == 0)
            saved_cwnd_ = cwnd_;
        if (!std::exchange(penalized_, true))
            cwnd_ = std::min(cwnd_, static_cast<double>(inflight_));
        last_penalty_ = now;
        cwnd_ = std::max(static_cast<double>(config_.mtu),
                         cwnd_ - static_cast<double>(signal.receiver_penalty * newly >> 7));
        return true;
    }
    penalized_ = penalized_ && now - last_penalty_ < base_rtt_;
    if (signal.restore_window && saved_cwnd_ > 0) {
        ++counters_.restores;
        cwnd_ = saved_cwnd_;
        saved_cwnd_ = 0;
        penalized_ = false;
    }
    return false;
}

bool nscc::quick_adapt(bool loss, bool congested, duration delay, instant now)
{
    if (config_.disable_qa)
        return false;
    bool done = false;
    if (bytes_ignored_ < bytes_to_ignore_ && congested) {
        ++counters_.quick_adapt_ignored;
        done = true;
    } else if (now >= qa_end_) {
        const bool wanted = trigger_qa_ || loss || delay > config_.qa_threshold;
        if (qa_end_ != instant{} && wanted && achieved_ < static_cast<std::int64_t>(max_wnd_) >> config_.qa_gate) {
            ++counters_.quick_adapts;
            cwnd_ = static_cast<double>(std::max<std::int64_t>(achieved_, config_.mtu));
            bytes_to_ignore_ = inflight_;
            bytes_ignored_ = 0;
            trigger_qa_ = false;
            done = true;
        }
        achieved_ = 0;
        qa_end_ = now + base_rtt_ + config_.target_delay;
    }
    if (done) {
        inc_ = 0;
        received_ = 0;
    }
    return done;
}

void nscc::move_window(std::int64_t newly, bool congested, duration delay, bool limited, instant now)
{
    const nscc_quadrant quadrant = quadrant_of(congested, delay >= config_.target_delay);
    ++counters_.quadrants[static_cast<std::size_t>(quadrant)];
    switch (quadrant) {
    case nscc_quadrant::proportional_increase:
        if (limited)
            break;
        fast_increase(newly, delay);
        if (!fast_increasing_)
            inc_ += config_.alpha * static_cast<double>(newly) * nanoseconds(config_.target_delay - delay);
        break;
    case nscc_quadrant::fair_increase:
        if (!limited)
            inc_ += config_.fi * static_cast<double>(newly);
        break;
    case nscc_quadrant::multiplicative_decrease:
        decrease(now);
        break;
    case nscc_quadrant::hold:
        break;
    }
    cwnd_ = std::min(std::max(cwnd_, static_cast<double>(config_.mtu)), max_wnd_);
}

void nscc::fast_increase(std::int64_t newly, duration delay)
{
    if (delay >= config_.delay_zero) {
        fast_count_ = 0;
        fast_increasing_ = false;
        return;
    }
    fast_count_ += newly;
    if (!fast_increasing_ && static_cast<double>(fast_count_) <= cwnd_)
        return;
    counters_.fast_increases += fast_increasing_ ? 0 : 1;
    cwnd_ = std::min(cwnd_ + static_cast<double>(newly) * config_.fi_scale, max_wnd_);
    fast_increasing_ = true;
}

void nscc::decrease(instant now)
{
    fast_increasing_ = false;
    fast_count_ = 0;
    const double target = nanoseconds(config_.target_delay);
    if (avg_delay_ <= target || now - last_decrease_ <= base_rtt_)
        return;
    ++counters_.decreases;
    cwnd_ *= std::max(1 - config_.gamma * (avg_delay_ - target) / avg_delay_, config_.max_md_jump);
    cwnd_ = std::max(cwnd_, static_cast<double>(config_.mtu));
    last_decrease_ = now;
}

void nscc::adjust(instant now)
{
    cwnd_ += inc_ / cwnd_;
    if (now - last_adjust_ >= config_.adjust_period_threshold) {
        last_adjust_ = now;
        cwnd_ += config_.eta;
    }
    cwnd_ = std::min(cwnd_, max_wnd_);
    inc_ = 0;
    received_ = 0;
}

void nscc::cut(std::uint32_t bytes)
{
    cwnd_ = std::max(cwnd_ - bytes, static_cast<double>(config_.mtu));
}

} // namespace mrc::protocol
