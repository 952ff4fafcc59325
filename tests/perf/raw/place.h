/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prototypes of copies in XDP: payload is placed in memory that a program has mapped, after its ICRC was checked and
 * never outside, and short packets are answered where they arrive. docs/performance.md, "Copies in XDP".
 */
#ifndef MRC_RAW_PLACE_H
#define MRC_RAW_PLACE_H

#include "icrc.h"
#include "maps.h"
#include "outer.h"
#include "region.h"

MRC_USES(paths);

MRC_ROWS(raw_marks, struct raw_mark, MRC_MAX_PORTS);
MRC_ROWS(raw_session, struct raw_session, 1);
MRC_USES(raw_marks);
MRC_USES(raw_session);

const volatile struct raw_config config = {};
/* Of the ICRC's polynomial, by how many bytes follow the one that is looked up. Writer: the loader. */
const volatile __u32 crc_tables[8][256] = {};

#define RAW_MASKED_BYTES (sizeof(struct ipv6hdr) + sizeof(struct udphdr) + sizeof(struct mrc_bth))
#define RAW_CRC_STEPS ((RAW_PAYLOAD_AT + RAW_LONGEST_PAYLOAD) / 8 + 1)
#define RAW_STEER (-1) /* it is the program's, by AF_XDP */

struct raw_headers {
    struct ipv6hdr ip6;
    struct udphdr udp;
    struct mrc_bth bth;
};
MRC_STATIC_ASSERT(sizeof(struct raw_headers) == RAW_MASKED_BYTES, "nothing between or behind them");
MRC_STATIC_ASSERT(RAW_NOTE_AT == __builtin_offsetof(struct raw_headers, bth), "the note stands where MRC has BTH");

static __always_inline __u32 crc_of_8(__u32 crc, __u64 bytes)
{
    const __u64 in = bytes ^ crc;

    return crc_tables[7][in & 0xFF] ^ crc_tables[6][in >> 8 & 0xFF] ^ crc_tables[5][in >> 16 & 0xFF] ^
           crc_tables[4][in >> 24 & 0xFF] ^ crc_tables[3][in >> 32 & 0xFF] ^ crc_tables[2][in >> 40 & 0xFF] ^
           crc_tables[1][in >> 48 & 0xFF] ^ crc_tables[0][in >> 56];
}

static __always_inline __u32 crc_of_4(__u32 crc, __u32 bytes)
{
    const __u32 in = bytes ^ crc;

    return crc_tables[3][in & 0xFF] ^ crc_tables[2][in >> 8 & 0xFF] ^ crc_tables[1][in >> 16 & 0xFF] ^
           crc_tables[0][in >> 24];
}

/* What was written as fields is read as words. */
typedef __u64 __attribute__((may_alias)) raw_word;
typedef __u32 __attribute__((may_alias)) raw_half;

/* On a little-endian machine, of a multiple of 4 bytes. */
static __always_inline __u32 crc_of_words(__u32 crc, const void *bytes, __u32 count)
{
    const raw_word *words = bytes;

    for (__u32 i = 0; i < count / 8; i++)
        crc = crc_of_8(crc, words[i]);
    return count & 4 ? crc_of_4(crc, ((const raw_half *)bytes)[count / 4 - 1]) : crc;
}

/*
 * Of an inner packet, with its ICRC `bytes` long, whose headers are masked as icrc.h says. A function of its own: the
 * verifier follows the loop once.
 */
__noinline int has_right_icrc(struct xdp_md *ctx, __u32 bytes)
{
    struct cursor cursor = MRC_CURSOR(ctx);
    struct raw_headers masked __attribute__((aligned(8)));
    const struct raw_headers *headers;
    const __u32 *last;
    __u32 left = bytes - RAW_MASKED_BYTES - MRC_ICRC_LEN;
    __u32 crc;

    if (bytes < RAW_PAYLOAD_AT + MRC_ICRC_LEN || bytes > RAW_PAYLOAD_AT + RAW_LONGEST_PAYLOAD + MRC_ICRC_LEN)
        return 0;
    if (!take(&cursor, MRC_OUTER_BYTES))
        return 0;
    headers = take(&cursor, sizeof(*headers));
    if (!headers)
        return 0;
    masked = *headers;
    icrc_mask(&masked.ip6, &masked.udp, &masked.bth);
    crc = crc_of_words(MRC_ICRC_SEED, &masked, sizeof(masked));
    for (__u32 i = 0; i < RAW_CRC_STEPS && left >= 8; i++, left -= 8) {
        const __u64 *next = take(&cursor, sizeof(*next));

        if (!next)
            return 0;
        crc = crc_of_8(crc, *next);
    }
    if (left >= 4) {
        const __u32 *next = take(&cursor, sizeof(*next));

        if (!next)
            return 0;
        crc = crc_of_4(crc, *next);
    }
    last = take(&cursor, sizeof(*last));
    return last && *last == ~crc;
}

