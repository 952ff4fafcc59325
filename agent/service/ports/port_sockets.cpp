// SPDX-License-Identifier: Apache-2.0
#include "service/ports/port_sockets.h"

#include <algorithm>
#include <utility>

#include <sys/resource.h>

namespace mrc::service
{

namespace
{

constexpr std::uint32_t ring_size = kernel::usual_ring_size;
constexpr std::uint32_t receive_frames = 2 * ring_size; // per queue: in copy mode, what its two rings hold
constexpr std::uint32_t transmit_frames = 512;          // per queue
constexpr std::uint32_t anchor_ring = 64;               // of a socket that neither sends nor receives
constexpr int no_wait = 0; // ms, for a queue that another socket has: what follows the links would wait, too

kernel::xsk_options options_for(const port_sockets::binding &how, std::uint32_t queue)
{
    return {.device = how.device,
            .queue = queue,
            .ring_size = ring_size,
            .transmit_frames = std::min(ring_size, how.queues * transmit_frames),
            .receive_frames = receive_frames,
            .multi_buffer = how.multi_buffer,
            .force_copy = how.force_copy};
}

// What is registered counts against RLIMIT_MEMLOCK once CAP_IPC_LOCK is gone. The limit is lifted only meanwhile: the
// memory of clients has to keep to it.
class lifted_memory_lock
{
public:
    lifted_memory_lock()
    {
        ::getrlimit(RLIMIT_MEMLOCK, &usual_);
        const rlimit lifted{.rlim_cur = usual_.rlim_max, .rlim_max = usual_.rlim_max};
        ::setrlimit(RLIMIT_MEMLOCK, &lifted);
    }
    lifted_memory_lock(const lifted_memory_lock &) = delete;
    lifted_memory_lock &operator=(const lifted_memory_lock &) = delete;
    ~lifted_memory_lock() { ::setrlimit(RLIMIT_MEMLOCK, &usual_); }

private:
    rlimit usual_{};
};

// Lets lifted_memory_lock do its work after the start; needs CAP_SYS_RESOURCE, or a unit that has done it.
void allow_lifting()
{
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    limit.rlim_max = RLIM_INFINITY;
    ::setrlimit(RLIMIT_MEMLOCK, &limit); // refused: a port that comes later says that the memory cannot be registered
}

} // namespace

std::size_t packet_memory_bytes(std::uint32_t queues)
{
    return std::size_t{queues} * (receive_frames + transmit_frames) * kernel::umem::frame_bytes;
}

port_sockets::port_sockets(std::uint32_t queues, const std::string &anchor, bool multi_buffer)
    : memory_{std::make_unique<kernel::umem>(
          static_cast<std::uint32_t>(packet_memory_bytes(queues) / kernel::umem::frame_bytes), ring_size)}
{
    if (anchor.empty())
        allow_lifting();
    else
        anchor_ = std::make_unique<kernel::xsk_socket_pair>(
            *memory_, memory_->registration(),
            kernel::xsk_options{.device = anchor,
                                .ring_size = anchor_ring,
                                .transmit_frames = anchor_ring,
                                .multi_buffer = multi_buffer, // whoever joins has it from here (net/xdp/xsk.c)
                                .force_copy = true});
}

port_sockets::~port_sockets() = default;

void port_sockets::bind(std::uint32_t row, const binding &how)
{
    fresh_sockets fresh;
    for (std::uint32_t queue = 0; queue < how.queues; ++queue)
        fresh.sockets.push_back(std::make_unique<kernel::xsk_socket_pair>(*memory_, options_for(how, queue)));
    install(row, std::move(fresh));
}

port_sockets::fresh_sockets port_sockets::bind_later(const binding &how) const
{
    fresh_sockets fresh;
    if (!anchor_) {
        const lifted_memory_lock lifted;
        fresh.registration = memory_->register_again();
    }
    kernel::umem_registration &with = anchor_ ? memory_->registration() : *fresh.registration;
    for (std::uint32_t queue = 0; queue < how.queues; ++queue)
        fresh.sockets.push_back(
            std::make_unique<kernel::xsk_socket_pair>(*memory_, with, options_for(how, queue), no_wait));
    return fresh;
}

void port_sockets::remove(std::uint32_t row)
{
    std::erase_if(
        all_, [&](const auto &socket) { return std::ranges::find(of_row_[row], socket.get()) != of_row_[row].end(); });
    of_row_[row].clear();
    registrations_[row].reset();
}

void port_sockets::install(std::uint32_t row, fresh_sockets fresh)
{
    registrations_[row] = std::move(fresh.registration);
    for (auto &socket : fresh.sockets) {
        socket->begin();
        of_row_[row].push_back(socket.get());
        all_.push_back(std::move(socket));
    }
}

} // namespace mrc::service
