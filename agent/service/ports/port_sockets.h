// SPDX-License-Identifier: Apache-2.0
// AF_XDP sockets on every served queue of every port, one for each worker, and the one packet memory that they share.
//
// A socket ends with its device. When the port has a device again, its sockets are bound anew on the thread that
// follows the links, which tries again where a queue is not free yet, and change places with the old ones while all
// workers rest, which have what lay in the old ones back then.
//
// Sockets of one memory join through the first one, which has to be on a device that stays. In copy mode that is a
// socket which does nothing else, on a device of mrcd's own. Zero copy is for devices that have it only: there a device
// that comes later gets a registration of its own, of the same memory, which counts against RLIMIT_MEMLOCK by then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel/umem.h"
#include "kernel/xsk_socket_pair.h"
#include "mrc/abi/maps.h"

namespace mrc::service
{

// What the sockets have of the packet memory. For each of them the kernel keeps a descriptor of every frame
// (net/xdp/xsk_buff_pool.c), so that many queues must not have more frames in all than few.
struct packet_memory {
    unsigned workers = 1;
    std::uint32_t receive_frames = 0; // of a queue, at most, whichever worker's
    std::uint32_t sent_frames = 0;    // of a worker, on all ports
    std::uint32_t frames = 0;         // in all

    [[nodiscard]] std::size_t bytes() const { return std::size_t{frames} * kernel::umem::frame_bytes; }
};
// For ports with so many receive queues each, which have a socket of each worker.
[[nodiscard]] packet_memory packet_memory_for(std::span<const std::uint32_t> queues, unsigned workers);

class port_sockets
{
public:
    struct binding {
        std::string device;
        std::uint32_t queues = 1;
        bool multi_buffer = false; // packets longer than one buffer can arrive
        bool force_copy = false;
    };
    using socket_list = std::vector<std::unique_ptr<kernel::xsk_socket_pair>>;
    // Sockets that are bound and not yet in use: by worker, in the order of the queues.
    struct fresh_sockets {
        std::unique_ptr<kernel::umem_registration> registration{}; // null: the memory's first
        std::vector<socket_list> of_worker{};

        [[nodiscard]] bool empty() const { return of_worker.empty(); }
    };

    // Memory as packet_memory_for() says, and a list of it for each worker. `anchor`: device for the socket that others
    // join through; empty: none. `multi_buffer`: packets may span several frames, on all ports alike. Throws
    // startup_error.
    port_sockets(const packet_memory &shares, const std::string &anchor, bool multi_buffer);
    port_sockets(const port_sockets &) = delete;
    port_sockets &operator=(const port_sockets &) = delete;
    ~port_sockets();

    [[nodiscard]] unsigned workers() const { return static_cast<unsigned>(memory_.size()); }
    // That worker's list.
    [[nodiscard]] kernel::umem &memory(unsigned worker) { return *memory_[worker]; }
    [[nodiscard]] const kernel::umem &memory(unsigned worker) const { return *memory_[worker]; }
    [[nodiscard]] socket_list &all(unsigned worker) { return all_[worker]; }
    [[nodiscard]] const socket_list &all(unsigned worker) const { return all_[worker]; }
    // Of a port, in the order of the queues.
    [[nodiscard]] const std::vector<kernel::xsk_socket_pair *> &of(unsigned worker, std::uint32_t row) const
    {
        return of_row_[worker][row];
    }
    // Of queue 0; null where the port has none.
    [[nodiscard]] kernel::xsk_socket_pair *first(unsigned worker, std::uint32_t row) const
    {
        return of(worker, row).empty() ? nullptr : of(worker, row).front();
    }

    // At the start, in the memory's own registration. Throws startup_error.
    void bind(std::uint32_t row, const binding &how);
    // For a device that comes later; any thread. Throws startup_error, at once where a queue has a socket still.
    [[nodiscard]] fresh_sockets bind_later(const binding &how) const;
    // While no worker uses the memory.
    void remove(std::uint32_t row);
    void install(std::uint32_t row, fresh_sockets fresh);

private:
    using row_list = std::array<std::vector<kernel::xsk_socket_pair *>, MRC_MAX_PORTS>;

    [[nodiscard]] kernel::xsk_options options_for(const binding &how, std::uint32_t queue) const;
    void add_others(fresh_sockets &to, const binding &how) const;

    packet_memory shares_;
    std::vector<std::unique_ptr<kernel::umem>> memory_; // by worker, as the next
    std::unique_ptr<kernel::xsk_socket_pair> anchor_;
    std::array<std::unique_ptr<kernel::umem_registration>, MRC_MAX_PORTS> registrations_; // of later sockets, by row
    std::vector<socket_list> all_;
    std::vector<row_list> of_row_;
};

} // namespace mrc::service
