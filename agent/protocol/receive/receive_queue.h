// SPDX-License-Identifier: Apache-2.0
// Receive requests from posting to completion. Messages with immediate take them in order; no other message does.
//
// A request occupies its place until its completion has been taken, so completions never overflow. Flushing marks
// nothing: of thousands of requests each is flushed when its completion is taken.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>

#include "protocol/qp_config.h"
#include "protocol/slab_ring.h"

namespace mrc::protocol
{

class receive_queue
{
public:
    explicit receive_queue(std::uint32_t depth, slab_pool *pool = nullptr)
        : depth_{std::max(depth, 1u)}, requests_{first_places, depth_, pool}
    {
    }

    [[nodiscard]] std::expected<void, post_error> post(std::uint64_t id)
    {
        if (posted_ - reported_ == depth_)
            return std::unexpected{post_error::queue_full};
        if (!requests_.reserve(reported_, posted_ + 1))
            return std::unexpected{post_error::no_memory};
        at(posted_++) = {.id = id};
        return {};
    }
    // The oldest request completes; false when there is none.
    [[nodiscard]] bool complete(std::uint32_t bytes, std::uint32_t immediate, bool solicited)
    {
        if (flushed_ || completed_ == posted_)
            return false;
        receive_completion &request = at(completed_++);
        request.bytes = bytes;
        request.immediate = immediate;
        request.solicited = solicited;
        return true;
    }
    // All that wait are flushed.
    void flush() { flushed_ = true; }
    [[nodiscard]] bool has_completion() const { return reported_ != (flushed_ ? posted_ : completed_); }
    [[nodiscard]] std::optional<receive_completion> next_completion()
    {
        if (!has_completion())
            return std::nullopt;
        if (reported_ == completed_)
            at(completed_++).status = completion_status::flushed;
        return at(reported_++);
    }
    [[nodiscard]] std::size_t outstanding() const { return posted_ - reported_; } // posted, completion not yet taken
    // So many messages can complete one each before anybody takes a completion.
    [[nodiscard]] std::size_t room() const { return depth_ - (completed_ - reported_); }
    // More requests that it has room for, and needs, before so many messages complete one each.
    [[nodiscard]] std::size_t wanted(std::size_t messages) const
    {
        const std::size_t waiting = posted_ - completed_;
        return messages <= waiting ? 0 : std::min(messages - waiting, depth_ - outstanding());
    }
    // Memory for these.
    [[nodiscard]] bool make_room(std::size_t messages)
    {
        return requests_.reserve(reported_, posted_ + wanted(messages));
    }
    void rest() { requests_.fit(reported_, posted_); }
    void announce() const { requests_.announce(); }

private:
    static constexpr std::size_t first_places = 4;

    [[nodiscard]] receive_completion &at(std::uint64_t count) { return requests_[count]; }

    std::size_t depth_;
    slab_ring<receive_completion> requests_;
    std::uint64_t posted_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t reported_ = 0;
    bool flushed_ = false;
};

} // namespace mrc::protocol
