/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/*
 * SRv6 compressed segment lists (RFC 9800, NEXT-C-SID): a 128-bit carrier of a locator block of 16, 32, 48 or 64 bits
 * (32 is F3216, the default) and as many 16-bit uSIDs as there is room for; uSID 0 ends the carrier. Which uSID is
 * whose is in agent/service/usid_plan.h. And the expansion of an entropy value (EV) into such a carrier by the field
 * list of the OCP controller API (mrc_ctl_ev_field).
 *
 * Plain C without loops the verifier cannot bound; compiled by BPF programs, the C++ agent and the tests.
 */
#ifndef MRC_SRV6_H
#define MRC_SRV6_H

#include <linux/types.h>

#define MRC_USID_BYTES 2
#define MRC_USID_USUAL_BLOCK 4   /* bytes of the block in F3216 */
#define MRC_USID_LONGEST_BLOCK 8 /* behind which four uSIDs have room: leaf, spine, leaf, host */

/* A carrier in network byte order, exactly as it stands in the IPv6 destination address. */
struct mrc_carrier {
    __u8 bytes[16];
};

/* How many uSIDs a carrier has room for behind a block of so many bytes. */
static inline __u32 mrc_usids_behind(__u32 block_bytes)
{
    return ((__u32)sizeof(struct mrc_carrier) - block_bytes) / MRC_USID_BYTES;
}

/* Where uSID number `index` begins (0 = the active one, next after the block); always a byte of the carrier. */
static inline __u32 mrc_usid_offset(__u32 block_bytes, __u32 index)
{
    return (block_bytes + index * MRC_USID_BYTES) & 14u;
}

static inline __u16 mrc_usid_at(const struct mrc_carrier *carrier, __u32 block_bytes, __u32 index)
{
    const __u8 *p = carrier->bytes + mrc_usid_offset(block_bytes, index);
    return (__u16)(p[0] << 8 | p[1]);
}

static inline void mrc_usid_set(struct mrc_carrier *carrier, __u32 block_bytes, __u32 index, __u16 usid)
{
    __u8 *p = carrier->bytes + mrc_usid_offset(block_bytes, index);
    p[0] = (__u8)(usid >> 8);
    p[1] = (__u8)usid;
}

/* uN: drop the active uSID, move the others one place up and fill with end-of-carrier (RFC 9800 section 4.1.1). */
static inline void mrc_usid_shift(struct mrc_carrier *carrier, __u32 block_bytes)
{
#pragma GCC unroll 14
    for (__u32 i = 0; i < 14; i++)
        if (i >= block_bytes)
            carrier->bytes[i] = carrier->bytes[i + MRC_USID_BYTES];
    carrier->bytes[14] = 0;
    carrier->bytes[15] = 0;
}

/* Is another uSID left behind the active one? If not, a uN cannot shift: the carrier ends at this node. */
static inline int mrc_usid_has_next(const struct mrc_carrier *carrier, __u32 block_bytes)
{
    return mrc_usid_at(carrier, block_bytes, 1) != 0;
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

#endif
