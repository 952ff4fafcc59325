/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/*
 * SRv6 compressed segment lists (RFC 9800, NEXT-C-SID) in the F3216 format: a 128-bit carrier of a 32-bit locator block
 * and up to six 16-bit uSIDs; uSID 0 ends the carrier. And the expansion of an entropy value (EV) into such a carrier
 * by the field list of the OCP controller API (mrc_ctl_ev_field).
 *
 * Plain C without loops the verifier cannot bound; compiled by BPF programs, the C++ agent and the tests.
 */
#ifndef MRC_SRV6_H
#define MRC_SRV6_H

#include <linux/types.h>

#define MRC_USID_BLOCK_BYTES 4
#define MRC_USID_BYTES 2
#define MRC_USID_MAX 6

/* A carrier in network byte order, exactly as it stands in the IPv6 destination address. */
struct mrc_carrier {
    __u8 bytes[16];
};

/* uSID number `index` (0 = the active one, next after the block). */
static inline __u16 mrc_usid_at(const struct mrc_carrier *carrier, unsigned int index)
{
    const __u8 *p = carrier->bytes + MRC_USID_BLOCK_BYTES + (index % MRC_USID_MAX) * MRC_USID_BYTES;
    return (__u16)(p[0] << 8 | p[1]);
}

static inline void mrc_usid_set(struct mrc_carrier *carrier, unsigned int index, __u16 usid)
{
    __u8 *p = carrier->bytes + MRC_USID_BLOCK_BYTES + (index % MRC_USID_MAX) * MRC_USID_BYTES;
    p[0] = (__u8)(usid >> 8);
    p[1] = (__u8)usid;
}

/* uN: drop the active uSID, move the others one place up and fill with end-of-carrier (RFC 9800 section 4.1.1). */
static inline void mrc_usid_shift(struct mrc_carrier *carrier)
{
#pragma GCC unroll 10
    for (int i = MRC_USID_BLOCK_BYTES; i < 14; i++)
        carrier->bytes[i] = carrier->bytes[i + MRC_USID_BYTES];
    carrier->bytes[14] = 0;
    carrier->bytes[15] = 0;
}

/* Is another uSID left behind the active one? If not, a uN cannot shift: the carrier ends at this node. */
static inline int mrc_usid_has_next(const struct mrc_carrier *carrier)
{
    return mrc_usid_at(carrier, 1) != 0;
}

/*
 * One field of an EV profile (OCP controller API 1.0.1, mrc_ctl_ev_field): the field starts as `init`; the bits of
 * `mask` are overwritten by the next popcount(mask) bits of the EV, the most significant first. `min` and `max` bound
 * the values that a generated profile gives the masked bits; the expansion does not read them.
 */
struct mrc_ev_field {
    __u32 width; /* bits of the profile's field, 1…32 */
    __u32 init;
    __u32 min;
    __u32 max;
    __u32 mask;
};

#define MRC_EV_FIELDS_MAX 16
#define MRC_EV_BYTES 32

/* Bit `index` of a bit string: first byte first, most significant bit first. */
static inline __u32 mrc_bit_get(const __u8 *bits, unsigned int index)
{
    return ((__u32)bits[index >> 3] >> (7 - (index & 7))) & 1u;
}

static inline void mrc_bit_put(__u8 *bits, unsigned int index, __u32 value)
{
    const __u8 mask = (__u8)(0x80u >> (index & 7));
    bits[index >> 3] = (__u8)((bits[index >> 3] & ~mask) | (value ? mask : 0));
}

/*
 * Expands `ev` (a bit string of MRC_EV_BYTES) by `fields` over `out`, a template of MRC_EV_BYTES: field i replaces
 * format_widths[i] bits (1…32), right-aligned, one field after the other from bit `first_bit` on; what the fields do
 * not reach keeps the template's value. Returns the number of EV bits consumed, or -1 when fields or widths are out of
 * range.
 */
