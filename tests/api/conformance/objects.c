/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of mrc.h: how they are made and destroyed, in which order, with what arguments. */
#include "conformance.h"

void tells_versions(void)
{
    uint32_t words[4] = {9, 9, 9, 9};
    mrc_query_version(&words[0], &words[1], &words[2], &words[3]);
    CHECK_IS(words[0], MRC_API_VER(1, 0, 1));
    CHECK_IS(words[1], MRC_API_VER(0, 0, 0));
    CHECK_IS(words[2], MRC_API_VER(1, 0, 0));
    CHECK_IS(words[3], 0);
    mrc_query_version(NULL, NULL, NULL, NULL);
}

void tells_capabilities(void)
{
    struct mrc_device_attr attr;
    struct mrc_device_attr same;
    int supported = 0;

    CHECK_IS(mrc_query_device(hosts[0].verbs, &attr, &supported), 0);
    CHECK_IS(supported, 1);
    CHECK_IS(attr.mrc_protocol_version, MRC_PROTOCOL_VERSION_1);
    CHECK(attr.wimm_attr.max_wimm >= 128 && attr.mpr_attr.max_mpr >= 8 && attr.mpr_attr.mpr_resolution == 1);
    CHECK(attr.qp_attr.max_qp_hint > 0);
    supported = 0;
    memset(&same, 0, sizeof(same));
    CHECK_IS(mrc_query_device_ex(hosts[0].verbs, hosts[0].context, &same, &supported), 0);
    CHECK_IS(supported, 1);
    CHECK_IS(memcmp(&attr, &same, sizeof(attr)), 0);
    CHECK_FAILS(mrc_query_device(NULL, &attr, &supported), -1, EINVAL);
    CHECK_FAILS(mrc_query_device(hosts[0].verbs, NULL, &supported), -1, EINVAL);
    CHECK_FAILS(mrc_query_device(hosts[0].verbs, &attr, NULL), -1, EINVAL);
    CHECK_FAILS(mrc_query_device_ex(hosts[0].verbs, NULL, &attr, &supported), -1, EINVAL);
}

void makes_contexts(void)
{
    struct mrc_context_attr attr = {1, 0}; /* what the OCP benchmark passes */
    struct mrc_context *first = mrc_create_context(hosts[0].verbs, &attr);
    struct mrc_context *second = NULL;
    struct ibv_pd *pd = NULL;
    struct mrc_cq *cq = NULL;
    struct mrc_qp_hint_init_attr init;
    struct mrc_qp_hint *hint = NULL;

    memset(&init, 0, sizeof(init));
    CHECK(first != NULL);
    attr.mrc_api_version_used = 0;
    second = mrc_create_context(hosts[0].verbs, &attr); /* several on one device */
    CHECK(second != NULL && second != first);
    CHECK_IS(mrc_destroy_context(second), 0);
    attr.mrc_api_version_used = MRC_API_CURRENT_VERSION;
    attr.mrc_vendor_api_version_used = MRC_VENDOR_API_CURRENT_VERSION;
    second = mrc_create_context(hosts[0].verbs, &attr);
    CHECK(second != NULL);
    CHECK_IS(mrc_destroy_context(second), 0);
    attr.mrc_api_version_used = MRC_API_CURRENT_VERSION + 1;
    CHECK_FAILS(mrc_create_context(hosts[0].verbs, &attr), NULL, EPROTO);
    attr.mrc_api_version_used = 0;
    attr.mrc_vendor_api_version_used = MRC_VENDOR_API_CURRENT_VERSION + 1;
    CHECK_FAILS(mrc_create_context(hosts[0].verbs, &attr), NULL, EPROTO);
    CHECK_FAILS(mrc_create_context(NULL, NULL), NULL, EINVAL);
    CHECK_FAILS(mrc_destroy_context(NULL), -1, EINVAL);

    cq = mrc_create_cq(first, 1, NULL, NULL, 0);
    CHECK_FAILS(mrc_destroy_context(first), -1, EBUSY);
    CHECK_IS(mrc_destroy_cq(cq), 0);
    hint = mrc_create_qp_hint(first, &init);
    CHECK_FAILS(mrc_destroy_context(first), -1, EBUSY);
    CHECK_IS(mrc_destroy_qp_hint(hint), 0);
    pd = ibv_alloc_pd(hosts[0].verbs);
    CHECK_IS(ibv_dealloc_pd(pd), 0); /* before the context */
    CHECK_IS(mrc_destroy_context(first), 0);
}

