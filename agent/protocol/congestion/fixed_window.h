// SPDX-License-Identifier: Apache-2.0
// Congestion control that never changes its window: for fabrics that cannot queue, and as a baseline.
#pragma once

#include "protocol/congestion/congestion_control.h"

namespace mrc::protocol
{

class fixed_window final : public congestion_control
{
public:
    explicit fixed_window(std::uint64_t window_bytes) : window_bytes_{window_bytes} {}

    void on_sent(std::uint32_t bytes, instant now) override;
    void on_sack(const sack_signal &signal, instant now) override;
    void on_nack(const nack_signal &signal, instant now) override;
    void on_loss(std::uint32_t bytes, instant now) override;
    void on_abandoned(std::uint32_t bytes) override;

    [[nodiscard]] bool can_send(std::uint32_t bytes) const override;
    [[nodiscard]] std::uint64_t cwnd() const override { return window_bytes_; }
    [[nodiscard]] std::uint64_t max_cwnd() const override { return window_bytes_; }
    [[nodiscard]] std::int64_t inflight() const override { return inflight_bytes_; }

private:
    std::uint64_t window_bytes_;
    std::int64_t inflight_bytes_ = 0;
};

} // namespace mrc::protocol
