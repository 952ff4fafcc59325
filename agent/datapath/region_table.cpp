// SPDX-License-Identifier: Apache-2.0
#include "datapath/region_table.h"

#include <cstring>
#include <utility>

namespace mrc::datapath
{

namespace
{

constexpr std::uint32_t row_mask = region_table::capacity - 1;

} // namespace

std::optional<std::uint32_t> region_table::free_key(std::uint32_t random) const
{
    for (std::uint32_t i = 0; i < capacity; ++i) {
        const std::uint32_t row = (random + i) & row_mask;
        const std::uint32_t key = (random & ~row_mask) | row;
        if (rows_[row].key == 0 && key != 0)
            return key;
    }
    return std::nullopt;
}

void region_table::add(memory_region region)
{
    rows_[region.key & row_mask] = std::move(region);
}

memory_region region_table::remove(std::uint32_t key)
{
    memory_region &row = rows_[key & row_mask];
    return row.key == key ? std::exchange(row, {}) : memory_region{};
}

const memory_region *region_table::find(std::uint32_t key) const
{
    const memory_region &row = rows_[key & row_mask];
    return key != 0 && row.key == key ? &row : nullptr;
}

std::optional<std::uint64_t> region_table::offset_in(const memory_region &region, std::uint64_t va, std::uint64_t bytes)
{
    const std::uint64_t size = region.memory.size();
    if (va < region.va || va - region.va > size || bytes > size - (va - region.va))
        return std::nullopt;
    return va - region.va;
}

std::expected<void, protocol::write_refusal> region_table::write(std::uint32_t rkey, std::uint64_t va,
                                                                 std::span<const std::byte> payload)
{
    if (payload.empty())
        return {};
    const memory_region *region = find(rkey);
    if (region == nullptr)
        return std::unexpected{protocol::write_refusal::unknown_key};
    if ((region->access & access_remote_write) == 0)
        return std::unexpected{protocol::write_refusal::no_permission};
    const auto offset = offset_in(*region, va, payload.size());
    if (!offset)
        return std::unexpected{protocol::write_refusal::out_of_bounds};
    std::memcpy(static_cast<std::byte *>(region->memory.get()) + *offset, payload.data(), payload.size());
    return {};
}

std::optional<std::span<const std::byte>> region_table::read(std::uint32_t lkey, std::uint64_t va,
                                                             std::uint64_t bytes) const
{
    const memory_region *region = find(lkey);
    const auto offset = region == nullptr ? std::nullopt : offset_in(*region, va, bytes);
    if (!offset)
        return std::nullopt;
    return std::span<const std::byte>{static_cast<const std::byte *>(region->memory.get()) + *offset, bytes};
}

} // namespace mrc::datapath