void makes_channels(void)
{
    struct mrc_comp_channel *channel = NULL;
    struct mrc_context *other = mrc_create_context(hosts[0].verbs, NULL);
    struct mrc_cq *cq = NULL;
    int fd = -1;

    CHECK(mrc_create_comp_channel(NULL, &channel) != 0);
    CHECK_IS(errno, EINVAL);
    CHECK(mrc_create_comp_channel(hosts[0].context, NULL) != 0);
    CHECK_IS(mrc_create_comp_channel(hosts[0].context, &channel), 0);
    CHECK_IS(mrc_get_comp_channel_fd(channel, &fd), 0);
    CHECK(fd >= 0);
    CHECK_FAILS(mrc_get_comp_channel_fd(NULL, &fd), -1, EINVAL);
    CHECK_FAILS(mrc_get_comp_channel_fd(channel, NULL), -1, EINVAL);
    CHECK_FAILS(mrc_create_cq(other, 16, NULL, channel, 0), NULL, EINVAL);
    cq = mrc_create_cq(hosts[0].context, 16, NULL, channel, 0);
    CHECK(cq != NULL);
    CHECK_FAILS(mrc_destroy_comp_channel(channel), EBUSY, EBUSY);
    CHECK_IS(mrc_destroy_cq(cq), 0);
    CHECK_IS(mrc_destroy_comp_channel(channel), 0);
    CHECK_FAILS(mrc_destroy_comp_channel(NULL), EINVAL, EINVAL);
    CHECK_IS(mrc_destroy_context(other), 0);
}

void makes_completion_queues(void)
{
    struct ibv_device_attr device;
    struct mrc_cq *cq = NULL;
    struct ibv_wc wc;
    struct mrc_cq *ready = NULL;
    void *user = NULL;

    CHECK_IS(ibv_query_device(hosts[0].verbs, &device), 0);
    CHECK_FAILS(mrc_create_cq(NULL, 16, NULL, NULL, 0), NULL, EINVAL);
    CHECK_FAILS(mrc_create_cq(hosts[0].context, 0, NULL, NULL, 0), NULL, EINVAL);
    CHECK_FAILS(mrc_create_cq(hosts[0].context, -1, NULL, NULL, 0), NULL, EINVAL);
    CHECK_FAILS(mrc_create_cq(hosts[0].context, device.max_cqe + 1, NULL, NULL, 0), NULL, EINVAL);
    CHECK_FAILS(mrc_create_cq(hosts[0].context, 16, NULL, NULL, hosts[0].verbs->num_comp_vectors), NULL, EINVAL);
    CHECK_FAILS(mrc_create_cq(hosts[0].context, 16, NULL, NULL, -1), NULL, EINVAL);
    cq = mrc_create_cq(hosts[0].context, device.max_cqe, NULL, NULL, 0);
    CHECK(cq != NULL);
    CHECK_IS(mrc_poll_cq(cq, 1, &wc), 0);
    CHECK_IS(mrc_poll_cq(cq, 0, NULL), 0);
    CHECK_FAILS(mrc_poll_cq(cq, -1, &wc), -1, EINVAL);
    CHECK_FAILS(mrc_poll_cq(cq, 1, NULL), -1, EINVAL);
    CHECK_FAILS(mrc_poll_cq(NULL, 1, &wc), -1, EINVAL);
    CHECK_FAILS(mrc_req_notify_cq(NULL, 0), EINVAL, EINVAL);
    CHECK_FAILS(mrc_get_cq_event(NULL, &ready, &user), -1, EINVAL);
    CHECK_IS(mrc_destroy_cq(cq), 0);
    CHECK_FAILS(mrc_destroy_cq(NULL), EINVAL, EINVAL);
    mrc_ack_cq_events(NULL, 1);
    mrc_ack_async_event(NULL);
    CHECK_FAILS(mrc_get_async_event(NULL, NULL), -1, EINVAL);
}

