// SPDX-License-Identifier: Apache-2.0
// Reads the rings of all ports in one round, a share of each in turn: what lies in one port's ring may not crowd out
// the answers to another's, or only one plane's packets would be acknowledged in time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc::datapath
{

inline constexpr std::uint32_t receive_share = 16; // frames of a ring before the next one's turn
inline constexpr std::uint32_t receive_batch = 64; // and in all in one round

struct receive_result {
    std::size_t frames = 0;
    bool unread = false; // a ring may hold more
};

// `sockets`: pointers to what has receive(limit, on_frame), as kernel::xsk_socket_pair does.
template <typename Sockets, typename Callback>
receive_result receive_fairly(const Sockets &sockets, Callback &&on_frame)
{
    receive_result result;
    for (std::uint32_t taken = 0; taken < receive_batch; taken += receive_share) {
        result.unread = false;
        for (const auto &socket : sockets) {
            const std::uint32_t count = socket->receive(receive_share, on_frame);
            result.frames += count;
            result.unread |= count == receive_share;
        }
        if (!result.unread)
            break;
    }
    return result;
}

} // namespace mrc::datapath
