// SPDX-License-Identifier: Apache-2.0
#include "service/ports/port_sockets.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <sys/resource.h>

namespace mrc::service
{

namespace
{

constexpr std::uint32_t ring_size = kernel::usual_ring_size;
// Of a queue, in copy mode: what its fill ring and each worker's receive ring hold. One that does not read its own
// leaves the others theirs.
constexpr std::uint32_t most_receive_frames(unsigned workers)
{
    return ring_size * (1 + workers);
}
constexpr std::uint32_t full_queues =
    8; // that have so many; more queues share what these have: with one worker 128 MiB
// Several times what the kernel receives on a queue before it does anything else (NAPI_POLL_WEIGHT, 64).
static_assert(full_queues * most_receive_frames(1) / (MRC_MAX_PORTS * MRC_MAX_QUEUES) >= 256);
constexpr std::uint32_t transmit_frames = 512; // of a port and worker, which sends on its first queue
constexpr std::uint32_t anchor_ring = 64;      // of a socket that neither sends nor receives
constexpr int no_wait = 0; // ms, for a queue that another socket has: what follows the links would wait, too

// Of several queues twice that. The completion ring is all workers'.
std::uint32_t transmit_frames_of(std::uint32_t queues, unsigned workers)
{
    return std::min(queues == 1 ? transmit_frames : 2 * transmit_frames, ring_size / std::bit_ceil(workers));
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

packet_memory packet_memory_for(std::span<const std::uint32_t> queues, unsigned workers)
{
    std::uint32_t all = 0;
    std::uint32_t sent = 0;
    for (const std::uint32_t of_port : queues) {
        all += of_port;
        sent += transmit_frames_of(of_port, workers);
    }
    const std::uint32_t each =
        std::min(most_receive_frames(workers), full_queues * most_receive_frames(workers) / std::max(all, 1U));
    return {.workers = workers, .receive_frames = each, .sent_frames = sent, .frames = all * each + workers * sent};
}

port_sockets::port_sockets(const packet_memory &shares, const std::string &anchor, bool multi_buffer)
    : shares_{shares}, all_(shares.workers), of_row_(shares.workers)
{
    memory_.push_back(std::make_unique<kernel::umem>(shares.frames, ring_size));
    while (memory_.size() < shares.workers) // each keeps what it may send, so that all have as much
        memory_.push_back(std::make_unique<kernel::umem>(*memory_.front(), shares.sent_frames));
    if (anchor.empty())
        allow_lifting();
    else
        anchor_ = std::make_unique<kernel::xsk_socket_pair>(
            *memory_.front(), memory_.front()->registration(),
            kernel::xsk_options{.device = anchor,
                                .ring_size = anchor_ring,
                                .transmit_frames = anchor_ring,
                                .multi_buffer = multi_buffer, // whoever joins has it from here (net/xdp/xsk.c)
                                .force_copy = true});
}

// The first of a queue goes last.
port_sockets::~port_sockets()
{
    while (!all_.empty())
        all_.pop_back();
}

// Beside those of the first worker.
void port_sockets::add_others(fresh_sockets &to, const binding &how) const
{
    while (to.of_worker.size() < workers()) {
        socket_list sockets;
        for (std::uint32_t queue = 0; queue < how.queues; ++queue)
            sockets.push_back(std::make_unique<kernel::xsk_socket_pair>(
                *memory_[to.of_worker.size()], *to.of_worker.front()[queue], options_for(how, queue)));
        to.of_worker.push_back(std::move(sockets));
    }
}

kernel::xsk_options port_sockets::options_for(const binding &how, std::uint32_t queue) const
{
    return {.device = how.device,
            .queue = queue,
            .ring_size = ring_size,
            .transmit_frames = transmit_frames_of(how.queues, workers()),
            .receive_frames = shares_.receive_frames,
            .multi_buffer = how.multi_buffer,
            .force_copy = how.force_copy};
}

void port_sockets::bind(std::uint32_t row, const binding &how)
{
    fresh_sockets fresh{.of_worker = std::vector<socket_list>(1)};
    kernel::umem &memory = *memory_.front();
    for (std::uint32_t queue = 0; queue < how.queues; ++queue)
        fresh.of_worker.front().push_back(
            std::make_unique<kernel::xsk_socket_pair>(memory, memory.registration(), options_for(how, queue)));
    add_others(fresh, how);
    install(row, std::move(fresh));
}

port_sockets::fresh_sockets port_sockets::bind_later(const binding &how) const
{
    fresh_sockets fresh{.of_worker = std::vector<socket_list>(1)};
    kernel::umem &memory = *memory_.front();
    if (!anchor_) {
        const lifted_memory_lock lifted;
        fresh.registration = memory.register_again();
    }
    kernel::umem_registration &with = anchor_ ? memory.registration() : *fresh.registration;
    for (std::uint32_t queue = 0; queue < how.queues; ++queue)
        fresh.of_worker.front().push_back(
            std::make_unique<kernel::xsk_socket_pair>(memory, with, options_for(how, queue), no_wait));
    add_others(fresh, how);
    return fresh;
}

void port_sockets::remove(std::uint32_t row)
{
    for (unsigned worker = workers(); worker-- != 0;) {
        std::vector<kernel::xsk_socket_pair *> &gone = of_row_[worker][row];
        std::erase_if(all_[worker],
                      [&](const auto &socket) { return std::ranges::find(gone, socket.get()) != gone.end(); });
        gone.clear();
    }
    registrations_[row].reset();
}

void port_sockets::install(std::uint32_t row, fresh_sockets fresh)
{
    registrations_[row] = std::move(fresh.registration);
    for (auto &socket : fresh.of_worker.front())
        socket->begin();
    for (unsigned worker = 0; worker < workers(); ++worker)
        for (auto &socket : fresh.of_worker[worker]) {
            of_row_[worker][row].push_back(socket.get());
            all_[worker].push_back(std::move(socket));
        }
}

} // namespace mrc::service
