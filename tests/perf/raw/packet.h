// SPDX-License-Identifier: Apache-2.0
// Packets of mrc-bench-raw: UDP in IPv6 behind the outer header of an SRv6 path. Where MRC has BTH and what follows it
// stands a note; with that, pad and room for an ICRC a packet is as long as MRC's with the same payload.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "codec/outer_header.h"
#include "mrc/abi/maps.h"
#include "mrc/abi/wire.h"
#include "protocol/packet_number.h"
#include "raw/note.h"

namespace mrc::raw
{

inline constexpr std::uint16_t udp_port = 18700;

// Of the documentation prefix (RFC 3849): nobody looks at the addresses that packets come from, nor at the inner ones.
inline constexpr mrc_ip near_address{{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
inline constexpr mrc_ip far_address{{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};

// A way to the far end: the device that packets leave by, and the uSIDs of the switches and of the far host. Both ends
// name the same planes in the same order.
struct path {
    std::string device;
    mrc_ip carrier{};
    unsigned host_usid_at = 0; // at which byte of the carrier the far host's uSID begins
};
// "DEVICE,CARRIER", such as p0,fcbb:bb00:2000:1000:2001:8000::. Nothing when it is none.
[[nodiscard]] std::optional<path> parse_path(const std::string &text);
// The far host's own uSID.
[[nodiscard]] std::uint16_t host_usid(const path &to);

using note = raw_note;

// What has arrived of a run.
struct run_totals {
    std::uint64_t packets = 0;
    std::uint64_t placed = 0;   // of these, by the XDP program
    std::uint64_t bytes = 0;    // of payload
    std::uint64_t behind = 0;   // the highest number, and 1
    std::uint64_t foreign = 0;  // packets to our port that are no run's, or another run's
    std::uint64_t first_ns = 0; // CLOCK_MONOTONIC there
    std::uint64_t last_ns = 0;
};

inline constexpr std::size_t note_at = codec::ipv6_header_bytes + codec::udp_header_bytes;
inline constexpr std::size_t payload_at =
    note_at + sizeof(mrc_bth) + sizeof(mrc_meth) + sizeof(mrc_tseth) + sizeof(mrc_reth);
static_assert(note_at == RAW_NOTE_AT && payload_at == RAW_PAYLOAD_AT && note_at + sizeof(note) <= payload_at);

// The inner packet's length.
[[nodiscard]] constexpr std::uint32_t inner_bytes(std::uint32_t payload_bytes)
{
    return protocol::nominal_bytes(payload_bytes);
}

// Where the payload of packet `number` belongs: message after message of its size.
[[nodiscard]] constexpr std::uint32_t offset_of(std::uint64_t number, std::uint32_t payload_bytes)
{
    return static_cast<std::uint32_t>(number % (RAW_REGION_BYTES / payload_bytes) * payload_bytes);
}

// Writes everything but the payload of an inner packet.
void write_inner(std::span<std::byte> inner, const note &what);
// Behind all else, of an inner packet that is whole.
void write_icrc(std::span<std::byte> inner);
// In place of payload and ICRC, of a packet whose payload raw_push takes from `region`.
void write_source(std::span<std::byte> inner, const note &what, std::span<const std::byte> region, bool icrc);

struct arrival {
    note what;
    std::span<const std::byte> inner;   // the whole packet, or its headers
    std::span<const std::byte> payload; // empty: the XDP program has placed it
};
[[nodiscard]] bool has_right_icrc(const arrival &packet);
// Of a frame that is whole, or, with `placed`, cut behind the headers. Nothing when it is no packet of ours.
[[nodiscard]] std::optional<arrival> parse_frame(std::span<const std::byte> frame, bool placed);

// Ethernet and outer header of a path. Frames go to all stations of the link, whose other end is one switch.
[[nodiscard]] std::array<std::byte, codec::outer_header_bytes> outer_of(const path &to);
// Says in it how long the inner packet is.
void set_inner_length(std::span<std::byte> outer, std::uint32_t bytes);

} // namespace mrc::raw
