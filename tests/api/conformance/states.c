/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a queue pair: every way between two of them, what each needs, what a query returns. */
#include "conformance.h"

static const enum ibv_qp_state all_states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
                                               IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR};
enum { states = sizeof(all_states) / sizeof(all_states[0]) };

static struct endpoint at(enum ibv_qp_state state, const struct endpoint *peer)
{
    struct endpoint end = endpoint_new(&hosts[0], 16, 0);
    const enum ibv_qp_state last = state == IBV_QPS_ERR ? IBV_QPS_RTS : state;
    for (int i = 1; i < states && last != IBV_QPS_RESET; ++i) {
        REQUIRE(move_to(&end, all_states[i], peer) == 0);
        if (all_states[i] == last)
            break;
    }
    if (state == IBV_QPS_ERR)
        REQUIRE(move_to(&end, IBV_QPS_ERR, peer) == 0);
    CHECK_IS(state_of(&end), state);
    return end;
}

void walks_the_states(void)
{
    static const char allowed[states][states + 1] = {"yy...y",  /* RESET */
                                                     "yyy..y",  /* INIT */
                                                     "y..y.y",  /* RTR */
                                                     "y..yyy",  /* RTS */
                                                     "y..yyy",  /* SQD */
                                                     "y....y"}; /* ERR */
    struct endpoint peer = endpoint_new(&hosts[1], 16, 0);
    for (int from = 0; from < states; ++from)
        for (int to = 0; to < states; ++to) {
            struct endpoint end = at(all_states[from], &peer);
            const int wanted = allowed[from][to] == 'y' ? 0 : EINVAL;
            const int got = move_to(&end, all_states[to], &peer);
            if (got != wanted)
                fprintf(stderr, "from state %d to %d\n", all_states[from], all_states[to]);
            CHECK_IS(got, wanted);
            CHECK_IS(state_of(&end), wanted == 0 ? all_states[to] : all_states[from]);
            endpoint_free(&end);
        }
    endpoint_free(&peer);
}

void needs_what_connects(void)
{
    struct endpoint peer = endpoint_new(&hosts[1], 16, 0);
    struct endpoint end = at(IBV_QPS_INIT, &peer);
    static const int needed[] = {IBV_QP_AV, IBV_QP_DEST_QPN, IBV_QP_RQ_PSN};
    struct ibv_qp_attr attr;
    int mask = 0;

    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); ++i) {
        attr = attributes_to(IBV_QPS_RTR, &peer, &mask);
        CHECK_FAILS(mrc_modify_qp(end.qp, &attr, mask & ~needed[i], NULL, 0), EINVAL, EINVAL);
        CHECK_IS(state_of(&end), IBV_QPS_INIT);
    }
    attr = attributes_to(IBV_QPS_RTR, &peer, &mask);
    CHECK_FAILS(mrc_modify_qp(end.qp, &attr, IBV_QP_STATE, NULL, 0), EINVAL, EINVAL);
    attr.ah_attr.is_global = 0;
    CHECK_FAILS(mrc_modify_qp(end.qp, &attr, mask, NULL, 0), EINVAL, EINVAL);
    attr = attributes_to(IBV_QPS_RTR, &peer, &mask);
    attr.ah_attr.grh.sgid_index = 200;
    CHECK_FAILS(mrc_modify_qp(end.qp, &attr, mask, NULL, 0), EINVAL, EINVAL);
    attr = attributes_to(IBV_QPS_RTR, &peer, &mask);
    memset(&attr.path_mtu, 9, sizeof(attr.path_mtu)); /* no enumerator */
    CHECK_FAILS(mrc_modify_qp(end.qp, &attr, mask, NULL, 0), EINVAL, EINVAL);
    attr = attributes_to(IBV_QPS_RTR, &peer, &mask);
    attr.dest_qp_num = 0;
    CHECK_FAILS(mrc_modify_qp(end.qp, &attr, mask, NULL, 0), EINVAL, EINVAL);
    attr = attributes_to(IBV_QPS_RTR, &peer, &mask);
    CHECK_IS(mrc_modify_qp(end.qp, &attr, mask & ~IBV_QP_PATH_MTU, NULL, 0), 0); /* has a default */
    attr = attributes_to(IBV_QPS_RTS, &peer, &mask);
    CHECK_FAILS(mrc_modify_qp(end.qp, &attr, IBV_QP_STATE, NULL, 0), EINVAL, EINVAL);
    CHECK_IS(state_of(&end), IBV_QPS_RTR);
    CHECK_IS(mrc_modify_qp(end.qp, &attr, mask, NULL, 0), 0);
    endpoint_free(&end);
    endpoint_free(&peer);
}

