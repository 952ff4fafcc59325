// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/send_queue.h"

#include <algorithm>

namespace mrc::protocol
{

send_queue::send_queue(std::uint32_t depth, std::uint32_t payload_bytes, slab_pool *pool)
    : depth_{std::max(depth, 1u)}, requests_{first_places, depth_, pool}, payload_bytes_{payload_bytes}
{
}

std::expected<void, post_error> send_queue::post(const write_request &work)
{
    if (failure_)
        return std::unexpected{post_error::wrong_state};
    if (work.source.bytes > MRC_MAX_MESSAGE)
        return std::unexpected{post_error::too_long};
    if (outstanding() == depth_)
        return std::unexpected{post_error::queue_full};
    if (!make_room())
        return std::unexpected{post_error::no_memory};

    // A zero-length WRITE is one packet without payload.
    const std::uint64_t packets = (std::uint64_t{work.source.bytes} + payload_bytes_ - 1) / payload_bytes_;
    send_request &request = requests_[posted_];
    request = {work, end_, static_cast<std::uint32_t>(std::max<std::uint64_t>(packets, 1)),
               static_cast<std::uint16_t>(posted_), posted_immediates_};
    posted_immediates_ += work.immediate ? 1 : 0;
    end_ = request.end();
    ++posted_;
    return {};
}

bool send_queue::acknowledge(packet_number number)
{
    const std::uint64_t before = acked_;
    while (acked_ != posted_ && requests_[acked_].end() <= number + 1) {
        acked_immediates_ += requests_[acked_].work.immediate ? 1 : 0;
        ++acked_;
    }
    return acked_ != before;
}

void send_queue::fail(completion_status status)
{
    if (!failure_)
        failure_ = status;
}

std::optional<completion> send_queue::next_completion()
{
    while (reported_ != acked_) {
        const send_request &request = requests_[reported_++];
        if (request.work.signaled)
            return completion{request.work.id, completion_status::success, request.work.source.bytes};
    }
    if (!failure_ || reported_ == posted_)
        return std::nullopt;
    const send_request &request = requests_[reported_];
    const completion_status status = *failure_;
    failure_ = completion_status::flushed;
    ++reported_;
    ++acked_;
    return completion{request.work.id, status, 0};
}

} // namespace mrc::protocol
