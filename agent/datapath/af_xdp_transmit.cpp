// SPDX-License-Identifier: Apache-2.0
#include "datapath/af_xdp_transmit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

#include "codec/ip_layout.h"
#include "kernel/monotonic_clock.h"

namespace mrc::datapath
{

namespace
{

constexpr std::chrono::milliseconds stall_limit{5}; // as late as an EV probe's answer is none (D12)

// In an MRC packet, whose IP header has neither options nor extensions.
std::size_t bth_offset(std::uint8_t next_header)
{
    return (next_header == codec::protocol_ipv4 ? codec::ipv4_header_bytes : codec::ipv6_header_bytes) +
           codec::udp_header_bytes;
}

} // namespace

af_xdp_transmit::af_xdp_transmit(kernel::umem &memory, const std::vector<kernel::xsk_socket_pair *> &sockets,
                                 const link_rows &links, std::uint32_t longest_packet, const capture_tap *capture)
    : memory_{memory}, outputs_(sockets.size()), links_{links},
      frames_per_packet_{(MRC_OUTER_BYTES + longest_packet + kernel::umem::frame_bytes - 1) /
                         kernel::umem::frame_bytes},
      capture_{capture}
{
    for (std::size_t row = 0; row < sockets.size(); ++row)
        outputs_[row].socket = sockets[row];
    if (frames_per_packet_ > 1)
        staging_.resize(MRC_OUTER_BYTES + longest_packet);
}

bool af_xdp_transmit::usable(std::size_t row) const
{
    return row < outputs_.size() && outputs_[row].socket != nullptr &&
           (links_.ports[row].flags & MRC_PORT_USABLE) == MRC_PORT_USABLE;
}

bool af_xdp_transmit::ready()
{
    if (!current_)
        current_ = memory_.allocate();
    if (!current_ || memory_.free_of(frames_per_packet_ - 1) + 1 < frames_per_packet_)
        return false;
    for (std::size_t row = 0; row < outputs_.size(); ++row)
        if (usable(row) && !outputs_[row].stalled && !outputs_[row].socket->has_room(frames_per_packet_))
            return false;
    return true;
}

bool af_xdp_transmit::takes(std::size_t port, std::uint32_t packets) const
{
    if (packets == 0)
        return true;
    const std::uint32_t frames = packets * frames_per_packet_;
    return usable(port) && !outputs_[port].stalled && memory_.free_of(frames) == frames &&
           outputs_[port].socket->has_room(frames);
}

std::span<std::byte> af_xdp_transmit::head()
{
    return staging_.empty() ? std::span{memory_.data(current_.address()), kernel::umem::frame_bytes}
                            : std::span{staging_};
}

std::span<std::byte> af_xdp_transmit::reserve(std::uint32_t path)
{
    return head().subspan(mrc_path_header_bytes(&links_.paths[path]));
}

void af_xdp_transmit::commit(const departure &packet)
{
    mrc_path_row &path = links_.paths[packet.path];
    mrc_port_row &port = links_.ports[path.port];
    const mrc_next_hop_row &next_hop = links_.next_hops[path.next_hop];
    if (path.state == MRC_PATH_UNUSED || !usable(path.port) || next_hop.resolved == 0 ||
        !outputs_[path.port].socket->has_room(frames_per_packet_)) {
        ++counters_.refused; // the frame stays ours for the next packet
        return;
    }
    write_carrier(head(), packet, path, port, next_hop);
    const std::uint32_t length = mrc_path_header_bytes(&path) + packet.bytes;
    const std::span<const std::byte> frame = head().first(length); // which the kernel only reads
    if (!send(*outputs_[path.port].socket, length)) {
        ++counters_.refused;
        return;
    }
    ++counters_.sent;
    // host_rx and host_tx add to these rows, too.
    std::atomic_ref{path.tx_packets}.fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref{path.tx_bytes}.fetch_add(length, std::memory_order_relaxed);
    std::atomic_ref{port.tx_packets}.fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref{port.tx_bytes}.fetch_add(length, std::memory_order_relaxed);
    if (capture_ != nullptr && capture_->is_on())
        capture_->sent(frame, length - packet.bytes + bth_offset(packet.next_header), path.port);
}

// The packet's frames one after the other; ready() has made sure of memory, commit() of room for all of them.
bool af_xdp_transmit::send(kernel::xsk_socket_pair &socket, std::uint32_t length)
{
    if (staging_.empty())
        return socket.transmit(std::exchange(current_, {}), length);
    for (std::uint32_t offset = 0; offset < length; offset += kernel::umem::frame_bytes) {
        kernel::frame part = offset == 0 ? std::exchange(current_, {}) : memory_.allocate();
        const std::uint32_t bytes = std::min(length - offset, kernel::umem::frame_bytes);
        std::memcpy(memory_.data(part.address()), staging_.data() + offset, bytes);
        if (!socket.transmit(std::move(part), bytes, offset + bytes < length))
            return false;
    }
    return true;
}

std::size_t af_xdp_transmit::queued() const
{
    std::size_t frames = 0;
    for (const port_output &each : outputs_)
        if (each.socket != nullptr)
            frames += each.socket->refused_for_now();
    return (frames + frames_per_packet_ - 1) / frames_per_packet_;
}

void af_xdp_transmit::flush()
{
    for (const port_output &each : outputs_)
        if (each.socket != nullptr)
            each.socket->flush();
    const protocol::instant now = kernel::monotonic_now();
    for (port_output &each : outputs_) {
        if (each.socket == nullptr)
            continue;
        if (each.socket->reap() != 0 || each.socket->has_room(frames_per_packet_))
            each.moved = now;
        each.stalled = now - each.moved > stall_limit;
    }
}

} // namespace mrc::datapath
