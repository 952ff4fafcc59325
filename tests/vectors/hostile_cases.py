# SPDX-License-Identifier: Apache-2.0
"""The packets of hostile.txt: each has one fault, and is otherwise right, its ICRC included."""

import collections
import struct
import zlib

import mrc_scapy as mrc
from golden_cases import (
    ENDPOINT_FIELDS, NACK_FIELDS, NETWORK, NETWORK_V4, OUTER_ARRIVED, PROBE_FIELDS,
    REQUESTER_QP, RESPONDER_QP, SACK_FIELDS, CONTROL_TC, pattern, traffic_class,
)  # fmt: skip

Case = collections.namedtuple("Case", "name expect why data")

# Offsets in an inner IPv6 packet.
UDP, BTH, EXT = 40, 48, 60
METH, TSETH, RETH, IMM, PAYLOAD = 60, 64, 68, 84, 88  # WRITE_ONLY_IMM with TSETH
EVERY_CONTROL = [
    (mrc.ACKNOWLEDGE, dict(dqp=REQUESTER_QP, psn=0x10, msn=8)),
    (mrc.ENDPOINT_REQUEST, dict(ENDPOINT_FIELDS, op=1)),
    (mrc.ENDPOINT_RESPONSE, dict(ENDPOINT_FIELDS, op=1)),
    (mrc.SACK, SACK_FIELDS),
    (mrc.NACK, dict(NACK_FIELDS, nack_reason=1)),
    (mrc.PROBE, PROBE_FIELDS),
]
NAMES = {
    mrc.WRITE_FIRST: "write_first", mrc.WRITE_MIDDLE: "write_middle", mrc.WRITE_LAST: "write_last",
    mrc.WRITE_LAST_IMM: "write_last_imm", mrc.WRITE_ONLY: "write_only",
    mrc.WRITE_ONLY_IMM: "write_only_imm", mrc.ACKNOWLEDGE: "acknowledge",
    mrc.ENDPOINT_REQUEST: "endpoint_request", mrc.ENDPOINT_RESPONSE: "endpoint_response",
    mrc.SACK: "sack", mrc.NACK: "nack", mrc.PROBE: "probe",
}  # fmt: skip


def write_transport(opcode=mrc.WRITE_ONLY_IMM, size=32, ts=1, **fields):
    fields = dict(
        dict(dqp=RESPONDER_QP, psn=0x10, ts=ts, msn=7, va=0x1122334455667788, r_key=0xCAFE0001,
             dmalen=size),
        **fields,
    )  # fmt: skip
    if ts:
        fields.setdefault("tx_timestamp", 0xBEEF)
    return mrc.transport_bytes(opcode, fields, pattern(size))


def write(opcode=mrc.WRITE_ONLY_IMM, network=None, **fields):
    return mrc.inner_packet(network or NETWORK, write_transport(opcode, **fields))


def control(opcode, **changes):
    fields = dict(dict(EVERY_CONTROL)[opcode], **changes)
    return mrc.inner_packet(dict(NETWORK, tc=CONTROL_TC), mrc.transport_bytes(opcode, fields))


def poke(packet, at, value):
    """Replaces bytes from `at` on; the ICRC stays as it was."""
    value = bytes([value]) if isinstance(value, int) else value
    return packet[:at] + value + packet[at + len(value) :]


def resealed(packet, at, value):
    return mrc.seal(poke(packet, at, value)[:-4])


def be16(value):
    return struct.pack(">H", value)


def with_ipv4_checksum(packet):
    header = poke(packet[:20], 10, b"\0\0")
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return poke(packet, 10, be16(~((total & 0xFFFF) + (total >> 16)) & 0xFFFF))


def without_icrc(payload):
    """A packet with right lengths around any UDP payload, also one too short for an ICRC."""
    base = write()[:BTH]
    size = be16(8 + len(payload))
    return poke(poke(base, 4, size), UDP + 4, size) + payload


