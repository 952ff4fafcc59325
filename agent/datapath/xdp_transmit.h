// SPDX-License-Identifier: Apache-2.0
// The XDP transmit engine: the worker writes inner packets into slots of an mmaped BPF array and runs host_push on live
// frames, one system call per burst; the program copies slot to frame, pushes the outer header and redirects to the
// port. No skb is built. Kernel 5.18 and newer (BPF_F_TEST_XDP_LIVE_FRAMES).
#pragma once

#include "datapath/live_calls.h"
#include "datapath/transmit_engine.h"
#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"

namespace mrc::datapath
{

struct xdp_transmit_options {
    int program_fd = -1; // host_push, attached to some device: unattached, each call rebuilds the dispatcher, 25 ms
    int slots_fd = -1;
    int ring_fd = -1;
    std::uint32_t worker = 0; // whose part of both
    std::uint32_t workers = 1;
    std::uint32_t burst = 64; // frames between which the receivers run, 1…256
};

class xdp_transmit final : public transmit_engine
{
public:
    // Throws startup_error when the kernel refuses live frames.
    explicit xdp_transmit(const xdp_transmit_options &options);

    [[nodiscard]] std::string_view name() const override { return "xdp"; }
    [[nodiscard]] bool ready() override { return queued() < MRC_PUSH_SLOTS; }
    [[nodiscard]] std::span<std::byte> reserve(std::uint32_t path) override;
    void commit(const departure &packet) override;
    void flush() override;
    [[nodiscard]] std::size_t queued() const override { return producer_ - first_; }
    [[nodiscard]] transmit_counters counters() const override;

    // Gives what is queued, in order, to `take(const departure &, std::span<const std::byte> inner)` instead, as long
    // as it returns true. host_push sees none of it then; flush() may be used again once all is taken.
    template <typename Take>
    void hand_over(Take take)
    {
        withdraw();
        while (first_ != producer_ && take(departure_of(slot(first_)), inner_of(slot(first_))))
            ++first_;
        handing_over_ = first_ != producer_;
        if (!handing_over_)
            first_ = producer_ = published_;
    }
    // Some of what is queued has been taken, and not all.
    [[nodiscard]] bool handing_over() const { return handing_over_; }

    [[nodiscard]] live_calls &calls() { return calls_; }

private:
    [[nodiscard]] mrc_push_slot &slot(std::uint32_t number) const { return slots_[base_ + number % MRC_PUSH_SLOTS]; }
    [[nodiscard]] mrc_push_ring &ring() const { return rings_[worker_]; }
    [[nodiscard]] static departure departure_of(const mrc_push_slot &slot);
    [[nodiscard]] static std::span<const std::byte> inner_of(const mrc_push_slot &slot);
    void publish(std::uint32_t producer);
    void withdraw();

    kernel::mapped_array<mrc_push_slot> slots_;
    kernel::mapped_array<mrc_push_ring> rings_;
    std::uint32_t worker_;
    std::uint32_t base_; // first slot
    live_calls calls_;
    std::uint32_t first_ = 0;     // oldest packet that is queued
    std::uint32_t producer_ = 0;  // behind the newest
    std::uint32_t published_ = 0; // behind the newest that host_push may see
    bool handing_over_ = false;
};

} // namespace mrc::datapath
