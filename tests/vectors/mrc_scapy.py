# SPDX-License-Identifier: Apache-2.0
"""Scapy layers for MRC, and a whole-packet encoder and decoder on top of them.

This is the project's independent encoder: it is written from docs/protocol.md (section numbers in
the comments below are theirs) and imports nothing of the project, so that a mistake in the C headers
cannot hide in the vectors that test them. Run it with the system's python3 (package python3-scapy).
"""

import ipaddress
import logging
import struct
import zlib

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)  # no routes are needed to build bytes

from scapy.fields import (  # noqa: E402
    BitField,
    ConditionalField,
    SignedShortField,
    X3BytesField,
    XByteField,
    XIntField,
    XLongField,
    XShortField,
)
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.packet import NoPayload, Packet, Raw, bind_layers  # noqa: E402

MRC_PORTS = (4791, 4971)  # D1
ICRC_BYTES = 4

# DSCPs of D8 and ECN code points.
DSCP = dict(NO_TRIM=0, TRIMMABLE=4, RETX=8, TRIMMED=12, LASTHOP=16, CONTROL=46)
NOT_ECT, ECT1, ECT0, CE = range(4)

# Opcodes, protocol.md §1.2.
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST = 0xC6, 0xC7, 0xC8
WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = 0xC9, 0xCA, 0xCB
ACKNOWLEDGE, ENDPOINT_REQUEST, ENDPOINT_RESPONSE = 0xD1, 0xD8, 0xD9
SACK, NACK, PROBE = 0xDC, 0xDD, 0xDE
DATA = range(WRITE_FIRST, WRITE_ONLY_IMM + 1)
WITH_IMMEDIATE = (WRITE_LAST_IMM, WRITE_ONLY_IMM)


class ExtensionHeader(Packet):
    """A header behind BTH: what follows it depends on BTH, not on the header itself."""

    def bth(self):
        layer = self.underlayer
        while layer is not None and not isinstance(layer, BTH):
            layer = layer.underlayer
        return layer

    def guess_payload_class(self, payload):
        bth = self.bth()
        chain = headers_after_bth(bth.opcode, bth.ts) if bth else []
        position = chain.index(type(self)) + 1 if type(self) in chain else len(chain)
        return chain[position] if position < len(chain) else Raw


class BTH(Packet):
    """Base transport header, 12 bytes, protocol.md §1.3. Order of byte 1 as D3."""

    name = "MRC BTH"
    fields_desc = [
        XByteField("opcode", WRITE_ONLY),
        BitField("mig_req", 0, 1),
        BitField("se", 0, 1),
        BitField("pad", 0, 2),
        BitField("tver", 0, 4),
        XShortField("p_key", 0xFFFF),
        XByteField("var_res", 0),  # the only byte of BTH that the ICRC leaves out
        X3BytesField("dqp", 0),
        BitField("a", 0, 1),
        BitField("res", 0, 1),
        BitField("rtx", 0, 1),
        BitField("ts", 0, 1),
        BitField("inv_res", 0, 4),
        X3BytesField("psn", 0),
    ]

    def guess_payload_class(self, payload):
        chain = headers_after_bth(self.opcode, self.ts)
        return chain[0] if chain else Raw


class METH(ExtensionHeader):
    """Message header, protocol.md §1.4."""

    name = "MRC METH"
    fields_desc = [XShortField("rqmsn", 0), XShortField("msn", 0)]


class TSETH(ExtensionHeader):
    """Timestamp header, protocol.md §1.4; in front of RETH when BTH.ts is set."""

    name = "MRC TSETH"
    fields_desc = [
        XShortField("tx_timestamp", 0),
        BitField("tsr", 0, 1),
        BitField("res", 0, 11),
        BitField("ftype", 1, 4),
    ]


class RETH(ExtensionHeader):
    """RDMA header, protocol.md §1.4; in every data packet, dmalen is the whole message."""

    name = "MRC RETH"
    fields_desc = [XLongField("va", 0), XIntField("r_key", 0), XIntField("dmalen", 0)]


class ImmDt(ExtensionHeader):
    name = "MRC ImmDt"
    fields_desc = [XIntField("imm", 0)]


