// SPDX-License-Identifier: Apache-2.0
// AF_XDP sockets on the first queue of each path's device, in memory that they share, as many frames as mrcd gives a
// queue; and the program on each device that steers to them, places payload or answers. All ends with this object.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel/umem.h"
#include "kernel/unique_fd.h"
#include "kernel/xsk_socket_pair.h"
#include "raw/packet.h"
#include "raw/path_rows.h"
#include "raw/placed_memory.h"

struct raw_steer_bpf;

namespace mrc::raw
{

class ports
{
public:
    // `icrc`: the program checks it before it places anything. Throws kernel::startup_error.
    ports(const std::vector<path> &paths, raw_mode mode, bool icrc);

    [[nodiscard]] std::size_t count() const { return sockets_.size(); }
    [[nodiscard]] kernel::umem &memory() { return memory_; }
    [[nodiscard]] kernel::xsk_socket_pair &socket(std::size_t port) { return *sockets_[port]; }
    // What the program has placed; nothing with RAW_WHOLE.
    [[nodiscard]] placed_memory &placed() { return placed_; }

    // Calls on_frame(std::span<const std::byte>) for up to `limit` frames of each port. Returns how many there were.
    template <typename Callback>
    std::uint32_t receive(std::uint32_t limit, Callback &&on_frame)
    {
        std::uint32_t frames = 0;
        for (const auto &socket : sockets_)
            frames += socket->receive(
                limit, [&](const std::byte *data, std::uint32_t length) { on_frame(std::span{data, length}); });
        return frames;
    }
    // Sleeps until something has arrived, at most so long.
    void wait(int limit_ms) const;

private:
    struct unload {
        void operator()(raw_steer_bpf *program) const;
    };

    raw_steer_bpf *load(const raw_config &config);
    void attach(raw_steer_bpf *program, const std::string &device, int socket_fd);

    kernel::umem memory_;
    std::vector<std::unique_ptr<kernel::xsk_socket_pair>> sockets_;
    std::vector<std::unique_ptr<raw_steer_bpf, unload>> programs_;
    std::vector<kernel::unique_fd> links_;
    path_rows rows_; // for answers
    placed_memory placed_;
};

} // namespace mrc::raw
