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

umem::umem(std::uint32_t frames, std::uint32_t ring_size) : area_{std::make_shared<area>()}
{
    area_->holders.resize(frames);
    area_->ring_size = ring_size;
    area_->memory = map_area(std::size_t{frames} * frame_bytes, area_->huge);
    memory_ = static_cast<std::byte *>(area_->memory.get());
    holders_ = area_->holders.data();
    free_.reserve(frames);
    for (std::uint32_t i = frames; i-- > 0;)
        free_.push_back(std::uint64_t{i} * frame_bytes);
    area_->registration = register_again();
}

umem::umem(umem &other, std::size_t keep)
    : area_{other.area_}, memory_{other.memory_}, holders_{other.holders_}, keep_{keep}
{
    area_->spare.reserve(area_->holders.size());
    free_.reserve(area_->holders.size());
    other.keep_ = keep;
    while (other.free_.size() > keep)
        other.leave_spare();
}

std::unique_ptr<umem_registration> umem::register_again() const
{
    return std::make_unique<umem_registration>(memory_, area_->holders.size() * frame_bytes, area_->ring_size);
}

void umem::take_spare(std::size_t wanted)
{
    const std::scoped_lock guard{area_->changing};
    std::vector<std::uint64_t> &spare = area_->spare;
    const auto taken = static_cast<std::ptrdiff_t>(std::min(wanted, spare.size()));
    free_.insert(free_.end(), spare.end() - taken, spare.end());
    spare.erase(spare.end() - taken, spare.end());
}

void umem::leave_spare()
{
    const auto left = static_cast<std::ptrdiff_t>(std::min(batch, free_.size()));
    const std::scoped_lock guard{area_->changing};
    area_->spare.insert(area_->spare.end(), free_.end() - left, free_.end());
    free_.erase(free_.end() - left, free_.end());
}

void umem::reclaim(std::span<const holder> gone)
{
    for (std::size_t i = 0; i < area_->holders.size(); ++i) {
        const std::uint64_t address = std::uint64_t{i} << frame_shift;
        if (std::ranges::find(gone, holder_of(address)) != gone.end())
            give_back(address);
    }
}

frame umem::allocate()
{
    if (free_of(1) == 0)
        return {};
    const std::uint64_t address = free_.back();
    free_.pop_back();
    return {*this, address};
}

} // namespace mrc::kernel
