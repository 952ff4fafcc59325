// SPDX-License-Identifier: Apache-2.0
// UMEM: the packet memory that AF_XDP sockets share, and the frames in it that one thread owns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <xdp/xsk.h>

#include "kernel/unique_fd.h"

namespace mrc::kernel
{

class umem;

// One frame of a UMEM, owned. Going out of scope returns it to the free list, so no path can leak a frame.
class frame
{
public:
    frame() = default;
    frame(umem &owner, std::uint64_t address) : owner_{&owner}, address_{address} {}
    frame(frame &&other) noexcept : owner_{std::exchange(other.owner_, nullptr)}, address_{other.address_} {}
    frame &operator=(frame &&other) noexcept
    {
        std::swap(owner_, other.owner_);
        std::swap(address_, other.address_);
        return *this;
    }
    frame(const frame &) = delete;
    frame &operator=(const frame &) = delete;
    ~frame();

    [[nodiscard]] explicit operator bool() const { return owner_ != nullptr; }
    [[nodiscard]] std::uint64_t address() const { return address_; }
    // Hands the frame to the kernel (fill or transmit ring); a later completion brings the address back.
    std::uint64_t release()
    {
        owner_ = nullptr;
        return address_;
    }

private:
    umem *owner_ = nullptr;
    std::uint64_t address_ = 0;
};

// Memory that is registered with AF_XDP, for sockets that share it. The kernel lets a socket join through the one that
// was bound first, and only while that one's device is there. The same memory may be registered several times.
class umem_registration
{
public:
    // `ring_size`: entries of the fill and completion rings of every socket of it. Throws startup_error: without
    // CAP_NET_RAW, and without CAP_IPC_LOCK beyond RLIMIT_MEMLOCK.
    umem_registration(void *memory, std::size_t bytes, std::uint32_t ring_size);
    umem_registration(const umem_registration &) = delete;
    umem_registration &operator=(const umem_registration &) = delete;
    ~umem_registration(); // after its sockets

private:
    xsk_umem *handle_ = nullptr;
    // libxdp makes one pair of rings with the UMEM itself. The first socket must use exactly these: given others, a
    // bind that fails would unmap them and leave nothing to retry with.
    friend class xsk_socket_pair;
    xsk_ring_prod fill_{};
    xsk_ring_cons completion_{};
    bool rings_taken_ = false;
};

// The memory area, in huge pages when the host has them free, and the list of frames that the thread owns. Further
// threads have lists of their own of the same area. Sockets carry frames from one list to another, for the kernel knows
// no threads: each keeps a few, and what is more goes to where all find it, under a lock.
class umem
{
public:
    static constexpr std::uint32_t frame_bytes = 4096;
    static constexpr std::uint32_t frame_shift = 12;
    using holder = std::uint32_t; // a socket that the kernel has frames for; 0: user space

    // `ring_size`: entries of the fill and completion rings of every socket that will share this memory. Throws
    // startup_error.
    umem(std::uint32_t frames, std::uint32_t ring_size);
    // Another thread's list in the memory of `other`; each of them keeps at most `keep` frames. Before either is used
    // by its thread; whoever has a list of the memory keeps it alive.
    umem(umem &other, std::size_t keep);
    umem(const umem &) = delete;
    umem &operator=(const umem &) = delete;
    ~umem() = default;

    [[nodiscard]] frame allocate(); // empty when none is free
    // How many of `wanted` frames are free for allocate().
    [[nodiscard]] std::size_t free_of(std::size_t wanted)
    {
        if (free_.size() < wanted && keep_ != unlimited)
            take_spare(wanted - free_.size());
        return std::min(free_.size(), wanted);
    }
    [[nodiscard]] std::size_t free_frames() const { return free_.size(); } // of this list
    [[nodiscard]] bool uses_huge_pages() const { return area_->huge; }

    [[nodiscard]] holder new_holder() { return ++area_->holders_made; } // any thread
    // The frame belongs to the kernel from now on, for this socket; returns its address, for a fill or transmit ring.
    std::uint64_t lend(frame given, holder to)
    {
        const std::uint64_t address = given.release();
        holder_at(address).store(to, std::memory_order_relaxed);
        return address;
    }
    // For whom the kernel has the frame.
    [[nodiscard]] holder holder_of(std::uint64_t address) const
    {
        return holder_at(address).load(std::memory_order_relaxed);
    }
    // Takes back a frame whose address a completion or receive ring delivered.
    void give_back(std::uint64_t address)
    {
        holder_at(address).store(0, std::memory_order_relaxed);
        free_.push_back(address & ~std::uint64_t{frame_bytes - 1});
        if (free_.size() > keep_)
            leave_spare();
    }
    // Takes back all that sockets had when their device went: nothing delivers them any more.
    void reclaim(std::span<const holder> gone);

    [[nodiscard]] std::byte *data(std::uint64_t address) const { return memory_ + address; }
    // The first one.
    [[nodiscard]] umem_registration &registration() { return *area_->registration; }
    // Another one; any thread. Throws startup_error.
    [[nodiscard]] std::unique_ptr<umem_registration> register_again() const;

private:
    static constexpr std::size_t unlimited = SIZE_MAX;
    static constexpr std::size_t batch = 64; // frames that go to the others at a time

    struct area {
        mapping memory;
        bool huge = false;
        std::vector<holder> holders; // by frame
        std::atomic<holder> holders_made = 0;
        std::uint32_t ring_size = 0;
        std::unique_ptr<umem_registration> registration;
        std::mutex changing;              // what follows
        std::vector<std::uint64_t> spare; // frames of no thread
    };

    [[nodiscard]] std::atomic_ref<holder> holder_at(std::uint64_t address) const
    {
        return std::atomic_ref{holders_[address >> frame_shift]};
    }
    void take_spare(std::size_t wanted);
    void leave_spare();

    std::shared_ptr<area> area_;
    std::byte *memory_ = nullptr; // the area's, as the next
    holder *holders_ = nullptr;
    std::vector<std::uint64_t> free_;
    std::size_t keep_ = unlimited;
};

inline frame::~frame()
{
    if (owner_ != nullptr)
        owner_->give_back(address_);
}

} // namespace mrc::kernel
