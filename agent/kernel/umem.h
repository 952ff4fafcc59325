// SPDX-License-Identifier: Apache-2.0
// UMEM: the packet memory that AF_XDP sockets share, and the frames in it.
#pragma once

#include <cstdint>
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

// The memory area, in huge pages when the host has them free, and the list of frames that user space owns.
class umem
{
public:
    static constexpr std::uint32_t frame_bytes = 4096;

    // `ring_size`: entries of the fill and completion rings of every socket that will share this memory. Throws
    // startup_error.
    umem(std::uint32_t frames, std::uint32_t ring_size);
    umem(const umem &) = delete;
    umem &operator=(const umem &) = delete;
    ~umem();

    [[nodiscard]] frame allocate(); // empty when none is free
    [[nodiscard]] std::size_t free_frames() const { return free_.size(); }
    [[nodiscard]] bool uses_huge_pages() const { return huge_; }

    // Takes back a frame whose address a completion or receive ring delivered.
    void give_back(std::uint64_t address) { free_.push_back(address & ~std::uint64_t{frame_bytes - 1}); }

    [[nodiscard]] std::byte *data(std::uint64_t address) const
    {
        return static_cast<std::byte *>(memory_.get()) + address;
    }
    [[nodiscard]] xsk_umem *handle() const { return handle_; }

private:
    mapping memory_;
    bool huge_ = false;
    std::vector<std::uint64_t> free_;
    xsk_umem *handle_ = nullptr;
    // libxdp makes one pair of rings with the UMEM itself. The first socket must use exactly these: given others, a
    // bind that fails would unmap them and leave nothing to retry with.
    friend class xsk_socket_pair;
    xsk_ring_prod fill_{};
    xsk_ring_cons completion_{};
    bool rings_taken_ = false;
};

inline frame::~frame()
{
    if (owner_ != nullptr)
        owner_->give_back(address_);
}

} // namespace mrc::kernel
