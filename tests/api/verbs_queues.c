/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs' own queues on virtual devices: queue pairs of type RC, as programs use them that know nothing of mrc.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "two_hosts.h"

enum { depth = 32, region_bytes = 1 << 20, gid_index = 3, wait_ms = 20000, retries = 7, timeout = 14 };

struct verbs_end {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    unsigned char *bytes;
};

static struct verbs_end ends[2];

static struct ibv_qp *new_qp(struct verbs_end *end)
{
    struct ibv_qp_init_attr wanted;
    struct ibv_qp *qp;
    memset(&wanted, 0, sizeof(wanted));
    wanted.qp_context = end;
    wanted.send_cq = end->cq;
    wanted.recv_cq = end->cq;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap.max_send_wr = depth;
    wanted.cap.max_recv_wr = depth;
    wanted.cap.max_send_sge = 2;
    wanted.cap.max_recv_sge = 1;
    wanted.cap.max_inline_data = 64;
    qp = ibv_create_qp(end->pd, &wanted);
    REQUIRE(qp != NULL);
    REQUIRE(wanted.cap.max_send_wr >= depth && wanted.cap.max_inline_data >= 64);
    REQUIRE(qp->context == end->context && qp->qp_context == end && qp->pd == end->pd && qp->qp_num != 0);
    REQUIRE(qp->state == IBV_QPS_RESET && qp->qp_type == IBV_QPT_RC && qp->send_cq == end->cq && qp->srq == NULL);
    return qp;
}

static void open_end(struct verbs_end *end, int index)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    REQUIRE(list != NULL && index < count);
    end->context = ibv_open_device(list[index]);
    ibv_free_device_list(list);
    REQUIRE(end->context != NULL);
    REQUIRE((end->pd = ibv_alloc_pd(end->context)) != NULL);
    REQUIRE((end->channel = ibv_create_comp_channel(end->context)) != NULL);
    REQUIRE((end->cq = ibv_create_cq(end->context, 4 * depth, end, end->channel, 0)) != NULL);
    REQUIRE(end->cq->cqe >= 4 * depth && end->cq->cq_context == end && end->cq->channel == end->channel);
    end->qp = new_qp(end);
    REQUIRE((end->bytes = (unsigned char *)calloc(1, region_bytes)) != NULL);
    end->mr = ibv_reg_mr(end->pd, end->bytes, region_bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    REQUIRE(end->mr != NULL);
}

