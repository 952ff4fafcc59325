// SPDX-License-Identifier: Apache-2.0
// MRC packets as values, between the frame codec (bytes) and the state machines (meaning). Field meanings:
// mrc/abi/wire.h.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "protocol/types.h"

namespace mrc::protocol
{

// WRITE First/Middle/Last/Only, the last two with or without immediate (opcodes C6–CB).
struct data_packet {
    std::uint8_t opcode = MRC_OP_WRITE_ONLY;
    qpn destination;
    psn sequence;
    bool ack_request = false;
    bool retransmission = false;
    bool solicited = false;
    std::uint16_t rqmsn = 0;
    std::uint16_t msn = 0;
    std::optional<std::uint16_t> tx_timestamp;
    std::uint64_t va = 0; // of this packet's first byte
    std::uint32_t rkey = 0;
    std::uint32_t message_bytes = 0;        // whole message
    std::optional<std::uint32_t> immediate; // as it stands on the wire, big-endian word read as host integer
    std::uint32_t payload_bytes = 0;
    friend bool operator==(const data_packet &, const data_packet &) = default;
};

// Reliability SACK with congestion-control state (opcode DC).
struct sack_packet {
    qpn destination;
    bool retransmission = false; // triggered by a retransmitted packet
    std::uint8_t m = MRC_SACK_M_NONE;
    bool probe_response = false;
    std::uint16_t probe_id = 0;      // when probe_response
    std::int16_t ack_psn_offset = 0; // otherwise: triggering PSN = cack + this
    ev entropy;                      // of the triggering packet
    std::uint16_t spdcid = 0;
    std::uint16_t dpdcid = 0;
    psn cack;
    std::uint8_t mpr = 0; // units of 128 PSNs
    std::int16_t sack_offset = 1;
    std::uint64_t bitmap = 0;
    std::uint16_t tx_timestamp = 0; // reflected
    std::uint16_t ooo_count = 0;
    bool restore_cwnd = false;
    std::uint8_t rcv_cwnd_penalty = 0; // 0…127
    std::uint32_t rcvd_units = 0;      // 256-byte units, modulo 2^24
    friend bool operator==(const sack_packet &, const sack_packet &) = default;
};

// Reliability NACK (opcode DD).
struct nack_packet {
    qpn destination;
    std::uint8_t reason = 0; // enum mrc_nack_reason, or a code unknown to us
    std::uint8_t vendor = 0;
    ev entropy;
    std::uint16_t spdcid = 0;
    std::uint16_t dpdcid = 0;
    psn sequence;
    std::uint16_t tx_timestamp = 0; // reflected
    friend bool operator==(const nack_packet &, const nack_packet &) = default;
};

// Reliability probe request (opcode DE).
struct probe_packet {
    qpn destination;
    std::uint16_t probe_id = 0;
    std::uint16_t spdcid = 0;
    std::uint16_t dpdcid = 0;
    std::uint16_t tx_timestamp = 0;
    friend bool operator==(const probe_packet &, const probe_packet &) = default;
};

// Transport ACK or NAK (opcode D1).
struct transport_ack_packet {
    qpn destination;
    psn sequence; // cumulative, as in RC
    std::uint8_t syndrome = MRC_AETH_ACK;
    std::uint32_t msn = 0; // 24 bits: messages completed
    friend bool operator==(const transport_ack_packet &, const transport_ack_packet &) = default;
};

// Endpoint request (opcode D8): EV probe or port status update.
struct endpoint_request_packet {
    std::uint16_t request_id = 0;
    std::uint8_t operation = MRC_EP_EV_PROBE; // enum mrc_endpoint_op
    std::uint32_t port_status_mask = 0;
    std::uint16_t tx_timestamp = 0;
    friend bool operator==(const endpoint_request_packet &, const endpoint_request_packet &) = default;
};

// Endpoint response (opcode D9).
struct endpoint_response_packet {
    std::uint16_t request_id = 0;
    std::uint8_t operation = MRC_EP_EV_PROBE;
    std::uint16_t tx_timestamp = 0; // reflected
    friend bool operator==(const endpoint_response_packet &, const endpoint_response_packet &) = default;
};

using packet = std::variant<data_packet, sack_packet, nack_packet, probe_packet, transport_ack_packet,
                            endpoint_request_packet, endpoint_response_packet>;

// What the network said about a packet besides its bytes.
struct arrival {
    ev entropy;
    path_index path;
    instant at;
    bool congestion_experienced = false;
    bool trimmed = false;
    bool trimmed_last_hop = false;
    std::uint32_t wire_bytes = 0; // inner IP packet, for rcvd_bytes (UDP length + 40, decision D10)
};

// Payload of an outgoing packet: a range of a registered local region; the worker copies it into the frame.
struct payload_source {
    std::uint32_t lkey = 0;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
};

// A packet to send: the worker encodes it, fetches the payload and pushes the outer header of `path`.
struct outgoing {
    packet content;
    payload_source payload; // bytes = 0 for control packets
    ev entropy;
    path_index path;
    std::uint8_t dscp = MRC_DSCP_CONTROL;
    std::uint8_t ecn = MRC_ECN_NOT_ECT;
    bool dscp_as_is = false; // a code point that a controller asked for, not one of enum mrc_dscp
};

} // namespace mrc::protocol
