// SPDX-License-Identifier: Apache-2.0
/*
 * raw_push: host_push, but that payload comes from a region which the program has mapped, and only headers from the
 * slot: the prototype of sending without a copy.
 *
 * hook     as host_push
 * inputs   a slot: RAW_PAYLOAD_AT bytes of headers, struct raw_source; the region
 * outputs  as host_push
 * maps     those of host_push, and reads raw_region
 * kernel   6.1
 */
#include "push.h"
#include "region.h"

static __always_inline enum mrc_verdict write_payload(struct xdp_md *ctx, const struct raw_source *source, __u32 at)
{
    const __u32 only = 0;
    struct raw_region *region = bpf_map_lookup_elem(&raw_region, &only);
    /* Once: the program can write them. The verifier bounds each, not their sum, for which the region has room. */
    __u32 offset = *(volatile __u32 *)&source->offset;
    const __u32 length = *(volatile __u32 *)&source->payload_bytes;

    if (!region || offset > RAW_REGION_BYTES || length > RAW_LONGEST_PAYLOAD || offset + length > RAW_REGION_BYTES)
        return MRC_PUSH_BAD_SLOT;
    if (length == 0)
        return MRC_GO_ON;
    if (bpf_xdp_store_bytes(ctx, at, region->bytes + offset, bounded_length(length)))
        return MRC_PUSH_STORE;
    return MRC_GO_ON;
}

static __always_inline enum mrc_verdict write_inner(struct xdp_md *ctx, const struct push_departure *departure)
{
    const struct mrc_push_slot *slot = departure->slot;
    const struct raw_source *source = (const void *)(slot->inner + RAW_PAYLOAD_AT);
    const __u32 at = departure->header_bytes;

    if (departure->length < RAW_PAYLOAD_AT + MRC_ICRC_LEN)
        return MRC_PUSH_BAD_SLOT;
    if (bpf_xdp_store_bytes(ctx, at, (void *)slot->inner, RAW_PAYLOAD_AT))
        return MRC_PUSH_STORE;
    MRC_STEP(write_payload(ctx, source, at + RAW_PAYLOAD_AT));
    if (bpf_xdp_store_bytes(ctx, at + departure->length - MRC_ICRC_LEN, (void *)&source->icrc, MRC_ICRC_LEN))
        return MRC_PUSH_STORE;
    return MRC_GO_ON;
}

SEC("xdp")
int raw_push(struct xdp_md *ctx)
{
    const enum mrc_verdict verdict = push(ctx);

    count_verdict(verdict);
    return xdp_action(verdict);
}

char LICENSE[] SEC("license") = "Apache-2.0";
