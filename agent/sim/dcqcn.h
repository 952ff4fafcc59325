// SPDX-License-Identifier: Apache-2.0
// Rate control after DCQCN (Zhu et al., SIGCOMM 2015): a congestion notification cuts the rate by alpha / 2; timer and
// byte counter raise it again, first halving the distance to the old rate (fast recovery), then additively, then
// faster. Constants are the paper's, its increases taken relative to the line: 40 Mb/s and 400 Mb/s at 40 Gb/s are 0.1
// % and 1 %.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/sim_time.h"

namespace mrc::sim
{

class dcqcn
{
public:
    explicit dcqcn(double line_gbps) : line_{line_gbps}, rate_{line_gbps}, target_{line_gbps} {}

    static constexpr picoseconds notification_interval = 50 * microsecond; // receiver: at most one CNP in so long

    [[nodiscard]] double rate_gbps() const { return rate_; }

    void on_sent(std::uint32_t bytes)
    {
        bytes_ += bytes;
        if (bytes_ >= byte_period) {
            bytes_ = 0;
            ++byte_stage_;
            increase();
        }
    }

    void on_notification(picoseconds now)
    {
        target_ = rate_;
        alpha_ = (1 - gain) * alpha_ + gain;
        rate_ = std::max(rate_ * (1 - alpha_ / 2), line_ / 1000);
        time_stage_ = byte_stage_ = 0;
        bytes_ = 0;
        alpha_at_ = increase_at_ = now + timer_period;
    }

    // Catches up with the timers.
    void advance(picoseconds now)
    {
        while (alpha_at_ != no_time && now >= alpha_at_) {
            alpha_ *= 1 - gain;
            alpha_at_ = rate_ < line_ ? alpha_at_ + timer_period : no_time;
        }
        while (increase_at_ != no_time && now >= increase_at_) {
            ++time_stage_;
            increase();
            increase_at_ = rate_ < line_ ? increase_at_ + timer_period : no_time;
        }
    }

private:
    static constexpr double gain = 1.0 / 256;
    static constexpr picoseconds timer_period = 55 * microsecond;
    static constexpr std::uint64_t byte_period = 10'000'000;
    static constexpr unsigned fast_recovery = 5; // stages

    void increase()
    {
        const unsigned most = std::max(time_stage_, byte_stage_);
        const unsigned least = std::min(time_stage_, byte_stage_);
        if (least > fast_recovery)
            target_ = std::min(target_ + line_ / 100, line_);
        else if (most > fast_recovery)
            target_ = std::min(target_ + line_ / 1000, line_);
        rate_ = (rate_ + target_) / 2;
        if (rate_ > 0.999 * line_)
            rate_ = line_;
    }

    double line_;
    double rate_;
    double target_;
    double alpha_ = 1;
    unsigned time_stage_ = 0;
    unsigned byte_stage_ = 0;
    std::uint64_t bytes_ = 0;
    picoseconds alpha_at_ = no_time;
    picoseconds increase_at_ = no_time;
};

} // namespace mrc::sim
