// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_builder.h"

#include <cstring>
#include <optional>

#include "codec/byte_order.h"
#include "codec/icrc.h"
#include "codec/ip_layout.h"
#include "codec/transport_layout.h"

namespace mrc::codec
{
namespace
{

using namespace protocol;

struct bth_values {
    std::uint8_t opcode = 0;
    std::uint8_t flags = 0;
    std::uint32_t destination = 0;
    std::uint8_t control = 0;
    std::uint32_t sequence = 0;
};

bth_values bth_of(const data_packet &p)
{
    const auto pad = static_cast<unsigned int>(pad_bytes(p.payload_bytes));
    return {.opcode = p.opcode,
            .flags = static_cast<std::uint8_t>(pad << MRC_BTH_PAD_SHIFT | (p.solicited ? MRC_BTH_SE : 0U)),
            .destination = p.destination.value,
            .control =
                static_cast<std::uint8_t>((p.ack_request ? MRC_BTH_ACK_REQUEST : 0) |
                                          (p.retransmission ? MRC_BTH_RTX : 0) | (p.tx_timestamp ? MRC_BTH_TS : 0)),
            .sequence = p.sequence.value()};
}

bth_values bth_of(const sack_packet &p)
{
    return {.opcode = MRC_OP_SACK,
            .destination = p.destination.value,
            .control = static_cast<std::uint8_t>(p.retransmission ? MRC_BTH_RTX : 0),
            .sequence = p.cack.value()};
}

bth_values bth_of(const nack_packet &p)
{
    return {.opcode = MRC_OP_NACK, .destination = p.destination.value, .sequence = p.sequence.value()};
}

bth_values bth_of(const probe_packet &p)
{
    return {.opcode = MRC_OP_PROBE_REQUEST, .destination = p.destination.value};
}

bth_values bth_of(const transport_ack_packet &p)
{
    return {.opcode = MRC_OP_ACKNOWLEDGE, .destination = p.destination.value, .sequence = p.sequence.value()};
}

bth_values bth_of(const endpoint_request_packet &p)
{
    return {.opcode = MRC_OP_ENDPOINT_REQUEST, .destination = MRC_QPN_ENDPOINT, .sequence = p.request_id};
}

bth_values bth_of(const endpoint_response_packet &p)
{
    return {.opcode = MRC_OP_ENDPOINT_RESPONSE, .destination = MRC_QPN_ENDPOINT, .sequence = p.request_id};
}

mrc_bth on_wire(const bth_values &values)
{
    mrc_bth bth{};
    bth.opcode = values.opcode;
    bth.flags = values.flags;
    bth.pkey = big_endian<std::uint16_t>(MRC_PKEY_DEFAULT);
    mrc_put24(bth.dqp, values.destination);
    bth.control = values.control;
    mrc_put24(bth.psn, values.sequence);
    return bth;
}

mrc_tseth timestamp(std::uint16_t ticks)
{
    return {.tx_timestamp = big_endian(ticks), .format = big_endian<std::uint16_t>(MRC_TS_FTYPE)};
}

// Appends one header after the other; encode() has checked the space.
class header_writer
{
public:
    explicit header_writer(std::byte *at) : at_{at} {}

