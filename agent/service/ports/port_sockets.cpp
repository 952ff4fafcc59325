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
constexpr std::uint32_t most_receive_frames = 2 * ring_size;          // of a queue: what its two rings hold
constexpr std::uint32_t all_receive_frames = 8 * most_receive_frames; // 128 MiB
// Several times what the kernel receives on a queue before it does anything else (NAPI_POLL_WEIGHT, 64).
static_assert(all_receive_frames / (MRC_MAX_PORTS * MRC_MAX_QUEUES) >= 256);
constexpr std::uint32_t transmit_frames =
    512;                                  // of a port, which sends on its first queue; of several queues twice that
constexpr std::uint32_t anchor_ring = 64; // of a socket that neither sends nor receives
constexpr int no_wait = 0; // ms, for a queue that another socket has: what follows the links would wait, too

std::uint32_t transmit_frames_of(std::uint32_t queues)
{
    return queues == 1 ? transmit_frames : 2 * transmit_frames;
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

packet_memory packet_memory_for(std::span<const std::uint32_t> queues)
{
    std::uint32_t all = 0;
    std::uint32_t sent = 0;
    for (const std::uint32_t of_port : queues) {
        all += of_port;
        sent += transmit_frames_of(of_port);
    }
    const std::uint32_t each = std::min(most_receive_frames, all_receive_frames / std::max(all, 1U));
    return {.receive_frames = each, .frames = all * each + sent};
}

port_sockets::port_sockets(const packet_memory &shares, const std::string &anchor, bool multi_buffer)
    : shares_{shares}, memory_{std::make_unique<kernel::umem>(shares.frames, ring_size)}
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

kernel::xsk_options port_sockets::options_for(const binding &how, std::uint32_t queue) const
{
    return {.device = how.device,
            .queue = queue,
            .ring_size = ring_size,
            .transmit_frames = transmit_frames_of(how.queues),
            .receive_frames = shares_.receive_frames,
            .multi_buffer = how.multi_buffer,
            .force_copy = how.force_copy};
}

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
