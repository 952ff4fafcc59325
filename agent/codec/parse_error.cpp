// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_parser.h"

namespace mrc::codec
{

std::string_view text(parse_error error)
{
    switch (error) {
    case parse_error::ip_truncated:
        return "bytes end inside the IP header";
    case parse_error::ip_version:
        return "IP version is neither 4 nor 6";
    case parse_error::ip_header_length:
        return "IPv4 header length is below 20";
    case parse_error::ip_fragment:
        return "IPv4 fragment";
    case parse_error::ip_options:
        return "IPv4 options";
    case parse_error::mapped_address:
        return "IPv4-mapped address in an IPv6 header";
    case parse_error::not_udp:
        return "next protocol is not UDP";
    case parse_error::udp_truncated:
        return "bytes end inside the UDP header";
    case parse_error::udp_port:
        return "UDP destination port is not an MRC port";
    case parse_error::bth_truncated:
        return "bytes end inside BTH";
    case parse_error::foreign_opcode:
        return "opcode belongs to another transport service";
    case parse_error::transport_version:
        return "transport version is not 0";
    case parse_error::packet_truncated:
        return "IP length is beyond the bytes present";
    case parse_error::udp_length:
        return "UDP length disagrees with IP length";
    case parse_error::unknown_opcode:
        return "unknown MRC opcode";
    case parse_error::trimmed_control:
        return "trimmed control packet";
    case parse_error::headers_truncated:
        return "headers of the opcode do not fit the length";
    case parse_error::control_payload:
        return "control packet with bytes behind its headers";
    case parse_error::pad_count:
        return "pad count is beyond the bytes present";
    case parse_error::payload_alignment:
        return "payload and pad are not whole 32-bit words";
    case parse_error::icrc:
        return "ICRC differs";
    case parse_error::message_length:
        return "payload length contradicts the message length";
    }
    return "unknown parse error";
}

mrc_verdict verdict(parse_error error)
{
    switch (error) {
    case parse_error::ip_truncated:
    case parse_error::udp_truncated:
    case parse_error::bth_truncated:
    case parse_error::packet_truncated:
    case parse_error::trimmed_control:
        return MRC_AGENT_DROP_TRUNCATED;
    case parse_error::ip_header_length:
    case parse_error::udp_length:
    case parse_error::headers_truncated:
    case parse_error::control_payload:
    case parse_error::pad_count:
    case parse_error::payload_alignment:
    case parse_error::message_length:
        return MRC_AGENT_DROP_BAD_LENGTH;
    case parse_error::icrc:
        return MRC_AGENT_DROP_BAD_ICRC;
    case parse_error::mapped_address:
        return MRC_AGENT_DROP_WRONG_PEER; // it would pass for an IPv4 peer
    case parse_error::ip_version:
    case parse_error::ip_fragment:
    case parse_error::ip_options:
    case parse_error::not_udp:
    case parse_error::udp_port:
    case parse_error::foreign_opcode:
    case parse_error::transport_version:
    case parse_error::unknown_opcode:
        return MRC_AGENT_DROP_BAD_OPCODE; // not an MRC packet that this version speaks
    }
    return MRC_AGENT_DROP_BAD_OPCODE;
}

} // namespace mrc::codec
