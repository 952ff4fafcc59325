// SPDX-License-Identifier: Apache-2.0
#include "raw/packet.h"

#include <cstring>

#include <arpa/inet.h>
#include <isa-l/crc.h>

#include "codec/byte_order.h"
#include "codec/icrc.h"
#include "kernel/probes/device.h"
#include "mrc/abi/srv6.h"

namespace mrc::raw
{

namespace
{

constexpr std::uint32_t block = MRC_USID_USUAL_BLOCK;

mrc_carrier carrier_of(const mrc_ip &address)
{
    mrc_carrier carrier{};
    std::memcpy(carrier.bytes, address.bytes, sizeof carrier.bytes);
    return carrier;
}

// Headers whose lengths are still to be written.
std::array<std::byte, note_at> inner_headers()
{
    std::array<std::byte, note_at> headers{};
    std::byte *const ip = headers.data();
    std::byte *const udp = ip + codec::ipv6_header_bytes;
    codec::store_be(ip + codec::ipv6_at::flow, 6U << 28);
    ip[codec::ipv6_at::next_header] = std::byte{codec::protocol_udp};
    ip[codec::ipv6_at::hop_limit] = std::byte{64};
    codec::store(ip + codec::ipv6_at::source, near_address);
    codec::store(ip + codec::ipv6_at::destination, far_address);
    codec::store_be(udp + codec::udp_at::source_port, udp_port);
    codec::store_be(udp + codec::udp_at::destination_port, udp_port);
    return headers;
}

} // namespace

std::optional<path> parse_path(const std::string &text)
{
    const std::size_t comma = text.find(',');
    path found;
    found.device = text.substr(0, comma);
    if (comma == std::string::npos || found.device.empty() ||
        ::inet_pton(AF_INET6, text.substr(comma + 1).c_str(), found.carrier.bytes) != 1)
        return std::nullopt;
    const mrc_carrier carrier = carrier_of(found.carrier);
    std::uint32_t usids = 0;
    while (usids < mrc_usids_behind(block) && mrc_usid_at(&carrier, block, usids) != 0)
        ++usids;
    if (usids == 0)
        return std::nullopt;
    found.host_usid_at = mrc_usid_offset(block, usids - 1);
    return found;
}

std::uint16_t host_usid(const path &to)
{
    const mrc_carrier carrier = carrier_of(to.carrier);
    return mrc_usid_at(&carrier, 0, to.host_usid_at / MRC_USID_BYTES);
}

void write_inner(std::span<std::byte> inner, const note &what)
{
    static const std::array<std::byte, note_at> headers = inner_headers();
    const auto behind_ip = static_cast<std::uint16_t>(inner_bytes(what.payload_bytes) - codec::ipv6_header_bytes);
    std::byte *const ip = inner.data();
    std::memcpy(ip, headers.data(), headers.size());
    codec::store_be(ip + codec::ipv6_at::payload_length, behind_ip);
    codec::store_be(ip + codec::ipv6_header_bytes + codec::udp_at::length, behind_ip);
    note marked = what;
    marked.magic = RAW_MAGIC;
    codec::store(ip + note_at, marked);
}

void write_icrc(std::span<std::byte> inner)
{
    const std::size_t covered = inner.size() - MRC_ICRC_LEN;
    codec::store(inner.data() + covered, codec::icrc(inner.first(covered))); // little-endian, as this machine
}

void write_source(std::span<std::byte> inner, const note &what, std::span<const std::byte> region, bool icrc)
{
    raw_source source{.offset = what.offset, .payload_bytes = what.payload_bytes, .icrc = 0};
    if (icrc) {
        static constexpr std::array<unsigned char, 3> pad{};
        const std::span<const std::byte> payload = region.subspan(what.offset, what.payload_bytes);
        // ISA-L goes on from what it has returned.
        source.icrc = crc32_gzip_refl(codec::icrc(inner.first(payload_at)),
                                      reinterpret_cast<const unsigned char *>(payload.data()), payload.size());
        source.icrc = crc32_gzip_refl(source.icrc, pad.data(), -payload.size() & 3U);
    }
    codec::store(inner.data() + payload_at, source);
}

bool has_right_icrc(const arrival &packet)
{
    const std::size_t covered = packet.inner.size() - MRC_ICRC_LEN;
    return codec::load<std::uint32_t>(packet.inner.data() + covered) == codec::icrc(packet.inner.first(covered));
}

std::optional<arrival> parse_frame(std::span<const std::byte> frame, bool placed)
{
    if (frame.size() < codec::outer_header_bytes + payload_at)
        return std::nullopt;
    const std::span<const std::byte> inner = frame.subspan(codec::outer_header_bytes);
    const note what = codec::load<note>(inner.data() + note_at);
    if (what.magic != RAW_MAGIC)
        return std::nullopt;
    if (placed && inner.size() == payload_at)
        return arrival{.what = what, .inner = inner, .payload = {}};
    if (what.payload_bytes > inner.size() || inner.size() != inner_bytes(what.payload_bytes))
        return std::nullopt;
    return arrival{.what = what, .inner = inner, .payload = inner.subspan(payload_at, what.payload_bytes)};
}

std::array<std::byte, codec::outer_header_bytes> outer_of(const path &to)
{
    std::array<std::byte, codec::outer_header_bytes> out{};
    codec::outer_header header;
    header.destination_mac.fill(0xFF);
    header.source_mac = kernel::probes::mac_address_of(to.device);
    header.source = near_address;
    header.carrier = to.carrier;
    codec::write_outer(out, header);
    return out;
}

void set_inner_length(std::span<std::byte> outer, std::uint32_t bytes)
{
    codec::store_be(outer.data() + codec::ethernet_header_bytes + codec::ipv6_at::payload_length,
                    static_cast<std::uint16_t>(bytes));
}

} // namespace mrc::raw
