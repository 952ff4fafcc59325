// SPDX-License-Identifier: Apache-2.0
#include "datapath/region_table.h"

#include <algorithm>
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

auto region_table::find_target(const protection_domain &domain, std::uint32_t rkey, std::uint64_t va,
                               std::uint64_t bytes) -> std::expected<found_bytes, protocol::write_refusal>
{
    using enum protocol::write_refusal;
    memory_region *region = find(domain, rkey);
    if (region == nullptr)
        return std::unexpected{unknown_key};
    if ((region->access & session::access_remote_write) == 0)
        return std::unexpected{no_permission};
    const auto offset = offset_in(*region, va, bytes);
    if (!offset)
        return std::unexpected{out_of_bounds};
    return found_bytes{.memory = &region->memory, .offset = *offset};
}

std::expected<void, protocol::write_refusal> region_table::write(const protection_domain &domain, std::uint32_t rkey,
                                                                 std::uint64_t va, std::span<const std::byte> payload)
{
    if (payload.empty())
        return {};
    const auto target = find_target(domain, rkey, va, payload.size());
    if (!target)
        return std::unexpected{target.error()};
    if (!target->memory->copy_in(target->offset, payload))
        return std::unexpected{protocol::write_refusal::unknown_key};
    return {};
}

std::expected<protocol::placement, protocol::write_refusal> region_table::place(const protection_domain &domain,
                                                                                std::uint32_t rkey, std::uint64_t va,
                                                                                std::span<const std::byte> payload,
                                                                                const held_packet &packet)
{
    if (payload.empty())
        return protocol::placement::done;
    const auto target = find_target(domain, rkey, va, payload.size());
    if (!target)
        return std::unexpected{target.error()};
    const process_range *range = target->memory->process();
    if (range != nullptr && gathered_.add(*target->memory, *range, target->offset, payload, packet))
        return protocol::placement::held;
    if (!target->memory->copy_in(target->offset, payload))
        return std::unexpected{protocol::write_refusal::unknown_key};
    return protocol::placement::done;
}

auto region_table::find_source(const protection_domain &domain, std::uint32_t lkey, std::uint64_t va,
                               std::uint64_t bytes) -> std::optional<found_bytes>
{
    memory_region *region = find(domain, lkey);
    const auto offset = region == nullptr ? std::nullopt : offset_in(*region, va, bytes);
    return offset ? std::optional{found_bytes{.memory = &region->memory, .offset = *offset}} : std::nullopt;
}

bool region_table::read(const protection_domain &domain, std::uint32_t lkey, std::uint64_t va, std::span<std::byte> to)
{
    const auto source = find_source(domain, lkey, va, to.size());
    return source && source->memory->copy_out(source->offset, to);
}

bool region_table::read(const protection_domain &domain, std::uint32_t lkey, std::uint64_t va, std::span<std::byte> to,
                        std::uint64_t followed_by, read_ahead &ahead)
{
    const auto source = find_source(domain, lkey, va, to.size());
    if (!source)
        return false;
    const std::uint64_t rest = source->memory->size() - source->offset - to.size();
    return source->memory->copy_out(source->offset, to, std::min(followed_by, rest), ahead);
}

} // namespace mrc::datapath
