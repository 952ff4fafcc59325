/* SPDX-License-Identifier: Apache-2.0 */
/* A child process has nothing of its parent's objects, and takes nothing away from them. */
#include "conformance.h"

#include <sys/wait.h>
#include <unistd.h>

static void child(struct pair *pair)
{
    struct endpoint *end = &pair->ends[0];
    struct ibv_qp_attr attr;
    struct mrc_qp_init_attr init;
    struct mrc_comp_channel *channel = NULL;
    struct mrc_async_event event;
    struct mrc_cq *cq = NULL;
    void *user = NULL;
    struct ibv_wc wc;

    memset(&init, 0, sizeof(init));
    init.send_cq = end->send_cq;
    init.recv_cq = end->receive_cq;
    init.pd = hosts[0].pd;
    CHECK_FAILS(mrc_create_context(hosts[0].verbs, NULL), NULL, EPERM);
    CHECK_FAILS(mrc_create_cq(hosts[0].context, 4, NULL, NULL, 0), NULL, EPERM);
    CHECK_FAILS(mrc_create_qp(hosts[0].context, &init), NULL, EPERM);
    CHECK(mrc_create_comp_channel(hosts[0].context, &channel) != 0);
    CHECK_IS(errno, EPERM);
    attr.qp_state = IBV_QPS_ERR;
    CHECK_FAILS(mrc_modify_qp(end->qp, &attr, IBV_QP_STATE, NULL, 0), EPERM, EPERM);
    CHECK_FAILS(mrc_query_qp(end->qp, &attr, IBV_QP_STATE, NULL, 0, NULL), EPERM, EPERM);
    CHECK_FAILS(mrc_get_async_event(hosts[0].context, &event), -1, EPERM);
    CHECK_FAILS(mrc_get_cq_event(end->channel, &cq, &user), -1, EPERM);
    CHECK_FAILS(post_write(end, 1, &pair->memory[0], 0, 64, &pair->memory[1], 0, 0), EPERM, EPERM);
    CHECK_FAILS(post_receive(end, 1), -1, EPERM);
    CHECK_FAILS(mrc_poll_cq(end->send_cq, 1, &wc), -1, EPERM);
    {
        struct host own;
        host_open(&own, 0); /* it may have a session of its own */
        host_close(&own);
    }
}

void guards_forks(void)
{
    struct pair pair = pair_connected(16, 1);
    struct ibv_wc wc;
    int status = -1;

    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        check_failures = 0;
        child(&pair);
        _exit(check_failures == 0 ? 0 : 1);
    }
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_IS(status, 0);
    memset(pair.memory[0].bytes, 0x42, 4096);
    REQUIRE(post_write(&pair.ends[0], 1, &pair.memory[0], 0, 4096, &pair.memory[1], 0, IBV_SEND_SIGNALED) == 0);
    wc = completion_of(pair.ends[0].send_cq);
    CHECK_IS(wc.status, IBV_WC_SUCCESS);
    CHECK_IS(memcmp(pair.memory[0].bytes, pair.memory[1].bytes, 4096), 0);
    pair_free(&pair);
}
