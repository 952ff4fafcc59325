// SPDX-License-Identifier: Apache-2.0
// One AF_XDP socket: the receive and transmit rings of one thread on one queue of one port.
//
// Several threads may have a socket each on a queue; the XDP program chooses among them. The kernel has one fill and
// one completion ring for all of them: they are used under a lock, once for a batch of frames. Who takes a frame back
// need not be who sent it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernel/compat.h"
#include "kernel/receive_depth.h"
#include "kernel/umem.h"
#include "mrc/abi/maps.h"

namespace mrc::kernel
{

inline constexpr std::uint32_t usual_ring_size = 2048;

struct xsk_options {
    std::string device;
    std::uint32_t queue = 0;
    std::uint32_t ring_size = usual_ring_size; // descriptors of fill, receive and completion ring, a power of two
    std::uint32_t transmit_frames = 512;       // most that the kernel may hold to send them; at most ring_size
    std::uint32_t receive_frames = 4096;       // most that it may hold to receive; receive_depth.h says how many it has
    bool multi_buffer = false;                 // packets may span several frames (kernel 6.6)
    bool force_copy = false; // no zero copy: with generic XDP, and where sockets that share memory do not all have it
};

// What the sockets of one queue have in common. It ends with the last of them, and then the kernel has none of its
// frames any more.
class xsk_queue
{
public:
    // `frames`: most that the kernel may have to receive into.
    xsk_queue(umem &memory, std::uint32_t frames) : memory_{memory}, depth_{frames}, lent_as_{memory.new_holder()}
    {
        holders_.push_back(lent_as_);
    }
    xsk_queue(const xsk_queue &) = delete;
    xsk_queue &operator=(const xsk_queue &) = delete;
    ~xsk_queue(); // its frames are the memory's again, of the first socket's thread

private:
    friend class xsk_socket_pair;

    // Nobody else is there to be kept out of a queue with one socket.
    [[nodiscard]] std::unique_lock<std::mutex> use()
    {
        return sockets_ > 1 ? std::unique_lock{using_} : std::unique_lock<std::mutex>{};
    }

    umem &memory_;
    receive_depth depth_;
    xsk_socket *first_ = nullptr; // through which the others join
    xsk_ring_prod own_fill_{};
    xsk_ring_cons own_completion_{};
    xsk_ring_prod *fill_ = &own_fill_;
    xsk_ring_cons *completion_ = &own_completion_;
    std::uint32_t sockets_ = 0;
    bool keeps_frames_ = false; // of sockets that are gone
    std::mutex using_;          // the rings, and what follows
    // In the fill ring, the driver and the receive rings; only the last give them back.
    std::uint32_t lent_ = 0;
    umem::holder lent_as_;
    std::vector<umem::holder> holders_; // lent_as_, then the sockets, as `completed_` counts them
    // Frames that each has sent and another one has taken back.
    std::array<std::uint32_t, MRC_MAX_WORKERS> completed_{};
};

class xsk_socket_pair
{
public:
    // Binds; zero copy when the driver has it, else copy mode. A queue whose previous owner has just gone can answer
    // EBUSY for up to a second: binding waits for it, at most `busy_limit_ms`. Throws startup_error. Any thread; what
    // follows is for the memory's.
    xsk_socket_pair(umem &memory, umem_registration &with, xsk_options options, int busy_limit_ms = 2000);
    // The same with the memory's first registration, and begins to receive.
    xsk_socket_pair(umem &memory, xsk_options options, int busy_limit_ms = 2000);
    // Another thread's socket on the queue of `first`, MRC_MAX_WORKERS in all, with that thread's list of the same
    // memory, and the same modes; `options` are those of `first`, but for transmit_frames. Before either is used.
    // Throws startup_error.
    xsk_socket_pair(umem &memory, const xsk_socket_pair &first, xsk_options options);
    xsk_socket_pair(const xsk_socket_pair &) = delete;
    xsk_socket_pair &operator=(const xsk_socket_pair &) = delete;
    ~xsk_socket_pair(); // its frames are the memory's again

    // Gives the kernel frames to receive into.
    void begin() { refill(0); }
    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] bool zero_copy() const { return zero_copy_; }

    // Calls on_frame(std::byte *frame, std::uint32_t length) for up to `limit` received frames, then gives their memory
    // back to the fill ring. Returns how many there were.
    template <typename Callback>
    std::uint32_t receive(std::uint32_t limit, Callback &&on_frame)
    {
        std::uint32_t index = 0;
        const std::uint32_t count = xsk_ring_cons__peek(&receive_, limit, &index);
        for (std::uint32_t i = 0; i < count; ++i) {
            const xdp_desc *descriptor = xsk_ring_cons__rx_desc(&receive_, index + i);
            const bool whole = (descriptor->options & XDP_PKT_CONTD) == 0 && assembled_ == 0;
            const received packet =
                whole ? received{memory_.data(descriptor->addr), descriptor->len} : join(*descriptor);
            if (packet.data != nullptr)
                on_frame(packet.data, packet.length);
            memory_.give_back(descriptor->addr);
        }
        if (count != 0)
            xsk_ring_cons__release(&receive_, count);
        refill(count);
        return count;
    }

    // Room for that many more frames: of its share of the memory, which bounds what waits in a port that sends nothing.
    [[nodiscard]] bool has_room(std::uint32_t frames) const
    {
        return queued_ + outstanding_ + frames <= options_.transmit_frames;
    }
    // Queues the first `length` bytes of the frame; `more` when the packet goes on in the next one. False without room;
    // the frame then goes back to the free list.
    bool transmit(frame packet, std::uint32_t length, bool more = false);
    // Submits what transmit() queued and has the kernel send it.
    void flush();
    // Frames that the device had no room for in the last flush(); they leave with a later one.
    [[nodiscard]] std::uint32_t refused_for_now() const { return refused_for_now_; }
    // Takes back frames the kernel has sent. Returns how many.
    std::uint32_t reap();

    struct drop_counters {
        std::uint64_t receive_dropped = 0; // no room or no memory at this socket
        std::uint64_t receive_ring_full = 0;
    };
    [[nodiscard]] drop_counters drops() const;

private:
    struct received {
        std::byte *data = nullptr;
        std::uint32_t length = 0;
    };
    // Takes one part of a packet that spans several frames; the whole packet comes with the last part.
    received join(const xdp_desc &part);
    void refill(std::uint32_t received);
    [[nodiscard]] std::uint32_t unsent() const; // frames that a call has the kernel send, or complete
    int bind_once(umem_registration &with);
    void map_own_rings();
    void note_mode();
    void note_completion(std::uint64_t address, std::uint32_t &own);

    umem &memory_;
    xsk_options options_;
    std::shared_ptr<xsk_queue> queue_;
    std::uint32_t number_ = 0; // of the queue's sockets
    umem::holder holder_;
    int fd_ = -1;   // of the queue's first socket, or the next
    unique_fd own_; // of one that has joined, as the next
    mapping receive_memory_;
    mapping transmit_memory_;
    xsk_ring_cons receive_{};
    xsk_ring_prod transmit_{};
    std::uint32_t queued_ = 0;
    std::uint32_t outstanding_ = 0;
    std::uint32_t refused_for_now_ = 0;
    bool zero_copy_ = false;
    std::vector<std::byte> assembly_; // the parts of one packet, with multi_buffer
    std::uint32_t assembled_ = 0;     // bytes of packet in it
};

} // namespace mrc::kernel
