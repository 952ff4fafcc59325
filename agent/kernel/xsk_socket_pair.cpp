// SPDX-License-Identifier: Apache-2.0
#include "kernel/xsk_socket_pair.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <utility>

#include <net/if.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "kernel/startup_error.h"
#include "mrc/abi/maps.h"

namespace mrc::kernel
{

namespace
{

constexpr std::uint32_t copy_mode_batch = 32; // net/xdp/xsk.c, TX_BATCH_SIZE
constexpr std::size_t longest_packet = 16384; // a jumbo frame, what host_rx puts in front, and room to spare

} // namespace

xsk_queue::~xsk_queue()
{
    xsk_socket__delete(first_);
    if (keeps_frames_ || lent_ != 0)
        memory_.reclaim(holders_);
}

int xsk_socket_pair::bind_once(umem_registration &with)
{
    xsk_socket_config config{};
    config.rx_size = options_.ring_size;
    config.tx_size = std::bit_ceil(options_.transmit_frames);
    config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
    // Left to itself, the kernel takes zero copy where the driver has it.
    config.bind_flags = static_cast<__u16>(XDP_USE_NEED_WAKEUP | (options_.multi_buffer ? XDP_USE_SG : 0) |
                                           (options_.force_copy ? XDP_COPY : 0));
    return xsk_socket__create_shared(&queue_->first_, options_.device.c_str(), options_.queue, with.handle_, &receive_,
                                     &transmit_, queue_->fill_, queue_->completion_, &config);
}

xsk_socket_pair::xsk_socket_pair(umem &memory, xsk_options options, int busy_limit_ms)
    : xsk_socket_pair{memory, memory.registration(), std::move(options), busy_limit_ms}
{
    begin();
}

xsk_socket_pair::xsk_socket_pair(umem &memory, umem_registration &with, xsk_options options, int busy_limit_ms)
    : memory_{memory}, options_{std::move(options)},
      queue_{std::make_shared<xsk_queue>(memory, options_.receive_frames)}, holder_{memory.new_holder()}
{
    using clock = std::chrono::steady_clock;
    if (options_.multi_buffer)
        assembly_.resize(longest_packet);
    if (!with.rings_taken_) {
        queue_->fill_ = &with.fill_;
        queue_->completion_ = &with.completion_;
    }
    const auto deadline = clock::now() + std::chrono::milliseconds{busy_limit_ms};
    int result = bind_once(with);
    while (result == -EBUSY && clock::now() < deadline) {
        ::poll(nullptr, 0, 20); // the kernel frees the old socket's queue asynchronously and tells nobody when
        result = bind_once(with);
    }
    if (result != 0)
        fail_startup("cannot bind an AF_XDP socket to queue " + std::to_string(options_.queue) + " of '" +
                         options_.device + "'" +
                         (options_.multi_buffer ? " for packets of several buffers (needs kernel 6.6)" : ""),
                     -result);
    with.rings_taken_ = true;
    fd_ = xsk_socket__fd(queue_->first_);
    queue_->holders_.push_back(holder_);
    queue_->sockets_ = 1;
    note_mode();
}

// libxdp would join through the memory's first socket, which is another queue's.
xsk_socket_pair::xsk_socket_pair(umem &memory, const xsk_socket_pair &first, xsk_options options)
    : memory_{memory}, options_{std::move(options)}, queue_{first.queue_}, number_{queue_->sockets_},
      holder_{memory.new_holder()}, own_{::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)}
{
    if (options_.multi_buffer)
        assembly_.resize(longest_packet);
    fd_ = own_.get();
    const auto receive_size = static_cast<int>(options_.ring_size);
    const auto transmit_size = static_cast<int>(std::bit_ceil(options_.transmit_frames));
    sockaddr_xdp address{};
    address.sxdp_family = AF_XDP;
    address.sxdp_flags = XDP_SHARED_UMEM; // the modes are those of the first
    address.sxdp_ifindex = ::if_nametoindex(options_.device.c_str());
    address.sxdp_queue_id = options_.queue;
    address.sxdp_shared_umem_fd = static_cast<__u32>(first.fd());
    if (number_ == MRC_MAX_WORKERS)
        fail_startup("too many AF_XDP sockets on one queue of '" + options_.device + "'", E2BIG);
    if (!own_ || ::setsockopt(fd_, SOL_XDP, XDP_RX_RING, &receive_size, sizeof(receive_size)) != 0 ||
        ::setsockopt(fd_, SOL_XDP, XDP_TX_RING, &transmit_size, sizeof(transmit_size)) != 0)
        fail_startup("cannot make the rings of another AF_XDP socket");
    map_own_rings(); // kernel 6.1 maps none of a socket that is bound
    if (::bind(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0)
        fail_startup("cannot bind another AF_XDP socket to queue " + std::to_string(options_.queue) + " of '" +
                     options_.device + "'");
    queue_->holders_.push_back(holder_);
    ++queue_->sockets_;
    note_mode();
}

void xsk_socket_pair::map_own_rings()
{
    xdp_mmap_offsets at{};
    socklen_t length = sizeof(at);
    if (::getsockopt(fd_, SOL_XDP, XDP_MMAP_OFFSETS, &at, &length) != 0)
        fail_startup("cannot find the rings of an AF_XDP socket");
    const auto map = [&](const xdp_ring_offset &ring, std::uint32_t entries, off_t page, auto &to) {
        const std::size_t bytes = ring.desc + entries * sizeof(xdp_desc);
        void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, page);
        if (memory == MAP_FAILED)
            fail_startup("cannot map the rings of an AF_XDP socket");
        auto *begin = static_cast<std::byte *>(memory);
        to.mask = entries - 1;
        to.size = entries;
        to.producer = reinterpret_cast<__u32 *>(begin + ring.producer);
        to.consumer = reinterpret_cast<__u32 *>(begin + ring.consumer);
        to.flags = reinterpret_cast<__u32 *>(begin + ring.flags);
        to.ring = begin + ring.desc;
        return mapping{memory, bytes};
    };
    receive_memory_ = map(at.rx, options_.ring_size, XDP_PGOFF_RX_RING, receive_);
    transmit_memory_ = map(at.tx, std::bit_ceil(options_.transmit_frames), XDP_PGOFF_TX_RING, transmit_);
    transmit_.cached_cons = transmit_.size; // as libxdp keeps it: how far the producer may go
}

