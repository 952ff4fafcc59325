// SPDX-License-Identifier: Apache-2.0
// AF_XDP sockets on every served queue of every port, and the one packet memory that they share.
//
// A socket ends with its device. When the port has a device again, its sockets are bound anew on the thread that
// follows the links, which tries again where a queue is not free yet, and change places with the old ones on the
// memory's thread, which has what lay in the old ones back then.
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
    std::uint32_t receive_frames = 0; // of a queue, at most
    std::uint32_t frames = 0;         // in all, with those that are sent

    [[nodiscard]] std::size_t bytes() const { return std::size_t{frames} * kernel::umem::frame_bytes; }
};
// For ports with so many receive queues each.
[[nodiscard]] packet_memory packet_memory_for(std::span<const std::uint32_t> queues);

class port_sockets
{
public:
    struct binding {
        std::string device;
        std::uint32_t queues = 1;
        bool multi_buffer = false; // packets longer than one buffer can arrive
        bool force_copy = false;
    };
    // Sockets that are bound and not yet in use, in the order of the queues.
    struct fresh_sockets {
        std::unique_ptr<kernel::umem_registration> registration; // null: the memory's first
        std::vector<std::unique_ptr<kernel::xsk_socket_pair>> sockets;
    };
    using socket_list = std::vector<std::unique_ptr<kernel::xsk_socket_pair>>;

    // Memory as packet_memory_for() says. `anchor`: device for the socket that others join through; empty: none.
    // `multi_buffer`: packets may span several frames, on all ports alike. Throws startup_error.
    port_sockets(const packet_memory &shares, const std::string &anchor, bool multi_buffer);
    port_sockets(const port_sockets &) = delete;
    port_sockets &operator=(const port_sockets &) = delete;
    ~port_sockets();

    [[nodiscard]] kernel::umem &memory() { return *memory_; }
    [[nodiscard]] const kernel::umem &memory() const { return *memory_; }
    [[nodiscard]] socket_list &all() { return all_; }
    [[nodiscard]] const socket_list &all() const { return all_; }
    // Of queue 0; null where the port has none.
    [[nodiscard]] kernel::xsk_socket_pair *first(std::uint32_t row) const
    {
        return of_row_[row].empty() ? nullptr : of_row_[row].front();
    }

    // At the start, in the memory's own registration. Throws startup_error.
    void bind(std::uint32_t row, const binding &how);
    // For a device that comes later; any thread. Throws startup_error, at once where a queue has a socket still.
    [[nodiscard]] fresh_sockets bind_later(const binding &how) const;
    // On the thread that uses the memory.
    void remove(std::uint32_t row);
    void install(std::uint32_t row, fresh_sockets fresh);

private:
    [[nodiscard]] kernel::xsk_options options_for(const binding &how, std::uint32_t queue) const;

    packet_memory shares_;
    std::unique_ptr<kernel::umem> memory_;
    std::unique_ptr<kernel::xsk_socket_pair> anchor_;
    std::array<std::unique_ptr<kernel::umem_registration>, MRC_MAX_PORTS> registrations_; // of later sockets, by row
    socket_list all_;
    std::array<std::vector<kernel::xsk_socket_pair *>, MRC_MAX_PORTS> of_row_; // in the order of the queues
};

} // namespace mrc::service
