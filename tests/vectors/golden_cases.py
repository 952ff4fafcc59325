# SPDX-License-Identifier: Apache-2.0
"""The packets of golden.txt: each case is a name and the fields that differ from the defaults."""

from mrc_scapy import (
    ACKNOWLEDGE, CE, DSCP, ECT0, ENDPOINT_REQUEST, ENDPOINT_RESPONSE, NACK, NOT_ECT, PROBE, SACK,
    WRITE_FIRST, WRITE_LAST, WRITE_LAST_IMM, WRITE_MIDDLE, WRITE_ONLY, WRITE_ONLY_IMM,
    usid_carrier,
)  # fmt: skip

NACK_REASONS = dict(
    trimmed=0x01, trimmed_lasthop=0x02, no_bitmap=0x06, no_pkt_buffer=0x07, no_resource=0x0A,
    psn_oor_window=0x0B, unexp_event=0x19,
)  # fmt: skip
AETH_SYNDROMES = dict(
    ack=0x1F, nak_psn_sequence=0x60, nak_invalid_request=0x61, nak_remote_access=0x62,
    nak_remote_operational=0x63,
)  # fmt: skip

ENDPOINT_QP = 0x2
REQUESTER_QP, RESPONDER_QP = 0x000321, 0x000123


def traffic_class(dscp, ecn=NOT_ECT):
    return DSCP[dscp] << 2 | ecn


DATA_TC = traffic_class("TRIMMABLE", ECT0)
CONTROL_TC = traffic_class("CONTROL")

NETWORK = dict(
    ip=6, src="fd6d:7263::1", dst="fd6d:7263::1:1", tc=DATA_TC, flow_label=0x0003, hop_limit=64,
    sport=0xC0DE, dport=4791,
)  # fmt: skip
NETWORK_V4 = dict(
    ip=4, src="192.0.2.1", dst="198.51.100.2", tc=DATA_TC, ip_id=0, ip_df=1, hop_limit=64,
    sport=0xC0DE, dport=4791,
)  # fmt: skip
# As it leaves a host (block:T0a:T1:T0b:8PDD::) and as it arrives at the other one (block:8PDD::).
OUTER_SENT = dict(
    outer_src="fd6d:7263:0:2::1",
    outer_dst=usid_carrier("fcbb:bb00::", [0x2100, 0x1103, 0x2101, 0x8100]),
    outer_tc=DATA_TC, outer_flow_label=0x3C0DE, outer_hop_limit=64,
)  # fmt: skip
OUTER_ARRIVED = dict(
    OUTER_SENT, outer_dst=usid_carrier("fcbb:bb00::", [0x8100]), outer_hop_limit=61
)

SACK_FIELDS = dict(
    dqp=REQUESTER_QP, psn=0x10, cack_psn=0x10, m=0, ack_psn_offset=1, entropy=0x0003C0DE,
    spdcid=0x0321, dpdcid=0x0123, mpr=8, sack_offset=1, sack_bitmap=1, tx_timestamp=0xBEEF,
    ooo_count=0, rcvd_bytes=0x1234,
)  # fmt: skip
NACK_FIELDS = dict(
    dqp=REQUESTER_QP, psn=0x12, nack_psn=0x12, entropy=0x0003C0DE, spdcid=0x0321, dpdcid=0x0123,
    tx_timestamp=0xBEEF,
)  # fmt: skip
PROBE_FIELDS = dict(
    dqp=RESPONDER_QP, psn=0, probe_id=0x55, spdcid=0x0321, dpdcid=0x0123, tx_timestamp=0xBEEF
)
ENDPOINT_FIELDS = dict(dqp=ENDPOINT_QP, psn=0x42, tx_timestamp=0xBEEF)


def pattern(size):
    """A payload whose bytes tell their offset, and whose offset shows a shift by 256."""
    return bytes((i * 7 + (i >> 8) * 13 + size) & 0xFF for i in range(size))


class Case:
    """One vector: what generate.py encodes. `literal` is transport bytes printed in protocol.md §12."""

    def __init__(self, name, opcode, fields, payload=b"", network=None, outer=None, literal=None):
        self.name, self.opcode, self.fields, self.payload = name, opcode, fields, payload
        self.network, self.outer, self.literal = network or NETWORK, outer, literal


def data(name, opcode=WRITE_ONLY, size=16, ts=1, network=None, outer=None, **fields):
    """A data packet; a message of one packet unless dmalen says otherwise."""
    fields = dict(
        dict(dqp=RESPONDER_QP, psn=0x10, ts=ts, msn=7, va=0x1122334455667788, r_key=0xCAFE0001,
             dmalen=size),
        **fields,
    )  # fmt: skip
    if ts:
        fields.setdefault("tx_timestamp", 0xBEEF)
    return Case(name, opcode, fields, pattern(size), dict(NETWORK, **(network or {})), outer)