void xsk_socket_pair::note_mode()
{
    xdp_options mode{};
    socklen_t length = sizeof(mode);
    zero_copy_ =
        ::getsockopt(fd(), SOL_XDP, XDP_OPTIONS, &mode, &length) == 0 && (mode.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

xsk_socket_pair::~xsk_socket_pair()
{
    queue_->keeps_frames_ |= queued_ + outstanding_ != 0;
}

void xsk_socket_pair::refill(std::uint32_t received)
{
    const std::unique_lock alone = queue_->use();
    xsk_ring_prod *fill = queue_->fill_;
    const std::uint32_t room = xsk_prod_nb_free(fill, options_.ring_size);
    const std::uint32_t unused = options_.ring_size - room;
    queue_->depth_.on_look(queue_->lent_ - std::min(unused, queue_->lent_), unused, received);
    queue_->lent_ -= received;
    const std::uint32_t depth = queue_->depth_.frames();
    const std::uint32_t may_lend = std::min(room, depth - std::min(depth, queue_->lent_));
    const auto want = static_cast<std::uint32_t>(memory_.free_of(may_lend));
    std::uint32_t index = 0;
    if (want != 0 && xsk_ring_prod__reserve(fill, want, &index) == want) {
        for (std::uint32_t i = 0; i < want; ++i)
            *xsk_ring_prod__fill_addr(fill, index + i) = memory_.lend(memory_.allocate(), queue_->lent_as_);
        xsk_ring_prod__submit(fill, want);
        queue_->lent_ += want;
    }
    // Also with nothing to add: a driver with zero copy that once found the ring empty waits to be told.
    const bool holds_any = room - want < options_.ring_size;
    if (holds_any && xsk_ring_prod__needs_wakeup(fill))
        ::recvfrom(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

xsk_socket_pair::received xsk_socket_pair::join(const xdp_desc &part)
{
    const std::byte *data = memory_.data(part.addr);
    const bool fits = assembled_ + part.len <= assembly_.size();
    if (fits)
        std::memcpy(assembly_.data() + assembled_, data, part.len);
    assembled_ =
        fits ? assembled_ + part.len : static_cast<std::uint32_t>(assembly_.size()); // too long: nothing fits any more
    if ((part.options & XDP_PKT_CONTD) != 0)
        return {};
    const std::uint32_t length = std::exchange(assembled_, 0);
    return fits ? received{assembly_.data(), length} : received{};
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
    const std::unique_lock alone = queue_->use();
    xsk_ring_cons *completion = queue_->completion_;
    std::uint32_t index = 0;
    const std::uint32_t count = xsk_ring_cons__peek(completion, options_.ring_size, &index);
    std::uint32_t own = alone ? 0 : count;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t address = *xsk_ring_cons__comp_addr(completion, index + i);
        if (alone)
            note_completion(address, own);
        memory_.give_back(address);
    }
    if (count != 0)
        xsk_ring_cons__release(completion, count);
    if (alone)
        own += std::exchange(queue_->completed_[number_], 0);
    outstanding_ -= own;
    return own;
}

// Of a queue that others use, too.
void xsk_socket_pair::note_completion(std::uint64_t address, std::uint32_t &own)
{
    const umem::holder sender = memory_.holder_of(address);
    if (sender == holder_) {
        ++own;
        return;
    }
    const auto at = std::ranges::find(queue_->holders_, sender);
    if (at != queue_->holders_.end())
        ++queue_->completed_[static_cast<std::size_t>(at - queue_->holders_.begin()) - 1];
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
