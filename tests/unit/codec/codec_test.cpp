// SPDX-License-Identifier: Apache-2.0
// The frame codec by the vectors printed in protocol.md §12, by its refusals, and by properties over seeds.
#include "codec/frame_codec.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "unit/codec/packet_samples.h"
#include "unit/codec/vector_file.h"

namespace
{

using namespace mrc::codec;
using namespace mrc::protocol;
using mrc::test::byte_string;
using mrc::test::from_hex;
using mrc::test::packet_samples;

constexpr std::size_t bth_at = ipv6_header_bytes + udp_header_bytes;

// The packet and its ICRC are copied from §12 and computed nowhere in this project.
const char *const write_only_packet = "6100000300401140fd000001000000000000000000000001fd000002000000000000000000000002"
                                      "c0de12b700400000ca00ffff000001239000001000000007beef0001"
                                      "1122334455667788cafe000100000010000102030405060708090a0b0c0d0e0f837cc5f5";

encode_options section_12_options()
{
    return {.ip = {.source = {{0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
                   .destination = {{0xfd, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}},
            .udp_port = 4791,
            .dscp = 4,
            .ecn = 0,
            .hop_limit = 64,
            .entropy = ev{0x0003C0DE}};
}

data_packet section_12_write()
{
    return {.opcode = 0xCA,
            .destination = qpn{0x123},
            .sequence = psn{0x10},
            .ack_request = true,
            .msn = 7,
            .tx_timestamp = 0xBEEF,
            .va = 0x1122334455667788,
            .rkey = 0xCAFE0001,
            .message_bytes = 16,
            .immediate = std::nullopt,
            .payload_bytes = 16};
}

// The frame that encode() makes around `payload`, in a buffer that was full of rubbish.
byte_string encoded(const packet &content, const encode_options &options, std::span<const std::byte> payload = {})
{
    const bool ipv4 = is_ipv4_mapped(options.ip.source);
    byte_string frame(encoded_size(content, ipv4), std::byte{0xA5});
    std::ranges::copy(payload, frame.begin() + static_cast<std::ptrdiff_t>(payload_offset(content, ipv4)));
    const auto size = encode(content, options, frame);
    EXPECT_TRUE(size.has_value()) << (size ? "" : text(size.error()));
    EXPECT_EQ(size.value_or(0), frame.size());
    return frame;
}

byte_string payload_of_size(std::size_t size)
{
    byte_string payload(size);
    for (std::size_t i = 0; i < size; i++)
        payload[i] = static_cast<std::byte>(i);
    return payload;
}

byte_string with_icrc(byte_string packet)
{
    const std::size_t body = packet.size() - MRC_ICRC_LEN;
    const std::uint32_t crc = icrc(std::span{packet}.first(body));
    for (std::size_t i = 0; i < MRC_ICRC_LEN; i++)
        packet[body + i] = static_cast<std::byte>(crc >> 8 * i);
    return packet;
}

parse_error error_of(const byte_string &packet, bool trimmed = false)
{
    const auto result = decode(packet, trimmed);
    EXPECT_FALSE(result.has_value());
    return result ? parse_error{} : result.error();
}

TEST(codec_section_12, write_only_encodes_to_the_printed_packet)
{
    const byte_string payload = payload_of_size(16);
    EXPECT_EQ(encoded(section_12_write(), section_12_options(), payload), from_hex(write_only_packet));
}

TEST(codec_section_12, write_only_decodes_from_the_printed_packet)
{
    const byte_string packet = from_hex(write_only_packet);
    const auto result = decode(packet, false);
    ASSERT_TRUE(result.has_value()) << text(result.error());
    EXPECT_EQ(std::get<data_packet>(result->content), section_12_write());
    EXPECT_EQ(result->entropy, ev{0x0003C0DE});
    EXPECT_TRUE(std::ranges::equal(result->payload, payload_of_size(16)));
    EXPECT_EQ(result->ip_bytes, packet.size());
    EXPECT_EQ(result->dscp, 4);
    EXPECT_EQ(result->ecn, 0);
    EXPECT_TRUE(result->icrc_checked);
    EXPECT_EQ(result->source.bytes[3], 1);
    EXPECT_EQ(result->destination.bytes[15], 2);
}

struct printed_control {
    const char *name;
    const char *transport; // BTH up to the ICRC
    packet content;
};

const printed_control printed_controls[] = {
    {"sack",
     "dc00ffff0000032100000010 0020 0003 0003c0de 0321 0123 00 000010 00 08 0001 0000000000000006 beef 0002 00 001234",
     sack_packet{.destination = qpn{0x321},
                 .m = MRC_SACK_M_SKIP_ONCE,
                 .ack_psn_offset = 3,
                 .entropy = ev{0x0003C0DE},
                 .spdcid = 0x321,
                 .dpdcid = 0x123,
                 .cack = psn{0x10},
                 .mpr = 8,
                 .sack_offset = 1,
                 .bitmap = 6,
                 .tx_timestamp = 0xBEEF,
                 .ooo_count = 2,
                 .rcvd_units = 0x1234}},
    {"nack", "dd00ffff0000032100000012 0000 01 00 0003c0de 0321 0123 00 000012 20 00 beef",
     nack_packet{.destination = qpn{0x321},
                 .reason = MRC_NACK_TRIMMED,
                 .entropy = ev{0x0003C0DE},
                 .spdcid = 0x321,
                 .dpdcid = 0x123,
                 .sequence = psn{0x12},
                 .tx_timestamp = 0xBEEF}},
    {"probe", "de00ffff0000012300000000 0000 00 00 0055 0000 0321 0123 beef 0001",
     probe_packet{
         .destination = qpn{0x123}, .probe_id = 0x55, .spdcid = 0x321, .dpdcid = 0x123, .tx_timestamp = 0xBEEF}},
    {"port status", "d800ffff0000000200000042 0000 00 00 000001fa 00000000 beef 0001",
     endpoint_request_packet{.request_id = 0x42,
                             .operation = MRC_EP_PORT_STATUS_UPDATE,
                             .port_status_mask = 0x1FA,
                             .tx_timestamp = 0xBEEF}},
    {"EV probe response",
     "d900ffff0000000200000042 0004 0000 000000000000000000000000000000000000000000000000 beef 000000000000",
     endpoint_response_packet{.request_id = 0x42, .operation = MRC_EP_EV_PROBE, .tx_timestamp = 0xBEEF}},
};

TEST(codec_section_12, control_packets_encode_to_the_printed_bytes_and_back)
{
    for (const auto &printed : printed_controls) {
        SCOPED_TRACE(printed.name);
        const byte_string frame = encoded(printed.content, section_12_options());
        const byte_string transport(frame.begin() + bth_at, frame.end() - MRC_ICRC_LEN);
        EXPECT_EQ(transport, from_hex(printed.transport));
        const auto result = decode(frame, false);
        ASSERT_TRUE(result.has_value()) << text(result.error());
        EXPECT_EQ(result->content, printed.content);
        EXPECT_TRUE(result->payload.empty());
    }
}

TEST(codec, encode_refuses)
{
    byte_string room(70000);
    encode_options options = section_12_options();
    data_packet write = section_12_write();

    const auto refusal = [&](const packet &content, std::span<std::byte> out) {
        const auto size = encode(content, options, out);
        EXPECT_FALSE(size.has_value());
        return size ? codec_error{} : size.error();
    };
    const auto changed = [&](auto change) {
        data_packet other = write;
        change(other);
        return other;
    };
    EXPECT_EQ(refusal(changed([](auto &p) { p.opcode = MRC_OP_SACK; }), room), codec_error::opcode);
    EXPECT_EQ(refusal(changed([](auto &p) { p.opcode = 0; }), room), codec_error::opcode);
    EXPECT_EQ(refusal(changed([](auto &p) { p.immediate = 1; }), room), codec_error::opcode);
    EXPECT_EQ(refusal(changed([](auto &p) { p.opcode = MRC_OP_WRITE_ONLY_IMM; }), room), codec_error::opcode);
    EXPECT_EQ(refusal(changed([](auto &p) { p.payload_bytes = 65536; }), room), codec_error::packet_too_long);
    EXPECT_EQ(refusal(write, std::span{room}.first(encoded_size(write, false) - 1)), codec_error::buffer_too_small);
    EXPECT_EQ(refusal(write, {}), codec_error::buffer_too_small);

    options.ip.destination = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1}};
    EXPECT_EQ(refusal(write, room), codec_error::mixed_families);
    options.ip.source = options.ip.destination;
    EXPECT_EQ(refusal(write, room), codec_error::entropy_too_wide);
    EXPECT_EQ(room, byte_string(room.size())) << "a refusal leaves the buffer as it was";
}

TEST(codec, sizes_are_those_of_protocol_md)
{
    // §1.1 counts Ethernet; IP packets are 14 bytes shorter.
    data_packet write = section_12_write();
    write.payload_bytes = 0;
    EXPECT_EQ(encoded_size(write, false), 102u - 14);
    EXPECT_EQ(payload_offset(write, false), 102u - 14 - 4);
    write.tx_timestamp.reset();
    EXPECT_EQ(encoded_size(write, false), 98u - 14);
    EXPECT_EQ(encoded_size(write, true), 98u - 14 - 20);
    EXPECT_EQ(encoded_size(sack_packet{}, false), 114u - 14);
    EXPECT_EQ(encoded_size(nack_packet{}, false), 98u - 14);
    EXPECT_EQ(encoded_size(probe_packet{}, false), 94u - 14);
    EXPECT_EQ(encoded_size(endpoint_request_packet{}, false), 94u - 14);
    EXPECT_EQ(encoded_size(endpoint_response_packet{}, false), 114u - 14);
    EXPECT_EQ(encoded_size(transport_ack_packet{}, false), 82u - 14);
}

TEST(codec, round_trip_of_random_packets)
{
    for (std::uint64_t seed = 1; seed <= 20000; seed++) {
        packet_samples samples{seed};
        const packet content = samples.any();
        const bool ipv4 = samples.coin();
        const encode_options options = samples.options(ipv4);
        const auto *data = std::get_if<data_packet>(&content);
        const byte_string payload = payload_of_size(data ? data->payload_bytes : 0);
        const byte_string frame = encoded(content, options, payload);
        const auto result = decode(frame, false);

        ASSERT_TRUE(result.has_value()) << "seed " << seed << ": " << text(result.error());
        ASSERT_EQ(result->content, content) << "seed " << seed;
        ASSERT_TRUE(std::ranges::equal(result->payload, payload)) << "seed " << seed;
        ASSERT_EQ(result->entropy, options.entropy) << "seed " << seed;
        ASSERT_TRUE(std::ranges::equal(result->source.bytes, options.ip.source.bytes)) << "seed " << seed;
        ASSERT_TRUE(std::ranges::equal(result->destination.bytes, options.ip.destination.bytes)) << "seed " << seed;
        ASSERT_EQ(result->dscp, options.dscp) << "seed " << seed;
        ASSERT_EQ(result->ecn, options.ecn) << "seed " << seed;
        ASSERT_EQ(result->ip_bytes, frame.size() + (ipv4 ? 20 : 0)) << "seed " << seed;
    }
}

TEST(codec, every_truncation_is_refused)
{
    for (std::uint64_t seed = 1; seed <= 500; seed++) {
        packet_samples samples{seed};
        const packet content = samples.any();
        const auto *data = std::get_if<data_packet>(&content);
        const byte_string frame =
            encoded(content, samples.options(samples.coin()), payload_of_size(data ? data->payload_bytes : 0));
        for (std::size_t size = 0; size < frame.size(); size++) {
            // An exact copy, so that AddressSanitizer sees a read behind its end.
            const byte_string cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
            ASSERT_EQ(verdict(error_of(cut)), MRC_AGENT_DROP_TRUNCATED) << "seed " << seed << " size " << size;
        }
    }
}

TEST(codec, trimmed_packets_say_what_is_left)
{
    for (std::uint64_t seed = 1; seed <= 500; seed++) {
        packet_samples samples{seed};
        const data_packet content = samples.data();
        const bool ipv4 = samples.coin();
        const encode_options options = samples.options(ipv4);
        const byte_string frame = encoded(content, options, payload_of_size(content.payload_bytes));
        const std::size_t bth_end = (ipv4 ? 20 : 40) + 8 + 12;
        for (std::size_t size = 0; size <= frame.size(); size++) {
            const byte_string cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
            const auto result = decode(cut, true);
            ASSERT_EQ(result.has_value(), size >= bth_end) << "seed " << seed << " size " << size;
            if (!result)
                continue;
            const auto &seen = std::get<data_packet>(result->content);
            ASSERT_EQ(seen.destination, content.destination);
            ASSERT_EQ(seen.sequence, content.sequence);
            ASSERT_EQ(result->entropy, options.entropy);
            ASSERT_FALSE(result->icrc_checked);
            ASSERT_TRUE(result->payload.empty());
            ASSERT_EQ(seen.payload_bytes, 0u);
            ASSERT_EQ(seen.msn, size >= bth_end + 4 ? content.msn : 0);
            ASSERT_EQ(seen.tx_timestamp, size >= bth_end + 8 ? content.tx_timestamp : std::nullopt);
        }
    }
}

TEST(codec, every_changed_bit_is_noticed_or_masked)
{
    const byte_string frame = encoded(section_12_write(), section_12_options(), payload_of_size(16));
    std::size_t accepted = 0;
    for (std::size_t bit = 0; bit < frame.size() * 8; bit++) {
        byte_string changed = frame;
        changed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        accepted += decode(changed, false).has_value();
    }
    EXPECT_EQ(accepted, 28u + 8 + 16 + 8) << "traffic class and flow label, hop limit, UDP checksum, BTH byte 4";
}

TEST(codec, link_padding_is_ignored)
{
    byte_string frame = encoded(section_12_write(), section_12_options(), payload_of_size(16));
    const std::size_t size = frame.size();
    frame.resize(size + 46, std::byte{0xEE});
    const auto result = decode(frame, false);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->ip_bytes, size);
    EXPECT_EQ(result->payload.size(), 16u);
}

struct fault {
    parse_error expected;
    std::size_t at;
    std::vector<std::uint8_t> bytes;
    bool trimmed = false;
};

// One packet per error, each made from a right one; the ICRC is made right again except where it is the fault.
TEST(codec, every_parse_error_has_a_packet_a_text_and_a_verdict)
{
    const byte_string write = from_hex(write_only_packet);
    const byte_string sack = encoded(sack_packet{}, section_12_options());
    const std::vector<fault> faults = {
        {parse_error::ip_version, 0, {0x51}},
        {parse_error::ip_header_length, 0, {0x44}},
        {parse_error::ip_fragment, 0, {0x45, 0, 0, 104, 0, 0, 0x20, 0}},
        {parse_error::ip_options, 0, {0x46, 0, 0, 104, 0, 0, 0x40, 0}},
        {parse_error::mapped_address, 8, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}},
        {parse_error::mapped_address, 24, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}},
        {parse_error::not_udp, 6, {6}},
        {parse_error::udp_port, 42, {0x12, 0xB8}},
        {parse_error::foreign_opcode, bth_at, {0x0A}},
        {parse_error::packet_truncated, 4, {0, 65}},
        {parse_error::udp_length, 44, {0, 60}},
        {parse_error::transport_version, bth_at + 1, {0x01}},
        {parse_error::unknown_opcode, bth_at, {0xC0}},
        {parse_error::message_length, 83, {17}},
    };
    std::set<parse_error> seen;
    for (const auto &[expected, at, bytes, trimmed] : faults) {
        byte_string packet = write;
        std::ranges::transform(bytes, packet.begin() + static_cast<std::ptrdiff_t>(at),
                               [](std::uint8_t value) { return std::byte{value}; });
        EXPECT_EQ(error_of(with_icrc(packet), trimmed), expected) << text(expected);
        seen.insert(expected);
    }
    const auto expect = [&](parse_error expected, const byte_string &packet, bool trimmed = false) {
        EXPECT_EQ(error_of(packet, trimmed), expected) << text(expected);
        seen.insert(expected);
    };
    const auto shortened = [&](const byte_string &packet, std::size_t size) {
        byte_string cut(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(size));
        cut[5] = static_cast<std::byte>(size - ipv6_header_bytes);
        cut[45] = cut[5];
        return with_icrc(cut);
    };
    const auto padded = [&](byte_string packet, unsigned int pad) {
        packet[bth_at + 1] = static_cast<std::byte>(pad << 4);
        return with_icrc(packet);
    };
    expect(parse_error::ip_truncated, byte_string(39, std::byte{0x60}));
    expect(parse_error::udp_truncated, byte_string(write.begin(), write.begin() + 47));
    expect(parse_error::bth_truncated, byte_string(write.begin(), write.begin() + 59), true);
    expect(parse_error::headers_truncated, shortened(write, 84));
    expect(parse_error::payload_alignment, shortened(write, 91));
    expect(parse_error::pad_count, padded(shortened(write, 88), 1));
    expect(parse_error::control_payload, padded(sack, 1));
    expect(parse_error::trimmed_control, sack, true);
    byte_string wrong = write;
    wrong.back() ^= std::byte{1};
    expect(parse_error::icrc, wrong);

    std::set<std::string_view> texts;
    for (std::size_t i = 0; i < parse_error_count; i++) {
        const auto error = static_cast<parse_error>(i);
        EXPECT_TRUE(seen.contains(error)) << text(error);
        EXPECT_TRUE(texts.insert(text(error)).second) << text(error);
        EXPECT_GE(verdict(error), MRC_AGENT_DROP_TRUNCATED);
        EXPECT_LE(verdict(error), MRC_AGENT_DROP_WRONG_PEER);
    }
}

TEST(codec, outer_header_is_ethernet_and_ipv6)
{
    std::array<std::byte, outer_header_bytes> out{};
    write_outer(out, {.destination_mac = {{2, 0, 0, 0, 0, 1}},
                      .source_mac = {{2, 0, 0, 0, 0, 2}},
                      .source = {{0xfd, 0x6d, 0x72, 0x63, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1}},
                      .carrier = {{0xfc, 0xbb, 0xbb, 0, 0x21, 0, 0x11, 3, 0x21, 1, 0x81, 0, 0, 0, 0, 0}},
                      .traffic_class = 0x12,
                      .flow_label = 0xFFF3C0DE, // bits above 20 are not the label's
                      .hop_limit = 64,
                      .next_header = protocol_ipv4,
                      .payload_length = 0x0C58});
    EXPECT_EQ(byte_string(out.begin(), out.end()),
              from_hex("020000000001 020000000002 86dd 6123c0de 0c58 04 40 fd6d7263000000020000000000000001"
                       "fcbbbb00210011032101810000000000"));
}

} // namespace
