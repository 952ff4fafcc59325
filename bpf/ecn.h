/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ECN of tunnels: RFC 6040 section 4.2, Figure 4 (decapsulation). */
#ifndef MRC_BPF_ECN_H
#define MRC_BPF_ECN_H

#include "parse.h"

#define MRC_ECN_DROP -1

/* The ECN field of the packet after the pop, or MRC_ECN_DROP: an outer CE over a transport that does not know ECN. */
static __always_inline int ecn_decapsulate(__u8 outer, __u8 inner)
{
    outer &= MRC_ECN_MASK;
    inner &= MRC_ECN_MASK;
    if (inner == MRC_ECN_NOT_ECT)
        return outer == MRC_ECN_CE ? MRC_ECN_DROP : MRC_ECN_NOT_ECT;
    if (outer == MRC_ECN_CE)
        return MRC_ECN_CE;
    if (outer == MRC_ECN_ECT1 && inner == MRC_ECN_ECT0)
        return MRC_ECN_ECT1;
    return inner;
}

/* With the header checksum, incrementally: RFC 1624, equation 3. */
static __always_inline void ipv4_set_tclass(struct iphdr *ip4, __u8 tos)
{
    __u32 sum = (__u16)~bpf_ntohs(ip4->check);

    sum += (__u16)~ip4->tos; /* the other half of the word, version and IHL, cancels out */
    sum += tos;
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    ip4->check = bpf_htons((__u16)~sum);
    ip4->tos = tos;
}

#endif
