// SPDX-License-Identifier: Apache-2.0
#include "kernel/xsk_socket_pair.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "kernel/startup_error.h"
#include "mrc/abi/maps.h"

namespace mrc::kernel
{

namespace
{

constexpr std::uint32_t copy_mode_batch = 32; // net/xdp/xsk.c, TX_BATCH_SIZE
constexpr std::size_t longest_packet = 16384; // a jumbo frame, its metadata, and room to spare

} // namespace

int xsk_socket_pair::bind_once()
{
    xsk_socket_config config{};
    config.rx_size = options_.ring_size;
    config.tx_size = std::bit_ceil(options_.transmit_frames);
    config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
    // Left to itself, the kernel takes zero copy where the driver has it.
    config.bind_flags = static_cast<__u16>(XDP_USE_NEED_WAKEUP | (options_.multi_buffer ? XDP_USE_SG : 0) |
                                           (options_.force_copy ? XDP_COPY : 0));
    return xsk_socket__create_shared(&handle_, options_.device.c_str(), options_.queue, registration_.handle_,
                                     &receive_, &transmit_, fill_, completion_, &config);
}

xsk_socket_pair::xsk_socket_pair(umem &memory, xsk_options options, int busy_limit_ms)
    : xsk_socket_pair{memory, memory.registration(), std::move(options), busy_limit_ms}
{
    begin();
}

xsk_socket_pair::xsk_socket_pair(umem &memory, umem_registration &with, xsk_options options, int busy_limit_ms)
    : memory_{memory}, registration_{with}, holder_{memory.new_holder()}, options_{std::move(options)}
{
    using clock = std::chrono::steady_clock;
    if (options_.multi_buffer)
        assembly_.resize(longest_packet);
    if (!registration_.rings_taken_) {
        fill_ = &registration_.fill_;
        completion_ = &registration_.completion_;
    }
    const auto deadline = clock::now() + std::chrono::milliseconds{busy_limit_ms};
    int result = bind_once();
    while (result == -EBUSY && clock::now() < deadline) {
        ::poll(nullptr, 0, 20); // the kernel frees the old socket's queue asynchronously and tells nobody when
        result = bind_once();
    }
    if (result != 0)
        fail_startup("cannot bind an AF_XDP socket to queue " + std::to_string(options_.queue) + " of '" +
                         options_.device + "'" +
                         (options_.multi_buffer ? " for packets of several buffers (needs kernel 6.6)" : ""),
                     -result);
    registration_.rings_taken_ = true;

    xdp_options mode{};
    socklen_t length = sizeof(mode);
    zero_copy_ =
        ::getsockopt(fd(), SOL_XDP, XDP_OPTIONS, &mode, &length) == 0 && (mode.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

xsk_socket_pair::~xsk_socket_pair()
{
    xsk_socket__delete(handle_);
    if (lent_ + queued_ + outstanding_ != 0)
        memory_.reclaim(holder_);
}

void xsk_socket_pair::refill()
{
    const std::uint32_t room = xsk_prod_nb_free(fill_, options_.ring_size);
    const std::uint32_t may_lend = std::min(room, options_.receive_frames - lent_);
    const auto want = static_cast<std::uint32_t>(std::min<std::size_t>(may_lend, memory_.free_frames()));
    std::uint32_t index = 0;
    if (want != 0 && xsk_ring_prod__reserve(fill_, want, &index) == want) {
        for (std::uint32_t i = 0; i < want; ++i)
            *xsk_ring_prod__fill_addr(fill_, index + i) = memory_.lend(memory_.allocate(), holder_);
        xsk_ring_prod__submit(fill_, want);
        lent_ += want;
    }
    // Also with nothing to add: a driver with zero copy that once found the ring empty waits to be told.
    const bool holds_any = room - want < options_.ring_size;
    if (holds_any && xsk_ring_prod__needs_wakeup(fill_))
        ::recvfrom(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

xsk_socket_pair::received xsk_socket_pair::join(const xdp_desc &part)
{
    constexpr std::size_t metadata = sizeof(mrc_rx_meta);
    const std::byte *data = memory_.data(part.addr);
    if (assembled_ == 0)
        std::memcpy(assembly_.data(), data - metadata, metadata);
    const bool fits = metadata + assembled_ + part.len <= assembly_.size();
    if (fits)
        std::memcpy(assembly_.data() + metadata + assembled_, data, part.len);
    assembled_ =
        fits ? assembled_ + part.len : static_cast<std::uint32_t>(assembly_.size()); // too long: nothing fits any more
    if ((part.options & XDP_PKT_CONTD) != 0)
        return {};
    const std::uint32_t length = std::exchange(assembled_, 0);
    return fits ? received{assembly_.data() + metadata, length} : received{};
}

bool xsk_socket_pair::transmit(frame packet, std::uint32_t length, bool more)
{
    std::uint32_t index = 0;
    if (!has_room(1) || xsk_ring_prod__reserve(&transmit_, 1, &index) != 1)
        return false;
    xdp_desc *descriptor = xsk_ring_prod__tx_desc(&transmit_, index);
    descriptor->addr = memory_.lend(std::move(packet), holder_);
    descriptor->len = length;
    descriptor->options = more ? XDP_PKT_CONTD : 0;
    ++queued_;
    return true;
}

void xsk_socket_pair::flush()
{
    if (queued_ != 0) {
        xsk_ring_prod__submit(&transmit_, queued_);
        outstanding_ += queued_;
        queued_ = 0;
    }
    // In copy mode one call sends at most 32 frames and answers EAGAIN when there are more. Left for the next round
    // they would wait in the ring for longer than the path takes, which the transport cannot tell from loss.
    std::uint32_t calls = outstanding_ / copy_mode_batch + 1;
    bool again = true;
    while (again && unsent() != 0 && calls-- != 0 && xsk_ring_prod__needs_wakeup(&transmit_) != 0)
        again = ::sendto(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0 && errno == EAGAIN;
    refused_for_now_ = again && !zero_copy_ ? unsent() : 0;
}

// In copy mode a call takes frames from the ring and does nothing else; what has left the ring completes by itself. A
// driver with zero copy may want to be told to complete.
std::uint32_t xsk_socket_pair::unsent() const
{
    if (outstanding_ == 0 || zero_copy_)
        return outstanding_;
    return transmit_.cached_prod - std::atomic_ref{*transmit_.consumer}.load(std::memory_order_acquire);
}

std::uint32_t xsk_socket_pair::reap()
{
    if (outstanding_ == 0)
        return 0;
    std::uint32_t index = 0;
    const std::uint32_t count = xsk_ring_cons__peek(completion_, options_.ring_size, &index);
    for (std::uint32_t i = 0; i < count; ++i)
        memory_.give_back(*xsk_ring_cons__comp_addr(completion_, index + i));
    if (count != 0)
        xsk_ring_cons__release(completion_, count);
    outstanding_ -= count;
    return count;
}

xsk_socket_pair::drop_counters xsk_socket_pair::drops() const
{
    xdp_statistics statistics{};
    socklen_t length = sizeof(statistics);
    if (::getsockopt(fd(), SOL_XDP, XDP_STATISTICS, &statistics, &length) != 0)
        return {};
    return {.receive_dropped = statistics.rx_dropped, .receive_ring_full = statistics.rx_ring_full};
}

} // namespace mrc::kernel
