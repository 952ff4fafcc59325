// SPDX-License-Identifier: Apache-2.0
// Receive requests from posting to completion. Messages with immediate take them in order; no other message does.
//
// A request occupies its place until its completion has been taken, so completions never overflow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <vector>

#include "protocol/qp_config.h"

namespace mrc::protocol
{

class receive_queue
{
public:
    explicit receive_queue(std::uint32_t depth) : requests_(std::max(depth, 1u)) {}

    [[nodiscard]] std::expected<void, post_error> post(std::uint64_t id)
    {
        if (posted_ - reported_ == requests_.size())
            return std::unexpected{post_error::queue_full};
        at(posted_++) = {.id = id};
        return {};
    }
    // The oldest request completes; false when there is none.
    [[nodiscard]] bool complete(std::uint32_t bytes, std::uint32_t immediate, bool solicited)
    {
        if (completed_ == posted_)
            return false;
        receive_completion &request = at(completed_++);
        request.bytes = bytes;
        request.immediate = immediate;
        request.solicited = solicited;
        return true;
    }
    // All that wait are flushed.
    void flush()
    {
        while (completed_ != posted_)
            at(completed_++).status = completion_status::flushed;
    }
    [[nodiscard]] std::optional<receive_completion> next_completion()
    {
        return reported_ == completed_ ? std::nullopt : std::optional{at(reported_++)};
    }
    [[nodiscard]] std::size_t outstanding() const { return posted_ - reported_; } // posted, completion not yet taken

private:
    [[nodiscard]] receive_completion &at(std::uint64_t count) { return requests_[count % requests_.size()]; }

    std::vector<receive_completion> requests_;
    std::uint64_t posted_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t reported_ = 0;
};

} // namespace mrc::protocol