def control(name, opcode, base, network=None, outer=None, **fields):
    network = dict(dict(NETWORK, tc=CONTROL_TC), **(network or {}))
    return Case(name, opcode, dict(base, **fields), network=network, outer=outer)


def sack(name, **fields):
    """With pr set, the offset's two bytes hold the probe id instead."""
    left_out = "ack_psn_offset" if fields.get("pr") else None
    base = {key: value for key, value in SACK_FIELDS.items() if key != left_out}
    return control(name, SACK, base, **fields)


def section_12():
    """The vectors printed in protocol.md §12: literals, never computed."""
    network = dict(
        NETWORK, src="fd00:1::1", dst="fd00:2::2", tc=0x10, flow_label=0x0003, sport=0xC0DE
    )
    write = dict(
        dqp=0x123, psn=0x10, a=1, ts=1, msn=7, tx_timestamp=0xBEEF, va=0x1122334455667788,
        r_key=0xCAFE0001, dmalen=16,
    )  # fmt: skip

    def case(name, opcode, fields, literal, payload=b""):
        literal = bytes.fromhex(literal)
        return Case("spec12_" + name, opcode, fields, payload, network, literal=literal)

    return [
        case("write_only", WRITE_ONLY, write,
             "ca00ffff000001239000001000000007beef0001"
             "1122334455667788cafe000100000010000102030405060708090a0b0c0d0e0f",
             payload=bytes(range(16))),
        case("sack_skip_once", SACK,
             dict(SACK_FIELDS, m=1, ack_psn_offset=3, sack_bitmap=6, ooo_count=2),
             "dc00ffff0000032100000010 0020 0003 0003c0de 0321 0123 00 000010 00 08 0001"
             "0000000000000006 beef 0002 00 001234"),
        case("nack_trimmed", NACK, dict(NACK_FIELDS, nack_reason=1),
             "dd00ffff0000032100000012 0000 01 00 0003c0de 0321 0123 00 000012 20 00 beef"),
        case("probe", PROBE, PROBE_FIELDS,
             "de00ffff0000012300000000 0000 00 00 0055 0000 0321 0123 beef 0001"),
        case("port_status", ENDPOINT_REQUEST, dict(ENDPOINT_FIELDS, op=0, port_status_mask=0x1FA),
             "d800ffff0000000200000042 0000 00 00 000001fa 00000000 beef 0001"),
        case("ev_probe_response", ENDPOINT_RESPONSE, dict(ENDPOINT_FIELDS, op=1),
             "d900ffff0000000200000042 0004 0000" + "00" * 24 + "beef 000000000000"),
    ]  # fmt: skip


# The whole inner packet of protocol.md §12's first vector, with its ICRC.
SECTION_12_PACKET = bytes.fromhex(
    "6100000300401140fd000001000000000000000000000001fd000002000000000000000000000002"
    "c0de12b700400000ca00ffff000001239000001000000007beef0001"
    "1122334455667788cafe000100000010000102030405060708090a0b0c0d0e0f837cc5f5"
)


def data_cases():
    middle = dict(size=256, dmalen=0x1234)
    cases = []
    for ts in (0, 1):
        suffix = "ts" if ts else "plain"
        cases += [
            data(f"write_first_{suffix}", WRITE_FIRST, ts=ts, psn=0, **middle),
            data(f"write_middle_{suffix}", WRITE_MIDDLE, ts=ts, psn=1, **middle),
            data(f"write_last_{suffix}", WRITE_LAST, ts=ts, size=0x34, dmalen=0x1234),
            data(f"write_last_imm_{suffix}", WRITE_LAST_IMM, ts=ts, size=0x34, dmalen=0x1234,
                 rqmsn=0x21, imm=0x01020304),
            data(f"write_only_{suffix}", WRITE_ONLY, ts=ts),
            data(f"write_only_imm_{suffix}", WRITE_ONLY_IMM, ts=ts, rqmsn=0xFFFF, imm=0xDEADBEEF),
        ]  # fmt: skip
    for size in (0, 1, 2, 3, 4, 44, 45, 48, 49, 256, 1024, 3072):
        cases.append(data(f"payload_{size}", size=size))
    for size in (0, 1, 2, 3):
        cases.append(data(f"payload_{size}_imm_plain", WRITE_ONLY_IMM, size=size, ts=0, imm=size))
    return cases


