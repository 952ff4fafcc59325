# SPDX-License-Identifier: Apache-2.0
"""Reference rules behind the words of hostile.txt, in the order in which README.md lists them.

Works on raw bytes and never on scapy's dissection, so that it also checks the encoder. It exists to
keep the hand-written expectations honest: generate.py fails where the two disagree.
"""

import collections
import struct

import mrc_scapy as mrc

Classification = collections.namedtuple("Classification", "word ours identity")
Network = collections.namedtuple("Network", "udp end claimed_end dscp version")

TRIMMED_CLASSES = {mrc.DSCP["TRIMMED"]: "trimmed", mrc.DSCP["LASTHOP"]: "trimmed_lasthop"}
UDP, IPV4, IPV6, ROUTING = 17, 4, 41, 43
UDP_BYTES, BTH_BYTES = 8, 12


class Verdict(Exception):
    """Ends the classification of a packet that cannot be shown to be MRC."""


def be16(data, at):
    return struct.unpack_from(">H", data, at)[0]


def be24(data, at):
    return int.from_bytes(data[at : at + 3], "big")


def ip_header(data, at, end):
    """(next header, header end, claimed end, DSCP, version) of the IP header at `at`."""
    if at >= end:
        raise Verdict("truncated")
    version = data[at] >> 4
    if version not in (4, 6):
        raise Verdict("not_mrc")
    size = 40 if version == 6 else 20
    if end - at < size:
        raise Verdict("truncated")
    if version == 6:
        dscp = (be16(data, at) >> 4 & 0xFF) >> 2
        return data[at + 6], at + 40, at + 40 + be16(data, at + 4), dscp, 6
    if data[at] & 15 < 5 or be16(data, at + 6) & 0x3FFF:  # a broken header, or a fragment
        raise Verdict("not_mrc")
    if data[at] & 15 > 5:
        raise Verdict("unspecified")
    return data[at + 9], at + 20, at + be16(data, at + 2), data[at + 1] >> 2, 4


def network_layers(data):
    """Pops at most one outer IPv6 header and finds UDP."""
    end = len(data)
    protocol, at, claimed, dscp, version = ip_header(data, 0, end)
    if version == 6 and protocol == ROUTING:
        raise Verdict("unspecified")
    if version == 6 and protocol in (IPV4, IPV6):
        outer_dscp, outer_claimed = dscp, claimed
        protocol, at, claimed, dscp, version = ip_header(data, at, end)
        if outer_claimed > end:
            claimed = max(claimed, outer_claimed)
        end = min(end, outer_claimed)
        dscp = outer_dscp
    if protocol != UDP:
        raise Verdict("not_mrc")
    return Network(at, end, claimed, dscp, version)


def mrc_opcode(data, net):
    """The opcode, when the bytes present show MRC (D1)."""
    if net.end < net.udp + 4:
        raise Verdict("truncated")
    if be16(data, net.udp + 2) not in mrc.MRC_PORTS:
        raise Verdict("not_mrc")
    if net.end <= net.udp + UDP_BYTES:
        raise Verdict("truncated" if net.claimed_end > net.end else "not_mrc")
    opcode = data[net.udp + UDP_BYTES]
    if opcode & 0xE0 != 0xC0:
        raise Verdict("not_mrc")
    return opcode


def known(opcode):
    return bool(mrc.headers_after_bth(opcode, 0))


def trimmed_word(data, net, opcode):
    """The lengths of a trimmed packet are wrong by design, and its ICRC is gone (protocol.md §6)."""
    if net.end - net.udp - UDP_BYTES < BTH_BYTES:
        return "truncated"
    if not known(opcode):
        return "unknown_opcode"
    return TRIMMED_CLASSES[net.dscp] if opcode in mrc.DATA else "trimmed_control"


def length_fault(data, net, opcode):
    udp_bytes = be16(data, net.udp + 4)
    bth = net.udp + UDP_BYTES
    if net.claimed_end > net.end:
        return "truncated"
    if udp_bytes != net.claimed_end - net.udp or udp_bytes < UDP_BYTES + BTH_BYTES + mrc.ICRC_BYTES:
        return "bad_length"
    if data[bth + 1] & 0x0F:
        return "bad_tver"
    if not known(opcode):
        return "unknown_opcode"
    rest = udp_bytes - UDP_BYTES - mrc.ICRC_BYTES - headers(data, bth, opcode)
    pad = data[bth + 1] >> 4 & 3
    if rest < pad or rest % 4 or (opcode not in mrc.DATA and rest):
        return "bad_length"
    return None


