/* SPDX-License-Identifier: Apache-2.0 */
#include "two_hosts.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { global_gid_index = 2, seconds_to_wait = 20 };

void host_open(struct host *host, int index)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    REQUIRE(list != NULL && count > index);
    host->verbs = ibv_open_device(list[index]);
    REQUIRE(host->verbs != NULL);
    ibv_free_device_list(list);
    host->pd = ibv_alloc_pd(host->verbs);
    REQUIRE(host->pd != NULL);
    host->context = mrc_create_context(host->verbs, NULL);
    REQUIRE(host->context != NULL);
}

void host_close(struct host *host)
{
    REQUIRE(mrc_destroy_context(host->context) == 0);
    REQUIRE(ibv_dealloc_pd(host->pd) == 0);
    REQUIRE(ibv_close_device(host->verbs) == 0);
}

struct region region_at(const struct host *host, void *bytes, size_t length)
{
    struct region region = {.bytes = (unsigned char *)bytes, .length = length};
    region.mr = ibv_reg_mr(host->pd, bytes, length, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    REQUIRE(region.mr != NULL);
    return region;
}

struct region region_new(const struct host *host, size_t length)
{
    void *bytes = calloc(1, length);
    REQUIRE(bytes != NULL);
    return region_at(host, bytes, length);
}

void region_free(struct region *region)
{
    REQUIRE(ibv_dereg_mr(region->mr) == 0);
    free(region->bytes);
}

struct endpoint endpoint_on(struct host *host, uint32_t depth, struct mrc_cq *send_cq, struct mrc_cq *receive_cq)
{
    struct endpoint end = {.on = host, .channel = NULL, .send_cq = send_cq, .receive_cq = receive_cq};
    struct mrc_qp_init_attr wanted;
    REQUIRE(send_cq != NULL && receive_cq != NULL);
    memset(&wanted, 0, sizeof(wanted));
    wanted.send_cq = send_cq;
    wanted.recv_cq = receive_cq;
    wanted.pd = host->pd;
    wanted.cap.max_send_wr = depth;
    wanted.cap.max_recv_wr = depth;
    wanted.cap.max_send_sge = 4;
    wanted.cap.max_recv_sge = 1;
    wanted.cap.max_inline_data = 64;
    end.qp = mrc_create_qp(host->context, &wanted);
    REQUIRE(end.qp != NULL);
    REQUIRE(mrc_get_qpn(end.qp, &end.qpn) == 0);
    return end;
}

struct endpoint endpoint_new(struct host *host, uint32_t depth, int with_channel)
{
    struct mrc_comp_channel *channel = NULL;
    struct endpoint end;
    if (with_channel)
        REQUIRE(mrc_create_comp_channel(host->context, &channel) == 0);
    end = endpoint_on(host, depth, mrc_create_cq(host->context, (int)depth, host, channel, 0),
                      mrc_create_cq(host->context, (int)depth, host, channel, 0));
    end.channel = channel;
    return end;
}

struct address address_of(const struct endpoint *end)
{
    struct address address = {.gid = {{0}}, .qpn = end->qpn};
    REQUIRE(ibv_query_gid(end->on->verbs, 1, global_gid_index, &address.gid) == 0);
    return address;
}

void endpoint_to_init(struct endpoint *end)
{
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    REQUIRE(mrc_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, NULL,
                          0) == 0);
}

int endpoint_try_rtr(struct endpoint *end, const struct address *peer)
{
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = peer->qpn;
    attr.rq_psn = first_psn;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.sgid_index = global_gid_index;
    attr.ah_attr.grh.dgid = peer->gid;
    return mrc_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_PATH_MTU,
                         NULL, 0);
}

void endpoint_to_rtr(struct endpoint *end, const struct address *peer)
{
    REQUIRE(endpoint_try_rtr(end, peer) == 0);
}

void endpoint_to_rts(struct endpoint *end)
{
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = first_psn;
    attr.timeout = 7;
    attr.retry_cnt = 14;
    attr.rnr_retry = 14;
    REQUIRE(mrc_modify_qp(end->qp, &attr,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_TIMEOUT, NULL,
                          0) == 0);
}

void endpoints_connect(struct endpoint *a, struct endpoint *b)
{
    const struct address of_a = address_of(a);
    const struct address of_b = address_of(b);
    endpoint_to_rtr(a, &of_b);
    endpoint_to_rtr(b, &of_a);
    endpoint_to_rts(a);
    endpoint_to_rts(b);
}

void endpoint_free(struct endpoint *end)
{
    REQUIRE(mrc_destroy_qp(end->qp) == 0);
    REQUIRE(mrc_destroy_cq(end->send_cq) == 0);
    REQUIRE(mrc_destroy_cq(end->receive_cq) == 0);
    if (end->channel != NULL)
        REQUIRE(mrc_destroy_comp_channel(end->channel) == 0);
}

struct ibv_wc completion_of(struct mrc_cq *cq)
{
    struct ibv_wc wc;
    const time_t begin = time(NULL);
    int got = 0;
    while ((got = mrc_poll_cq(cq, 1, &wc)) == 0)
        REQUIRE(time(NULL) - begin < seconds_to_wait);
    REQUIRE(got == 1);
    return wc;
}

int post_write(struct endpoint *from, uint64_t id, const struct region *source, size_t offset, size_t length,
               const struct region *target, size_t target_offset, unsigned int flags)
{
    struct ibv_sge piece = {
        .addr = (uint64_t)(uintptr_t)(source->bytes + offset), .length = (uint32_t)length, .lkey = source->mr->lkey};
    struct ibv_send_wr request;
    struct ibv_send_wr *bad = NULL;
    memset(&request, 0, sizeof(request));
    request.wr_id = id;
    request.sg_list = &piece;
    request.num_sge = length == 0 ? 0 : 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = flags;
    request.wr.rdma.remote_addr = (uint64_t)(uintptr_t)(target->bytes + target_offset);
    request.wr.rdma.rkey = target->mr->rkey;
    return mrc_post_send(from->qp, &request, &bad);
}