static inline int mrc_ev_expand(const __u8 *ev, const struct mrc_ev_field *fields, const __u8 *format_widths,
                                unsigned int count, unsigned int first_bit, __u8 *out)
{
    unsigned int taken = 0;
    unsigned int position = first_bit;

    if (count > MRC_EV_FIELDS_MAX)
        return -1;
    for (unsigned int i = 0; i < MRC_EV_FIELDS_MAX && i < count; i++) {
        const unsigned int width = format_widths[i];
        __u32 value = fields[i].init;

        if (width == 0 || width > 32 || fields[i].width > width || position + width > MRC_EV_BYTES * 8)
            return -1;
        for (int bit = 31; bit >= 0; bit--) {
            const __u32 mask = 1u << bit;

            if (!(fields[i].mask & mask))
                continue;
            if (taken >= MRC_EV_BYTES * 8)
                return -1;
            value = mrc_bit_get(ev, taken++) ? value | mask : value & ~mask;
        }
        for (unsigned int bit = 0; bit < 32 && bit < width; bit++)
            mrc_bit_put(out, position + bit, (value >> (width - 1 - bit)) & 1u);
        position += width;
    }
    return (int)taken;
}

/*
 * The default 32-bit EV of a Clos fabric: plane in bits 2:0, T0 uplink in bits 10:3, the rest entropy that chooses
 * nothing in the fabric. EV 0 is never used: some NICs treat it as "no EV" (protocol.md §1.9).
 */
#define MRC_EV_PLANE_MASK 0x7u
#define MRC_EV_UPLINK_SHIFT 3
#define MRC_EV_UPLINK_MASK 0xFFu
#define MRC_EV_ENTROPY_SHIFT 11

static inline __u32 mrc_ev_make(__u32 plane, __u32 uplink, __u32 entropy)
{
    return (plane & MRC_EV_PLANE_MASK) | (uplink & MRC_EV_UPLINK_MASK) << MRC_EV_UPLINK_SHIFT |
           entropy << MRC_EV_ENTROPY_SHIFT;
}

static inline __u32 mrc_ev_plane(__u32 ev)
{
    return ev & MRC_EV_PLANE_MASK;
}

static inline __u32 mrc_ev_uplink(__u32 ev)
{
    return ev >> MRC_EV_UPLINK_SHIFT & MRC_EV_UPLINK_MASK;
}

/*
 * The per-destination template of such a fabric: block | T0a | T1 | T0b | host. Path selection writes the plane into
 * every uSID and the uplink into the T1 uSID (arXiv 2605.04333, section on SRv6). A destination on the same T0 has
 * block | T0a | host, and only the plane varies.
 */
struct mrc_carrier_template {
    struct mrc_carrier carrier;
    __u8 usids;    /* uSIDs in the carrier that take the plane, from the first on */
    __u8 spine_at; /* which uSID takes the uplink; MRC_CARRIER_NO_SPINE when none does */
    __u8 reserved[2];
};
#define MRC_CARRIER_NO_SPINE 0xFF
#define MRC_USID_PLANE_SHIFT 8
#define MRC_USID_PLANE_MASK 0x0F00u
#define MRC_USID_INDEX_MASK 0x00FFu

static inline struct mrc_carrier mrc_carrier_expand(const struct mrc_carrier_template *tmpl, __u32 plane, __u32 uplink)
{
    struct mrc_carrier carrier = tmpl->carrier;

    for (unsigned int i = 0; i < MRC_USID_MAX; i++) {
        __u16 usid = mrc_usid_at(&carrier, i);

        if (i >= tmpl->usids)
            break;
        usid = (__u16)((usid & ~MRC_USID_PLANE_MASK) | (plane << MRC_USID_PLANE_SHIFT & MRC_USID_PLANE_MASK));
        if (i == tmpl->spine_at)
            usid = (__u16)((usid & ~MRC_USID_INDEX_MASK) | (uplink & MRC_USID_INDEX_MASK));
        mrc_usid_set(&carrier, i, usid);
    }
    return carrier;
}

#endif
