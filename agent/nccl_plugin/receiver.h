// SPDX-License-Identifier: Apache-2.0
// The end that receives: it tells the far end where bytes go, and learns by immediates that they are there.
#pragma once

#include <array>
#include <span>

#include "nccl_plugin/connection.h"

namespace mrc::nccl_plugin
{

struct wanted_buffer {
    void *data = nullptr;
    std::size_t bytes = 0;
    int tag = 0;
    const memory_handle *memory = nullptr;
};

class receiver final : public connection
{
public:
    explicit receiver(std::shared_ptr<session> at) : connection{std::move(at), "from"} {}
    ~receiver() override { close(); }

    // 1 to 8 buffers. *request is null when it cannot begin yet.
    [[nodiscard]] result receive(std::span<const wanted_buffer> buffers, transfer_request *&request);

private:
    [[nodiscard]] std::span<transfer_request> requests() override { return requests_; }
    void on_message(std::span<const std::byte> message) override;
    void on_arrival(std::uint32_t value, std::uint64_t bytes) override;
    [[nodiscard]] std::uint32_t slot_of(const transfer_request &request) const;

    std::array<transfer_request, most_requests> requests_;
};

} // namespace mrc::nccl_plugin