    template <typename T>
    header_writer &put(const T &header)
    {
        store(at_, header);
        at_ += sizeof header;
        return *this;
    }

private:
    std::byte *at_;
};

void write_extension(header_writer out, const data_packet &p)
{
    out.put(mrc_meth{.rqmsn = big_endian(p.rqmsn), .msn = big_endian(p.msn)});
    if (p.tx_timestamp)
        out.put(timestamp(*p.tx_timestamp));
    out.put(mrc_reth{.va = big_endian(p.va), .rkey = big_endian(p.rkey), .dmalen = big_endian(p.message_bytes)});
    if (p.immediate)
        out.put(mrc_immdt{.immediate = big_endian(*p.immediate)});
}

void write_extension(header_writer out, const sack_packet &p)
{
    const unsigned int m = static_cast<unsigned int>(p.m) << MRC_SETH_M_SHIFT & MRC_SETH_M_MASK;
    const auto flags = static_cast<std::uint16_t>(m | (p.probe_response ? MRC_SETH_PR : 0u));
    const std::uint16_t trigger = p.probe_response ? p.probe_id : static_cast<std::uint16_t>(p.ack_psn_offset);
    const std::uint32_t window = (p.restore_cwnd ? MRC_CC_RESTORE : 0u) |
                                 (p.rcv_cwnd_penalty & std::uint32_t{MRC_CC_PENALTY_MASK}) << MRC_CC_PENALTY_SHIFT |
                                 (p.rcvd_units & MRC_CC_RCVD_MASK);
    mrc_seth seth{.flags = big_endian(flags),
                  .ack_psn_offset = big_endian(trigger),
                  .entropy = big_endian(p.entropy.value),
                  .spdcid = big_endian(p.spdcid),
                  .dpdcid = big_endian(p.dpdcid),
                  .reserved = 0,
                  .cack_psn = {},
                  .cc = MRC_CC_TYPE_STATE << MRC_CC_TYPE_SHIFT,
                  .mpr = p.mpr,
                  .sack_offset = big_endian(static_cast<std::uint16_t>(p.sack_offset)),
                  .sack_bitmap = big_endian(p.bitmap)};
    mrc_put24(seth.cack_psn, p.cack.value());
    const auto ooo_count = static_cast<std::uint16_t>(p.ooo_count & MRC_CC_OOO_MASK);
    out.put(seth).put(mrc_cc_state{
        .tx_timestamp = big_endian(p.tx_timestamp), .ooo_count = big_endian(ooo_count), .window = big_endian(window)});
}

void write_extension(header_writer out, const nack_packet &p)
{
    mrc_neth neth{};
    neth.reason = p.reason;
    neth.vendor = p.vendor;
    neth.entropy = big_endian(p.entropy.value);
    neth.spdcid = big_endian(p.spdcid);
    neth.dpdcid = big_endian(p.dpdcid);
    mrc_put24(neth.nack_psn, p.sequence.value());
    neth.cc = MRC_CC_TYPE_NACK << MRC_CC_TYPE_SHIFT;
    neth.tx_timestamp = big_endian(p.tx_timestamp);
    out.put(neth);
}

void write_extension(header_writer out, const probe_packet &p)
{
    mrc_peth peth{};
    peth.probe_id = big_endian(p.probe_id);
    peth.spdcid = big_endian(p.spdcid);
    peth.dpdcid = big_endian(p.dpdcid);
    peth.ts = timestamp(p.tx_timestamp);
    out.put(peth);
}

void write_extension(header_writer out, const transport_ack_packet &p)
{
    mrc_aeth aeth{.syndrome = p.syndrome, .msn = {}};
    mrc_put24(aeth.msn, p.msn);
    out.put(aeth);
}

void write_extension(header_writer out, const endpoint_request_packet &p)
{
    mrc_erth erth{};
    erth.flags = big_endian(static_cast<std::uint16_t>(p.operation & MRC_ERTH_OP_MASK));
    erth.port_status_mask = big_endian(p.port_status_mask);
    erth.ts = timestamp(p.tx_timestamp);
    out.put(erth);
}

void write_extension(header_writer out, const endpoint_response_packet &p)
{
    const unsigned int op = static_cast<unsigned int>(p.operation) << MRC_EETH_OP_SHIFT & MRC_EETH_OP_MASK;
    mrc_eeth eeth{};
    eeth.flags = big_endian(static_cast<std::uint16_t>(op));
    eeth.tx_timestamp = big_endian(p.tx_timestamp);
    out.put(eeth);
}

void write_ipv6(std::byte *out, const encode_options &options, std::size_t size)
{
    const std::uint32_t flow = 6u << 28 |
                               static_cast<std::uint32_t>(MRC_TCLASS(options.dscp, options.ecn & MRC_ECN_MASK)) << 20 |
                               options.entropy.value >> 16;
    store_be(out + ipv6_at::flow, flow);
    store_be(out + ipv6_at::payload_length, static_cast<std::uint16_t>(size - ipv6_header_bytes));
    out[ipv6_at::next_header] = std::byte{protocol_udp};
    out[ipv6_at::hop_limit] = std::byte{options.hop_limit};
    store(out + ipv6_at::source, options.ip.source);
    store(out + ipv6_at::destination, options.ip.destination);
}

std::uint16_t ipv4_checksum(const std::byte *header)
{
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < ipv4_header_bytes; i += 2)
        sum += load_be<std::uint16_t>(header + i);
    sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~(sum + (sum >> 16)));
}

