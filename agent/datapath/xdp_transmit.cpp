// SPDX-License-Identifier: Apache-2.0
#include "datapath/xdp_transmit.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace mrc::datapath
{

namespace
{

std::uint32_t load(std::uint32_t &word)
{
    return std::atomic_ref<std::uint32_t>{word}.load(std::memory_order_acquire);
}

} // namespace

xdp_transmit::xdp_transmit(const xdp_transmit_options &options)
    : options_{options}, slots_{options.slots_fd, MRC_PUSH_SLOTS, "push_slots"}, ring_{options.ring_fd, 1, "push_ring"},
      producer_{load(ring_[0].consumer)}
{
    ring_[0].producer = producer_;
    // One frame with nothing to send: the program drops it, and we learn whether this kernel has live frames at all.
    if (const int error = run(1); error != 0)
        kernel::fail_startup("this kernel refuses XDP transmit (BPF_PROG_TEST_RUN with live frames)", error);
}

std::size_t xdp_transmit::queued() const
{
    return producer_ - load(ring_[0].consumer);
}

std::span<std::byte> xdp_transmit::reserve()
{
    mrc_push_slot &slot = slots_[producer_ % MRC_PUSH_SLOTS];
    return {reinterpret_cast<std::byte *>(slot.inner), MRC_PUSH_FRAME_MAX - MRC_OUTER_BYTES};
}

void xdp_transmit::commit(const departure &packet)
{
    mrc_push_slot &slot = slots_[producer_ % MRC_PUSH_SLOTS];
    slot.length = packet.bytes;
    slot.path = packet.path;
    slot.flow_label = packet.flow_label;
    slot.tclass = packet.tclass;
    slot.hop_limit = 64;
    slot.next_header = packet.next_header;
    slot.host_usid = packet.host_usid;
    std::atomic_ref<std::uint32_t>{ring_[0].producer}.store(++producer_, std::memory_order_release);
}

// Runs host_push on `frames` live frames. The call does not say how many left: the ring's consumer does.
int xdp_transmit::run(std::uint32_t frames)
{
    static const std::array<std::byte, MRC_PUSH_BLANK_BYTES> blank{};
    LIBBPF_OPTS(bpf_test_run_opts, call);
    call.data_in = blank.data();
    call.data_size_in = blank.size();
    call.repeat = static_cast<int>(frames);
    call.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
    call.batch_size = std::min(frames, options_.burst);
    const int result = bpf_prog_test_run_opts(options_.program_fd, &call);
    return result == 0 || result == -EINTR ? 0 : -result;
}

void xdp_transmit::flush()
{
    // A veth ring has 256 entries and takes the frames of one call before the receiver runs: stay well below it.
    while (const std::size_t waiting = queued()) {
        const std::size_t before = waiting;
        if (run(static_cast<std::uint32_t>(std::min<std::size_t>(waiting, options_.burst))) != 0 || queued() == before)
            return;
    }
}

transmit_counters xdp_transmit::counters() const
{
    return {.sent = std::atomic_ref<__u64>{ring_[0].sent}.load(std::memory_order_relaxed),
            .refused = std::atomic_ref<__u64>{ring_[0].refused}.load(std::memory_order_relaxed)};
}

} // namespace mrc::datapath
