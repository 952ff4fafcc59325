// SPDX-License-Identifier: Apache-2.0
// The XDP transmit engine: the worker writes inner packets into slots of an mmaped BPF array and runs host_push on live
// frames, one system call per burst; the program copies slot to frame, pushes the outer header and redirects to the
// port. No skb is built. Kernel 5.18 and newer (BPF_F_TEST_XDP_LIVE_FRAMES).
#pragma once

#include "datapath/transmit_engine.h"
#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"

namespace mrc::datapath
{

struct xdp_transmit_options {
    int program_fd = -1; // host_push, attached to some device: unattached, each call rebuilds the dispatcher, 25 ms
    int slots_fd = -1;
    int ring_fd = -1;
    std::uint32_t burst = 64; // frames per system call, 1…256
};

class xdp_transmit final : public transmit_engine
{
public:
    // Throws startup_error when the kernel refuses live frames.
    explicit xdp_transmit(const xdp_transmit_options &options);

    [[nodiscard]] std::string_view name() const override { return "xdp"; }
    [[nodiscard]] bool ready() override { return queued() < MRC_PUSH_SLOTS; }
    [[nodiscard]] std::span<std::byte> reserve() override;
    void commit(const departure &packet) override;
    void flush() override;
    [[nodiscard]] std::size_t queued() const override;
    [[nodiscard]] transmit_counters counters() const override;

private:
    int run(std::uint32_t frames);

    xdp_transmit_options options_;
    kernel::mapped_array<mrc_push_slot> slots_;
    kernel::mapped_array<mrc_push_ring> ring_;
    std::uint32_t producer_ = 0;
};

} // namespace mrc::datapath