def headers(data, bth, opcode):
    return mrc.header_bytes(opcode, data[bth + 8] >> 4 & 1)


def icrc_is_right(data, net):
    start = net.udp - (40 if net.version == 6 else 20)
    packet = data[start : net.claimed_end]
    return struct.unpack("<I", packet[-4:])[0] == mrc.icrc(packet[:-4])


def payload_fault(data, net, opcode):
    """What the packet says about its message against the payload it carries."""
    if opcode not in mrc.DATA:
        return None
    bth = net.udp + UDP_BYTES
    end_of_headers = headers(data, bth, opcode)
    size = net.claimed_end - bth - end_of_headers - mrc.ICRC_BYTES - (data[bth + 1] >> 4 & 3)
    immediate = 4 if opcode in mrc.WITH_IMMEDIATE else 0
    dmalen = struct.unpack_from(">I", data, bth + end_of_headers - immediate - 4)[0]
    only = opcode in (mrc.WRITE_ONLY, mrc.WRITE_ONLY_IMM)
    return "bad_dmalen" if size > dmalen or (only and size != dmalen) else None


def open_question(data, net, opcode):
    """Reserved values and contradictions that protocol.md leaves open."""
    bth = net.udp + UDP_BYTES
    ext = bth + BTH_BYTES
    dqp, psn, ts = be24(data, bth + 5), be24(data, bth + 9), data[bth + 8] >> 4 & 1
    endpoint = opcode in (mrc.ENDPOINT_REQUEST, mrc.ENDPOINT_RESPONSE)
    checks = [be16(data, bth + 2) != 0xFFFF, (dqp <= 15 or dqp == 0xFFFFFF) and not endpoint]
    if opcode in mrc.DATA:
        checks.append(ts and data[ext + 7] & 15 != 1)
    else:
        checks.append(ts)
    if opcode not in mrc.DATA and opcode != mrc.ACKNOWLEDGE:
        checks.append(be16(data, ext) >> 7)  # type, nxt
    if opcode in (mrc.PROBE, mrc.ENDPOINT_REQUEST):
        checks.append(data[ext + 15] & 15 != 1)
    if opcode == mrc.SACK:
        checks += [data[ext + 1] >> 5 & 3 == 3, data[ext + 16] >> 4, be24(data, ext + 13) != psn]
    if opcode == mrc.NACK:
        checks += [data[ext + 16] >> 4 != 2, be24(data, ext + 13) != psn]
    if opcode == mrc.ENDPOINT_REQUEST:
        checks += [data[ext + 1] & 2, data[ext + 7] & 1]  # op 2 and 3; port 0 (D9)
    if opcode == mrc.ACKNOWLEDGE:
        checks.append(data[ext] != 0x1F and data[ext] not in range(0x60, 0x64))
    return any(checks) or (endpoint and dqp != 2)


def ipv4_checksum_is_wrong(data, net):
    if net.version == 6:
        return False
    total = sum(be16(data, at) for at in range(net.udp - 20, net.udp, 2))
    return (total & 0xFFFF) + (total >> 16) != 0xFFFF


def identity(data, net, opcode):
    """What a reader must have understood of a packet that it may use."""
    bth = net.udp + UDP_BYTES
    label = be24(data, net.udp - 39) if net.version == 6 else 0
    return dict(
        opcode=opcode,
        dqp=be24(data, bth + 5),
        psn=be24(data, bth + 9),
        ev=mrc.ev_of(label, be16(data, net.udp), net.version),
    )


def classify(data):
    try:
        net = network_layers(data)
        opcode = mrc_opcode(data, net)
    except Verdict as verdict:
        return Classification(str(verdict), False, {})
    if net.dscp in TRIMMED_CLASSES:
        word = trimmed_word(data, net, opcode)
    else:
        word = length_fault(data, net, opcode)
        if word is None and not icrc_is_right(data, net):
            word = "bad_icrc"
        word = word or payload_fault(data, net, opcode)
        if word is None and (open_question(data, net, opcode) or ipv4_checksum_is_wrong(data, net)):
            word = "unspecified"
        word = word or "accept"
    usable = word in ("accept", "trimmed", "trimmed_lasthop")
    return Classification(word, True, identity(data, net, opcode) if usable else {})
