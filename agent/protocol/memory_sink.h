// SPDX-License-Identifier: Apache-2.0
// Where the responder places payload: the registered memory of this host, reached by key and address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

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
};

} // namespace mrc::protocol
