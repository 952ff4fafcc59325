// SPDX-License-Identifier: Apache-2.0
#include "datapath/xdp_transmit.h"

#include <algorithm>
#include <atomic>

#include "kernel/startup_error.h"

namespace mrc::datapath
{

namespace
{

constexpr std::size_t longest_call = 256; // frames

std::uint32_t load(std::uint32_t &word)
{
    return std::atomic_ref<std::uint32_t>{word}.load(std::memory_order_acquire);
}

} // namespace

xdp_transmit::xdp_transmit(const xdp_transmit_options &options)
    : slots_{options.slots_fd, std::size_t{options.workers} * MRC_PUSH_SLOTS, "push_slots"},
      rings_{options.ring_fd, options.workers, "push_ring"}, worker_{options.worker},
      base_{options.worker * MRC_PUSH_SLOTS}, calls_{options.program_fd, options.burst}, first_{load(ring().consumer)},
      producer_{first_}
{
    publish(first_);
    // One frame with nothing to send: the program drops it, and we learn whether this kernel has live frames at all.
    if (const int error = calls_.make(1); error != 0)
        kernel::fail_startup("this kernel refuses XDP transmit (BPF_PROG_TEST_RUN with live frames)", error);
}

std::span<std::byte> xdp_transmit::reserve(std::uint32_t)
{
    return {reinterpret_cast<std::byte *>(slot(producer_).inner), MRC_PUSH_FRAME_MAX - MRC_OUTER_BYTES};
}

void xdp_transmit::commit(const departure &packet)
{
    mrc_push_slot &next = slot(producer_);
    next.length = packet.bytes;
    next.path = packet.path;
    next.flow_label = packet.flow_label;
    next.tclass = packet.tclass;
    next.hop_limit = 64;
    next.next_header = packet.next_header;
    next.host_usid = packet.host_usid;
    ++producer_;
}

departure xdp_transmit::departure_of(const mrc_push_slot &slot)
{
    return {.path = slot.path,
            .host_usid = slot.host_usid,
            .flow_label = slot.flow_label,
            .tclass = slot.tclass,
            .next_header = slot.next_header,
            .bytes = static_cast<std::uint16_t>(slot.length)};
}

std::span<const std::byte> xdp_transmit::inner_of(const mrc_push_slot &slot)
{
    return {reinterpret_cast<const std::byte *>(slot.inner), slot.length};
}

void xdp_transmit::publish(std::uint32_t producer)
{
    published_ = producer;
    std::atomic_ref<std::uint32_t>{ring().producer}.store(producer, std::memory_order_release);
}

// What a call has left behind: no call runs now.
void xdp_transmit::withdraw()
{
    if (!handing_over_)
        publish(first_);
}

// A call does not say how many left: the ring's consumer does. It may take several batches: the kernel uses the first
// one's pages again for the next, and lets receivers run in between, so that they overflow none of their rings.
void xdp_transmit::flush()
{
    publish(producer_);
    while (queued() != 0) {
        const std::uint32_t before = first_;
        const int error = calls_.make(static_cast<std::uint32_t>(std::min(queued(), longest_call)));
        first_ = load(ring().consumer);
        if (calls_.must_give_up()) {
            withdraw();
            calls_.give_up();
            return;
        }
        if (error != 0 || first_ == before)
            return;
    }
}

transmit_counters xdp_transmit::counters() const
{
    return {.sent = std::atomic_ref<__u64>{ring().sent}.load(std::memory_order_relaxed),
            .refused = std::atomic_ref<__u64>{ring().refused}.load(std::memory_order_relaxed)};
}

} // namespace mrc::datapath
