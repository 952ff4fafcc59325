// SPDX-License-Identifier: Apache-2.0
#include "datapath/region_table.h"

#include <utility>

namespace mrc::datapath
{

namespace
{

constexpr unsigned row_bits = 16;
constexpr std::uint32_t row_mask = region_table::capacity - 1;
static_assert(row_mask == (1U << row_bits) - 1);

std::optional<std::uint64_t> offset_in(const memory_region &region, std::uint64_t va, std::uint64_t bytes)
{
    const std::uint64_t size = region.memory.size();
    if (va < region.va || va - region.va > size || bytes > size - (va - region.va))
        return std::nullopt;
    return va - region.va;
}

} // namespace

region_table::region_table() : rows_(capacity), free_rows_(capacity)
{
    for (std::uint32_t number = 0; number < capacity; ++number)
        free_rows_[number] = static_cast<std::uint16_t>(number);
}

std::optional<std::uint32_t> region_table::add(memory_region &&region, std::uint32_t random)
{
    if (free_count_ == 0)
        return std::nullopt;
    const std::uint16_t number = free_rows_[first_free_++ & row_mask];
    --free_count_;
    row &place = rows_[number];
    auto tag = static_cast<std::uint16_t>(random);
    while (tag == 0 || tag == place.last_tag) // zero is left out: key 0 is no key
        ++tag;
    place.last_tag = tag;
    place.region = std::move(region);
    place.region.key = std::uint32_t{tag} << row_bits | number;
    return place.region.key;
}

memory_region region_table::remove(std::uint32_t key)
{
    memory_region &region = rows_[key & row_mask].region;
    if (key == 0 || region.key != key)
        return {};
    free_rows_[(first_free_ + free_count_) & row_mask] = static_cast<std::uint16_t>(key & row_mask);
    ++free_count_;
    return std::exchange(region, {});
}

memory_region *region_table::find(const protection_domain &domain, std::uint32_t key)
{
    memory_region &region = rows_[key & row_mask].region;
    const bool usable = key != 0 && region.key == key && region.domain == domain && !region.memory.broken();
    return usable ? &region : nullptr;
}

std::expected<void, protocol::write_refusal> region_table::write(const protection_domain &domain, std::uint32_t rkey,
                                                                 std::uint64_t va, std::span<const std::byte> payload)
{
    using enum protocol::write_refusal;
    if (payload.empty())
        return {};
    memory_region *region = find(domain, rkey);
    if (region == nullptr)
        return std::unexpected{unknown_key};
    if ((region->access & session::access_remote_write) == 0)
        return std::unexpected{no_permission};
    const auto offset = offset_in(*region, va, payload.size());
    if (!offset)
        return std::unexpected{out_of_bounds};
    if (!region->memory.copy_in(*offset, payload))
        return std::unexpected{unknown_key};
    return {};
}

bool region_table::read(const protection_domain &domain, std::uint32_t lkey, std::uint64_t va, std::span<std::byte> to)
{
    memory_region *region = find(domain, lkey);
    const auto offset = region == nullptr ? std::nullopt : offset_in(*region, va, to.size());
    return offset && region->memory.copy_out(*offset, to);
}

} // namespace mrc::datapath
