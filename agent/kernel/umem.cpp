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

umem::umem(std::uint32_t frames, std::uint32_t ring_size)
{
    memory_ = map_area(std::size_t{frames} * frame_bytes, huge_);
    free_.reserve(frames);
    for (std::uint32_t i = frames; i-- > 0;)
        free_.push_back(std::uint64_t{i} * frame_bytes);

    const xsk_umem_config config{
        .fill_size = ring_size, .comp_size = ring_size, .frame_size = frame_bytes, .frame_headroom = 0, .flags = 0};
    const int result =
        xsk_umem__create(&handle_, memory_.get(), std::uint64_t{frames} * frame_bytes, &fill_, &completion_, &config);
    if (result != 0)
        fail_startup("cannot register packet memory with AF_XDP (memory lock limit?)", -result);
}

umem::~umem()
{
    if (handle_ != nullptr)
        xsk_umem__delete(handle_);
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