static __always_inline __u32 inner_bytes(__u32 payload_bytes)
{
    return RAW_PAYLOAD_AT + ((payload_bytes + 3) & ~3u) + MRC_ICRC_LEN;
}

/* The payload from the packet to where it belongs, whole or not at all. */
static __always_inline bool place(struct xdp_md *ctx, struct raw_mark *mark, const struct raw_note *note)
{
    const __u32 only = 0;
    struct raw_region *region = bpf_map_lookup_elem(&raw_region, &only);
    __u32 offset = note->offset;
    const __u32 length = note->payload_bytes;

    if (!region)
        return false;
    if (config.icrc && !has_right_icrc(ctx, inner_bytes(length))) {
        mark->refused[RAW_WRONG_ICRC]++;
        return false;
    }
    if (offset > RAW_REGION_BYTES || length > RAW_REGION_BYTES - offset) {
        mark->refused[RAW_OUT_OF_REGION]++;
        return false;
    }
    /* The verifier bounds each of both, not their sum. The compiler must not drop what it can tell from above. */
    asm volatile("" : "+r"(offset));
    if (offset > RAW_REGION_BYTES)
        return false;
    return bpf_xdp_load_bytes(ctx, MRC_OUTER_BYTES + RAW_PAYLOAD_AT, region->bytes + offset, bounded_length(length)) ==
           0;
}

static __always_inline void begin_run(struct raw_mark *mark, __u32 run)
{
    if (mark->run == run)
        return;
    *(volatile __u64 *)&mark->latest = 0;
    mark->packets = 0;
    mark->bytes = 0;
    mark->behind = 0;
    mark->first_ns = 0;
    mark->run = run;
}

static __always_inline void count(struct raw_mark *mark, const struct raw_note *note)
{
    mark->last_ns = bpf_ktime_get_ns();
    if (mark->packets == 0)
        mark->first_ns = mark->last_ns;
    mark->packets++;
    mark->bytes += note->payload_bytes;
    if (mark->behind <= note->number)
        mark->behind = note->number + 1;
}

/* For a program that looks: the payload is there before this is. An exchange orders memory on every machine. */
static __always_inline void publish(struct raw_mark *mark, const struct raw_note *note)
{
    mark->offset = note->offset;
    mark->payload_bytes = note->payload_bytes;
    __sync_lock_test_and_set(&mark->latest, note->number + 1);
}

/* Of all ports: the highest number, and 1. */
static __always_inline __u64 behind_of_all(void)
{
    __u64 behind = 0;

    for (__u32 i = 0; i < MRC_MAX_PORTS; i++) {
        const __u32 row = i;
        const struct raw_mark *mark = bpf_map_lookup_elem(&raw_marks, &row);

        if (mark && mark->behind > behind)
            behind = mark->behind;
    }
    return behind;
}

/* The headers of what it answers, turned round, and a note; as long as a SACK. */
static __always_inline void make_answer(struct icrc_message *message, const struct raw_headers *asked,
                                        const struct raw_note *note)
{
    const __u32 bytes = RAW_ANSWER_BYTES - sizeof(message->ip6);

    __builtin_memset(message, 0, sizeof(*message));
    *(__be32 *)&message->ip6 = bpf_htonl(6u << 28);
    message->ip6.payload_len = bpf_htons(bytes);
    message->ip6.nexthdr = IPPROTO_UDP;
    message->ip6.hop_limit = 64;
    copy_ip(&message->ip6.saddr, &asked->ip6.daddr);
    copy_ip(&message->ip6.daddr, &asked->ip6.saddr);
    message->udp.source = asked->udp.dest;
    message->udp.dest = asked->udp.source;
    message->udp.len = bpf_htons(bytes);
    __builtin_memcpy(&message->bth, note, sizeof(*note));
}