/* All the attributes that reliable connections ask for, MRC's or not. */
static void connect_qp(struct ibv_qp *qp, const struct verbs_end *peer, uint32_t peer_qpn)
{
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    REQUIRE(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    REQUIRE(qp->state == IBV_QPS_INIT);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_2048;
    attr.dest_qp_num = peer_qpn;
    attr.rq_psn = first_psn;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.sgid_index = gid_index;
    REQUIRE(ibv_query_gid(peer->context, 1, gid_index, &attr.ah_attr.grh.dgid) == 0);
    REQUIRE(ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = timeout;
    attr.retry_cnt = retries;
    attr.rnr_retry = retries;
    attr.sq_psn = first_psn;
    attr.max_rd_atomic = 1;
    REQUIRE(ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                              IBV_QP_MAX_QP_RD_ATOMIC) == 0);
    REQUIRE(qp->state == IBV_QPS_RTS);
}

static struct ibv_wc polled(struct ibv_cq *cq)
{
    struct ibv_wc done;
    int got;
    while ((got = ibv_poll_cq(cq, 1, &done)) == 0)
        ;
    REQUIRE(got == 1);
    return done;
}

/* Sleeps until the queue has one. */
static struct ibv_wc awaited(struct verbs_end *end)
{
    struct ibv_wc done;
    struct ibv_cq *cq = NULL;
    void *context = NULL;
    for (;;) {
        REQUIRE(ibv_req_notify_cq(end->cq, 0) == 0);
        if (ibv_poll_cq(end->cq, 1, &done) == 1)
            return done;
        REQUIRE(ibv_get_cq_event(end->channel, &cq, &context) == 0);
        REQUIRE(cq == end->cq && context == end);
        ibv_ack_cq_events(cq, 1);
    }
}

static struct ibv_send_wr write_of(const struct verbs_end *from, const struct verbs_end *to, struct ibv_sge *piece,
                                   uint64_t id, uint32_t length)
{
    struct ibv_send_wr request;
    memset(&request, 0, sizeof(request));
    piece->addr = (uintptr_t)from->bytes;
    piece->length = length;
    piece->lkey = from->mr->lkey;
    request.wr_id = id;
    request.sg_list = piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = (uintptr_t)to->bytes;
    request.wr.rdma.rkey = to->mr->rkey;
    return request;
}

static void writes(void)
{
    static const uint32_t lengths[] = {0, 1, 64, 4096, 65537, region_bytes};
    struct ibv_sge piece;
    struct ibv_send_wr *bad = NULL;
    for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); ++i) {
        struct ibv_send_wr request = write_of(&ends[0], &ends[1], &piece, i, lengths[i]);
        for (uint32_t at = 0; at < region_bytes; ++at)
            ends[0].bytes[at] = (unsigned char)(at * 7 + i);
        memset(ends[1].bytes, 0xEE, region_bytes);
        REQUIRE(ibv_post_send(ends[0].qp, &request, &bad) == 0);
        const struct ibv_wc done = polled(ends[0].cq);
        REQUIRE(done.status == IBV_WC_SUCCESS && done.wr_id == i && done.opcode == IBV_WC_RDMA_WRITE);
        REQUIRE(done.qp_num == ends[0].qp->qp_num);
        REQUIRE(memcmp(ends[0].bytes, ends[1].bytes, lengths[i]) == 0);
        REQUIRE(lengths[i] == region_bytes || ends[1].bytes[lengths[i]] == 0xEE);
    }
}

/* The bytes are taken when it is posted. */
static void inline_writes(void)
{
    struct ibv_sge piece;
    struct ibv_send_wr *bad = NULL;
    struct ibv_send_wr request = write_of(&ends[0], &ends[1], &piece, 1, 64);
    piece.lkey = 0;
    request.send_flags |= IBV_SEND_INLINE;
    memset(ends[0].bytes, 0x41, 64);
    memset(ends[1].bytes, 0, 64);
    REQUIRE(ibv_post_send(ends[0].qp, &request, &bad) == 0);
    memset(ends[0].bytes, 0x42, 64);
    REQUIRE(polled(ends[0].cq).status == IBV_WC_SUCCESS);
    for (int i = 0; i < 64; ++i)
        REQUIRE(ends[1].bytes[i] == 0x41);
}

static void immediates_with_events(void)
{
    struct ibv_sge piece;
    struct ibv_send_wr *bad = NULL;
    struct ibv_recv_wr receive;
    struct ibv_recv_wr *bad_receive = NULL;
    struct ibv_wc done;
    for (uint32_t i = 0; i < 3; ++i) {
        struct ibv_send_wr request = write_of(&ends[0], &ends[1], &piece, i, 1000);
        memset(&receive, 0, sizeof(receive));
        receive.wr_id = 100 + i;
        REQUIRE(ibv_post_recv(ends[1].qp, &receive, &bad_receive) == 0);
        request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        request.imm_data = htonl(0xABCD0000 + i);
        REQUIRE(ibv_post_send(ends[0].qp, &request, &bad) == 0);
        done = awaited(&ends[1]);
        REQUIRE(done.status == IBV_WC_SUCCESS && done.wr_id == 100 + i && done.byte_len == 1000);
        REQUIRE(done.opcode == IBV_WC_RECV_RDMA_WITH_IMM && (done.wc_flags & IBV_WC_WITH_IMM) != 0);
        REQUIRE(done.imm_data == htonl(0xABCD0000 + i));
        done = awaited(&ends[0]);
        REQUIRE(done.status == IBV_WC_SUCCESS && done.wr_id == i);
    }
}

