// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/ring_cost.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernel/probes/device.h"

namespace mrc::kernel::probes
{

namespace
{

using clock = std::chrono::steady_clock;

constexpr std::uint32_t few = 1;
constexpr std::uint32_t many = 8;
constexpr std::uint32_t short_bytes = 60;
constexpr std::uint32_t long_bytes = 3072;
constexpr int calls_tried = 16;

class ring_sender
{
public:
    ring_sender(umem &memory, xsk_socket_pair &socket, const std::string &device)
        : memory_{memory}, socket_{socket}, bytes_{frame_to_itself(device)}
    {
    }

    std::optional<std::int64_t> fastest_of(int calls, std::uint32_t frames, std::uint32_t length)
    {
        std::int64_t fastest = INT64_MAX;
        while (calls-- > 0) {
            const auto begin = clock::now();
            if (!send(frames, length))
                return std::nullopt;
            fastest = std::min(fastest, std::chrono::nanoseconds{clock::now() - begin}.count());
        }
        return fastest;
    }

private:
    bool send(std::uint32_t frames, std::uint32_t length)
    {
        for (std::uint32_t i = 0; i < frames; ++i) {
            frame packet = memory_.allocate();
            if (!packet)
                return false;
            std::memcpy(memory_.data(packet.address()), bytes_.data(), bytes_.size());
            if (!socket_.transmit(std::move(packet), length))
                return false;
        }
        socket_.flush();
        socket_.reap();
        return true;
    }

    umem &memory_;
    xsk_socket_pair &socket_;
    std::array<std::byte, short_bytes> bytes_;
};

} // namespace

std::optional<send_cost> ring_cost(umem &memory, xsk_socket_pair &socket, const std::string &device)
{
    if (!is_running(device))
        return std::nullopt;
    ring_sender sender{memory, socket, device};
    const std::uint32_t longest = std::clamp<std::uint32_t>(mtu_of(device), short_bytes, long_bytes);
    const auto brief = sender.fastest_of(calls_tried, few, short_bytes);
    const auto full = sender.fastest_of(calls_tried, many, short_bytes);
    const auto heavy = sender.fastest_of(calls_tried, many, longest);
    if (!brief || !full || !heavy)
        return std::nullopt;
    const std::int64_t frame_ns = std::max<std::int64_t>(*full - *brief, 0) / (many - few);
    const std::int64_t kilobytes_ns = std::max<std::int64_t>(*heavy - *full, 0) / many;
    return send_cost{.call_ns = std::max<std::int64_t>(*brief - few * frame_ns, 0),
                     .frame_ns = frame_ns,
                     .kilobyte_ns = longest == short_bytes ? 0 : kilobytes_ns * 1024 / (longest - short_bytes)};
}

} // namespace mrc::kernel::probes
