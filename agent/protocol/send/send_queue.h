// SPDX-License-Identifier: Apache-2.0
// Work requests from posting to completion, in order. A request becomes packets [first, first + packets); it completes
// when a Transport ACK covers its last packet, whatever SACKs said before (SACK is not "written").
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>

#include "protocol/packet_number.h"
#include "protocol/qp_config.h"
#include "protocol/slab_ring.h"

namespace mrc::protocol
{

struct send_request {
    write_request work;
    packet_number first = 0;
    std::uint32_t packets = 0;
    std::uint16_t msn = 0;
    std::uint64_t immediates = 0; // messages with immediate posted before this one

    [[nodiscard]] packet_number end() const { return first + packets; }
};

class send_queue
{
public:
    send_queue(std::uint32_t depth, std::uint32_t payload_bytes, slab_pool *pool = nullptr);

    // For one more request; false: the queue is full, or there is no memory.
    [[nodiscard]] bool make_room() { return outstanding() < depth_ && requests_.reserve(reported_, posted_ + 1); }
    void rest() { requests_.fit(reported_, posted_); }
    void announce() const { requests_.announce(); }

    [[nodiscard]] std::expected<void, post_error> post(const write_request &work);
    // Of all requests posted, one past the last packet.
    [[nodiscard]] packet_number end() const { return end_; }
    [[nodiscard]] std::size_t outstanding() const { return posted_ - reported_; }

    // Messages with immediate that are not acknowledged, were this request started.
    [[nodiscard]] std::uint64_t immediates_with(const send_request &request) const
    {
        return request.immediates + 1 - acked_immediates_;
    }

    // The request that packet `number` belongs to; calls with rising numbers are O(1).
    [[nodiscard]] std::size_t index_for_new(packet_number number)
    {
        sending_ = sending_ > reported_ ? sending_ : reported_; // places below may hold newer requests by now
        while (number >= requests_[sending_].end())
            ++sending_;
        return sending_;
    }
    [[nodiscard]] const send_request &at(std::size_t index) const { return requests_[index]; }
    // The oldest request without Transport ACK; nothing when all have one.
    [[nodiscard]] const send_request *oldest_unacked() const
    {
        return acked_ == posted_ ? nullptr : &requests_[acked_];
    }

    // Transport ACK of everything up to and including `number`; true when a request completed.
    bool acknowledge(packet_number number);
    // The oldest request without Transport ACK gets `status`, the others are flushed.
    void fail(completion_status status);
    [[nodiscard]] std::optional<completion> next_completion();
    // Whether it may find one: unsignalled requests are passed over without.
    [[nodiscard]] bool has_completion() const { return reported_ != (failure_ ? posted_ : acked_); }

private:
    static constexpr std::size_t first_places = 4;

    std::size_t depth_;
    slab_ring<send_request> requests_; // by count
    std::uint32_t payload_bytes_;
    packet_number end_ = 0;
    std::uint64_t posted_ = 0;
    std::uint64_t posted_immediates_ = 0;
    std::uint64_t acked_immediates_ = 0;
    std::uint64_t sending_ = 0;  // request of the next new packet
    std::uint64_t acked_ = 0;    // below: Transport ACK received
    std::uint64_t reported_ = 0; // below: handed to the application
    std::optional<completion_status> failure_;
};

} // namespace mrc::protocol
