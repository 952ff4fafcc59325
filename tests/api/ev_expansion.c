/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EVs of two bits, one for the uplink and one for the plane, which the fields of a profile expand to what a packet
 * carries; listed by the controller, and generated. A queue pair sends by them. After each step it says so, and waits
 * for a byte on standard input while ev_expansion.py looks at the paths.
 */
#include <string.h>
#include <unistd.h>

#include <mrc_ctl.h>

#include "two_hosts.h"

enum {
    format_id = 81,
    listed_id = 82,
    generated_id = 83,
    message_bytes = 4 << 20,
    uplink_bit = 0x80,
    plane_bit = 0x40
};

static struct host hosts[2];
static struct region memory[2];

static void pause_after(const char *step)
{
    char byte = 0;
    printf("%s\n", step);
    fflush(stdout);
    REQUIRE(read(0, &byte, 1) == 1);
}

static void make_format(void)
{
    struct mrc_ctl_ev_fmt_profile_attr attr;
    struct mrc_ctl_ev_fmt_field widths[3] = {{21}, {8}, {3}}; /* entropy, uplink, plane */
    memset(&attr, 0, sizeof(attr));
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
    attr.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
    attr.ev_fmt_op.fmt_fields = widths;
    attr.ev_fmt_op.fmt_field_count = 3;
    REQUIRE(mrc_ctl_modify_ev_fmt_profile(hosts[0].context, format_id, &attr,
                                          MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE |
                                              MRC_CTL_EV_FMT_PROFILE_OP) == 0);
    attr.profile_state = MRC_CTL_PROFILE_ONLINE;
    REQUIRE(mrc_ctl_modify_ev_fmt_profile(hosts[0].context, format_id, &attr, MRC_CTL_EV_FMT_PROFILE_STATE) == 0);
}

/* The entropy is constant; the lowest bits of uplink and plane are the EV's. */
static void make_fields(struct mrc_ctl_ev_field fields[3], uint32_t entropy)
{
    memset(fields, 0, 3 * sizeof(fields[0]));
    fields[0].width = 21;
    fields[0].init_val = entropy;
    fields[1].width = 8;
    fields[1].mask = 1;
    fields[1].max_val = 1;
    fields[2].width = 3;
    fields[2].mask = 1;
    fields[2].max_val = 1;
}

static void to_offline(uint64_t id, enum mrc_ctl_ev_mode mode, uint32_t count, uint32_t entropy)
{
    struct mrc_ctl_ev_profile_attr attr;
    struct mrc_ctl_ev_field fields[3];
    make_fields(fields, entropy);
    memset(&attr, 0, sizeof(attr));
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_mode = mode;
    attr.ev_fmt_profile_id = format_id;
    attr.ev_count = count;
    attr.ev_fields_op.op = MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS;
    attr.ev_fields_op.fields = fields;
    attr.ev_fields_op.field_count = 3;
    REQUIRE(mrc_ctl_modify_ev_profile(hosts[0].context, id, &attr,
                                      MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                          MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_EV_FIELDS_OP) == 0);
}

static void to_online(uint64_t id)
{
    struct mrc_ctl_ev_profile_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.profile_state = MRC_CTL_PROFILE_ONLINE;
    attr.ev_min_active = 1;
    attr.ev_event_mask = 0;
    REQUIRE(mrc_ctl_modify_ev_profile(hosts[0].context, id, &attr,
                                      MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                          MRC_CTL_EV_PROFILE_EVENT_MASK) == 0);
}

static void remove_format(void)
{
    struct mrc_ctl_ev_fmt_profile_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    REQUIRE(mrc_ctl_modify_ev_fmt_profile(hosts[0].context, format_id, &attr, MRC_CTL_EV_FMT_PROFILE_STATE) == 0);
    attr.profile_state = MRC_CTL_PROFILE_INIT;
    REQUIRE(mrc_ctl_modify_ev_fmt_profile(hosts[0].context, format_id, &attr, MRC_CTL_EV_FMT_PROFILE_STATE) == 0);
}

/* OFFLINE, then forgotten. */
static void remove_profile(uint64_t id)
{
    struct mrc_ctl_ev_profile_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    REQUIRE(mrc_ctl_modify_ev_profile(hosts[0].context, id, &attr, MRC_CTL_EV_PROFILE_STATE) == 0);
    attr.profile_state = MRC_CTL_PROFILE_INIT;
    REQUIRE(mrc_ctl_modify_ev_profile(hosts[0].context, id, &attr, MRC_CTL_EV_PROFILE_STATE) == 0);
}

static void operate(enum mrc_ctl_ev_op op, struct mrc_ctl_ev_op_entry *entries, int count)
{
    struct mrc_ctl_ev_profile_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.ev_op.op = op;
    attr.ev_op.entries = entries;
    attr.ev_op.entry_count = count;
    REQUIRE(mrc_ctl_modify_ev_profile(hosts[0].context, listed_id, &attr, MRC_CTL_EV_PROFILE_EV_OP) == 0);
    REQUIRE(attr.ev_op.entry_count == count);
}

