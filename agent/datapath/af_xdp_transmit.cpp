// SPDX-License-Identifier: Apache-2.0
#include "datapath/af_xdp_transmit.h"

#include <algorithm>
#include <cstring>

#include "datapath/outer_header.h"

namespace mrc::datapath
{

namespace
{

mac_address mac_of(const __u8 (&bytes)[6])
{
    mac_address mac;
    std::copy(std::begin(bytes), std::end(bytes), std::begin(mac.bytes));
    return mac;
}

} // namespace

af_xdp_transmit::af_xdp_transmit(umem &memory, std::vector<xsk_socket_pair *> sockets, mapped_array<mrc_path> &paths,
                                 mapped_array<mrc_port> &ports)
    : memory_{memory}, sockets_{std::move(sockets)}, paths_{paths}, ports_{ports}
{
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
    return current_ && std::ranges::all_of(sockets_, [](xsk_socket_pair *socket) {
               return socket == nullptr || socket->transmit_room() > 0;
           });
}

std::span<std::byte> af_xdp_transmit::reserve()
{
    return {memory_.data(current_.address()) + outer_header_bytes, umem::frame_bytes - outer_header_bytes};
}

void af_xdp_transmit::commit(const departure &packet)
{
    mrc_path &path = paths_[packet.path];
    mrc_port &port = ports_[path.port];
    xsk_socket_pair *socket = path.port < sockets_.size() ? sockets_[path.port] : nullptr;
    if (socket == nullptr || (port.flags & MRC_PORT_USABLE) != MRC_PORT_USABLE) {
        ++counters_.refused; // the frame stays ours for the next packet
        return;
    }
    write_outer(std::span<std::byte, outer_header_bytes>{memory_.data(current_.address()), outer_header_bytes},
                {.destination_mac = mac_of(port.gateway_mac),
                 .source_mac = mac_of(port.mac),
                 .source = port.outer_source,
                 .carrier = mrc_path_destination(&path, packet.host_usid),
                 .traffic_class = packet.tclass,
                 .flow_label = packet.flow_label,
                 .next_header = packet.next_header,
                 .payload_length = packet.bytes});
    const auto length = static_cast<std::uint32_t>(outer_header_bytes + packet.bytes);
    if (!socket->transmit(current_, 0, length)) {
        ++counters_.refused;
        return;
    }
    current_ = {};
    ++counters_.sent;
    add_relaxed(path.tx_packets, __u64{1});
    add_relaxed(path.tx_bytes, __u64{length});
    // host_tx adds to the port's row too, so these two are real atomic additions.
    std::atomic_ref{port.tx_packets}.fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref{port.tx_bytes}.fetch_add(length, std::memory_order_relaxed);
}

void af_xdp_transmit::flush()
{
    for (xsk_socket_pair *socket : sockets_)
        if (socket != nullptr)
            socket->flush();
    reap();
}

} // namespace mrc::datapath
