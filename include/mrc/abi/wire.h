/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/*
 * MRC on the wire: every header, opcode, reason code and code point.
 *
 * Plain C, compiled by BPF programs, the C++ agent and the tests. Numbers in brackets are the tables of the OCP MRC
 * Specification Rev 1.0 that define the field. All multi-byte fields are big-endian except the ICRC.
 *
 *   every packet  Eth | [outer IPv6 40] | IPv4 20 or IPv6 40 | UDP 8 | BTH 12 | what follows | ICRC 4
 *
 *   data          METH 4 | [TSETH 4] | RETH 16 | [ImmDt 4] | payload | pad 0-3
 *   SACK          SETH 28 | CC_STATE 8
 *   NACK          NETH 20
 *   probe         PETH 16
 *   endpoint      request ERTH 16, response EETH 36
 *   ACK, NAK      AETH 4
 */
#ifndef MRC_WIRE_H
#define MRC_WIRE_H

#include <linux/types.h>

#ifdef __cplusplus
#define MRC_STATIC_ASSERT(expression, text) static_assert(expression, text)
#else
#define MRC_STATIC_ASSERT(expression, text) _Static_assert(expression, text)
#endif
#define MRC_ASSERT_SIZE(type, size) MRC_STATIC_ASSERT(sizeof(type) == (size), #type " is " #size " bytes on the wire")
#define MRC_ASSERT_OFFSET(type, member, offset)                                                                        \
    MRC_STATIC_ASSERT(__builtin_offsetof(type, member) == (offset), #type "." #member " is at " #offset)

/* UDP destination ports that carry MRC (decision D1): RoCEv2's IANA port and the one the specification prints. */
enum mrc_udp_port {
    MRC_UDP_PORT_ROCE = 4791,
    MRC_UDP_PORT_SPEC = 4971,
};

/* Opcodes [6.2]. The top three bits 0b110 are the MRC service; the low five equal the IBTA RC opcodes. */
enum mrc_opcode {
    MRC_OP_WRITE_FIRST = 0xC6,
    MRC_OP_WRITE_MIDDLE = 0xC7,
    MRC_OP_WRITE_LAST = 0xC8,
    MRC_OP_WRITE_LAST_IMM = 0xC9,
    MRC_OP_WRITE_ONLY = 0xCA,
    MRC_OP_WRITE_ONLY_IMM = 0xCB,
    MRC_OP_ACKNOWLEDGE = 0xD1,       /* Transport ACK or NAK: AETH */
    MRC_OP_ENDPOINT_REQUEST = 0xD8,  /* ERTH */
    MRC_OP_ENDPOINT_RESPONSE = 0xD9, /* EETH */
    MRC_OP_SACK = 0xDC,              /* SETH + CC_STATE */
    MRC_OP_NACK = 0xDD,              /* NETH */
    MRC_OP_PROBE_REQUEST = 0xDE,     /* PETH, answered by a SACK with pr = 1 */
};
#define MRC_OP_SERVICE_MASK 0xE0
#define MRC_OP_SERVICE 0xC0

/* Base Transport Header [6-3/6-4 data, 7-10/7-11 control]. */
struct mrc_bth {
    __u8 opcode;  /* enum mrc_opcode */
    __u8 flags;   /* m, se, pad count, transport version 0. m: 0 on send, ignored on receive; se: see below (D3) */
    __be16 pkey;  /* always MRC_PKEY_DEFAULT */
    __u8 var_res; /* variant: the ICRC sees all ones */
    __u8 dqp[3];  /* destination QP; MRC_QPN_ENDPOINT for endpoint operations [7-6] */
    __u8 control; /* MRC_BTH_ACK_REQUEST | MRC_BTH_RTX | MRC_BTH_TS */
    __u8 psn[3];  /* data: PSN; SACK: cack_psn; NACK: nack_psn; probe: 0; endpoint operation: id, 16 bits [7-6] */
} __attribute__((packed));
/*
 * Solicited event. Transcriptions disagree on the order of m and se (D3): this bit is sent only with an immediate whose
 * sender asked for it, and read only there, so a peer that counts the other way causes an event too many at worst.
 */
#define MRC_BTH_SE 0x40
#define MRC_BTH_PAD_SHIFT 4
#define MRC_BTH_PAD_MASK 0x30
#define MRC_BTH_TVER_MASK 0x0F
#define MRC_BTH_ACK_REQUEST 0x80 /* the responder answers with a SACK */
#define MRC_BTH_RTX 0x20         /* retransmission; on a SACK: triggered by one */
#define MRC_BTH_TS 0x10          /* TSETH follows METH */
#define MRC_PKEY_DEFAULT 0xFFFF
#define MRC_QPN_ENDPOINT 0x2
#define MRC_QPN_FIRST_USABLE 16
#define MRC_PSN_MASK 0xFFFFFF
#define MRC_QPN_MASK 0xFFFFFF

/* Message Extended Transport Header [6-8/6-9]. */
struct mrc_meth {
    __be16 rqmsn; /* counts WRITE-with-immediate messages; 0 in all others */
    __be16 msn;   /* 0-based message number, the same in every packet of the message */
} __attribute__((packed));

/* Timestamp Extended Transport Header [6-6/6-7]; also the tail of PETH and ERTH. */
struct mrc_tseth {
    __be16 tx_timestamp; /* ticks of 128 ns when tsr = 0; wraps every 8.388608 ms */
    __be16 format;       /* tsr << 15 | reserved | ftype */
} __attribute__((packed));
#define MRC_TS_TSR 0x8000
#define MRC_TS_FTYPE_MASK 0x000F
#define MRC_TS_FTYPE 0x0001
#define MRC_TS_TICK_SHIFT 7 /* ns >> 7 = ticks of 128 ns */

/* RDMA Extended Transport Header [6-5], in every data packet. */
struct mrc_reth {
    __be64 va;     /* address of this packet's first byte in the target region */
    __be32 rkey;   /* key of the target region */
    __be32 dmalen; /* length of the whole message in bytes, the same in every packet */
} __attribute__((packed));

/* Immediate data, in the last packet of a WRITE with immediate. */
struct mrc_immdt {
    __be32 immediate; /* handed to the application untouched */
} __attribute__((packed));

/* Selective ACK Extended Transport Header [7-14/7-15]; CC_STATE follows. */
struct mrc_seth {
    __be16 flags;          /* type 15:12, next 11:7, m 6:5, pr 1 */
    __be16 ack_psn_offset; /* signed: the triggering PSN is cack_psn + this; the probe id when pr = 1 */
    __be32 entropy;        /* EV of the triggering packet, reflected */
    __be16 spdcid;         /* requester's QPN, low 16 bits (D7); ignored on receive */
    __be16 dpdcid;         /* responder's QPN, low 16 bits (D7); ignored on receive */
    __u8 reserved;
    __u8 cack_psn[3];   /* every PSN up to and including this one has arrived */
    __u8 cc;            /* cc_type 7:4 (MRC_CC_TYPE_STATE), cc_fl 3:0 */
    __u8 mpr;           /* PSN window in units of 128; 0 when Dynamic MPR is off */
    __be16 sack_offset; /* signed: bit 0 of the bitmap is cack_psn + this */
    __be64 sack_bitmap; /* bit i set: PSN base + i has arrived */
} __attribute__((packed));
#define MRC_SETH_M_SHIFT 5
#define MRC_SETH_M_MASK 0x0060
#define MRC_SETH_PR 0x0002
#define MRC_MPR_UNIT 128
#define MRC_SACK_BITMAP_BITS 64

/* EV feedback in a SACK [7-14], field m. */
enum mrc_sack_m {
    MRC_SACK_M_NONE = 0,
    MRC_SACK_M_SKIP_ONCE = 1, /* the triggering packet arrived CE-marked */
    MRC_SACK_M_ALWAYS_SKIP = 2,
};

/* Congestion-control state behind a SETH [7-12/7-13]. */
struct mrc_cc_state {
    __be16 tx_timestamp; /* of the triggering packet, reflected */
    __be16 ooo_count;    /* 14:0, PSNs received above cack */
    __be32 window;       /* restore_cwnd 31, rcv_cwnd_pen 30:24, rcvd_bytes 23:0 in units of 256 bytes (D10) */
} __attribute__((packed));
#define MRC_CC_TYPE_STATE 0x0
#define MRC_CC_TYPE_NACK 0x2
#define MRC_CC_TYPE_SHIFT 4
#define MRC_CC_OOO_MASK 0x7FFF
#define MRC_CC_RESTORE 0x80000000u
#define MRC_CC_PENALTY_SHIFT 24
#define MRC_CC_PENALTY_MASK 0x7F
#define MRC_CC_RCVD_MASK 0xFFFFFF
#define MRC_CC_RCVD_UNIT_SHIFT 8

/* Negative ACK Extended Transport Header [7-16/7-17]. */
struct mrc_neth {
    __be16 flags;   /* type, next, reserved: 0 */
    __u8 reason;    /* enum mrc_nack_reason */
    __u8 vendor;    /* vendor_info, 0 */
    __be32 entropy; /* EV of the refused packet, reflected */
    __be16 spdcid;
    __be16 dpdcid;
    __u8 reserved;
    __u8 nack_psn[3];
    __u8 cc; /* cc_type 7:4 = MRC_CC_TYPE_NACK */
    __u8 reserved2;
    __be16 tx_timestamp; /* reflected */
} __attribute__((packed));

/* NACK reasons [7-3]. Unknown codes are treated as recoverable and counted. */
enum mrc_nack_reason {
    MRC_NACK_TRIMMED = 0x01,         /* trimmed in the fabric: the EV loses a turn, retransmit */
    MRC_NACK_TRIMMED_LASTHOP = 0x02, /* trimmed at the receiver's link: retransmit, EV not to blame */
    MRC_NACK_NO_BITMAP = 0x06,
    MRC_NACK_NO_PKT_BUFFER = 0x07,
    MRC_NACK_NO_RESOURCE = 0x0A,
    MRC_NACK_PSN_OOR_WINDOW = 0x0B, /* beyond the PSN window (D5) */
    MRC_NACK_UNEXP_EVENT = 0x19,    /* not retried: the QP goes to error */
};

/* Probe Extended Transport Header [7-18/7-19]. */
struct mrc_peth {
    __be16 flags;
    __u8 reserved;
    __u8 vendor;
    __be16 probe_id; /* returned in SETH.ack_psn_offset */
    __be16 reserved2;
    __be16 spdcid;
    __be16 dpdcid;
    struct mrc_tseth ts;
} __attribute__((packed));

/* Endpoint Request Extended Transport Header [7-20/7-21]. */
struct mrc_erth {
    __be16 flags; /* op 1:0, enum mrc_endpoint_op */
    __u8 reserved;
    __u8 vendor;
    __be32 port_status_mask; /* bit N set: port N (1-based) is reachable (D9) */
    __be32 reserved2;
    struct mrc_tseth ts;
} __attribute__((packed));
#define MRC_ERTH_OP_MASK 0x0003

enum mrc_endpoint_op {
    MRC_EP_PORT_STATUS_UPDATE = 0,
    MRC_EP_EV_PROBE = 1,
};

/* Endpoint Response Extended Transport Header [7-22/7-23]; as long as SETH + CC_STATE. */
struct mrc_eeth {
    __be16 flags; /* op 3:2 on send; on receive the request id decides (D4) */
    __u8 reserved[26];
    __be16 tx_timestamp; /* of the request, reflected */
    __u8 reserved2[6];
} __attribute__((packed));
#define MRC_EETH_OP_SHIFT 2
#define MRC_EETH_OP_MASK 0x000C

/* ACK Extended Transport Header (IBTA; protocol.md §1.8). */
struct mrc_aeth {
    __u8 syndrome; /* MRC_AETH_* */
    __u8 msn[3];   /* messages completed */
} __attribute__((packed));
#define MRC_AETH_ACK 0x1F /* ACK, credit count 0x1F: no end-to-end credits */
#define MRC_AETH_NAK_INVALID_REQUEST 0x61
#define MRC_AETH_NAK_REMOTE_ACCESS 0x62
#define MRC_AETH_NAK_REMOTE_OPERATION 0x63
#define MRC_AETH_TYPE_MASK 0xE0
#define MRC_AETH_TYPE_ACK 0x00
#define MRC_AETH_TYPE_NAK 0x60

/* Differentiated services code points (decision D8: defaults, configurable). */
enum mrc_dscp {
    MRC_DSCP_NO_TRIM = 0,
    MRC_DSCP_TRIMMABLE = 4,
    MRC_DSCP_TRIMMABLE_RETX = 8,
    MRC_DSCP_TRIMMED = 12,
    MRC_DSCP_TRIMMED_LASTHOP = 16,
    MRC_DSCP_CONTROL = 46,
};

/*
 * Explicit congestion notification, low two bits of the traffic class (RFC 3168). Control and endpoint packets are
 * Not-ECT; a trimmed packet keeps the bits that it had.
 */
enum mrc_ecn {
    MRC_ECN_NOT_ECT = 0,
    MRC_ECN_ECT1 = 1,
    MRC_ECN_ECT0 = 2, /* every data packet, inner and outer */
    MRC_ECN_CE = 3,
};
#define MRC_ECN_MASK 0x03
#define MRC_TCLASS(dscp, ecn) ((__u8)(((dscp) << 2) | (ecn)))

#define MRC_ICRC_LEN 4
#define MRC_ICRC_SEED 0xDEBB20E3u /* CRC-32 state after the eight 0xFF bytes that stand for the link header */

/* Longest stack of headers between Ethernet and payload: outer 40, inner 40, UDP 8, BTH 12, METH 4, TSETH 4, RETH 16,
 * ImmDt 4. */
#define MRC_MAX_HEADERS 128
/* A trimmed frame keeps Ethernet, outer and inner IPv6, UDP, BTH, METH and TSETH (122 bytes), protocol.md §6. */
#define MRC_TRIM_FRAME 128
#define MRC_MAX_MESSAGE 0x80000000u /* bytes */

MRC_ASSERT_SIZE(struct mrc_bth, 12);
MRC_ASSERT_OFFSET(struct mrc_bth, dqp, 5);
MRC_ASSERT_OFFSET(struct mrc_bth, control, 8);
MRC_ASSERT_OFFSET(struct mrc_bth, psn, 9);
MRC_ASSERT_SIZE(struct mrc_meth, 4);
MRC_ASSERT_SIZE(struct mrc_tseth, 4);
MRC_ASSERT_SIZE(struct mrc_reth, 16);
MRC_ASSERT_OFFSET(struct mrc_reth, rkey, 8);
MRC_ASSERT_OFFSET(struct mrc_reth, dmalen, 12);
MRC_ASSERT_SIZE(struct mrc_immdt, 4);
MRC_ASSERT_SIZE(struct mrc_seth, 28);
MRC_ASSERT_OFFSET(struct mrc_seth, entropy, 4);
MRC_ASSERT_OFFSET(struct mrc_seth, spdcid, 8);
MRC_ASSERT_OFFSET(struct mrc_seth, cack_psn, 13);
MRC_ASSERT_OFFSET(struct mrc_seth, cc, 16);
MRC_ASSERT_OFFSET(struct mrc_seth, sack_offset, 18);
MRC_ASSERT_OFFSET(struct mrc_seth, sack_bitmap, 20);
MRC_ASSERT_SIZE(struct mrc_cc_state, 8);
MRC_ASSERT_OFFSET(struct mrc_cc_state, window, 4);
MRC_ASSERT_SIZE(struct mrc_neth, 20);
MRC_ASSERT_OFFSET(struct mrc_neth, nack_psn, 13);
MRC_ASSERT_OFFSET(struct mrc_neth, tx_timestamp, 18);
MRC_ASSERT_SIZE(struct mrc_peth, 16);
MRC_ASSERT_OFFSET(struct mrc_peth, probe_id, 4);
MRC_ASSERT_OFFSET(struct mrc_peth, ts, 12);
MRC_ASSERT_SIZE(struct mrc_erth, 16);
MRC_ASSERT_OFFSET(struct mrc_erth, port_status_mask, 4);
MRC_ASSERT_OFFSET(struct mrc_erth, ts, 12);
MRC_ASSERT_SIZE(struct mrc_eeth, 36);
MRC_ASSERT_OFFSET(struct mrc_eeth, tx_timestamp, 28);
MRC_ASSERT_SIZE(struct mrc_aeth, 4);

/* 24-bit fields. */
static inline __u32 mrc_get24(const __u8 *p)
{
    return (__u32)p[0] << 16 | (__u32)p[1] << 8 | p[2];
}

static inline void mrc_put24(__u8 *p, __u32 value)
{
    p[0] = (__u8)(value >> 16);
    p[1] = (__u8)(value >> 8);
    p[2] = (__u8)value;
}

/* Entropy value of a packet (decision D2): low 16 bits of the flow label over the UDP source port. */
static inline __u32 mrc_ev_from_packet(__u32 flow_label, __u16 udp_source)
{
    return (flow_label & 0xFFFF) << 16 | udp_source;
}

#endif