static void refuse(struct endpoint *end, const struct mrc_qp_attr *attr, int mask)
{
    struct mrc_qp_attr copy = *attr;
    CHECK_FAILS(mrc_modify_qp(end->qp, NULL, 0, &copy, mask), EINVAL, EINVAL);
}

void checks_ranges(void)
{
    struct mrc_device_attr device;
    struct mrc_qp_attr attr;
    struct mrc_qp_attr queried;
    struct ibv_qp_attr verbs;
    struct endpoint end = endpoint_new(&hosts[0], 16, 0);
    int supported = 0;

    memset(&attr, 0, sizeof(attr));
    memset(&verbs, 0, sizeof(verbs));
    CHECK_IS(mrc_query_device(hosts[0].verbs, &device, &supported), 0);
    attr.mpr.mpr = attr.mpr.mpr_dest = device.mpr_attr.max_mpr;
    attr.wimm.max_wimm = device.wimm_attr.max_wimm;
    attr.wimm.max_wimm_dest = device.wimm_attr.max_wimm_dest;
    attr.timeout = 24;
    attr.retry.linear_cnt = 7;
    attr.retry.exp_cnt = 25;
    attr.cap = MRC_QP_CAP_DYNAMIC_MPR;
    const int all = MRC_QP_MPR | MRC_QP_MPR_DEST | MRC_QP_MAX_WIMM | MRC_QP_MAX_WIMM_DEST | MRC_QP_TIMEOUT |
                    MRC_QP_RETRY_CNT | MRC_QP_CAP;
    CHECK_IS(mrc_modify_qp(end.qp, NULL, 0, &attr, all), 0); /* the device's own limits */
    memset(&queried, 0, sizeof(queried));
    CHECK_IS(mrc_query_qp(end.qp, NULL, 0, &queried, all, NULL), 0);
    CHECK_IS(queried.mpr.mpr, attr.mpr.mpr);
    CHECK_IS(queried.wimm.max_wimm_dest, attr.wimm.max_wimm_dest);
    CHECK_IS(queried.timeout, 24);
    CHECK_IS(queried.retry.exp_cnt, 25);
    CHECK_IS(queried.cap, MRC_QP_CAP_DYNAMIC_MPR);

    attr.mpr.mpr = 0;
    refuse(&end, &attr, MRC_QP_MPR);
    attr.mpr.mpr = (uint8_t)(device.mpr_attr.max_mpr + 1);
    refuse(&end, &attr, MRC_QP_MPR);
    attr.mpr.mpr_dest = (uint8_t)(device.mpr_attr.max_mpr + 1);
    refuse(&end, &attr, MRC_QP_MPR_DEST);
    attr.wimm.max_wimm = (uint16_t)(device.wimm_attr.max_wimm + 1);
    refuse(&end, &attr, MRC_QP_MAX_WIMM);
    attr.wimm.max_wimm_dest = (uint16_t)(device.wimm_attr.max_wimm_dest + 1);
    refuse(&end, &attr, MRC_QP_MAX_WIMM_DEST);
    attr.timeout = 25;
    refuse(&end, &attr, MRC_QP_TIMEOUT);
    attr.retry.linear_cnt = 8;
    refuse(&end, &attr, MRC_QP_RETRY_CNT);
    attr.retry.linear_cnt = 7;
    attr.retry.exp_cnt = 26;
    refuse(&end, &attr, MRC_QP_RETRY_CNT);
    attr.profile.ev_profile_id = 4711;
    refuse(&end, &attr, MRC_QP_EV_PROFILE_ID);
    attr.profile.cc_profile_id = 4711;
    refuse(&end, &attr, MRC_QP_CC_PROFILE_ID);
    attr.cap = 1U << 9;
    refuse(&end, &attr, MRC_QP_CAP);
    refuse(&end, &attr, 1 << 20);
    queried.timeout = 0;
    CHECK_IS(mrc_query_qp(end.qp, NULL, 0, &queried, MRC_QP_TIMEOUT, NULL), 0);
    CHECK_IS(queried.timeout, 24); /* nothing of the refused stayed */

    CHECK_FAILS(mrc_modify_qp(end.qp, NULL, IBV_QP_STATE, NULL, 0), EINVAL, EINVAL);
    CHECK_FAILS(mrc_modify_qp(end.qp, NULL, 0, NULL, MRC_QP_MPR), EINVAL, EINVAL);
    CHECK_FAILS(mrc_query_qp(end.qp, NULL, IBV_QP_STATE, NULL, 0, NULL), EINVAL, EINVAL);
    CHECK_FAILS(mrc_modify_qp(end.qp, &verbs, IBV_QP_QKEY, NULL, 0), EINVAL, EINVAL);
    verbs.qp_state = IBV_QPS_SQE;
    CHECK_FAILS(mrc_modify_qp(end.qp, &verbs, IBV_QP_STATE, NULL, 0), EINVAL, EINVAL);
    verbs.qp_state = IBV_QPS_INIT;
    verbs.cur_qp_state = IBV_QPS_RTS;
    CHECK_FAILS(mrc_modify_qp(end.qp, &verbs, IBV_QP_STATE | IBV_QP_CUR_STATE, NULL, 0), EINVAL, EINVAL);
    CHECK_IS(state_of(&end), IBV_QPS_RESET);
    verbs.cur_qp_state = IBV_QPS_RESET;
    verbs.pkey_index = 1;
    CHECK_FAILS(mrc_modify_qp(end.qp, &verbs, IBV_QP_STATE | IBV_QP_PKEY_INDEX, NULL, 0), EINVAL, EINVAL);
    CHECK_IS(mrc_modify_qp(end.qp, &verbs, IBV_QP_STATE | IBV_QP_CUR_STATE, NULL, 0), 0);
    CHECK_IS(mrc_modify_qp(end.qp, NULL, 0, NULL, 0), 0);
    endpoint_free(&end);
}

