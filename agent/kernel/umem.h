// SPDX-License-Identifier: Apache-2.0
// UMEM: the packet memory that AF_XDP sockets share, and the frames in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
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

// The memory area, in huge pages when the host has them free, and the list of frames that user space owns.
class umem
{
public:
    static constexpr std::uint32_t frame_bytes = 4096;
    static constexpr std::uint32_t frame_shift = 12;
    using holder = std::uint32_t; // a socket that the kernel has frames for; 0: user space

    // `ring_size`: entries of the fill and completion rings of every socket that will share this memory. Throws
    // startup_error.
    umem(std::uint32_t frames, std::uint32_t ring_size);
    umem(const umem &) = delete;
    umem &operator=(const umem &) = delete;
    ~umem() = default;

    [[nodiscard]] frame allocate(); // empty when none is free
    [[nodiscard]] std::size_t free_frames() const { return free_.size(); }
    [[nodiscard]] bool uses_huge_pages() const { return huge_; }

    [[nodiscard]] holder new_holder() { return ++holders_made_; } // any thread
    // The frame belongs to the kernel from now on, for this socket; returns its address, for a fill or transmit ring.
    std::uint64_t lend(frame given, holder to)
    {
        const std::uint64_t address = given.release();
        holders_[address >> frame_shift] = to;
        return address;
    }
    // Takes back a frame whose address a completion or receive ring delivered.
    void give_back(std::uint64_t address)
    {
        holders_[address >> frame_shift] = 0;
        free_.push_back(address & ~std::uint64_t{frame_bytes - 1});
    }
    // Takes back all that a socket had when its device went: nothing delivers them any more.
    void reclaim(holder gone);

    [[nodiscard]] std::byte *data(std::uint64_t address) const
    {
        return static_cast<std::byte *>(memory_.get()) + address;
    }
    // The first one.
    [[nodiscard]] umem_registration &registration() { return *registration_; }
    // Another one; any thread. Throws startup_error.
    [[nodiscard]] std::unique_ptr<umem_registration> register_again() const;

private:
    mapping memory_;
    bool huge_ = false;
    std::vector<std::uint64_t> free_;
    std::vector<holder> holders_; // by frame
    std::atomic<holder> holders_made_ = 0;
    std::uint32_t ring_size_;
    std::unique_ptr<umem_registration> registration_;
};

inline frame::~frame()
{
    if (owner_ != nullptr)
        owner_->give_back(address_);
}

} // namespace mrc::kernel