def cut_cases():
    """Bytes end before the length fields say."""
    packet, ipv4 = write(), write(network=NETWORK_V4)
    tunnel = mrc.encapsulate(packet, OUTER_ARRIVED)
    ends = [0, 1, 39, UDP, UDP + 1, UDP + 4, BTH - 1, BTH, BTH + 1, METH - 1, METH, TSETH - 1,
            TSETH, RETH - 1, RETH, IMM - 1, IMM, PAYLOAD - 1, PAYLOAD, PAYLOAD + 16, len(packet) - 4,
            len(packet) - 1]  # fmt: skip
    why = "bytes end early, lengths unchanged"
    for end in ends:
        yield Case(f"cut_write_at_{end}", "truncated", why, packet[:end])
    for end in (1, 39, 40, 41, 79, 80, 87, 88, 89, 99, 100, len(tunnel) - 1):
        yield Case(f"cut_srv6_write_at_{end}", "truncated", why, tunnel[:end])
    for end in (1, 19, 20, 27, 28, 29, 39, 40, len(ipv4) - 1):
        yield Case(f"cut_ipv4_write_at_{end}", "truncated", why, ipv4[:end])
    for opcode, _ in EVERY_CONTROL:
        packet = control(opcode)
        for end in sorted({EXT, EXT + 2, EXT + 12, len(packet) - 4, len(packet) - 1}):
            if end < len(packet):
                yield Case(f"cut_{NAMES[opcode]}_at_{end}", "truncated", why, packet[:end])


def short_cases():
    """All lengths agree, the ICRC is right, but the packet is too short or long for its opcode."""
    for opcode in mrc.DATA:
        for ts in (0, 1):
            size = mrc.header_bytes(opcode, ts)
            for end in (12, 16, size - 4, size - 1):
                transport = write_transport(opcode, size=0, ts=ts)[:end]
                yield Case(f"short_{NAMES[opcode]}_{'ts' if ts else 'plain'}_{end}", "bad_length",
                           f"{end} of {size} header bytes", mrc.inner_packet(NETWORK, transport))  # fmt: skip
    network = dict(NETWORK, tc=CONTROL_TC)
    for opcode, fields in EVERY_CONTROL:
        transport = mrc.transport_bytes(opcode, fields)
        for end in sorted({12, 24, len(transport) - 4, len(transport) - 1}):
            if end < len(transport):
                yield Case(f"short_{NAMES[opcode]}_{end}", "bad_length",
                           f"{end} of {len(transport)} header bytes",
                           mrc.inner_packet(network, transport[:end]))  # fmt: skip
        for extra in (1, 4, 64):
            yield Case(f"long_{NAMES[opcode]}_{extra}", "bad_length", "control carries no payload",
                       mrc.inner_packet(network, transport + bytes(extra)))  # fmt: skip
    transport = write_transport()
    yield Case("udp_payload_0", "not_mrc", "no opcode to see", without_icrc(b""))
    for size in (1, 4, 11, 12, 15):
        yield Case(f"udp_payload_{size}", "bad_length", "no room for BTH and ICRC",
                   without_icrc(transport[:size]))  # fmt: skip