def data_field_cases():
    retransmit = dict(network=dict(tc=traffic_class("RETX", ECT0)))
    return [
        data("psn_zero", psn=0),
        data("psn_fffffe", psn=0xFFFFFE),
        data("psn_ffffff", psn=0xFFFFFF),
        data("ack_req", a=1),
        data("rtx", rtx=1, **retransmit),
        data("rtx_ack_req_no_ts", rtx=1, a=1, ts=0, **retransmit),
        data("tsr_coarse_clock", tsr=1, tx_timestamp=0x8001),
        data("tx_timestamp_zero", tx_timestamp=0),
        data("tx_timestamp_ffff", tx_timestamp=0xFFFF),
        data("msn_ffff_rqmsn_8000_imm", WRITE_LAST_IMM, msn=0xFFFF, rqmsn=0x8000, imm=0xFFFFFFFF),
        data("imm_zero", WRITE_ONLY_IMM, rqmsn=1, imm=0),
        data("dqp_lowest", dqp=0x000010),
        data("dqp_highest", dqp=0xFFFFFE),
        data("va_zero", va=0, r_key=0),
        data("va_highest", va=0xFFFFFFFFFFFFFFF0, r_key=0xFFFFFFFF),
        data("dmalen_longest", WRITE_FIRST, size=64, dmalen=0x80000000),
        data("retransmit_of_first", WRITE_FIRST, size=64, dmalen=128, rtx=1, psn=0xFFFFFF,
             **retransmit),
    ]  # fmt: skip


def network_cases():
    v4 = dict(NETWORK_V4)
    trimmable_ce = traffic_class("TRIMMABLE", CE)
    cases = [
        data("port_4971", network=dict(dport=4971)),
        data("ecn_not_ect", network=dict(tc=traffic_class("TRIMMABLE", NOT_ECT))),
        data("ecn_ce", network=dict(tc=trimmable_ce)),
        data("dscp_no_trim", network=dict(tc=traffic_class("NO_TRIM", ECT0))),
        data("dscp_trimmable", network=dict(tc=traffic_class("TRIMMABLE", ECT0))),
        data("dscp_trimmable_retx", network=dict(tc=traffic_class("RETX", ECT0)), rtx=1),
        data("traffic_class_fb", network=dict(tc=0xFB)),
        data("ev_zero", network=dict(flow_label=0, sport=0)),
        data("ev_ffffffff", network=dict(flow_label=0xFFFF, sport=0xFFFF)),
        data("ev_sport_only", network=dict(flow_label=0, sport=1)),
        data("ev_flow_label_only", network=dict(flow_label=1, sport=0)),
        data("hop_limit_1", network=dict(hop_limit=1)),
        data("hop_limit_255", network=dict(hop_limit=255)),
        data("srv6_sent", outer=OUTER_SENT),
        data("srv6_arrived", outer=OUTER_ARRIVED),
        data("srv6_arrived_outer_ce", outer=dict(OUTER_ARRIVED, outer_tc=trimmable_ce)),
        data("srv6_arrived_3072", size=3072, outer=OUTER_ARRIVED),
    ]
    for case in [
        data("ipv4_write_only", network=v4),
        data("ipv4_write_only_imm_plain", WRITE_ONLY_IMM, ts=0, size=5, network=v4, imm=5),
        data("ipv4_write_middle_ce", WRITE_MIDDLE, size=64, dmalen=192,
             network=dict(v4, tc=trimmable_ce, hop_limit=1)),
        data("ipv4_port_4971", network=dict(v4, dport=4971)),
        data("ipv4_id_fragmentable", network=dict(v4, ip_id=0x1234, ip_df=0)),
        data("ipv4_srv6_arrived", network=v4, outer=OUTER_ARRIVED),
        control("ipv4_sack", SACK, SACK_FIELDS, dict(v4, tc=CONTROL_TC), entropy=0xC0DE),
        control("ipv4_nack", NACK, NACK_FIELDS, dict(v4, tc=CONTROL_TC), entropy=0xC0DE,
                nack_reason=NACK_REASONS["no_resource"]),
        control("ipv4_acknowledge", ACKNOWLEDGE, dict(dqp=REQUESTER_QP, psn=0x10, msn=8),
                dict(v4, tc=CONTROL_TC)),
    ]:  # fmt: skip
        case.network.pop("flow_label")
        cases.append(case)
    return cases