class SETH(ExtensionHeader):
    """Selective acknowledgement, 28 bytes, protocol.md §1.5; CC_STATE always follows."""

    name = "MRC SETH"
    fields_desc = [
        BitField("type", 0, 4),
        BitField("nxt", 0, 5),
        BitField("m", 0, 2),
        BitField("res", 0, 3),
        BitField("pr", 0, 1),
        BitField("res2", 0, 1),
        ConditionalField(SignedShortField("ack_psn_offset", 0), lambda p: p.pr == 0),
        ConditionalField(XShortField("probe_id", 0), lambda p: p.pr == 1),
        XIntField("entropy", 0),
        XShortField("spdcid", 0),
        XShortField("dpdcid", 0),
        XByteField("res3", 0),
        X3BytesField("cack_psn", 0),
        BitField("cc_type", 0, 4),
        BitField("cc_fl", 0, 4),
        XByteField("mpr", 0),
        SignedShortField("sack_offset", 1),
        XLongField("sack_bitmap", 0),
    ]


class CC_STATE(ExtensionHeader):
    """Congestion state, 8 bytes, protocol.md §1.5; rcvd_bytes in units of 256 bytes."""

    name = "MRC CC_STATE"
    fields_desc = [
        XShortField("tx_timestamp", 0),
        BitField("res", 0, 1),
        BitField("ooo_count", 0, 15),
        BitField("restore_cwnd", 0, 1),
        BitField("rcv_cwnd_pen", 0, 7),
        X3BytesField("rcvd_bytes", 0),
    ]


class NETH(ExtensionHeader):
    """Negative acknowledgement, 20 bytes, protocol.md §1.6."""

    name = "MRC NETH"
    fields_desc = [
        BitField("type", 0, 4),
        BitField("nxt", 0, 5),
        BitField("res", 0, 7),
        XByteField("nack_reason", 0),
        XByteField("vendor_info", 0),
        XIntField("entropy", 0),
        XShortField("spdcid", 0),
        XShortField("dpdcid", 0),
        XByteField("res2", 0),
        X3BytesField("nack_psn", 0),
        BitField("cc_type", 2, 4),
        BitField("cc_fl", 0, 4),
        XByteField("res3", 0),
        XShortField("tx_timestamp", 0),
    ]


class PETH(ExtensionHeader):
    """Reliability probe, 16 bytes, protocol.md §1.7."""

    name = "MRC PETH"
    fields_desc = [
        BitField("type", 0, 4),
        BitField("nxt", 0, 5),
        BitField("res", 0, 7),
        XByteField("res2", 0),
        XByteField("vendor_info", 0),
        XShortField("probe_id", 0),
        XShortField("res3", 0),
        XShortField("spdcid", 0),
        XShortField("dpdcid", 0),
        XShortField("tx_timestamp", 0),
        BitField("tsr", 0, 1),
        BitField("res4", 0, 11),
        BitField("ftype", 1, 4),
    ]


class ERTH(ExtensionHeader):
    """Endpoint request, 16 bytes, protocol.md §1.7; op 0 = port status, 1 = EV probe."""

    name = "MRC ERTH"
    fields_desc = [
        BitField("type", 0, 4),
        BitField("nxt", 0, 5),
        BitField("res", 0, 5),
        BitField("op", 0, 2),
        XByteField("res2", 0),
        XByteField("vendor_info", 0),
        XIntField("port_status_mask", 0),
        XIntField("res3", 0),
        XShortField("tx_timestamp", 0),
        BitField("tsr", 0, 1),
        BitField("res4", 0, 11),
        BitField("ftype", 1, 4),
    ]


class EETH(ExtensionHeader):
    """Endpoint response, 36 bytes, protocol.md §1.7; op sits two bits higher than in ERTH (D4)."""

    name = "MRC EETH"
    fields_desc = [
        BitField("type", 0, 4),
        BitField("nxt", 0, 5),
        BitField("res", 0, 3),
        BitField("op", 0, 2),
        BitField("res2", 0, 2),
        BitField("res3", 0, 26 * 8),
        XShortField("tx_timestamp", 0),
        BitField("res4", 0, 6 * 8),
    ]


class AETH(ExtensionHeader):
    """Transport acknowledgement, 4 bytes, protocol.md §1.8."""

    name = "MRC AETH"
    fields_desc = [XByteField("syndrome", 0x1F), X3BytesField("msn", 0)]


CONTROL_HEADERS = {
    ACKNOWLEDGE: [AETH],
    ENDPOINT_REQUEST: [ERTH],
    ENDPOINT_RESPONSE: [EETH],
    SACK: [SETH, CC_STATE],
    NACK: [NETH],
    PROBE: [PETH],
}

for port in MRC_PORTS:
    bind_layers(UDP, BTH, dport=port)


def headers_after_bth(opcode, ts):
    """The header classes behind BTH, protocol.md §1.2; empty for an opcode that is not MRC's."""
    if opcode in DATA:
        immediate = [ImmDt] if opcode in WITH_IMMEDIATE else []
        return [METH] + ([TSETH] if ts else []) + [RETH] + immediate
    return CONTROL_HEADERS.get(opcode, [])


