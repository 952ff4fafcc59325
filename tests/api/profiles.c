/* SPDX-License-Identifier: Apache-2.0 */
/* A queue pair sprays over the EVs of its EV profile, and over no others. */
#include <errno.h>
#include <string.h>

#include <mrc/report.h>
#include <mrc_ctl.h>

#include "check.h"
#include "two_hosts.h"

enum { profile_id = 12, planes = 2, depth = 16, message = 1 << 20, most_evs = 64 };

int check_failures = 0;
static struct host hosts[2];
static struct region memory[2];

static int change_profile(struct mrc_ctl_ev_profile_attr *attr, int mask)
{
    return mrc_ctl_modify_ev_profile(hosts[0].context, profile_id, attr, mask);
}

static void go_online(uint32_t evs)
{
    struct mrc_ctl_ev_profile_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
    attr.ev_count = evs;
    REQUIRE(change_profile(&attr, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_COUNT) == 0);
    attr.profile_state = MRC_CTL_PROFILE_ONLINE;
    attr.ev_min_active = 1;
    REQUIRE(change_profile(&attr, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                      MRC_CTL_EV_PROFILE_EVENT_MASK) == 0);
}

static int go_to(enum mrc_ctl_profile_state state)
{
    struct mrc_ctl_ev_profile_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.profile_state = state;
    return change_profile(&attr, MRC_CTL_EV_PROFILE_STATE);
}