def sack_cases():
    outer_control = dict(OUTER_ARRIVED, outer_tc=CONTROL_TC)
    return [
        sack("sack_none"),
        sack("sack_skip_once", m=1),
        sack("sack_always_skip", m=2),
        sack("sack_rtx", rtx=1),
        sack("sack_probe_reply", pr=1, probe_id=0x55),
        sack("sack_probe_reply_ffff_skip", pr=1, m=1, probe_id=0xFFFF),
        sack("sack_ack_psn_offset_zero", ack_psn_offset=0),
        sack("sack_ack_psn_offset_minus_1", ack_psn_offset=-1),
        sack("sack_ack_psn_offset_lowest", ack_psn_offset=-32768),
        sack("sack_ack_psn_offset_highest", ack_psn_offset=32767),
        sack("sack_offset_minus_1", sack_offset=-1),
        sack("sack_offset_minus_63", sack_offset=-63),
        sack("sack_offset_lowest", sack_offset=-32768),
        sack("sack_offset_highest", sack_offset=32767),
        sack("sack_bitmap_empty", sack_bitmap=0),
        sack("sack_bitmap_full", sack_bitmap=(1 << 64) - 1, ooo_count=64),
        sack("sack_bitmap_bit_0", sack_bitmap=1),
        sack("sack_bitmap_bit_63", sack_bitmap=1 << 63, ooo_count=1),
        sack("sack_bitmap_alternating", sack_bitmap=0xAAAAAAAAAAAAAAAA, ooo_count=32),
        sack("sack_mpr_off", mpr=0),
        sack("sack_mpr_32", mpr=32),
        sack("sack_mpr_ff", mpr=0xFF),
        sack("sack_ooo_highest", ooo_count=0x7FFF),
        sack("sack_restore_cwnd", restore_cwnd=1),
        sack("sack_penalty_64", rcv_cwnd_pen=64),
        sack("sack_penalty_127", rcv_cwnd_pen=127),
        sack("sack_restore_and_penalty", restore_cwnd=1, rcv_cwnd_pen=1),
        sack("sack_rcvd_bytes_zero", rcvd_bytes=0),
        sack("sack_rcvd_bytes_ffffff", rcvd_bytes=0xFFFFFF),
        sack("sack_cc_fl", cc_fl=0xF),
        sack("sack_cack_wrap", psn=0xFFFFFF, cack_psn=0xFFFFFF, ack_psn_offset=2, sack_bitmap=2),
        sack("sack_cack_zero", psn=0, cack_psn=0, entropy=0),
        sack("sack_entropy_ffffffff", entropy=0xFFFFFFFF, spdcid=0xFFFF, dpdcid=0xFFFE),
        sack("sack_timestamp_ffff", tx_timestamp=0xFFFF),
        sack("sack_srv6_arrived", outer=outer_control),
        sack("sack_port_4971", network=dict(dport=4971)),
    ]


def other_control_cases():
    acknowledge = dict(dqp=REQUESTER_QP, psn=0x10, msn=8)
    cases = [
        control(f"nack_{name}", NACK, NACK_FIELDS, nack_reason=code)
        for name, code in NACK_REASONS.items()
    ]
    cases += [
        control(f"acknowledge_{name}", ACKNOWLEDGE, acknowledge, syndrome=code)
        for name, code in AETH_SYNDROMES.items()
    ]
    return cases + [
        control("acknowledge_msn_ffffff", ACKNOWLEDGE, acknowledge, msn=0xFFFFFF, psn=0xFFFFFF),
        control("nack_vendor_info", NACK, NACK_FIELDS, nack_reason=7, vendor_info=0xA5),
        control("nack_rtx_psn_ffffff", NACK, NACK_FIELDS, nack_reason=1, rtx=1, psn=0xFFFFFF,
                nack_psn=0xFFFFFF, cc_fl=3),
        control("probe", PROBE, PROBE_FIELDS, network=dict(tc=DATA_TC)),
        control("probe_id_zero", PROBE, PROBE_FIELDS, network=dict(tc=DATA_TC), probe_id=0),
        control("probe_id_ffff_tsr", PROBE, PROBE_FIELDS, network=dict(tc=DATA_TC),
                probe_id=0xFFFF, tsr=1, vendor_info=0x5A),
        control("port_status_all_up", ENDPOINT_REQUEST, ENDPOINT_FIELDS, op=0,
                port_status_mask=0x1FE),
        control("port_status_all_down", ENDPOINT_REQUEST, ENDPOINT_FIELDS, op=0,
                port_status_mask=0),
        control("port_status_port_31", ENDPOINT_REQUEST, ENDPOINT_FIELDS, op=0,
                port_status_mask=0x80000000),
        control("port_status_response", ENDPOINT_RESPONSE, ENDPOINT_FIELDS, op=0),
        control("ev_probe_request", ENDPOINT_REQUEST, ENDPOINT_FIELDS, op=1),
        control("ev_probe_request_data_class", ENDPOINT_REQUEST, ENDPOINT_FIELDS, op=1,
                psn=0xFFFF, vendor_info=0x11, network=dict(tc=DATA_TC), outer=OUTER_ARRIVED),
        control("ev_probe_response_srv6", ENDPOINT_RESPONSE, ENDPOINT_FIELDS, op=1,
                tx_timestamp=0xFFFF, outer=dict(OUTER_SENT, outer_tc=CONTROL_TC)),
    ]  # fmt: skip


def golden_cases():
    return (
        section_12() + data_cases() + data_field_cases() + network_cases() + sack_cases()
        + other_control_cases()
    )  # fmt: skip
