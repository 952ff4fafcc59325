// SPDX-License-Identifier: Apache-2.0
// The payload of what a queue pair sends, read from its client's memory; several packets of a turn at a time where that
// saves system calls (read_ahead.h).
#pragma once

#include <cstddef>
#include <span>

#include "datapath/read_ahead.h"
#include "datapath/worker_client.h"
#include "protocol/packet.h"

namespace mrc::datapath
{

class payload_reader
{
public:
    // The payload of this packet of a request of `from` into `to`, which has room for just that. False when it cannot
    // be read under the request's local keys.
    [[nodiscard]] bool read(const worker_qp &from, const protocol::outgoing &packet, std::span<std::byte> to);
    // The queue pair whose requests were sent has had its turn: nobody has seen its memory from here on.
    void end_turn() { ahead_.forget(); }

private:
    read_ahead ahead_;
};

} // namespace mrc::datapath