void makes_hints(void)
{
    struct mrc_device_attr device;
    struct mrc_qp_hint_init_attr init;
    struct mrc_qp_hint_attr attr;
    struct mrc_qp_hint *hint = NULL;
    struct mrc_qp_hint **all = NULL;
    struct mrc_qp_attr to_hint;
    struct endpoint end = endpoint_new(&hosts[0], 4, 0);
    int supported = 0;

    memset(&init, 0, sizeof(init));
    memset(&to_hint, 0, sizeof(to_hint));
    init.attr.num_qps_per_peer = 3;
    init.attr.vendor_cfg[127] = 7;
    CHECK_FAILS(mrc_create_qp_hint(NULL, &init), NULL, EINVAL);
    CHECK_FAILS(mrc_create_qp_hint(hosts[0].context, NULL), NULL, EINVAL);
    hint = mrc_create_qp_hint(hosts[0].context, &init);
    CHECK(hint != NULL);
    memset(&attr, 0x55, sizeof(attr));
    CHECK_IS(mrc_query_qp_hint(hint, &attr, MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_VENDOR_CFG), 0);
    CHECK_IS(attr.num_qps_per_peer, 3);
    CHECK_IS(attr.vendor_cfg[127], 7);
    CHECK_IS(attr.num_send_peers, 0x55555555); /* was not asked for */
    attr.num_send_peers = 5;
    CHECK_IS(mrc_modify_qp_hint(hint, &attr, MRC_QP_HINT_NUM_SEND_PEERS), 0);
    attr.num_send_peers = 0;
    CHECK_IS(mrc_query_qp_hint(hint, &attr, MRC_QP_HINT_NUM_SEND_PEERS), 0);
    CHECK_IS(attr.num_send_peers, 5);
    attr.num_send_peers = -1;
    CHECK_FAILS(mrc_modify_qp_hint(hint, &attr, MRC_QP_HINT_NUM_SEND_PEERS), -1, EINVAL);
    CHECK_FAILS(mrc_modify_qp_hint(hint, &attr, 1 << 5), -1, EINVAL);
    CHECK_FAILS(mrc_query_qp_hint(hint, &attr, 1 << 5), -1, EINVAL);
    CHECK_FAILS(mrc_query_qp_hint(NULL, &attr, 1), -1, EINVAL);
    CHECK_FAILS(mrc_modify_qp_hint(hint, NULL, 1), -1, EINVAL);
    CHECK_FAILS(mrc_destroy_qp_hint(NULL), -1, EINVAL);

    to_hint.qp_hint = hint;
    CHECK_IS(mrc_modify_qp(end.qp, NULL, 0, &to_hint, MRC_QP_HINT), 0);
    CHECK_FAILS(mrc_destroy_qp_hint(hint), -1, EBUSY);
    to_hint.qp_hint = NULL;
    CHECK_IS(mrc_query_qp(end.qp, NULL, 0, &to_hint, MRC_QP_HINT, NULL), 0);
    CHECK(to_hint.qp_hint == hint);
    to_hint.qp_hint = NULL;
    CHECK_IS(mrc_modify_qp(end.qp, NULL, 0, &to_hint, MRC_QP_HINT), 0);
    CHECK_IS(mrc_destroy_qp_hint(hint), 0);
    endpoint_free(&end);

    CHECK_IS(mrc_query_device(hosts[0].verbs, &device, &supported), 0);
    all = (struct mrc_qp_hint **)calloc(device.qp_attr.max_qp_hint, sizeof(*all));
    for (uint32_t i = 0; i < device.qp_attr.max_qp_hint; ++i)
        CHECK((all[i] = mrc_create_qp_hint(hosts[0].context, &init)) != NULL);
    CHECK_FAILS(mrc_create_qp_hint(hosts[0].context, &init), NULL, ENOSPC);
    for (uint32_t i = 0; i < device.qp_attr.max_qp_hint; ++i)
        CHECK_IS(mrc_destroy_qp_hint(all[i]), 0);
    free(all);
}

static struct mrc_qp_init_attr right_attributes(struct mrc_cq *cq)
{
    struct mrc_qp_init_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.send_cq = cq;
    attr.recv_cq = cq;
    attr.pd = hosts[0].pd;
    attr.cap.max_send_wr = 128;
    attr.cap.max_recv_wr = 1;
    attr.cap.max_send_sge = 1;
    attr.cap.max_recv_sge = 1;
    return attr;
}

static void refuse_queue_pair(struct mrc_qp_init_attr *attr)
{
    CHECK_FAILS(mrc_create_qp(hosts[0].context, attr), NULL, EINVAL);
}

