// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/af_xdp.h"

#include <cerrno>
#include <chrono>

#include <poll.h>
#include <sys/socket.h>

#include "kernel/compat.h"
#include "kernel/unique_fd.h"

namespace mrc::kernel::probes
{

namespace
{

constexpr int ring_entries = 64;
constexpr std::size_t frame_bytes = 4096;
constexpr std::size_t memory_bytes = ring_entries * frame_bytes;
constexpr int busy_interval_ms = 5;

std::uint16_t flags_of(const af_xdp_wish &wish)
{
    unsigned flags = XDP_USE_NEED_WAKEUP;
    if (wish.copies == af_xdp_copies::copy)
        flags |= XDP_COPY;
    if (wish.copies == af_xdp_copies::zero_copy)
        flags |= XDP_ZEROCOPY;
    if (wish.multi_buffer)
        flags |= XDP_USE_SG;
    return static_cast<std::uint16_t>(flags);
}

// A socket that has all it needs to be bound. Empty with errno.
unique_fd prepare(const mapping &memory)
{
    unique_fd socket{::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)};
    xdp_umem_reg area{};
    area.addr = reinterpret_cast<std::uintptr_t>(memory.get());
    area.len = memory.size();
    area.chunk_size = frame_bytes;
    const int entries = ring_entries;
    if (!socket || ::setsockopt(socket.get(), SOL_XDP, XDP_UMEM_REG, &area, sizeof(area)) != 0)
        return {};
    for (const int ring : {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING})
        if (::setsockopt(socket.get(), SOL_XDP, ring, &entries, sizeof(entries)) != 0)
            return {};
    return socket;
}

bool is_zero_copy(const unique_fd &socket)
{
    xdp_options mode{};
    socklen_t length = sizeof(mode);
    return ::getsockopt(socket.get(), SOL_XDP, XDP_OPTIONS, &mode, &length) == 0 &&
           (mode.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

int bind_once(const unique_fd &socket, const af_xdp_wish &wish)
{
    sockaddr_xdp address{};
    address.sxdp_family = AF_XDP;
    address.sxdp_flags = flags_of(wish);
    address.sxdp_ifindex = static_cast<__u32>(wish.ifindex);
    address.sxdp_queue_id = wish.queue;
    return ::bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0 ? 0 : errno;
}

} // namespace

attempt try_af_xdp(const af_xdp_wish &wish, int busy_limit_ms)
{
    using clock = std::chrono::steady_clock;
    void *address = ::mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED)
        return refused(errno, "no memory for frames");
    const mapping memory{address, memory_bytes};
    const unique_fd socket = prepare(memory);
    if (!socket)
        return refused(errno, "cannot make an AF_XDP socket");
    const auto deadline = clock::now() + std::chrono::milliseconds{busy_limit_ms};
    int error = bind_once(socket, wish);
    while (error == EBUSY && clock::now() < deadline) {
        ::poll(nullptr, 0, busy_interval_ms); // the kernel frees an old socket's queue later and tells nobody when
        error = bind_once(socket, wish);
    }
    if (error != 0)
        return refused(error, error == EBUSY ? "another AF_XDP socket has this queue" : "");
    return worked(is_zero_copy(socket) ? "zero copy" : "copy");
}

af_xdp_support try_af_xdp_queue(int ifindex, std::uint32_t queue)
{
    return {.copy = try_af_xdp({.ifindex = ifindex, .queue = queue, .copies = af_xdp_copies::copy}),
            .zero_copy = try_af_xdp({.ifindex = ifindex, .queue = queue, .copies = af_xdp_copies::zero_copy}),
            .multi_buffer = try_af_xdp({.ifindex = ifindex, .queue = queue, .multi_buffer = true})};
}

} // namespace mrc::kernel::probes