/* A channel's descriptor is the program's to poll, and not to block on. */
static void channels_need_not_block(void)
{
    struct ibv_comp_channel *channel = ibv_create_comp_channel(ends[0].context);
    struct ibv_cq *cq = NULL;
    void *context = NULL;
    struct pollfd ready;
    struct ibv_cq *quiet;
    REQUIRE(channel != NULL);
    REQUIRE((quiet = ibv_create_cq(ends[0].context, 1, NULL, channel, 0)) != NULL);
    REQUIRE(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0);
    ready.fd = channel->fd;
    ready.events = POLLIN;
    REQUIRE(poll(&ready, 1, 0) == 0);
    errno = 0;
    REQUIRE(ibv_get_cq_event(channel, &cq, &context) == -1 && errno == EAGAIN);
    REQUIRE(ibv_destroy_comp_channel(channel) == EBUSY);
    REQUIRE(ibv_destroy_cq(quiet) == 0);
    REQUIRE(ibv_destroy_comp_channel(channel) == 0);
}

static void attributes_are_kept(void)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    memset(&attr, 0xEE, sizeof(attr));
    REQUIRE(ibv_query_qp(ends[0].qp, &attr, IBV_QP_STATE, &init) == 0);
    REQUIRE(attr.qp_state == IBV_QPS_RTS && attr.dest_qp_num == ends[1].qp->qp_num && attr.rq_psn == first_psn);
    REQUIRE(attr.timeout == timeout && attr.retry_cnt == retries && attr.rnr_retry == retries);
    REQUIRE(attr.max_rd_atomic == 1 && attr.max_dest_rd_atomic == 1 && attr.min_rnr_timer == 12);
    REQUIRE(attr.ah_attr.grh.sgid_index == gid_index && attr.path_mtu == IBV_MTU_2048);
    REQUIRE(init.qp_context == &ends[0] && init.send_cq == ends[0].cq && init.recv_cq == ends[0].cq);
    REQUIRE(init.qp_type == IBV_QPT_RC && init.cap.max_send_wr >= depth && init.srq == NULL);
}

static void refusals(void)
{
    static const enum ibv_wr_opcode others[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ,
                                                IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD};
    static const enum ibv_qp_type types[] = {IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND};
    struct ibv_qp_init_attr wanted;
    struct ibv_qp_init_attr_ex extended;
    struct ibv_ece enhancements;
    struct ibv_sge piece;
    struct ibv_send_wr *bad;
    for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        struct ibv_send_wr good = write_of(&ends[0], &ends[1], &piece, 1, 8);
        struct ibv_send_wr request = good;
        request.opcode = others[i];
        good.next = &request; /* what was in front of it is posted */
        bad = NULL;
        REQUIRE(ibv_post_send(ends[0].qp, &good, &bad) == EINVAL && bad == &request);
        REQUIRE(polled(ends[0].cq).status == IBV_WC_SUCCESS);
    }
    for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
        memset(&wanted, 0, sizeof(wanted));
        wanted.send_cq = ends[0].cq;
        wanted.recv_cq = ends[0].cq;
        wanted.qp_type = types[i];
        errno = 0;
        REQUIRE(ibv_create_qp(ends[0].pd, &wanted) == NULL && errno == EOPNOTSUPP);
    }
    memset(&extended, 0, sizeof(extended));
    extended.qp_type = IBV_QPT_RC;
    extended.send_cq = ends[0].cq;
    extended.recv_cq = ends[0].cq;
    extended.pd = ends[0].pd;
    extended.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    extended.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
    errno = 0;
    REQUIRE(ibv_create_qp_ex(ends[0].context, &extended) == NULL && errno == EOPNOTSUPP);
    REQUIRE(ibv_qp_to_qp_ex(ends[0].qp) == NULL);
    REQUIRE(ibv_resize_cq(ends[0].cq, 2 * depth) == EOPNOTSUPP);
    REQUIRE(ibv_query_qp_data_in_order(ends[0].qp, IBV_WR_RDMA_WRITE, 0) == 0);
    REQUIRE(ibv_query_ece(ends[0].qp, &enhancements) == EOPNOTSUPP);
    REQUIRE(ibv_set_ece(ends[0].qp, &enhancements) == EOPNOTSUPP);
    REQUIRE(ibv_attach_mcast(ends[0].qp, NULL, 0) == EOPNOTSUPP);
    REQUIRE(ibv_detach_mcast(ends[0].qp, NULL, 0) == EOPNOTSUPP);
}

