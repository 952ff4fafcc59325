/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of queue pairs and completion queues: what is flushed, what is reported. */
#include "conformance.h"

static int write_some(struct pair *pair, uint64_t id, unsigned int flags)
{
    return post_write(&pair->ends[0], id, &pair->memory[0], 0, 64, &pair->memory[1], 0, flags);
}

void flushes_both_queues(void)
{
    struct pair pair = pair_connected(64, 0);
    struct ibv_wc wc;
    uint64_t next = 0;

    for (uint64_t i = 0; i < 10; ++i)
        CHECK_IS(post_receive(&pair.ends[0], 100 + i), 0);
    for (uint64_t i = 0; i < 40; ++i) /* long ones: some are not sent yet */
        REQUIRE(post_write(&pair.ends[0], i, &pair.memory[0], 0, 1 << 20, &pair.memory[1], 0, IBV_SEND_SIGNALED) == 0);
    CHECK_IS(move_to(&pair.ends[0], IBV_QPS_ERR, NULL), 0);
    for (int flushing = 0; next < 40; ++next) {
        wc = completion_of(pair.ends[0].send_cq);
        CHECK_IS(wc.wr_id, next);
        CHECK_IS(wc.qp_num, pair.ends[0].qpn);
        CHECK(wc.status == IBV_WC_WR_FLUSH_ERR || (!flushing && wc.status == IBV_WC_SUCCESS));
        flushing |= wc.status != IBV_WC_SUCCESS;
    }
    for (uint64_t i = 0; i < 10; ++i) {
        wc = completion_of(pair.ends[0].receive_cq);
        CHECK_IS(wc.wr_id, 100 + i);
        CHECK_IS(wc.status, IBV_WC_WR_FLUSH_ERR);
        CHECK_IS(wc.qp_num, pair.ends[0].qpn);
    }
    CHECK_IS(post_receive(&pair.ends[0], 200), 0);
    wc = completion_of(pair.ends[0].receive_cq);
    CHECK(wc.wr_id == 200 && wc.status == IBV_WC_WR_FLUSH_ERR);
    CHECK_IS(write_some(&pair, 201, 0), 0);
    wc = completion_of(pair.ends[0].send_cq);
    CHECK(wc.wr_id == 201 && wc.status == IBV_WC_WR_FLUSH_ERR);
    reconnect(&pair);
    CHECK_IS(write_some(&pair, 202, IBV_SEND_SIGNALED), 0);
    wc = completion_of(pair.ends[0].send_cq);
    CHECK(wc.wr_id == 202 && wc.status == IBV_WC_SUCCESS);
    pair_free(&pair);
}

/* There is no RNR: a message with immediate that finds no receive is the end of the queue pair. */
void needs_receives(void)
{
    struct pair pair = pair_connected(16, 0);
    struct mrc_async_event event;
    struct ibv_wc wc;

    CHECK_IS(post_immediate(&pair.ends[0], 1, &pair, 5, IBV_SEND_SIGNALED), 0);
    wc = completion_of(pair.ends[0].send_cq);
    CHECK(wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR);
    CHECK_IS(wc.wr_id, 1);
    CHECK_IS(mrc_get_async_event(hosts[1].context, &event), 0);
    CHECK(event.event_type == IBV_EVENT_QP_FATAL || event.event_type == IBV_EVENT_QP_REQ_ERR ||
          event.event_type == IBV_EVENT_QP_ACCESS_ERR);
    CHECK(event.element.qp == pair.ends[1].qp);
    mrc_ack_async_event(&event);
    wait_for_state(&pair.ends[0], IBV_QPS_ERR);
    wait_for_state(&pair.ends[1], IBV_QPS_ERR);
    pair_free(&pair);
}

void overruns(void)
{
    struct pair pair = pair_connected(64, 0);
    struct endpoint *end = &pair.ends[0];
    struct mrc_cq *small = mrc_create_cq(hosts[0].context, 2, NULL, NULL, 0);
    struct mrc_cq *kept = end->send_cq;
    struct mrc_qp_init_attr attr;
    struct mrc_async_event event;
    struct ibv_wc wc;
    int polled = 0;

    REQUIRE(small != NULL && mrc_destroy_qp(end->qp) == 0);
    memset(&attr, 0, sizeof(attr));
    attr.send_cq = small;
    attr.recv_cq = end->receive_cq;
    attr.pd = hosts[0].pd;
    attr.cap.max_send_wr = 16;
    attr.cap.max_send_sge = 1;
    end->qp = mrc_create_qp(hosts[0].context, &attr);
    REQUIRE(end->qp != NULL && mrc_get_qpn(end->qp, &end->qpn) == 0);
    end->send_cq = small;
    reconnect(&pair);
    for (uint64_t i = 0; i < 16; ++i)
        CHECK_IS(write_some(&pair, i, IBV_SEND_SIGNALED), 0);
    CHECK_IS(mrc_get_async_event(hosts[0].context, &event), 0);
    CHECK_IS(event.event_type, IBV_EVENT_CQ_ERR);
    CHECK(event.element.cq == small);
    mrc_ack_async_event(&event);
    wait_for_state(end, IBV_QPS_ERR);
    while (mrc_poll_cq(small, 1, &wc) == 1)
        CHECK_IS(wc.wr_id, polled++); /* the oldest are there */
    CHECK_IS(polled, 2);
    CHECK_IS(mrc_destroy_qp(end->qp), 0);
    CHECK_IS(mrc_destroy_cq(small), 0);
    CHECK_IS(mrc_destroy_cq(kept), 0);
    CHECK_IS(mrc_destroy_cq(end->receive_cq), 0);
    endpoint_free(&pair.ends[1]);
    region_free(&pair.memory[0]);
    region_free(&pair.memory[1]);
}

void drains(void)
{
    struct pair pair = pair_connected(64, 0);
    struct endpoint *end = &pair.ends[0];
    struct ibv_qp_attr attr;
    struct ibv_wc wc;

    for (uint64_t i = 0; i < 8; ++i)
        REQUIRE(post_write(end, i, &pair.memory[0], 0, 1 << 20, &pair.memory[1], 0, IBV_SEND_SIGNALED) == 0);
    memset(&attr, 0, sizeof(attr));
    attr.qp_state = IBV_QPS_SQD;
    attr.en_sqd_async_notify = 1;
    CHECK_IS(mrc_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, NULL, 0), 0);
    expect_event(&hosts[0], IBV_EVENT_SQ_DRAINED, end->qp);
    CHECK_IS(state_of(end), IBV_QPS_SQD);
    attr.qp_state = IBV_QPS_RTS;
    CHECK_IS(mrc_modify_qp(end->qp, &attr, IBV_QP_STATE, NULL, 0), 0);
    for (uint64_t i = 0; i < 8; ++i) { /* what had not begun goes on */
        wc = completion_of(end->send_cq);
        CHECK(wc.wr_id == i && wc.status == IBV_WC_SUCCESS);
    }
    pair_free(&pair);
}
