// SPDX-License-Identifier: Apache-2.0
// The end that sends. A send waits (NCCL asks again) until the far end has told of a receive with its tag, then goes
// straight into that buffer.
#pragma once

#include <array>
#include <deque>

#include "nccl_plugin/clear_to_send.h"
#include "nccl_plugin/connection.h"

namespace mrc::nccl_plugin
{

class sender final : public connection
{
public:
    explicit sender(std::shared_ptr<session> at) : connection{std::move(at), "to"} {}
    ~sender() override { close(); }

    // *request is null when it cannot begin yet.
    [[nodiscard]] result send(const void *data, std::size_t bytes, int tag, const memory_handle *memory,
                              transfer_request *&request);

private:
    [[nodiscard]] std::span<transfer_request> requests() override { return requests_; }
    void on_message(std::span<const std::byte> message) override;
    void on_arrival(std::uint32_t value, std::uint64_t bytes) override;

    std::array<transfer_request, std::size_t{most_requests} * most_grouped> requests_;
    std::deque<send_target> targets_;                // with the lock held
    std::atomic<std::uint32_t> count_of_targets_{0}; // of these, to look without it
};

} // namespace mrc::nccl_plugin
