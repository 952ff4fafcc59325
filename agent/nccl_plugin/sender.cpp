// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/sender.h"

namespace mrc::nccl_plugin
{

result sender::send(const void *data, std::size_t bytes, int tag, const memory_handle *memory,
                    transfer_request *&request)
{
    request = nullptr;
    if (count_of_targets_.load(std::memory_order_acquire) == 0) {
        starving_ = true;
        return health();
    }
    if (const result state = health(); state != result::success)
        return state;
    if (bytes > 0 && (memory == nullptr || !of_this_session(memory) || !memory->holds(data, bytes))) {
        log_refusal("a send from memory that is not registered");
        return result::invalid_argument;
    }
    const auto held = endpoint().lock();
    send_target &target = targets_.front();
    const auto index = target.find(static_cast<std::uint32_t>(tag));
    if (!index) { // of the receive after this one, or of none
        starving_ = true;
        return result::success;
    }
    const receive_buffer &buffer = target.buffer(*index);
    if (bytes > buffer.room) {
        log_refusal("a send of " + std::to_string(bytes) + " bytes meets a receive of " + std::to_string(buffer.room));
        return result::invalid_usage;
    }
    request = free_request();
    if (request == nullptr)
        return result::success;
    request->count = 1;
    request->bytes[0] = static_cast<std::uint32_t>(bytes);
    request->memory[0] = memory;
    request->missing = 1;
    const messaging::write_order order{.source = reinterpret_cast<std::uintptr_t>(data),
                                       .bytes = 0,
                                       .lkey = bytes > 0 ? memory->range->lkey : 0,
                                       .target = buffer.address,
                                       .rkey = buffer.rkey,
                                       .imm = {}};
    const arrival_place value{.slot = target.slot(), .buffer = *index};
    target.take(*index);
    if (target.all_taken()) {
        targets_.pop_front();
        --count_of_targets_;
    }
    ring().write(order, bytes, value.encode(), [mine = request] { mine->missing.store(0, std::memory_order_release); });
    return result::success;
}

void sender::on_message(std::span<const std::byte> message)
{
    const auto receive = clear_to_send::decode(message);
    if (!receive || targets_.size() == most_requests) {
        ring().fail("it tells of a receive that is none");
        return;
    }
    targets_.emplace_back(*receive);
    ++count_of_targets_;
}

void sender::on_arrival(std::uint32_t /*value*/, std::uint64_t /*bytes*/)
{
    ring().fail("it sends where it should receive");
}

} // namespace mrc::nccl_plugin
