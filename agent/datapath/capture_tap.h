// SPDX-License-Identifier: Apache-2.0
// What leaves by AF_XDP, copied for `mrcctl capture`: no BPF program and no hook of the kernel sees these frames. The
// counterpart of bpf/capture.h, into the same slots.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "kernel/mapped_array.h"
#include "kernel/monotonic_clock.h"
#include "mrc/abi/capture.h"
#include "mrc/abi/maps.h"

namespace mrc::datapath
{

// Of one worker; others write the same rows.
class capture_tap
{
public:
    // Maps the rows behind these descriptors. Throws startup_error.
    capture_tap(int ring_fd, int slots_fd)
        : capture_tap{{ring_fd, 1, "capture_ring"}, {slots_fd, MRC_CAPTURE_SLOTS, "capture_slots"}}
    {
    }
    capture_tap(kernel::mapped_array<mrc_capture_ring> ring, kernel::mapped_array<mrc_capture_slot> slots)
        : ring_{std::move(ring)}, slots_{std::move(slots)}
    {
    }

    // All that a packet costs while nobody captures.
    [[nodiscard]] bool is_on() const { return std::atomic_ref{ring_[0].lease_ns}.load(std::memory_order_relaxed) != 0; }

    // A frame that was handed to the port of that row, and where its BTH begins.
    void sent(std::span<const std::byte> frame, std::size_t bth_at, std::uint8_t port) const
    {
        const auto now = static_cast<std::uint64_t>(kernel::monotonic_now().time_since_epoch().count());
        mrc_capture_packet packet{.now = now, .point = MRC_CAPTURE_AF_XDP, .port = port, .dqp = 0, .psn = 0};
        if (mrc_bth bth; bth_at + sizeof(bth) <= frame.size()) {
            std::memcpy(&bth, frame.data() + bth_at, sizeof(bth));
            packet.dqp = mrc_get24(bth.dqp);
            packet.psn = mrc_get24(bth.psn);
        }
        const std::uint64_t number = mrc_capture_choose(&ring_[0], &packet);
        if (number == 0)
            return;
        mrc_capture_slot &slot = slots_[mrc_capture_row(number)];
        const auto length = static_cast<std::uint32_t>(frame.size());
        const std::uint32_t bytes = mrc_capture_bytes(&ring_[0], length);
        std::memcpy(slot.bytes, frame.data(), bytes);
        slot.time_ns = packet.now;
        slot.length = length;
        slot.captured = static_cast<std::uint16_t>(bytes);
        slot.verdict = MRC_PUSH_SENT;
        slot.point = MRC_CAPTURE_AF_XDP;
        slot.port = port;
        mrc_capture_publish(&slot, number);
    }

private:
    kernel::mapped_array<mrc_capture_ring> ring_;
    kernel::mapped_array<mrc_capture_slot> slots_;
};

} // namespace mrc::datapath
