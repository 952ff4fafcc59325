// SPDX-License-Identifier: Apache-2.0
#include "kernel/umem.h"

#include "kernel/startup_error.h"

namespace mrc::kernel
{

namespace
{

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

mapping map_area(std::size_t bytes, bool &huge)
{
    const std::size_t rounded = (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *address = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB | MAP_POPULATE, -1, 0);
    huge = address != MAP_FAILED;
    if (!huge)
        address = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, -1, 0);
    if (address == MAP_FAILED)
        fail_startup("cannot allocate " + std::to_string(rounded >> 20) + " MiB of packet memory");
    return {address, rounded};
}

} // namespace

umem_registration::umem_registration(void *memory, std::size_t bytes, std::uint32_t ring_size)
{
    const xsk_umem_config config{.fill_size = ring_size,
                                 .comp_size = ring_size,
                                 .frame_size = umem::frame_bytes,
                                 .frame_headroom = 0,
                                 .flags = 0};
    const int result = xsk_umem__create(&handle_, memory, bytes, &fill_, &completion_, &config);
    if (result != 0)
        fail_startup("cannot register packet memory with AF_XDP (memory lock limit?)", -result);
}

umem_registration::~umem_registration()
{
    if (handle_ != nullptr)
        xsk_umem__delete(handle_);
}

umem::umem(std::uint32_t frames, std::uint32_t ring_size) : holders_(frames), ring_size_{ring_size}
{
    memory_ = map_area(std::size_t{frames} * frame_bytes, huge_);
    free_.reserve(frames);
    for (std::uint32_t i = frames; i-- > 0;)
        free_.push_back(std::uint64_t{i} * frame_bytes);
    registration_ = register_again();
}

std::unique_ptr<umem_registration> umem::register_again() const
{
    return std::make_unique<umem_registration>(memory_.get(), holders_.size() * frame_bytes, ring_size_);
}

void umem::reclaim(holder gone)
{
    for (std::size_t i = 0; i < holders_.size(); ++i)
        if (holders_[i] == gone)
            give_back(std::uint64_t{i} << frame_shift);
}

frame umem::allocate()
{
    if (free_.empty())
        return {};
    const std::uint64_t address = free_.back();
    free_.pop_back();
    return {*this, address};
}

} // namespace mrc::kernel
