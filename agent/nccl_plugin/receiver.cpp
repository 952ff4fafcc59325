// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/receiver.h"

#include <algorithm>

namespace mrc::nccl_plugin
{

// The request's place, and how many times it has been used: an arrival for an earlier one is noticed.
std::uint32_t receiver::slot_of(const transfer_request &request) const
{
    const auto place = static_cast<std::uint32_t>(&request - requests_.data());
    return (request.generation * most_requests + place) % arrival_place::slots;
}

result receiver::receive(std::span<const wanted_buffer> buffers, transfer_request *&request)
{
    request = nullptr;
    if (const result state = health(); state != result::success)
        return state;
    for (const wanted_buffer &one : buffers) {
        const bool writable = one.memory != nullptr && of_this_session(one.memory) &&
                              one.memory->holds(one.data, one.bytes) && one.memory->range &&
                              one.memory->range->use == messaging::region_use::target;
        if (one.bytes > 0 && !writable) {
            log_refusal("a receive into memory that is not registered, or cannot be written");
            return result::invalid_argument;
        }
    }
    const auto held = endpoint().lock();
    request = free_request();
    if (request == nullptr)
        return result::success;
    request->count = static_cast<std::uint32_t>(buffers.size());
    request->missing = request->count;
    clear_to_send told{.slot = slot_of(*request), .count = request->count, .buffers = {}};
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const wanted_buffer &one = buffers[i];
        request->bytes.at(i) = 0;
        request->room.at(i) = static_cast<std::uint32_t>(one.bytes);
        request->memory.at(i) = one.memory;
        told.buffers.at(i) = {.address = reinterpret_cast<std::uintptr_t>(one.data),
                              .rkey = one.bytes > 0 ? one.memory->range->rkey : 0,
                              .room = static_cast<std::uint32_t>(one.bytes),
                              .tag = static_cast<std::uint32_t>(one.tag)};
    }
    ring().send(told.encode(), {});
    return result::success;
}

void receiver::on_arrival(std::uint32_t value, std::uint64_t bytes)
{
    const arrival_place arrival = arrival_place::decode(value);
    transfer_request &request = requests_.at(arrival.slot % most_requests);
    const std::uint32_t bit = 1U << arrival.buffer;
    if (request.missing == 0 || slot_of(request) != arrival.slot || arrival.buffer >= request.count ||
        (request.arrived & bit) != 0 || bytes > request.room.at(arrival.buffer)) {
        ring().fail("it sends what no receive waits for");
        return;
    }
    request.arrived |= bit;
    request.bytes.at(arrival.buffer) = static_cast<std::uint32_t>(bytes);
    request.missing.fetch_sub(1, std::memory_order_release);
}

void receiver::on_message(std::span<const std::byte> /*message*/)
{
    ring().fail("it receives where it should send");
}

} // namespace mrc::nccl_plugin