void makes_queue_pairs(void)
{
    struct mrc_context *other = mrc_create_context(hosts[0].verbs, NULL);
    struct mrc_cq *cq = mrc_create_cq(hosts[0].context, 256, NULL, NULL, 0);
    struct mrc_cq *foreign = mrc_create_cq(other, 256, NULL, NULL, 0);
    const struct mrc_qp_init_attr right = right_attributes(cq);
    struct mrc_qp_init_attr attr = right;
    struct mrc_qp_init_attr queried;
    struct ibv_device_attr device;
    struct mrc_qp *qp = NULL;
    uint32_t qpn = 0;

    CHECK_IS(ibv_query_device(hosts[0].verbs, &device), 0);
    CHECK_FAILS(mrc_create_qp(NULL, &attr), NULL, EINVAL);
    CHECK_FAILS(mrc_create_qp(hosts[0].context, NULL), NULL, EINVAL);
    attr.send_cq = NULL;
    refuse_queue_pair(&attr);
    attr = right;
    attr.recv_cq = NULL;
    refuse_queue_pair(&attr);
    attr.recv_cq = foreign;
    refuse_queue_pair(&attr);
    attr = right;
    attr.pd = NULL;
    refuse_queue_pair(&attr);
    attr.pd = hosts[1].pd;
    refuse_queue_pair(&attr);
    attr = right;
    attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
    refuse_queue_pair(&attr);
    attr = right;
    memset(&attr.protocol_version, 2, sizeof(attr.protocol_version)); /* no enumerator */
    refuse_queue_pair(&attr);
    attr = right;
    attr.cap.max_send_wr = (uint32_t)device.max_qp_wr + 1;
    refuse_queue_pair(&attr);
    attr = right;
    attr.cap.max_recv_wr = (uint32_t)device.max_qp_wr + 1;
    refuse_queue_pair(&attr);
    attr = right;
    attr.cap.max_send_sge = (uint32_t)device.max_sge + 1;
    refuse_queue_pair(&attr);
    attr = right;
    attr.cap.max_inline_data = 1 << 20;
    refuse_queue_pair(&attr);

    attr = right;
    attr.qp_context = &attr;
    attr.cap.max_send_wr = 100;
    attr.protocol_version = MRC_PROTOCOL_VERSION_1;
    qp = mrc_create_qp(hosts[0].context, &attr);
    REQUIRE(qp != NULL);
    CHECK(attr.cap.max_send_wr >= 100 && attr.cap.max_recv_wr >= 1);
    CHECK_IS(mrc_get_qpn(qp, &qpn), 0);
    CHECK(qpn != 0 && qpn < 1U << 24);
    CHECK_FAILS(mrc_get_qpn(NULL, &qpn), -1, EINVAL);
    CHECK_FAILS(mrc_get_qpn(qp, NULL), -1, EINVAL);
    CHECK_IS(mrc_query_qp(qp, NULL, 0, NULL, 0, &queried), 0);
    CHECK(queried.qp_context == &attr && queried.send_cq == cq && queried.recv_cq == cq && queried.pd == hosts[0].pd);
    CHECK_IS(queried.cap.max_send_wr, attr.cap.max_send_wr);
    CHECK_IS(queried.protocol_version, MRC_PROTOCOL_VERSION_1);
    CHECK_FAILS(mrc_destroy_cq(cq), EBUSY, EBUSY);
    CHECK_FAILS(ibv_dealloc_pd(hosts[0].pd), EBUSY, EBUSY);
    CHECK_FAILS(mrc_destroy_context(hosts[0].context), -1, EBUSY);
    CHECK_IS(mrc_destroy_qp(qp), 0);
    CHECK_FAILS(mrc_destroy_qp(NULL), EINVAL, EINVAL);
    CHECK_FAILS(mrc_modify_qp(NULL, NULL, 0, NULL, 0), EINVAL, EINVAL);
    CHECK_FAILS(mrc_query_qp(NULL, NULL, 0, NULL, 0, NULL), EINVAL, EINVAL);
    CHECK_IS(mrc_destroy_cq(cq), 0);
    CHECK_IS(mrc_destroy_cq(foreign), 0);
    CHECK_IS(mrc_destroy_context(other), 0);
}