/* Its parent's objects are none of a child's business. */
static void children_have_none(void)
{
    int status = -1;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        struct ibv_sge piece;
        struct ibv_send_wr *bad = NULL;
        struct ibv_send_wr request = write_of(&ends[0], &ends[1], &piece, 1, 8);
        _exit(ibv_post_send(ends[0].qp, &request, &bad) == EPERM ? 0 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A key that the peer does not have: the sender's completion says so, and an asynchronous event at the peer. */
static void failures_have_events(void)
{
    struct ibv_qp *qps[2];
    struct ibv_sge piece;
    struct ibv_send_wr request = write_of(&ends[0], &ends[1], &piece, 5, 8);
    struct ibv_send_wr *bad = NULL;
    struct ibv_async_event event;
    struct pollfd ready;
    struct ibv_wc done;
    for (int i = 0; i < 2; ++i)
        qps[i] = new_qp(&ends[i]);
    connect_qp(qps[0], &ends[1], qps[1]->qp_num);
    connect_qp(qps[1], &ends[0], qps[0]->qp_num);
    ready.fd = ends[1].context->async_fd;
    ready.events = POLLIN;
    REQUIRE(poll(&ready, 1, 0) == 0);
    request.wr.rdma.rkey ^= 0xFFFF00;
    REQUIRE(ibv_post_send(qps[0], &request, &bad) == 0);
    done = polled(ends[0].cq);
    REQUIRE(done.status == IBV_WC_REM_ACCESS_ERR && done.wr_id == 5 && done.qp_num == qps[0]->qp_num);
    REQUIRE(poll(&ready, 1, wait_ms) == 1);
    REQUIRE(ibv_get_async_event(ends[1].context, &event) == 0);
    REQUIRE(event.event_type == IBV_EVENT_QP_ACCESS_ERR);
    REQUIRE(event.element.qp == qps[1]);
    ibv_ack_async_event(&event);
    REQUIRE(fcntl(ready.fd, F_SETFL, O_NONBLOCK) == 0);
    errno = 0;
    REQUIRE(ibv_get_async_event(ends[1].context, &event) == -1 && errno == EAGAIN);
    for (int i = 0; i < 2; ++i)
        REQUIRE(ibv_destroy_qp(qps[i]) == 0);
}

static void close_end(struct verbs_end *end)
{
    REQUIRE(ibv_destroy_cq(end->cq) == EBUSY);
    errno = 0;
    REQUIRE(ibv_close_device(end->context) == -1 && errno == EBUSY);
    REQUIRE(ibv_destroy_qp(end->qp) == 0);
    REQUIRE(ibv_destroy_comp_channel(end->channel) == EBUSY);
    REQUIRE(ibv_destroy_cq(end->cq) == 0);
    REQUIRE(ibv_destroy_comp_channel(end->channel) == 0);
    REQUIRE(ibv_dereg_mr(end->mr) == 0);
    REQUIRE(ibv_dealloc_pd(end->pd) == 0);
    REQUIRE(ibv_close_device(end->context) == 0);
    free(end->bytes);
}

int main(void)
{
    open_end(&ends[0], 0);
    open_end(&ends[1], 1);
    connect_qp(ends[0].qp, &ends[1], ends[1].qp->qp_num);
    connect_qp(ends[1].qp, &ends[0], ends[0].qp->qp_num);
    writes();
    inline_writes();
    immediates_with_events();
    channels_need_not_block();
    attributes_are_kept();
    refusals();
    children_have_none();
    failures_have_events();
    close_end(&ends[0]);
    close_end(&ends[1]);
    return 0;
}