void write_ipv4(std::byte *out, const encode_options &options, std::size_t size)
{
    std::memset(out, 0, ipv4_header_bytes);
    out[ipv4_at::version] = std::byte{0x45};
    out[ipv4_at::tos] = std::byte{MRC_TCLASS(options.dscp, options.ecn & MRC_ECN_MASK)};
    store_be(out + ipv4_at::total_length, static_cast<std::uint16_t>(size));
    store_be(out + ipv4_at::fragment, ipv4_dont_fragment);
    out[ipv4_at::ttl] = std::byte{options.hop_limit};
    out[ipv4_at::protocol] = std::byte{protocol_udp};
    std::memcpy(out + ipv4_at::source, options.ip.source.bytes + ipv4_mapped_prefix_bytes, 4);
    std::memcpy(out + ipv4_at::destination, options.ip.destination.bytes + ipv4_mapped_prefix_bytes, 4);
    store_be(out + ipv4_at::checksum, ipv4_checksum(out));
}

void write_udp(std::byte *out, const encode_options &options, std::size_t udp_bytes)
{
    store_be(out + udp_at::source_port, static_cast<std::uint16_t>(options.entropy.value));
    store_be(out + udp_at::destination_port, options.udp_port);
    store_be(out + udp_at::length, static_cast<std::uint16_t>(udp_bytes));
    store_be(out + udp_at::checksum, std::uint16_t{0}); // the ICRC protects the packet (D1)
}

std::size_t extension_bytes(const packet &content)
{
    return std::visit(
        [](const auto &p) {
            const auto layout = layout_of(bth_of(p).opcode);
            const std::size_t ts = bth_of(p).control & MRC_BTH_TS ? sizeof(mrc_tseth) : 0;
            return layout ? layout->extension_bytes + ts : 0;
        },
        content);
}

std::size_t payload_bytes(const packet &content)
{
    const auto *data = std::get_if<data_packet>(&content);
    return data ? data->payload_bytes : 0;
}

std::optional<codec_error> refuse(const packet &content, const encode_options &options, std::size_t room)
{
    const bool ipv4 = is_ipv4_mapped(options.ip.source);
    const std::size_t size = encoded_size(content, ipv4);

    if (const auto *data = std::get_if<data_packet>(&content)) {
        const auto layout = layout_of(data->opcode);
        if (!layout || !layout->data || layout->immediate != data->immediate.has_value())
            return codec_error::opcode;
    }
    if (ipv4 != is_ipv4_mapped(options.ip.destination))
        return codec_error::mixed_families;
    if (ipv4 && options.entropy.value >> 16 != 0)
        return codec_error::entropy_too_wide;
    if (size - (ipv4 ? 0 : ipv6_header_bytes) > longest_ip_length_field)
        return codec_error::packet_too_long;
    if (size > room)
        return codec_error::buffer_too_small;
    return std::nullopt;
}

} // namespace

std::string_view text(codec_error error)
{
    switch (error) {
    case codec_error::opcode:
        return "opcode is not a data opcode, or disagrees with the presence of an immediate";
    case codec_error::mixed_families:
        return "one inner address is IPv4 and the other IPv6";
    case codec_error::entropy_too_wide:
        return "inner IPv4 carries only 16 bits of entropy";
    case codec_error::packet_too_long:
        return "packet is longer than the IP length field can say";
    case codec_error::buffer_too_small:
        return "buffer is shorter than the packet";
    }
    return "unknown codec error";
}

std::size_t payload_offset(const packet &content, bool ipv4)
{
    return ip_header_bytes(ipv4) + udp_header_bytes + sizeof(mrc_bth) + extension_bytes(content);
}

std::size_t encoded_size(const packet &content, bool ipv4)
{
    const std::size_t payload = payload_bytes(content);
    return payload_offset(content, ipv4) + payload + pad_bytes(payload) + MRC_ICRC_LEN;
}

std::expected<std::size_t, codec_error> encode(const packet &content, const encode_options &options,
                                               std::span<std::byte> out)
{
    if (const auto error = refuse(content, options, out.size()))
        return std::unexpected{*error};

    const bool ipv4 = is_ipv4_mapped(options.ip.source);
    const std::size_t size = encoded_size(content, ipv4);
    const std::size_t udp = ip_header_bytes(ipv4);
    const std::size_t pad = payload_offset(content, ipv4) + payload_bytes(content);
    const std::size_t trailer = size - MRC_ICRC_LEN;

    if (ipv4)
        write_ipv4(out.data(), options, size);
    else
        write_ipv6(out.data(), options, size);
    write_udp(out.data() + udp, options, size - udp);
    header_writer transport{out.data() + udp + udp_header_bytes};
    std::visit([&](const auto &p) { write_extension(transport.put(on_wire(bth_of(p))), p); }, content);
    std::memset(out.data() + pad, 0, trailer - pad);
    store(out.data() + trailer, little_endian(icrc(out.first(trailer))));
    return size;
}

} // namespace mrc::codec