/* In place of the packet, back by the path of this port. */
static __always_inline int answer(struct xdp_md *ctx, const struct raw_note *note)
{
    const __u32 row = config.port;
    struct mrc_path_row *path = bpf_map_lookup_elem(&paths, &row);
    const struct outer_fields fields = {
        .payload_length = RAW_ANSWER_BYTES, .host_usid = 0, .hop_limit = 64, .next_header = IPPROTO_IPV6};
    const int growth = (int)(MRC_OUTER_BYTES + RAW_ANSWER_BYTES) - (int)(__u32)bpf_xdp_get_buff_len(ctx);
    struct cursor cursor = MRC_CURSOR(ctx);
    struct icrc_message message;
    const struct raw_headers *asked;
    struct way_out way;
    void *to;

    take(&cursor, MRC_OUTER_BYTES);
    asked = take(&cursor, sizeof(*asked));
    if (!asked || !path || !find_way_out(&way, path))
        return XDP_DROP;
    make_answer(&message, asked, note);
    if (growth != 0 && bpf_xdp_adjust_tail(ctx, growth))
        return XDP_DROP;
    cursor = MRC_CURSOR(ctx);
    if (!write_carrier(&cursor, &way, &fields))
        return XDP_DROP;
    to = take(&cursor, RAW_ANSWER_BYTES);
    if (!to)
        return XDP_DROP;
    __builtin_memcpy(to, &message, sizeof(message));
    icrc_mask(&message.ip6, &message.udp, &message.bth);
    *(__u32 *)(to + sizeof(message)) = ~crc_of_words(MRC_ICRC_SEED, &message, sizeof(message));
    return XDP_TX;
}

static __always_inline int answer_with(struct xdp_md *ctx, const struct raw_note *note, enum raw_kind kind,
                                       __u64 number)
{
    const struct raw_note said = {
        .magic = RAW_MAGIC,
        .run = note->run,
        .number = number,
        .kind = (__u8)kind,
        .path = note->path,
        .payload_bytes = RAW_ANSWER_BYTES - RAW_PAYLOAD_AT - MRC_ICRC_LEN,
    };

    return answer(ctx, &said);
}

/* Headers to the program, once the payload stands in the region. */
static __always_inline int hand_over_headers(struct xdp_md *ctx, struct raw_mark *mark, const struct raw_note *note)
{
    if (note->kind != RAW_DATA && note->kind != RAW_PING && note->kind != RAW_PONG)
        return RAW_STEER;
    if (!place(ctx, mark, note))
        return XDP_DROP;
    return bpf_xdp_adjust_tail(ctx, (int)(RAW_PAYLOAD_AT - inner_bytes(note->payload_bytes))) ? XDP_DROP : RAW_STEER;
}

static __always_inline int answer_here(struct xdp_md *ctx, struct raw_mark *mark, const struct raw_note *note,
                                       __u32 report_after)
{
    if ((note->kind != RAW_DATA && note->kind != RAW_PING) || note->payload_bytes > RAW_SHORT_PAYLOAD)
        return RAW_STEER;
    if (!place(ctx, mark, note))
        return XDP_DROP;
    count(mark, note);
    publish(mark, note);
    if (note->kind == RAW_PING)
        return answer_with(ctx, note, RAW_PONG, note->number);
    return report_after && mark->packets % report_after == 0 ? answer_with(ctx, note, RAW_PROGRESS, behind_of_all())
                                                             : XDP_DROP;
}

static __always_inline int acknowledge_here(struct xdp_md *ctx, struct raw_mark *mark, const struct raw_note *note)
{
    if ((note->kind != RAW_PING && note->kind != RAW_PONG) || note->payload_bytes > RAW_SHORT_PAYLOAD)
        return RAW_STEER;
    if (!place(ctx, mark, note))
        return XDP_DROP;
    count(mark, note);
    publish(mark, note);
    return answer_with(ctx, note, RAW_TAKEN, note->number);
}

/* An action of XDP's, or RAW_STEER. `cursor` is behind the inner UDP header. */
static __always_inline int take_here(struct xdp_md *ctx, struct cursor *cursor)
{
    const __u32 only = 0;
    const __u32 row = config.port;
    const struct raw_note *found = take(cursor, sizeof(*found));
    const struct raw_session *session = bpf_map_lookup_elem(&raw_session, &only);
    struct raw_mark *mark = bpf_map_lookup_elem(&raw_marks, &row);
    struct raw_note note;

    if (!found || found->magic != RAW_MAGIC || !session || !mark)
        return RAW_STEER;
    note = *found;
    if (note.payload_bytes > RAW_LONGEST_PAYLOAD || !note.payload_bytes || note.run != session->run)
        return RAW_STEER;
    /* What is shorter than it says would look as if its payload had been placed. */
    if (bpf_xdp_get_buff_len(ctx) != MRC_OUTER_BYTES + inner_bytes(note.payload_bytes)) {
        mark->refused[RAW_NOT_WHOLE]++;
        return XDP_DROP;
    }
    begin_run(mark, note.run);
    if (note.kind == RAW_TAKEN) {
        mark->taken++;
        return XDP_DROP;
    }
    switch (config.mode) {
    case RAW_PLACE:
        return hand_over_headers(ctx, mark, &note);
    case RAW_ANSWER:
        return answer_here(ctx, mark, &note, session->report_after);
    case RAW_MARK:
        return acknowledge_here(ctx, mark, &note);
    default:
        return RAW_STEER;
    }
}

#endif