static void deny_those_of_port(uint8_t port)
{
    static struct mrc_ctl_ev_op_entry entries[most_evs];
    struct mrc_ctl_ev_profile_attr attr;
    int denied = 0;
    memset(&attr, 0, sizeof(attr));
    attr.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_ARRAY;
    attr.ev_op.entries = entries;
    attr.ev_op.entry_count = most_evs;
    REQUIRE(mrc_ctl_query_ev_profile(hosts[0].context, profile_id, &attr, MRC_CTL_EV_PROFILE_EV_OP) == 0);
    for (int i = 0; i < attr.ev_op.entry_count; ++i)
        if (entries[i].ev.port == port) {
            entries[denied] = entries[i];
            entries[denied++].state = MRC_CTL_EV_DENIED;
        }
    CHECK(denied > 0);
    attr.ev_op.op = MRC_CTL_EV_OP_MODIFY_EV_STATE;
    attr.ev_op.entry_count = denied;
    CHECK_IS(change_profile(&attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
}

static struct mrc_qp_report report_of(struct endpoint *end)
{
    struct mrc_qp_report report;
    struct mrc_qp_attr attr;
    struct ibv_qp_attr verbs;
    REQUIRE(mrc_query_qp(end->qp, &verbs, 0, &attr, MRC_QP_VENDOR_CFG, NULL) == 0);
    memcpy(&report, attr.vendor_cfg, sizeof(report));
    return report;
}

/* Congestion has some of them skip a turn at any time. */
static unsigned paths_in_use(struct mrc_qp_report report)
{
    return (unsigned)(report.paths_good + report.paths_skip + report.paths_kept);
}

static void write_and_compare(struct endpoint *from, unsigned char filling)
{
    struct ibv_wc wc;
    memset(memory[0].bytes, filling, message);
    REQUIRE(post_write(from, filling, &memory[0], 0, message, &memory[1], 0, IBV_SEND_SIGNALED) == 0);
    wc = completion_of(from->send_cq);
    CHECK_IS(wc.status, IBV_WC_SUCCESS);
    CHECK_IS(memcmp(memory[0].bytes, memory[1].bytes, message), 0);
}

/* Queue pairs of the profile on the first host, of profile 0 on the second. */
static void connect_pair(struct endpoint ends[2])
{
    struct mrc_qp_attr attr;
    struct ibv_qp_attr verbs;
    for (int i = 0; i < 2; ++i) {
        ends[i] = endpoint_new(&hosts[i], depth, 0);
        endpoint_to_init(&ends[i]);
    }
    memset(&attr, 0, sizeof(attr));
    attr.profile.ev_profile_id = profile_id + 1;
    CHECK_FAILS(mrc_modify_qp(ends[0].qp, NULL, 0, &attr, MRC_QP_EV_PROFILE_ID), EINVAL, EINVAL);
    attr.profile.ev_profile_id = profile_id;
    REQUIRE(mrc_modify_qp(ends[0].qp, NULL, 0, &attr, MRC_QP_EV_PROFILE_ID) == 0);
    endpoints_connect(&ends[0], &ends[1]);
    memset(&attr, 0, sizeof(attr));
    CHECK_IS(mrc_query_qp(ends[0].qp, &verbs, 0, &attr, MRC_QP_EV_PROFILE_ID, NULL), 0);
    CHECK_IS(attr.profile.ev_profile_id, profile_id);
}

static void one_ev_for_each_plane(void)
{
    struct endpoint ends[2];
    struct endpoint others[2];
    struct mrc_qp_report before;
    struct mrc_qp_report after;
    struct mrc_qp_attr change;

    go_online(planes);
    connect_pair(ends);
    write_and_compare(&ends[0], 1);
    before = report_of(&ends[0]);
    CHECK_IS(paths_in_use(before), planes);
    CHECK(before.plane_tx_packets[0] > 0 && before.plane_tx_packets[1] > 0);
    memset(&change, 0, sizeof(change)); /* connected: neither to another profile, nor can it be taken away */
    CHECK_FAILS(mrc_modify_qp(ends[0].qp, NULL, 0, &change, MRC_QP_EV_PROFILE_ID), EINVAL, EINVAL);
    CHECK_FAILS(go_to(MRC_CTL_PROFILE_OFFLINE), -1, EBUSY);

    /* Beside it, a queue pair of profile 0 keeps all paths. */
    for (int i = 0; i < 2; ++i) {
        others[i] = endpoint_new(&hosts[i], depth, 0);
        endpoint_to_init(&others[i]);
    }
    endpoints_connect(&others[0], &others[1]);
    write_and_compare(&others[0], 2);
    CHECK(paths_in_use(report_of(&others[0])) > planes);
    CHECK_IS(paths_in_use(report_of(&ends[0])), planes);

    deny_those_of_port(2);
    before = report_of(&ends[0]);
    CHECK_IS(paths_in_use(before), 1);
    write_and_compare(&ends[0], 3);
    after = report_of(&ends[0]);
    CHECK(after.plane_tx_packets[0] > before.plane_tx_packets[0]);
    CHECK_IS(after.plane_tx_packets[1], before.plane_tx_packets[1]);
    CHECK(paths_in_use(report_of(&others[0])) > planes);
    for (int i = 0; i < 2; ++i) {
        endpoint_free(&ends[i]);
        endpoint_free(&others[i]);
    }
    CHECK_IS(go_to(MRC_CTL_PROFILE_OFFLINE), 0);
    CHECK_IS(go_to(MRC_CTL_PROFILE_INIT), 0);
}

/* The rows of the paths before are used again, by other EVs. */
static void other_evs_after_offline(void)
{
    struct endpoint ends[2];
    go_online(2 * planes);
    connect_pair(ends);
    write_and_compare(&ends[0], 4);
    CHECK_IS(paths_in_use(report_of(&ends[0])), 2 * planes);
    for (int i = 0; i < 2; ++i)
        endpoint_free(&ends[i]);
    CHECK_IS(go_to(MRC_CTL_PROFILE_OFFLINE), 0);
    CHECK_IS(go_to(MRC_CTL_PROFILE_INIT), 0);
}

int main(void)
{
    for (int i = 0; i < 2; ++i) {
        host_open(&hosts[i], i);
        memory[i] = region_new(&hosts[i], message);
    }
    one_ev_for_each_plane();
    for (int round = 0; round < 3; ++round)
        other_evs_after_offline();
    for (int i = 0; i < 2; ++i) {
        region_free(&memory[i]);
        host_close(&hosts[i]);
    }
    printf("%d failures\n", check_failures);
    return check_failures == 0 ? 0 : 1;
}