def length_cases():
    packet, ipv4 = write(), write(network=NETWORK_V4)
    tunnel = mrc.encapsulate(packet, OUTER_ARRIVED)
    udp_bytes = len(packet) - UDP
    for size in (0, 7, 8, udp_bytes - 4, udp_bytes + 4, 0xFFFF):
        yield Case(f"udp_length_{size}", "bad_length", f"UDP length is not {udp_bytes}",
                   resealed(packet, UDP + 4, be16(size)))  # fmt: skip
    for size in (0, 4, 8, udp_bytes - 4):
        yield Case(f"ipv6_length_{size}", "bad_length", "IP payload is shorter than UDP says",
                   poke(packet, 4, be16(size)))  # fmt: skip
    for size in (udp_bytes + 1, 0xFFFF):
        yield Case(f"ipv6_length_{size}", "truncated", "IP payload is longer than the packet",
                   poke(packet, 4, be16(size)))  # fmt: skip
    for size, word in ((0, "bad_length"), (20, "bad_length"), (len(ipv4) - 4, "bad_length"),
                       (len(ipv4) + 1, "truncated"), (0xFFFF, "truncated")):  # fmt: skip
        yield Case(f"ipv4_length_{size}", word, f"IPv4 total length is not {len(ipv4)}",
                   with_ipv4_checksum(poke(ipv4, 2, be16(size))))  # fmt: skip
    for size in (len(packet) - 4, len(packet) + 1, 0xFFFF):
        yield Case(f"outer_length_{size}", "truncated", f"outer payload length is not {len(packet)}",
                   poke(tunnel, 4, be16(size)))  # fmt: skip
    for size in (1, 4, 46):
        yield Case(f"trailer_{size}", "accept", "link padding behind the IP packet is not part of it",
                   packet + b"\xa5" * size)  # fmt: skip
    yield Case("outer_trailer_4", "accept", "link padding behind the outer packet",
               tunnel + b"\xa5" * 4)  # fmt: skip
    empty = write(mrc.WRITE_ONLY, size=0)
    for pad in (1, 2, 3):
        yield Case(f"pad_{pad}_of_nothing", "bad_length", "more padding than payload area",
                   resealed(empty, BTH + 1, pad << 4))  # fmt: skip
        yield Case(f"pad_{pad}_sack", "bad_length", "control carries no padding",
                   resealed(control(mrc.SACK), BTH + 1, pad << 4))  # fmt: skip
    for pad in (1, 2, 3):
        transport = write_transport(mrc.WRITE_ONLY, size=16 - pad)[:-pad]
        yield Case(f"pad_{pad}_absent", "bad_length", "padding announced, not sent",
                   mrc.inner_packet(NETWORK, transport))  # fmt: skip
    only, first = write(mrc.WRITE_ONLY, size=16), write(mrc.WRITE_FIRST, size=16)
    for dmalen in (0, 15, 17, 0xFFFFFFFF):
        yield Case(f"only_16_dmalen_{dmalen}", "bad_dmalen", "message of one packet, other length",
                   resealed(only, IMM - 4, struct.pack(">I", dmalen)))  # fmt: skip
    yield Case("first_16_dmalen_15", "bad_dmalen", "packet longer than its message",
               resealed(first, IMM - 4, struct.pack(">I", 15)))  # fmt: skip
    yield Case("va_wraps", "accept", "address range wraps: the memory check must refuse it",
               write(va=0xFFFFFFFFFFFFFFF8))  # fmt: skip


def foreign_cases():
    packet, ipv4 = write(), write(network=NETWORK_V4)
    for version in (0, 1, 5, 7, 15):
        yield Case(f"ip_version_{version}", "not_mrc", "neither IPv4 nor IPv6",
                   poke(packet, 0, version << 4))  # fmt: skip
    yield Case("ipv6_called_ipv4", "not_mrc", "IPv6 body, version 4", poke(packet, 0, 0x45))
    yield Case("ipv4_called_ipv6", "not_mrc", "IPv4 body, version 6", poke(ipv4, 0, 0x65))
    tunnel = mrc.encapsulate(packet, OUTER_ARRIVED)
    yield Case("srv6_inner_version_0", "not_mrc", "inner version", poke(tunnel, 40, 0x00))
    yield Case("srv6_twice", "not_mrc", "only one outer header is popped",
               mrc.encapsulate(tunnel, OUTER_ARRIVED))  # fmt: skip
    srh = bytes([41, 2, 4, 0, 0, 0, 0, 0]) + bytes(16)
    routed = poke(poke(tunnel[:40], 4, be16(len(packet) + len(srh))), 6, 43) + srh + packet
    yield Case("srv6_with_srh", "unspecified", "a segment routing header is optional", routed)
    for header in (0, 6, 44, 58, 59, 60):
        yield Case(f"ipv6_next_header_{header}", "not_mrc", "not UDP", poke(packet, 6, header))
    yield Case("ipv4_tcp", "not_mrc", "not UDP", with_ipv4_checksum(poke(ipv4, 9, 6)))
    for ihl in (0, 4):
        yield Case(f"ipv4_ihl_{ihl}", "not_mrc", "IPv4 header too short", poke(ipv4, 0, 0x40 | ihl))
    options = with_ipv4_checksum(poke(poke(ipv4, 0, 0x46), 2, be16(len(ipv4) + 4)))
    options = options[:20] + b"\x01\x01\x01\x00" + options[20:]
    yield Case("ipv4_options", "unspecified", "IPv4 options", options)
    for name, flags in (("first", 0x2000), ("later", 0x0010), ("last_but_df", 0x4001)):
        yield Case(f"ipv4_fragment_{name}", "not_mrc", "fragments belong to the kernel",
                   with_ipv4_checksum(poke(ipv4, 6, be16(flags))))  # fmt: skip
    for port in (0, 4790, 4792, 4793, 4970, 4972, 0xB712, 0x6B13):
        yield Case(f"dport_{port}", "not_mrc", "UDP port of something else",
                   write(network=dict(NETWORK, dport=port)))  # fmt: skip
    yield Case("sport_4791_dport_53", "not_mrc", "the source port does not count",
               write(network=dict(NETWORK, sport=4791, dport=53)))  # fmt: skip
    for opcode in (0x00, 0x04, 0x0A, 0x11, 0x64, 0x81, 0xA6, 0xBF, 0xE0, 0xE6, 0xFF):
        yield Case(f"opcode_{opcode:02x}", "not_mrc", "RoCE or other: top bits are not 110",
                   resealed(packet, BTH, opcode))  # fmt: skip
    for opcode in range(0xC0, 0xE0):
        if not mrc.headers_after_bth(opcode, 0):
            yield Case(f"opcode_{opcode:02x}", "unknown_opcode", "MRC service, no such opcode",
                       resealed(packet, BTH, opcode))  # fmt: skip
    for tver in (1, 8, 15):
        yield Case(f"tver_{tver}", "bad_tver", "transport version is not 0",
                   resealed(packet, BTH + 1, tver))  # fmt: skip


