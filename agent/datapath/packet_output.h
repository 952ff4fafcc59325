// SPDX-License-Identifier: Apache-2.0
// How the worker's packets get into the transmit engines: encoded, with their payload, at the port of their path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "datapath/carrier.h"
#include "datapath/payload_reader.h"
#include "datapath/transmit_engine.h"
#include "datapath/worker_client.h"
#include "kernel/mapped_array.h"
#include "mrc/abi/ip.h"
#include "mrc/abi/maps.h"
#include "mrc/abi/wire.h"
#include "protocol/packet.h"

namespace mrc::datapath
{

// Every code point stands for itself.
[[nodiscard]] constexpr std::array<std::uint8_t, 64> default_code_points()
{
    std::array<std::uint8_t, 64> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::uint8_t>(i);
    return all;
}

struct packet_marks {
    own_addresses source;
    std::uint16_t udp_port = MRC_UDP_PORT_ROCE;
    std::array<std::uint8_t, 64> code_points = default_code_points(); // sent for each of the protocol's (enum mrc_dscp)
};

class packet_output
{
public:
    // `engines[port]` is null where the host has no port, and may name one engine several times. The rows of `paths`
    // and the engines outlive this.
    packet_output(const packet_marks &marks, std::vector<transmit_engine *> engines,
                  const kernel::mapped_array<mrc_path_row> &paths);

    // Every engine takes another packet.
    [[nodiscard]] bool ready();
    // Writes the packet where it will leave from, to the host that has this address, whichever of its own the path
    // takes. Payload is that of requests of `qp`. False when it cannot be read under the requests' local keys. A packet
    // for a plane without a port here is lost like any other, and inferred as such.
    bool send(const mrc_ip &to, std::uint16_t host_usid, const protocol::outgoing &packet,
              const worker_qp *qp = nullptr);
    // payload_reader.h
    void end_turn() { payloads_.end_turn(); }
    void flush();
    // What an engine could not send yet goes with the next flush; nothing tells when it can.
    [[nodiscard]] bool unsent() const;

private:
    packet_marks marks_;
    std::vector<transmit_engine *> engines_;
    std::vector<transmit_engine *> distinct_engines_;
    const kernel::mapped_array<mrc_path_row> &paths_;
    payload_reader payloads_;
};

} // namespace mrc::datapath