def header_bytes(opcode, ts):
    """Length of BTH and everything up to the payload."""
    return len(BTH()) + sum(len(layer()) for layer in headers_after_bth(opcode, ts))


def ev_of(flow_label, sport, version=6):
    """Entropy value of a packet, D2; IPv4 has no flow label, absent bits are zero."""
    return sport if version == 4 else (flow_label & 0xFFFF) << 16 | sport


def icrc(packet):
    """ICRC of an inner IP packet given up to, and without, its ICRC field (protocol.md §1.12)."""
    masked = bytearray(packet)
    if packet[0] >> 4 == 6:
        masked[0] |= 0x0F  # traffic class and flow label: the 28 bits behind the version
        masked[1:4] = b"\xff" * 3
        masked[7] = 0xFF
        udp = 40
    else:
        masked[1] = masked[8] = 0xFF
        masked[10:12] = b"\xff\xff"
        udp = (packet[0] & 15) * 4
    masked[udp + 6 : udp + 8] = b"\xff\xff"
    if len(masked) > udp + 8 + 4:  # hostile vectors are sealed too when they are shorter
        masked[udp + 8 + 4] = 0xFF  # var_res
    return zlib.crc32(b"\xff" * 8 + masked)


def seal(packet):
    """Appends the ICRC to an inner IP packet whose length fields already count it."""
    return bytes(packet) + struct.pack("<I", icrc(packet))


def transport_bytes(opcode, fields, payload=b""):
    """BTH up to the padding, without ICRC. Field names are unique within one packet."""
    fields = dict(fields)
    packet = None
    for layer in [BTH] + headers_after_bth(opcode, fields.get("ts", 0)):
        names = {f.name for f in layer.fields_desc}
        part = layer(**{k: fields.pop(k) for k in list(fields) if k in names})
        packet = part if packet is None else packet / part
    if fields:
        raise KeyError(f"opcode {opcode:#x} has no field {sorted(fields)}")
    packet.opcode = opcode
    padding = -len(payload) % 4
    if "pad" not in packet.fields:
        packet.pad = padding
    return bytes(packet) + payload + bytes(padding)


def inner_packet(network, transport):
    """IP and UDP around transport bytes, with ICRC. The UDP checksum is sent as 0 (D1)."""
    if network["ip"] == 6:
        ip = IPv6(
            src=network["src"],
            dst=network["dst"],
            tc=network["tc"],
            fl=network["flow_label"],
            hlim=network["hop_limit"],
        )
    else:
        ip = IP(
            src=network["src"],
            dst=network["dst"],
            tos=network["tc"],
            ttl=network["hop_limit"],
            id=network["ip_id"],
            flags="DF" if network["ip_df"] else 0,
        )
    udp = UDP(sport=network["sport"], dport=network["dport"], chksum=0)
    whole = bytes(ip / udp / Raw(transport + bytes(ICRC_BYTES)))
    return seal(whole[:-ICRC_BYTES])


def encapsulate(inner, outer):
    """IPv6-in-IPv6 (or IPv4-in-IPv6), no SRH: protocol.md §7. The ICRC does not see it."""
    header = IPv6(
        src=outer["outer_src"],
        dst=outer["outer_dst"],
        tc=outer["outer_tc"],
        fl=outer["outer_flow_label"],
        hlim=outer["outer_hop_limit"],
        nh=41 if inner[0] >> 4 == 6 else 4,
        plen=len(inner),
    )
    return bytes(header) + inner


def usid_carrier(block, usids):
    """F3216 carrier: a 32-bit block and up to six 16-bit uSIDs (protocol.md §7)."""
    if len(usids) > 6:
        raise ValueError("an F3216 carrier holds six uSIDs")
    value = int(ipaddress.IPv6Address(block))
    for position, usid in enumerate(usids):
        value |= usid << (80 - 16 * position)
    return str(ipaddress.IPv6Address(value))


def transport_fields(packet):
    """(header class name, field, value) of every field from BTH on, in wire order."""
    layer = packet[BTH]
    while not isinstance(layer, (Raw, NoPayload)):
        for field in layer.fields_desc:
            value = layer.getfieldval(field.name)
            if not isinstance(field, ConditionalField) or field._evalcond(layer):
                yield type(layer).__name__, field.name, value
        layer = layer.payload


def decode(data):
    """Scapy's own dissection of a packet that may have an outer header."""
    return (IPv6 if data[0] >> 4 == 6 else IP)(data)


def payload_of(packet):
    """Payload without padding and ICRC."""
    tail = bytes(packet[Raw].load)[:-ICRC_BYTES]
    return tail[: len(tail) - packet[BTH].pad]