def icrc_cases():
    packet, body = write(), write()[:-4]
    right = mrc.icrc(body)
    for byte in range(4):
        yield Case(f"icrc_bit_in_byte_{byte}", "bad_icrc", "one bit of the ICRC",
                   poke(packet, len(body) + byte, packet[len(body) + byte] ^ 1 << byte))  # fmt: skip
    for name, value in (("zero", b"\0" * 4), ("ones", b"\xff" * 4),
                        ("big_endian", struct.pack(">I", right)),
                        ("not_complemented", struct.pack("<I", right ^ 0xFFFFFFFF)),
                        ("plain_crc", struct.pack("<I", zlib.crc32(body))),
                        ("without_ip", struct.pack("<I", zlib.crc32(body[BTH:])))):  # fmt: skip
        yield Case(f"icrc_{name}", "bad_icrc", "wrong ICRC", body + value)
    covered = dict(payload_length=PAYLOAD + 31, source=23, destination=39, sport=UDP + 1,
                   opcode=BTH, flags=BTH + 1, p_key=BTH + 3, dqp=BTH + 7, psn=BTH + 11, msn=METH + 3,
                   tx_timestamp=TSETH, va=RETH + 7, r_key=RETH + 11, imm=IMM, payload=PAYLOAD)  # fmt: skip
    covered["last_payload_byte"] = covered.pop("payload_length")
    for name, at in covered.items():
        flip = 0x40 if name == "flags" else 1  # se: an ignored bit is covered all the same
        yield Case(f"icrc_covers_{name}", "bad_icrc", "one covered bit changed on the way",
                   poke(packet, at, packet[at] ^ flip))  # fmt: skip
    padded = write(size=29)
    yield Case("icrc_covers_padding", "bad_icrc", "padding changed", poke(padded, len(padded) - 5, 1))
    for name, at, value in (("traffic_class", 0, b"\x6f\xb0"), ("flow_label", 1, b"\x25\x43\x21"),
                            ("hop_limit", 7, b"\x01"), ("udp_checksum", UDP + 6, b"\x12\x34"),
                            ("var_res", BTH + 4, b"\xa5")):  # fmt: skip
        yield Case(f"icrc_ignores_{name}", "accept", "masked field changed on the way",
                   poke(packet, at, value))  # fmt: skip
    ipv4 = write(network=NETWORK_V4)
    for name, at, value, word in (("tos", 1, b"\xbb", "accept"), ("ttl", 8, b"\x01", "accept"),
                                  ("id", 4, b"\x12\x34", "bad_icrc"), ("df", 6, b"\0", "bad_icrc")):  # fmt: skip
        yield Case(f"icrc_ipv4_{name}", word, "IPv4 field changed on the way",
                   with_ipv4_checksum(poke(ipv4, at, value)))  # fmt: skip
    yield Case("ipv4_header_checksum_wrong", "unspecified", "outside the ICRC; the kernel checks it",
               poke(ipv4, 10, b"\x12\x34"))  # fmt: skip