/* What the peer has learnt, or the path group was made for, stays as it is; so does how it sends, from RTS on. */
void fixes_attributes(void)
{
    struct pair pair = pair_connected(16, 0);
    struct endpoint *end = &pair.ends[0];
    struct mrc_qp_attr attr;
    struct mrc_qp_attr queried;
    struct ibv_qp_attr verbs;
    struct ibv_wc wc;
    int mask = 0;
    const int of_rtr = MRC_QP_MPR_DEST | MRC_QP_MAX_WIMM_DEST;
    const int of_rts = MRC_QP_MPR | MRC_QP_MAX_WIMM | MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT;

    memset(&attr, 0, sizeof(attr));
    memset(&queried, 0, sizeof(queried));
    attr.mpr.mpr = attr.mpr.mpr_dest = 4;
    attr.wimm.max_wimm = attr.wimm.max_wimm_dest = 7;
    for (int bit = 1; bit <= MRC_QP_CAP; bit <<= 1)
        if (((of_rtr | of_rts) & bit) != 0)
            refuse(end, &attr, bit);
    verbs = attributes_to(IBV_QPS_RTR, &pair.ends[1], &mask);
    mask &= ~IBV_QP_STATE;
    CHECK_IS(mrc_modify_qp(end->qp, &verbs, mask & ~IBV_QP_PATH_MTU, NULL, 0), 0); /* as it is: no change */
    ++verbs.rq_psn;
    CHECK_FAILS(mrc_modify_qp(end->qp, &verbs, IBV_QP_RQ_PSN, NULL, 0), EINVAL, EINVAL);
    ++verbs.dest_qp_num;
    CHECK_FAILS(mrc_modify_qp(end->qp, &verbs, IBV_QP_AV | IBV_QP_DEST_QPN, NULL, 0), EINVAL, EINVAL);
    verbs = attributes_to(IBV_QPS_RTS, &pair.ends[1], &mask);
    CHECK_IS(mrc_modify_qp(end->qp, &verbs, IBV_QP_SQ_PSN, NULL, 0), 0);
    ++verbs.sq_psn;
    CHECK_FAILS(mrc_modify_qp(end->qp, &verbs, IBV_QP_SQ_PSN, NULL, 0), EINVAL, EINVAL);
    CHECK_IS(mrc_query_qp(end->qp, NULL, 0, &queried, of_rtr | of_rts, NULL), 0);
    CHECK_IS(queried.mpr.mpr, 8);
    CHECK_IS(queried.mpr.mpr_dest, 8);
    CHECK_IS(queried.wimm.max_wimm, 128);
    CHECK_IS(queried.retry.exp_cnt, 25);
    REQUIRE(post_write(end, 1, &pair.memory[0], 0, 4096, &pair.memory[1], 0, IBV_SEND_SIGNALED) == 0);
    wc = completion_of(end->send_cq);
    CHECK_IS(wc.status, IBV_WC_SUCCESS);
    pair_free(&pair);
}

