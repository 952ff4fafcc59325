// SPDX-License-Identifier: Apache-2.0
// Where the responder places payload: the registered memory of this host, reached by key and address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include "protocol/packet_number.h"

namespace mrc::protocol
{

// Why nothing was written. The first three become a Remote Access NAK, `fault` a Remote Operational NAK (IBTA 9.7.5.2).
// `busy` is a NACK NO_PKT_BUFFER: as if the packet had not arrived, so its sender tries again.
enum class write_refusal : std::uint8_t {
    unknown_key,
    out_of_bounds,
    no_permission,
    fault, // the memory could not be written although key, bounds and access were right
    busy,  // not now
};

enum class placement : std::uint8_t {
    done,
    held, // to be written before anybody is told of it: responder::settle()
};

class memory_sink
{
public:
    memory_sink() = default;
    memory_sink(const memory_sink &) = delete;
    memory_sink &operator=(const memory_sink &) = delete;
    virtual ~memory_sink() = default;

    // Checks key, bounds and access, then writes all of `payload` at `va`. A refusal has written nothing. A zero-length
    // payload is checked as IBTA asks: not at all (IBTA 9.4.3, "R_Key is not checked for zero-length").
    [[nodiscard]] virtual std::expected<void, write_refusal> write(std::uint32_t rkey, std::uint64_t va,
                                                                   std::span<const std::byte> payload) = 0;
    // The same for the payload of packet `number`, which a sink may hold back for a while, to write it together with
    // others. Whoever has the sink write what it holds then tells the responder: which of it could not be written by
    // refuse_held(), and last settle().
    [[nodiscard]] virtual std::expected<placement, write_refusal>
    place(packet_number number, std::uint32_t rkey, std::uint64_t va, std::span<const std::byte> payload)
    {
        static_cast<void>(number);
        if (const auto written = write(rkey, va, payload); !written)
            return std::unexpected{written.error()};
        return placement::done;
    }
};

} // namespace mrc::protocol