def reserved_cases():
    """Reserved bits are ignored; reserved values are an open question."""
    ignored = "reserved bits set"
    for name, at, value in (("mig_req", BTH + 1, 0x80), ("se", BTH + 1, 0x40), ("r", BTH + 8, 0x50),
                            ("inv_res", BTH + 8, 0x1F), ("tseth", TSETH + 2, b"\x7f\xf1")):  # fmt: skip
        yield Case(f"reserved_{name}", "accept", ignored, resealed(write(), at, value))
    ones = b"\xff"
    for name, opcode, at, value in (
        ("seth", mrc.SACK, 1, 0x1D), ("seth_byte_12", mrc.SACK, 12, ones),
        ("cc_state", mrc.SACK, 30, 0x80), ("neth", mrc.NACK, 1, 0x7F),
        ("neth_byte_12", mrc.NACK, 12, ones), ("neth_byte_17", mrc.NACK, 17, ones),
        ("peth", mrc.PROBE, 1, b"\x7f\xff"), ("peth_word_6", mrc.PROBE, 6, ones * 2),
        ("peth_ts", mrc.PROBE, 14, b"\x7f\xf1"), ("erth", mrc.ENDPOINT_REQUEST, 1, b"\x7d\xff"),
        ("erth_word_8", mrc.ENDPOINT_REQUEST, 8, ones * 4),
        ("erth_ts", mrc.ENDPOINT_REQUEST, 14, b"\x7f\xf1"),
        ("eeth", mrc.ENDPOINT_RESPONSE, 1, 0x77), ("eeth_26", mrc.ENDPOINT_RESPONSE, 2, ones * 26),
        ("eeth_tail", mrc.ENDPOINT_RESPONSE, 30, ones * 6),
    ):  # fmt: skip
        yield Case(f"reserved_{name}", "accept", ignored, resealed(control(opcode), EXT + at, value))
    yield Case("eeth_op_elsewhere", "accept", "op at bits 5:4 (D4): match on the request id",
               resealed(control(mrc.ENDPOINT_RESPONSE), EXT + 1, 0x10))  # fmt: skip
    yield Case("probe_psn_set", "accept", "PSN of a probe is reserved", control(mrc.PROBE, psn=0x77))
    yield Case("endpoint_id_high_bits", "accept", "the id is psn[15:0]",
               control(mrc.ENDPOINT_REQUEST, psn=0xAB0042))  # fmt: skip
    for reason in (0x00, 0x03, 0x55, 0xFF):
        yield Case(f"nack_reason_{reason:02x}", "accept", "unknown reason: recoverable, counted",
                   control(mrc.NACK, nack_reason=reason))  # fmt: skip
    yield from open_cases()


def open_cases():
    def case(name, data):
        return Case(name, "unspecified", "reserved value or contradiction", data)

    for ftype in (0, 2, 15):
        yield case(f"tseth_ftype_{ftype}", write(ftype=ftype))
        yield case(f"peth_ftype_{ftype}", control(mrc.PROBE, ftype=ftype))
        yield case(f"erth_ftype_{ftype}", control(mrc.ENDPOINT_REQUEST, ftype=ftype))
    for opcode in (mrc.SACK, mrc.NACK, mrc.PROBE, mrc.ENDPOINT_REQUEST, mrc.ENDPOINT_RESPONSE):
        yield case(f"{NAMES[opcode]}_type_1", control(opcode, type=1))
        yield case(f"{NAMES[opcode]}_nxt_1", control(opcode, nxt=1))
    yield case("sack_m_3", control(mrc.SACK, m=3))
    yield case("sack_cc_type_1", control(mrc.SACK, cc_type=1))
    yield case("nack_cc_type_0", control(mrc.NACK, cc_type=0))
    yield case("sack_two_cacks", control(mrc.SACK, cack_psn=0x11))
    yield case("nack_two_psns", control(mrc.NACK, nack_psn=0x13))
    for op in (2, 3):
        yield case(f"endpoint_request_op_{op}", control(mrc.ENDPOINT_REQUEST, op=op))
    yield case("port_status_port_0", control(mrc.ENDPOINT_REQUEST, op=0, port_status_mask=0x1FF))
    for opcode in (mrc.ENDPOINT_REQUEST, mrc.ENDPOINT_RESPONSE):
        yield case(f"{NAMES[opcode]}_other_qp", control(opcode, dqp=RESPONDER_QP))
    for opcode, _ in EVERY_CONTROL:
        yield case(f"{NAMES[opcode]}_with_ts", control(opcode, ts=1))
    for syndrome in (0x00, 0x20, 0x64, 0x7F, 0x9F, 0xFF):
        yield case(f"acknowledge_syndrome_{syndrome:02x}", control(mrc.ACKNOWLEDGE, syndrome=syndrome))
    for qpn in (0, 2, 15, 0xFFFFFF):
        yield case(f"write_dqp_{qpn:06x}", write(dqp=qpn))
    for p_key in (0x0000, 0x7FFF):
        yield case(f"p_key_{p_key:04x}", write(p_key=p_key))


