// SPDX-License-Identifier: Apache-2.0
#include "datapath/af_xdp_transmit.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "datapath/outer_header.h"

namespace mrc::datapath
{

namespace
{

mac_address mac_of(const __u8 (&bytes)[6])
{
    mac_address mac;
    std::ranges::copy(bytes, std::begin(mac.bytes));
    return mac;
}

} // namespace

af_xdp_transmit::af_xdp_transmit(umem &memory, std::vector<xsk_socket_pair *> sockets, mapped_array<mrc_path> &paths,
                                 mapped_array<mrc_port> &ports, std::uint32_t longest_packet)
    : memory_{memory}, sockets_{std::move(sockets)}, paths_{paths}, ports_{ports},
      frames_per_packet_{(MRC_OUTER_BYTES + longest_packet + umem::frame_bytes - 1) / umem::frame_bytes}
{
    if (frames_per_packet_ > 1)
        staging_.resize(MRC_OUTER_BYTES + longest_packet);
}

void af_xdp_transmit::reap()
{
    for (xsk_socket_pair *socket : sockets_)
        if (socket != nullptr)
            socket->reap();
}

bool af_xdp_transmit::ready()
{
    if (!current_)
        current_ = memory_.allocate();
    if (!current_ || memory_.free_frames() + 1 < frames_per_packet_)
        return false;
    for (std::size_t row = 0; row < sockets_.size(); ++row) {
        const bool usable = sockets_[row] != nullptr && (ports_[row].flags & MRC_PORT_USABLE) == MRC_PORT_USABLE;
        if (usable && !sockets_[row]->has_room(frames_per_packet_)) // a port out of use may keep a full ring for ever
            return false;
    }
    return true;
}

std::span<std::byte> af_xdp_transmit::head()
{
    return staging_.empty() ? std::span{memory_.data(current_.address()), umem::frame_bytes} : std::span{staging_};
}

std::span<std::byte> af_xdp_transmit::reserve()
{
    return head().subspan(outer_header_bytes);
}

void af_xdp_transmit::commit(const departure &packet)
{
    mrc_path &path = paths_[packet.path];
    mrc_port &port = ports_[path.port];
    xsk_socket_pair *socket = path.port < sockets_.size() ? sockets_[path.port] : nullptr;
    if (path.state == MRC_PATH_UNUSED || socket == nullptr || (port.flags & MRC_PORT_USABLE) != MRC_PORT_USABLE) {
        ++counters_.refused; // the frame stays ours for the next packet
        return;
    }
    write_outer(head().first<outer_header_bytes>(), {.destination_mac = mac_of(port.gateway_mac),
                                                     .source_mac = mac_of(port.mac),
                                                     .source = port.outer_source,
                                                     .carrier = mrc_path_destination(&path, packet.host_usid),
                                                     .traffic_class = packet.tclass,
                                                     .flow_label = packet.flow_label,
                                                     .next_header = packet.next_header,
                                                     .payload_length = packet.bytes});
    const auto length = static_cast<std::uint32_t>(outer_header_bytes + packet.bytes);
    if (!send(*socket, length)) {
        ++counters_.refused;
        return;
    }
    ++counters_.sent;
    add_relaxed(path.tx_packets, __u64{1});
    add_relaxed(path.tx_bytes, __u64{length});
    // host_tx adds to the port's row too, so these two are real atomic additions.
    std::atomic_ref{port.tx_packets}.fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref{port.tx_bytes}.fetch_add(length, std::memory_order_relaxed);
}

// The packet's frames one after the other; ready() has made sure of memory and ring space for all of them.
bool af_xdp_transmit::send(xsk_socket_pair &socket, std::uint32_t length)
{
    if (staging_.empty())
        return socket.transmit(std::exchange(current_, {}), length);
    for (std::uint32_t offset = 0; offset < length; offset += umem::frame_bytes) {
        frame part = offset == 0 ? std::exchange(current_, {}) : memory_.allocate();
        const std::uint32_t bytes = std::min(length - offset, umem::frame_bytes);
        std::memcpy(memory_.data(part.address()), staging_.data() + offset, bytes);
        if (!socket.transmit(std::move(part), bytes, offset + bytes < length))
            return false;
    }
    return true;
}

void af_xdp_transmit::flush()
{
    for (xsk_socket_pair *socket : sockets_)
        if (socket != nullptr)
            socket->flush();
    reap();
}

} // namespace mrc::datapath
