// SPDX-License-Identifier: Apache-2.0
// The codec against tests/vectors: packets from an encoder that shares no code with the project, both directions.
#include "codec/frame_codec.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "codec/byte_order.h"
#include "codec/ip_layout.h"
#include "unit/codec/vector_file.h"

namespace
{

using namespace mrc::codec;
using namespace mrc::protocol;
using mrc::test::byte_string;
using mrc::test::test_vector;

const std::string vectors_folder = MRC_SOURCE_DIR "/tests/vectors/";

packet data_from(const test_vector &v)
{
    return data_packet{.opcode = v.number<std::uint8_t>("opcode"),
                       .destination = qpn{v.number<std::uint32_t>("dqp")},
                       .sequence = psn{v.number<std::uint32_t>("psn")},
                       .ack_request = v.flag("a"),
                       .retransmission = v.flag("rtx"),
                       .rqmsn = v.number<std::uint16_t>("rqmsn"),
                       .msn = v.number<std::uint16_t>("msn"),
                       .tx_timestamp =
                           v.flag("ts") ? std::optional{v.number<std::uint16_t>("tx_timestamp")} : std::nullopt,
                       .va = v.number<std::uint64_t>("va"),
                       .rkey = v.number<std::uint32_t>("r_key"),
                       .message_bytes = v.number<std::uint32_t>("dmalen"),
                       .immediate = v.has("imm") ? std::optional{v.number<std::uint32_t>("imm")} : std::nullopt,
                       .payload_bytes = static_cast<std::uint32_t>(v.bytes("payload").size())};
}

packet sack_from(const test_vector &v)
{
    const bool probe = v.flag("pr");
    return sack_packet{.destination = qpn{v.number<std::uint32_t>("dqp")},
                       .retransmission = v.flag("rtx"),
                       .m = v.number<std::uint8_t>("m"),
                       .probe_response = probe,
                       .probe_id = probe ? v.number<std::uint16_t>("probe_id") : std::uint16_t{0},
                       .ack_psn_offset = probe ? std::int16_t{0} : v.number<std::int16_t>("ack_psn_offset"),
                       .entropy = ev{v.number<std::uint32_t>("entropy")},
                       .spdcid = v.number<std::uint16_t>("spdcid"),
                       .dpdcid = v.number<std::uint16_t>("dpdcid"),
                       .cack = psn{v.number<std::uint32_t>("cack_psn")},
                       .mpr = v.number<std::uint8_t>("mpr"),
                       .sack_offset = v.number<std::int16_t>("sack_offset"),
                       .bitmap = v.number<std::uint64_t>("sack_bitmap"),
                       .tx_timestamp = v.number<std::uint16_t>("tx_timestamp"),
                       .ooo_count = v.number<std::uint16_t>("ooo_count"),
                       .restore_cwnd = v.flag("restore_cwnd"),
                       .rcv_cwnd_penalty = v.number<std::uint8_t>("rcv_cwnd_pen"),
                       .rcvd_units = v.number<std::uint32_t>("rcvd_bytes")};
}

packet control_from(const test_vector &v)
{
    const qpn destination{v.number<std::uint32_t>("dqp")};
    const psn sequence{v.number<std::uint32_t>("psn")};

    switch (v.number<unsigned int>("opcode")) {
    case MRC_OP_NACK:
        return nack_packet{.destination = destination,
                           .reason = v.number<std::uint8_t>("nack_reason"),
                           .vendor = v.number<std::uint8_t>("vendor_info"),
                           .entropy = ev{v.number<std::uint32_t>("entropy")},
                           .spdcid = v.number<std::uint16_t>("spdcid"),
                           .dpdcid = v.number<std::uint16_t>("dpdcid"),
                           .sequence = psn{v.number<std::uint32_t>("nack_psn")},
                           .tx_timestamp = v.number<std::uint16_t>("tx_timestamp")};
    case MRC_OP_PROBE_REQUEST:
        return probe_packet{.destination = destination,
                            .probe_id = v.number<std::uint16_t>("probe_id"),
                            .spdcid = v.number<std::uint16_t>("spdcid"),
                            .dpdcid = v.number<std::uint16_t>("dpdcid"),
                            .tx_timestamp = v.number<std::uint16_t>("tx_timestamp")};
    case MRC_OP_ACKNOWLEDGE:
        return transport_ack_packet{.destination = destination,
                                    .sequence = sequence,
                                    .syndrome = v.number<std::uint8_t>("syndrome"),
                                    .msn = v.number<std::uint32_t>("msn")};
    case MRC_OP_ENDPOINT_REQUEST:
        return endpoint_request_packet{.request_id = v.number<std::uint16_t>("psn"),
                                       .operation = v.number<std::uint8_t>("op"),
                                       .port_status_mask = v.number<std::uint32_t>("port_status_mask"),
                                       .tx_timestamp = v.number<std::uint16_t>("tx_timestamp")};
    case MRC_OP_ENDPOINT_RESPONSE:
        return endpoint_response_packet{.request_id = v.number<std::uint16_t>("psn"),
                                        .operation = v.number<std::uint8_t>("op"),
                                        .tx_timestamp = v.number<std::uint16_t>("tx_timestamp")};
    default:
        throw std::invalid_argument(v.name + ": opcode");
    }
}

packet packet_from(const test_vector &v)
{
    if (v.has("payload"))
        return data_from(v);
    return v.number<unsigned int>("opcode") == MRC_OP_SACK ? sack_from(v) : control_from(v);
}

encode_options options_from(const test_vector &v)
{
    const auto tc = v.number<unsigned int>("tc");
    return {.ip = {.source = v.address("src"), .destination = v.address("dst")},
            .udp_port = v.number<std::uint16_t>("dport"),
            .dscp = static_cast<std::uint8_t>(tc >> 2),
            .ecn = static_cast<std::uint8_t>(tc & 3),
            .hop_limit = v.number<std::uint8_t>("hop_limit"),
            .entropy = ev{v.number<std::uint32_t>("ev")}};
}

// What the value types do not carry, because we always send it as 0 (IPv4: as DF with identification 0).
bool sends_more_than_we_do(const test_vector &v)
{
    const bool vendor = v.has("vendor_info") && v.flag("vendor_info") && !v.has("nack_reason");
    const bool coarse_clock = v.has("tsr") && v.flag("tsr");
    const bool congestion_flags = v.has("cc_fl") && v.flag("cc_fl");
    const bool fragmentable = v.has("ip_df") && !v.flag("ip_df");
    const bool label = v.has("flow_label") && v.number<std::uint32_t>("flow_label") > 0xFFFF;
    const bool probe_psn = v.number<unsigned int>("opcode") == MRC_OP_PROBE_REQUEST && v.flag("psn");
    return vendor || coarse_clock || congestion_flags || fragmentable || label || probe_psn;
}

byte_string inner_of(const test_vector &v)
{
    byte_string bytes = v.bytes("bytes");
    if (v.has("outer_dst"))
        bytes.erase(bytes.begin(), bytes.begin() + ipv6_header_bytes);
    return bytes;
}

TEST(golden, decodes_to_the_listed_fields)
{
    std::map<unsigned int, int> opcodes;
    for (const auto &v : mrc::test::read_vectors(vectors_folder + "golden.txt")) {
        SCOPED_TRACE(v.name);
        const byte_string inner = inner_of(v);
        const auto result = decode(inner, false);
        ASSERT_TRUE(result.has_value()) << text(result.error());
        const encode_options network = options_from(v);
        EXPECT_EQ(result->content, packet_from(v));
        EXPECT_EQ(result->entropy, network.entropy);
        EXPECT_TRUE(std::ranges::equal(result->source.bytes, network.ip.source.bytes));
        EXPECT_TRUE(std::ranges::equal(result->destination.bytes, network.ip.destination.bytes));
        EXPECT_EQ(result->dscp, network.dscp);
        EXPECT_EQ(result->ecn, network.ecn);
        EXPECT_TRUE(result->icrc_checked);
        EXPECT_EQ(result->ip_bytes, inner.size() + (v.number<int>("ip") == 4 ? 20 : 0));
        EXPECT_TRUE(std::ranges::equal(result->payload, v.has("payload") ? v.bytes("payload") : byte_string{}));
        EXPECT_EQ(icrc(std::span{inner}.first(inner.size() - MRC_ICRC_LEN)), v.number<std::uint32_t>("icrc"));
        opcodes[v.number<unsigned int>("opcode")]++;
    }
    EXPECT_EQ(opcodes.size(), 12u) << "every opcode of §1.2";
}

TEST(golden, fields_encode_to_the_bytes)
{
    std::size_t compared = 0;
    std::set<std::string> left_out;
    for (const auto &v : mrc::test::read_vectors(vectors_folder + "golden.txt")) {
        SCOPED_TRACE(v.name);
        if (sends_more_than_we_do(v)) {
            left_out.insert(v.name);
            continue;
        }
        const packet content = packet_from(v);
        const encode_options options = options_from(v);
        const bool ipv4 = v.number<int>("ip") == 4;
        const byte_string payload = v.has("payload") ? v.bytes("payload") : byte_string{};
        byte_string frame(encoded_size(content, ipv4), std::byte{0xA5});
        std::ranges::copy(payload, frame.begin() + static_cast<std::ptrdiff_t>(payload_offset(content, ipv4)));
        const auto size = encode(content, options, frame);
        ASSERT_TRUE(size.has_value()) << text(size.error());
        EXPECT_EQ(frame, inner_of(v));
        compared++;
    }
    EXPECT_GE(compared, 120u);
    for (const auto &name : left_out)
        std::cout << "decoded only, carries what we never send: " << name << '\n';
    EXPECT_LE(left_out.size(), 8u);
}

TEST(golden, outer_header_is_the_one_in_the_bytes)
{
    std::size_t compared = 0;
    for (const auto &v : mrc::test::read_vectors(vectors_folder + "golden.txt")) {
        if (!v.has("outer_dst"))
            continue;
        SCOPED_TRACE(v.name);
        const byte_string bytes = v.bytes("bytes");
        std::array<std::byte, outer_header_bytes> outer{};
        write_outer(outer, {.source = v.address("outer_src"),
                            .carrier = v.address("outer_dst"),
                            .traffic_class = v.number<std::uint8_t>("outer_tc"),
                            .flow_label = v.number<std::uint32_t>("outer_flow_label"),
                            .hop_limit = v.number<std::uint8_t>("outer_hop_limit"),
                            .next_header = v.number<int>("ip") == 4 ? protocol_ipv4 : protocol_ipv6,
                            .payload_length = static_cast<std::uint16_t>(bytes.size() - ipv6_header_bytes)});
        EXPECT_TRUE(std::ranges::equal(std::span{outer}.subspan(ethernet_header_bytes),
                                       std::span{bytes}.first(ipv6_header_bytes)));
        compared++;
    }
    EXPECT_GT(compared, 0u);
}

// The inner packet as host_rx hands it over: popped once, cut at the outer length. Empty when host_rx keeps it, for the
// outer header is its business.
std::optional<byte_string> popped(byte_string bytes)
{
    const bool tunnel = bytes.size() >= 40 && ip_version(bytes[0]) == 6 &&
                        (bytes[6] == std::byte{protocol_ipv6} || bytes[6] == std::byte{protocol_ipv4});
    if (!tunnel)
        return bytes;
    const std::size_t outer_bytes = 40 + load_be<std::uint16_t>(bytes.data() + ipv6_at::payload_length);
    if (outer_bytes > bytes.size())
        return std::nullopt;
    return byte_string(bytes.begin() + 40, bytes.begin() + static_cast<std::ptrdiff_t>(outer_bytes));
}

std::string word_of(parse_error error)
{
    switch (error) {
    case parse_error::ip_truncated:
    case parse_error::udp_truncated:
    case parse_error::bth_truncated:
    case parse_error::packet_truncated:
        return "truncated";
    case parse_error::ip_version:
    case parse_error::ip_header_length:
    case parse_error::ip_fragment:
    case parse_error::not_udp:
    case parse_error::udp_port:
    case parse_error::foreign_opcode:
        return "not_mrc";
    case parse_error::udp_length:
    case parse_error::headers_truncated:
    case parse_error::control_payload:
    case parse_error::pad_count:
    case parse_error::payload_alignment:
        return "bad_length";
    case parse_error::transport_version:
        return "bad_tver";
    case parse_error::unknown_opcode:
        return "unknown_opcode";
    case parse_error::trimmed_control:
        return "trimmed_control";
    case parse_error::icrc:
        return "bad_icrc";
    case parse_error::message_length:
        return "bad_dmalen";
    case parse_error::ip_options:
    case parse_error::mapped_address:
        return "unspecified";
    }
    return "";
}

// DSCP of the outermost header, where a switch writes its trimmed class.
bool in_trimmed_class(const byte_string &bytes)
{
    if (bytes.size() < 2)
        return false;
    const bool ipv6 = ip_version(bytes[0]) == 6;
    const auto dscp = ipv6 ? load_be<std::uint16_t>(bytes.data()) >> 6 & 0x3F : static_cast<int>(bytes[1]) >> 2;
    return dscp == MRC_DSCP_TRIMMED || dscp == MRC_DSCP_TRIMMED_LASTHOP;
}

struct identity {
    unsigned int dqp;
    unsigned int psn;
};

identity identity_of(const packet &content)
{
    struct visitor {
        identity operator()(const data_packet &p) const { return {p.destination.value, p.sequence.value()}; }
        identity operator()(const sack_packet &p) const { return {p.destination.value, p.cack.value()}; }
        identity operator()(const nack_packet &p) const { return {p.destination.value, p.sequence.value()}; }
        identity operator()(const probe_packet &p) const { return {p.destination.value, 0}; }
        identity operator()(const transport_ack_packet &p) const { return {p.destination.value, p.sequence.value()}; }
        identity operator()(const endpoint_request_packet &p) const { return {MRC_QPN_ENDPOINT, p.request_id}; }
        identity operator()(const endpoint_response_packet &p) const { return {MRC_QPN_ENDPOINT, p.request_id}; }
    };
    return std::visit(visitor{}, content);
}

TEST(hostile, every_packet_is_judged_as_expected)
{
    std::map<std::string, int> words;
    for (const auto &v : mrc::test::read_vectors(vectors_folder + "hostile.txt")) {
        SCOPED_TRACE(v.name + ": " + v.text("why"));
        const byte_string bytes = v.bytes("bytes");
        const std::string &expected = v.text("expect");
        words[expected]++;
        const auto inner = popped(bytes);
        if (!inner)
            continue;
        const bool trimmed = in_trimmed_class(bytes);
        const auto result = decode(*inner, trimmed);
        if (expected == "unspecified")
            continue;                    // no crash is all that is asked
        if (v.name == "udp_payload_0") { // without an opcode byte, who sent it is a matter of taste
            EXPECT_FALSE(result.has_value());
            continue;
        }
        const std::string word = result ? (trimmed ? "trimmed" : "accept") : word_of(result.error());
        EXPECT_EQ(word, expected == "trimmed_lasthop" ? "trimmed" : expected) << (result ? "" : text(result.error()));
        if (result && v.has("ev")) {
            const auto [dqp, psn] = identity_of(result->content);
            const bool probe = v.number<unsigned int>("opcode") == MRC_OP_PROBE_REQUEST;
            EXPECT_EQ(dqp, v.number<unsigned int>("dqp"));
            EXPECT_EQ(psn & 0xFFFF, probe ? 0 : v.number<unsigned int>("psn") & 0xFFFF);
            EXPECT_EQ(result->entropy, ev{v.number<std::uint32_t>("ev")});
        }
    }
    EXPECT_GE(words.size(), 11u) << "every word of the README";
}

} // namespace