def cut_by_switch(packet, keep, dscp, ecn=mrc.ECT0, outer=OUTER_ARRIVED):
    """protocol.md §6: DSCP and outermost length are rewritten, nothing inside is."""
    part = packet[:keep]
    tc = traffic_class(dscp, ecn)
    if outer:
        return mrc.encapsulate(part, dict(outer, outer_tc=tc))
    if packet[0] >> 4 == 4:
        return with_ipv4_checksum(poke(poke(part, 1, tc), 2, be16(keep)))
    return poke(poke(part, 0, be16(0x6000 | tc << 4)), 4, be16(keep - 40))


def trimmed_cases():
    long, plain = write(mrc.WRITE_MIDDLE, size=1024, dmalen=4096), write(size=1024, ts=0)
    ipv4 = write(network=NETWORK_V4, size=1024)
    cut = 128 - 14 - 40  # a 128-byte frame holds 74 bytes of the inner packet
    classes = (("trimmed", "TRIMMED"), ("trimmed_lasthop", "LASTHOP"))
    why = "payload cut by a switch"
    for word, dscp in classes:
        yield Case(f"{word}_srv6", word, why, cut_by_switch(long, cut, dscp))
        yield Case(f"{word}_srv6_not_ect", word, why, cut_by_switch(long, cut, dscp, mrc.NOT_ECT))
        yield Case(f"{word}_srv6_ce", word, why, cut_by_switch(long, cut, dscp, mrc.CE))
        yield Case(f"{word}_no_outer", word, why, cut_by_switch(long, cut, dscp, outer=None))
        yield Case(f"{word}_ipv4", word, why, cut_by_switch(ipv4, cut, dscp))
        yield Case(f"{word}_ipv4_no_outer", word, why, cut_by_switch(ipv4, cut, dscp, outer=None))
        yield Case(f"{word}_whole", word, "the class counts, not the length",
                   cut_by_switch(long, len(long), dscp))  # fmt: skip
        yield Case(f"{word}_bth_only", word, "least that names QP and PSN",
                   cut_by_switch(plain, EXT, dscp))  # fmt: skip
        yield Case(f"{word}_inside_bth", "truncated", "PSN is gone",
                   cut_by_switch(long, EXT - 1, dscp))  # fmt: skip
        yield Case(f"{word}_opcode_only", "truncated", "PSN is gone",
                   cut_by_switch(long, BTH + 1, dscp))  # fmt: skip
        yield Case(f"{word}_inside_udp", "truncated", "cannot be shown to be MRC",
                   cut_by_switch(long, BTH - 1, dscp))  # fmt: skip
        for opcode, _ in EVERY_CONTROL:
            yield Case(f"{word}_{NAMES[opcode]}", "trimmed_control", "trimmed control is ignored",
                       cut_by_switch(control(opcode), EXT + 4, dscp))  # fmt: skip
        yield Case(f"{word}_unknown_opcode", "unknown_opcode", "no such opcode",
                   cut_by_switch(poke(long, BTH, 0xC0), cut, dscp))  # fmt: skip
        yield Case(f"{word}_other_port", "not_mrc", "UDP port of something else",
                   cut_by_switch(poke(long, UDP + 2, be16(4793)), cut, dscp))  # fmt: skip
    yield Case("trimmed_then_cut", "trimmed", "bytes end before the outer length says",
               cut_by_switch(long, cut, "TRIMMED")[:-2])  # fmt: skip
    yield Case("cut_without_trimmed_class", "truncated", "outer length right, class TRIMMABLE",
               cut_by_switch(long, cut, "TRIMMABLE"))  # fmt: skip


def hostile_cases():
    families = (cut_cases, short_cases, length_cases, foreign_cases, icrc_cases, reserved_cases,
                trimmed_cases)  # fmt: skip
    return [case for family in families for case in family()]
