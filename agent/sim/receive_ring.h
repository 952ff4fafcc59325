// SPDX-License-Identifier: Apache-2.0
// What has arrived at a port of a host and was not read yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace mrc::sim
{

template <typename Frame>
class receive_ring
{
public:
    // False: it holds `limit` already, and the frame is lost; 0: no limit.
    [[nodiscard]] bool put(const Frame &arrived, std::uint64_t limit)
    {
        if (limit != 0 && frames_.size() >= limit)
            return false;
        frames_.push_back(arrived);
        return true;
    }
    // As kernel::xsk_socket_pair does. Returns how many.
    template <typename Callback>
    std::uint32_t receive(std::size_t most, Callback &&on_frame)
    {
        std::uint32_t count = 0;
        for (; count < most && !frames_.empty(); ++count) {
            on_frame(frames_.front());
            frames_.pop_front();
        }
        return count;
    }
    [[nodiscard]] std::size_t size() const { return frames_.size(); }
    [[nodiscard]] bool empty() const { return frames_.empty(); }

private:
    std::deque<Frame> frames_;
};

} // namespace mrc::sim