/* Only what is asked for is written. */
void tells_what_is_asked(void)
{
    struct pair pair = pair_connected(16, 0);
    struct ibv_qp_attr attr;
    struct ibv_qp_attr untouched;
    struct mrc_qp_attr mrc;

    memset(&attr, 0xA5, sizeof(attr));
    memset(&untouched, 0xA5, sizeof(untouched));
    memset(&mrc, 0xA5, sizeof(mrc));
    CHECK_IS(mrc_query_qp(pair.ends[0].qp, &attr, IBV_QP_DEST_QPN, &mrc, MRC_QP_MPR, NULL), 0);
    CHECK_IS(attr.dest_qp_num, pair.ends[1].qpn);
    CHECK_IS(mrc.mpr.mpr, 8);
    CHECK_IS(mrc.mpr.mpr_dest, 0xA5);
    CHECK_IS(mrc.timeout, 0xA5);
    attr.dest_qp_num = untouched.dest_qp_num;
    CHECK_IS(memcmp(&attr, &untouched, sizeof(attr)), 0);
    pair_free(&pair);
}

void tells_attributes(void)
{
    struct pair pair = pair_connected(16, 0);
    struct ibv_port_attr port;
    struct ibv_qp_attr attr;
    struct mrc_qp_attr mrc;

    memset(&attr, 0, sizeof(attr));
    CHECK_IS(ibv_query_port(hosts[0].verbs, 1, &port), 0);
    CHECK_IS(mrc_query_qp(pair.ends[0].qp, &attr,
                          IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_AV | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN |
                              IBV_QP_CAP,
                          &mrc, MRC_QP_MPR | MRC_QP_MPR_DEST | MRC_QP_MAX_WIMM | MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT,
                          NULL),
             0);
    CHECK_IS(attr.qp_state, IBV_QPS_RTS);
    CHECK_IS(attr.path_mtu, port.active_mtu); /* 4096 was asked for */
    CHECK_IS(attr.dest_qp_num, pair.ends[1].qpn);
    CHECK_IS(attr.ah_attr.is_global, 1);
    CHECK_IS(attr.ah_attr.grh.hop_limit, 64); /* the default */
    CHECK_IS(attr.rq_psn, 0xFFFFF0);
    CHECK_IS(attr.sq_psn, 0xFFFFF0);
    CHECK_IS(attr.cap.max_send_wr, 16);
    CHECK_IS(mrc.mpr.mpr, 8);
    CHECK_IS(mrc.mpr.mpr_dest, 8);
    CHECK_IS(mrc.wimm.max_wimm, 128);
    CHECK_IS(mrc.timeout, 8);
    CHECK_IS(mrc.retry.linear_cnt, 7);
    CHECK_IS(mrc.retry.exp_cnt, 25);
    pair_free(&pair);
}

void accepts_what_programs_pass(void)
{
    struct endpoint peer = endpoint_new(&hosts[1], 16, 0);
    struct endpoint end = endpoint_new(&hosts[0], 16, 0);
    struct ibv_qp_attr attr;
    struct mrc_qp_attr mrc;
    int mask = 0;
    const int ignored = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER |
                        IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
    struct region relaxed = region_with(hosts[0].pd, 4097, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);

    memset(&mrc, 0, sizeof(mrc));
    attr = attributes_to(IBV_QPS_INIT, &peer, &mask);
    CHECK_IS(mrc_modify_qp(end.qp, &attr, mask | ignored, NULL, 0), 0);
    attr = attributes_to(IBV_QPS_RTR, &peer, &mask);
    attr.retry_cnt = 14;
    attr.rnr_retry = 200;
    CHECK_IS(mrc_modify_qp(end.qp, &attr, mask | ignored, NULL, 0), 0);
    attr = attributes_to(IBV_QPS_RTS, &peer, &mask);
    attr.timeout = 7;
    CHECK_IS(mrc_modify_qp(end.qp, &attr, mask | ignored, NULL, 0), 0);
    CHECK_IS(mrc_query_qp(end.qp, NULL, 0, &mrc, MRC_QP_TIMEOUT, NULL), 0);
    CHECK_IS(mrc.timeout, 8); /* verbs' time-out means nothing */
    CHECK_IS(mrc_modify_qp(end.qp, NULL, 0, &mrc, MRC_QP_VENDOR_CFG) == 0 || errno == EINVAL, 1);
    region_free(&relaxed);
    endpoint_free(&end);
    endpoint_free(&peer);
}
