// SPDX-License-Identifier: Apache-2.0
// Which headers follow BTH for each opcode (mrc/abi/wire.h, protocol.md §1.2), as one table for builder and parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "mrc/abi/wire.h"

namespace mrc::codec
{

struct opcode_layout {
    std::size_t extension_bytes = 0; // behind BTH, without TSETH
    bool data = false;               // METH, [TSETH], RETH, [ImmDt], then payload; all others carry none
    bool immediate = false;
    bool only = false; // the packet is the whole message
};

// Empty for an opcode that MRC does not define.
[[nodiscard]] constexpr std::optional<opcode_layout> layout_of(std::uint8_t opcode)
{
    constexpr std::size_t write = sizeof(mrc_meth) + sizeof(mrc_reth);
    constexpr std::size_t write_imm = write + sizeof(mrc_immdt);

    switch (opcode) {
    case MRC_OP_WRITE_FIRST:
    case MRC_OP_WRITE_MIDDLE:
    case MRC_OP_WRITE_LAST:
        return opcode_layout{.extension_bytes = write, .data = true};
    case MRC_OP_WRITE_LAST_IMM:
        return opcode_layout{.extension_bytes = write_imm, .data = true, .immediate = true};
    case MRC_OP_WRITE_ONLY:
        return opcode_layout{.extension_bytes = write, .data = true, .only = true};
    case MRC_OP_WRITE_ONLY_IMM:
        return opcode_layout{.extension_bytes = write_imm, .data = true, .immediate = true, .only = true};
    case MRC_OP_ACKNOWLEDGE:
        return opcode_layout{.extension_bytes = sizeof(mrc_aeth)};
    case MRC_OP_ENDPOINT_REQUEST:
        return opcode_layout{.extension_bytes = sizeof(mrc_erth)};
    case MRC_OP_ENDPOINT_RESPONSE:
        return opcode_layout{.extension_bytes = sizeof(mrc_eeth)};
    case MRC_OP_SACK:
        return opcode_layout{.extension_bytes = sizeof(mrc_seth) + sizeof(mrc_cc_state)};
    case MRC_OP_NACK:
        return opcode_layout{.extension_bytes = sizeof(mrc_neth)};
    case MRC_OP_PROBE_REQUEST:
        return opcode_layout{.extension_bytes = sizeof(mrc_peth)};
    default:
        return std::nullopt;
    }
}

// Payload is padded to whole 32-bit words (IBTA); the count stands in BTH.
[[nodiscard]] constexpr std::size_t pad_bytes(std::size_t payload_bytes)
{
    return (0 - payload_bytes) & 3;
}

} // namespace mrc::codec