static struct mrc_ctl_ev ev_of(unsigned int uplink, unsigned int plane)
{
    struct mrc_ctl_ev ev;
    const unsigned char bits = (unsigned char)((uplink != 0 ? uplink_bit : 0) | (plane != 0 ? plane_bit : 0));
    memset(&ev, 0, sizeof(ev));
    memcpy(&ev.val, &bits, 1);
    ev.port = (uint8_t)(plane + 1);
    return ev;
}

/* Uplink 1 of both planes. */
static void list_evs(void)
{
    struct mrc_ctl_ev_op_entry entries[2];
    memset(entries, 0, sizeof(entries));
    for (unsigned int plane = 0; plane < 2; ++plane) {
        entries[plane].ev_new = ev_of(1, plane);
        entries[plane].state = MRC_CTL_EV_GOOD;
    }
    operate(MRC_CTL_EV_OP_REPLACE_EV, entries, 2);
}

static void set_state(unsigned int plane, enum mrc_ctl_ev_state state)
{
    struct mrc_ctl_ev_op_entry entry;
    memset(&entry, 0, sizeof(entry));
    entry.ev = ev_of(1, plane);
    entry.state = state;
    operate(MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1);
}

/* All four, each with its port. */
static void check_generated(void)
{
    struct mrc_ctl_ev_profile_attr attr;
    struct mrc_ctl_ev_op_entry entries[8];
    unsigned int seen = 0;
    memset(&attr, 0, sizeof(attr));
    memset(entries, 0, sizeof(entries));
    attr.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_ARRAY;
    attr.ev_op.entries = entries;
    attr.ev_op.entry_count = 8;
    REQUIRE(mrc_ctl_query_ev_profile(hosts[0].context, generated_id, &attr, MRC_CTL_EV_PROFILE_EV_OP) == 0);
    REQUIRE(attr.ev_op.entry_count == 4);
    for (int i = 0; i < 4; ++i)
        for (unsigned int path = 0; path < 4; ++path) {
            const struct mrc_ctl_ev ev = ev_of(path / 2, path % 2);
            if (memcmp(&entries[i].ev, &ev, sizeof(ev)) == 0)
                seen |= 1U << path;
        }
    REQUIRE(seen == 0xF);
}

static void connect_with(struct endpoint ends[2], uint64_t profile)
{
    struct ibv_qp_attr attr;
    struct mrc_qp_attr mrc;
    for (int i = 0; i < 2; ++i)
        ends[i] = endpoint_new(&hosts[i], 16, 0);
    memset(&attr, 0, sizeof(attr));
    memset(&mrc, 0, sizeof(mrc));
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    mrc.profile.ev_profile_id = profile;
    REQUIRE(mrc_modify_qp(ends[0].qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, &mrc,
                          MRC_QP_EV_PROFILE_ID) == 0);
    endpoint_to_init(&ends[1]);
    endpoints_connect(&ends[0], &ends[1]);
}

static void transfer(struct endpoint ends[2], unsigned int seed)
{
    for (size_t i = 0; i < message_bytes; ++i)
        memory[0].bytes[i] = (unsigned char)(i * 31 + (i >> 8) + seed);
    REQUIRE(post_write(&ends[0], seed, &memory[0], 0, message_bytes, &memory[1], 0, IBV_SEND_SIGNALED) == 0);
    REQUIRE(completion_of(ends[0].send_cq).status == IBV_WC_SUCCESS);
    REQUIRE(memcmp(memory[0].bytes, memory[1].bytes, message_bytes) == 0);
}

static void free_ends(struct endpoint ends[2])
{
    for (int i = 0; i < 2; ++i)
        endpoint_free(&ends[i]);
}

int main(void)
{
    struct endpoint ends[2];
    for (int i = 0; i < 2; ++i) {
        host_open(&hosts[i], i);
        memory[i] = region_new(&hosts[i], message_bytes);
    }
    make_format();
    to_offline(listed_id, MRC_CTL_EV_MODE_EXP, 2, 1);
    list_evs();
    to_online(listed_id);
    connect_with(ends, listed_id);
    transfer(ends, 1);
    pause_after("listed");
    set_state(0, MRC_CTL_EV_DENIED);
    pause_after("denied"); /* what was under way has arrived */
    transfer(ends, 2);
    pause_after("without");
    set_state(0, MRC_CTL_EV_GOOD);
    transfer(ends, 3);
    pause_after("again");
    free_ends(ends);
    remove_profile(listed_id);

    to_offline(generated_id, MRC_CTL_EV_MODE_GEN, 4, 2);
    check_generated();
    to_online(generated_id);
    connect_with(ends, generated_id);
    transfer(ends, 4);
    pause_after("generated");
    free_ends(ends);
    remove_profile(generated_id);
    remove_format();
    for (int i = 0; i < 2; ++i) {
        region_free(&memory[i]);
        host_close(&hosts[i]);
    }
    return 0;
}
