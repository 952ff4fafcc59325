/* SPDX-License-Identifier: Apache-2.0 */
/* Completion channels: waiting, arming, acknowledging. */
#include "conformance.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

static int nonblocking(struct mrc_comp_channel *channel)
{
    int fd = -1;
    REQUIRE(mrc_get_comp_channel_fd(channel, &fd) == 0);
    REQUIRE(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
    return fd;
}

static void no_event(struct mrc_comp_channel *channel)
{
    struct mrc_cq *cq = NULL;
    void *user = NULL;
    CHECK_FAILS(mrc_get_cq_event(channel, &cq, &user), -1, EAGAIN);
}

void waits_for_completions(void)
{
    struct pair pair = pair_connected(16, 1);
    struct endpoint *end = &pair.ends[0];
    const int fd = nonblocking(end->channel);
    const int poller = epoll_create1(0);
    struct epoll_event wanted;
    struct epoll_event ready;
    struct mrc_cq *cq = NULL;
    void *user = NULL;
    struct ibv_wc wc;

    memset(&wanted, 0, sizeof(wanted));
    wanted.events = EPOLLIN;
    REQUIRE(poller >= 0 && epoll_ctl(poller, EPOLL_CTL_ADD, fd, &wanted) == 0);
    no_event(end->channel);
    for (uint64_t i = 0; i < 20; ++i) {
        CHECK_IS(mrc_req_notify_cq(end->send_cq, 0), 0);
        REQUIRE(post_write(end, i, &pair.memory[0], 0, 64, &pair.memory[1], 0, IBV_SEND_SIGNALED) == 0);
        CHECK_IS(epoll_wait(poller, &ready, 1, 20000), 1);
        CHECK_IS(mrc_get_cq_event(end->channel, &cq, &user), 0);
        CHECK(cq == end->send_cq && user == end->on);
        mrc_ack_cq_events(cq, 1);
        wc = completion_of(cq);
        CHECK(wc.wr_id == i && wc.status == IBV_WC_SUCCESS);
        no_event(end->channel); /* one for each arming */
    }
    REQUIRE(post_write(end, 99, &pair.memory[0], 0, 64, &pair.memory[1], 0, IBV_SEND_SIGNALED) == 0);
    (void)completion_of(end->send_cq);
    no_event(end->channel); /* not armed */
    CHECK_FAILS(mrc_get_cq_event(end->channel, NULL, &user), -1, EINVAL);
    CHECK_FAILS(mrc_get_cq_event(end->channel, &cq, NULL), -1, EINVAL);
    close(poller);
    pair_free(&pair);
}

void tells_solicited_only(void)
{
    struct pair pair = pair_connected(16, 1);
    struct endpoint *to = &pair.ends[1];
    struct mrc_cq *cq = NULL;
    void *user = NULL;
    const int fd = nonblocking(to->channel);

    for (uint64_t i = 0; i < 3; ++i)
        CHECK_IS(post_receive(to, i), 0);
    CHECK_IS(mrc_req_notify_cq(to->receive_cq, 1), 0);
    CHECK_IS(post_immediate(&pair.ends[0], 1, &pair, 1, IBV_SEND_SIGNALED), 0);
    CHECK_IS(completion_of(to->receive_cq).status, IBV_WC_SUCCESS);
    no_event(to->channel);
    CHECK_IS(post_immediate(&pair.ends[0], 2, &pair, 2, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED), 0);
    REQUIRE(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0);
    CHECK_IS(mrc_get_cq_event(to->channel, &cq, &user), 0);
    CHECK(cq == to->receive_cq);
    mrc_ack_cq_events(cq, 1);
    CHECK_IS(completion_of(to->receive_cq).status, IBV_WC_SUCCESS);
    /* A failure counts as solicited. */
    CHECK_IS(mrc_req_notify_cq(to->receive_cq, 1), 0);
    CHECK_IS(move_to(to, IBV_QPS_ERR, NULL), 0);
    CHECK_IS(mrc_get_cq_event(to->channel, &cq, &user), 0);
    mrc_ack_cq_events(cq, 1);
    CHECK_IS(completion_of(to->receive_cq).status, IBV_WC_WR_FLUSH_ERR);
    pair_free(&pair);
}

struct destroyer {
    struct mrc_cq *cq;
    struct mrc_qp *qp;
    int result;
    int done; /* __atomic */
};

static void *destroy(void *argument)
{
    struct destroyer *job = (struct destroyer *)argument;
    job->result = job->cq != NULL ? mrc_destroy_cq(job->cq) : mrc_destroy_qp(job->qp);
    __atomic_store_n(&job->done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Long enough for a thread that does not wait to be through. */
static void let_it_run(void)
{
    for (int i = 0; i < 2000; ++i) {
        struct ibv_port_attr port;
        REQUIRE(ibv_query_port(hosts[0].verbs, 1, &port) == 0);
    }
}

void destroys_after_acknowledgement(void)
{
    struct pair pair = pair_connected(16, 1);
    struct endpoint *end = &pair.ends[0];
    struct destroyer job;
    struct mrc_async_event event;
    struct mrc_cq *cq = NULL;
    void *user = NULL;
    pthread_t thread;
    struct region none = pair.memory[1];
    struct ibv_mr no_mr;

    memset(&job, 0, sizeof(job));
    memset(&no_mr, 0, sizeof(no_mr));
    CHECK_IS(mrc_req_notify_cq(end->send_cq, 0), 0);
    none.mr = &no_mr;
    REQUIRE(post_write(end, 1, &pair.memory[0], 0, 64, &none, 0, IBV_SEND_SIGNALED) == 0);
    CHECK_IS(mrc_get_cq_event(end->channel, &cq, &user), 0);
    REQUIRE(mrc_get_async_event(hosts[1].context, &event) == 0);
    CHECK(event.element.qp == pair.ends[1].qp);

    job.qp = pair.ends[1].qp;
    REQUIRE(pthread_create(&thread, NULL, destroy, &job) == 0);
    let_it_run();
    CHECK_IS(__atomic_load_n(&job.done, __ATOMIC_SEQ_CST), 0);
    mrc_ack_async_event(&event);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK_IS(job.result, 0);

    CHECK_IS(mrc_destroy_qp(end->qp), 0);
    memset(&job, 0, sizeof(job));
    job.cq = end->send_cq;
    REQUIRE(pthread_create(&thread, NULL, destroy, &job) == 0);
    let_it_run();
    CHECK_IS(__atomic_load_n(&job.done, __ATOMIC_SEQ_CST), 0);
    mrc_ack_cq_events(cq, 1);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK_IS(job.result, 0);

    CHECK_IS(mrc_destroy_cq(end->receive_cq), 0);
    CHECK_IS(mrc_destroy_comp_channel(end->channel), 0);
    CHECK_IS(mrc_destroy_cq(pair.ends[1].send_cq), 0);
    CHECK_IS(mrc_destroy_cq(pair.ends[1].receive_cq), 0);
    CHECK_IS(mrc_destroy_comp_channel(pair.ends[1].channel), 0);
    region_free(&pair.memory[0]);
    region_free(&pair.memory[1]);
}
