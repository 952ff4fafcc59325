// SPDX-License-Identifier: Apache-2.0
// AF_XDP transmit: the frame codec writes the outer header in user space and the port's AF_XDP socket sends the frame.
// Chosen where the driver has zero copy, for packets longer than a live frame, and where redirects are refused.
//
// Everything waits for a port without room, as long as it sends. One whose carrier is up and which completes nothing
// for 5 ms (flow control, a driver that hangs) holds up nobody any longer: its packets are refused, which the transport
// takes for loss, until it sends again.
#pragma once

#include <span>
#include <vector>

#include "datapath/capture_tap.h"
#include "datapath/carrier.h"
#include "datapath/transmit_engine.h"
#include "kernel/mapped_array.h"
#include "kernel/xsk_socket_pair.h"
#include "mrc/abi/maps.h"
#include "protocol/types.h"

namespace mrc::datapath
{

class af_xdp_transmit final : public transmit_engine
{
public:
    // `sockets[port]` sends for the port of that row, null where the host has none. All is borrowed and outlives the
    // engine. `capture` gets to see what leaves; null: nobody does.
    af_xdp_transmit(kernel::umem &memory, const std::vector<kernel::xsk_socket_pair *> &sockets, const link_rows &links,
                    std::uint32_t longest_packet = kernel::umem::frame_bytes - MRC_OUTER_BYTES,
                    const capture_tap *capture = nullptr);

    // What sends for the port of that row from now on; null: nothing does.
    void use_socket(std::size_t row, kernel::xsk_socket_pair *socket)
    {
        outputs_[row] = {.socket = socket, .moved = {}};
    }

    [[nodiscard]] std::string_view name() const override { return "af_xdp"; }
    [[nodiscard]] bool ready() override;
    // Whether the port sends, and has room for so many packets more.
    [[nodiscard]] bool takes(std::size_t port, std::uint32_t packets) const;
    [[nodiscard]] std::span<std::byte> reserve(std::uint32_t path) override;
    void commit(const departure &packet) override;
    void flush() override;
    [[nodiscard]] std::size_t queued() const override;
    [[nodiscard]] transmit_counters counters() const override { return counters_; }

private:
    // A port's way out.
    struct port_output {
        kernel::xsk_socket_pair *socket = nullptr;
        protocol::instant moved; // last time that it had room, or that something left
        bool stalled = false;
    };

    [[nodiscard]] bool usable(std::size_t row) const;
    [[nodiscard]] std::span<std::byte> head(); // of the packet under construction
    bool send(kernel::xsk_socket_pair &socket, std::uint32_t length);

    kernel::umem &memory_;
    std::vector<port_output> outputs_;
    link_rows links_;
    kernel::frame current_;
    std::vector<std::byte> staging_; // where packets longer than a frame are put together; empty when there are none
    std::uint32_t frames_per_packet_;
    const capture_tap *capture_;
    transmit_counters counters_;
};

} // namespace mrc::datapath
