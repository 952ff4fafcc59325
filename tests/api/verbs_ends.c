/* SPDX-License-Identifier: Apache-2.0 */
/* Events, the daemon's end, forks. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fake_daemon.h"
#include "verbs_conformance.h"

static void expect_event(struct ibv_context *context, enum ibv_event_type type, int port)
{
    struct pollfd readable = {context->async_fd, POLLIN, 0};
    struct ibv_async_event event;

    CHECK_IS(poll(&readable, 1, 5000), 1);
    CHECK_IS(ibv_get_async_event(context, &event), 0);
    CHECK_IS(event.event_type, type);
    CHECK_IS(event.element.port_num, port);
    ibv_ack_async_event(&event);
}

void tells_events(void)
{
    struct ibv_context *context = open_first();
    struct ibv_context *other = open_first();
    struct ibv_async_event event;
    struct pollfd quiet = {context->async_fd, POLLIN, 0};

    CHECK_IS(fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK), 0);
    CHECK_FAILS(ibv_get_async_event(context, &event), -1, EAGAIN);
    fake_port(1, 0);
    expect_event(context, IBV_EVENT_PORT_ERR, 1);
    fake_port(2, 0);
    fake_port(1, 1);
    expect_event(context, IBV_EVENT_PORT_ACTIVE, 1); /* two at a time: readable until the last is taken */
    expect_event(context, IBV_EVENT_PORT_ERR, 2);
    CHECK_IS(poll(&quiet, 1, 0), 0);
    fake_flap(1);
    CHECK_FAILS(ibv_get_async_event(context, &event), -1, EAGAIN); /* nothing has changed */
    CHECK_IS(poll(&quiet, 1, 0), 0);
    expect_event(other, IBV_EVENT_PORT_ERR, 2); /* the other context sees what is left of it */
    fake_die();
    expect_event(context, IBV_EVENT_DEVICE_FATAL, 0);
    expect_event(other, IBV_EVENT_DEVICE_FATAL, 0);
    CHECK_FAILS(ibv_get_async_event(context, &event), -1, EAGAIN); /* once */
    CHECK_IS(poll(&quiet, 1, 0), 0);
    CHECK_IS(ibv_close_device(context), 0);
    CHECK_IS(ibv_close_device(other), 0);
}

void cleans_up_without_daemon(void)
{
    static char memory[64];
    struct ibv_context *context = open_first();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), 0);
    struct ibv_port_attr port;

    fake_die();
    CHECK_FAILS(ibv_query_port(context, 1, &port), ECONNRESET, ECONNRESET);
    CHECK_FAILS(ibv_reg_mr(pd, memory, sizeof(memory), 0), NULL, ECONNRESET);
    CHECK_FAILS(ibv_alloc_pd(context), NULL, ECONNRESET);
    CHECK_IS(ibv_dereg_mr(mr), 0);
    CHECK_IS(ibv_dealloc_pd(pd), 0);
    CHECK_IS(ibv_close_device(context), 0);
    context = open_first(); /* a new daemon */
    CHECK_IS(ibv_query_port(context, 1, &port), 0);
    CHECK_IS(ibv_close_device(context), 0);
}

static void child_may_only_open_anew(struct ibv_context *context, struct ibv_pd *pd, struct ibv_mr *mr)
{
    struct ibv_port_attr port;
    struct ibv_async_event event;
    struct ibv_context *own;

    CHECK_FAILS(ibv_query_port(context, 1, &port), EPERM, EPERM);
    CHECK_FAILS(ibv_alloc_pd(context), NULL, EPERM);
    CHECK_FAILS(ibv_reg_mr(pd, &port, sizeof(port), 0), NULL, EPERM);
    CHECK_FAILS(ibv_dereg_mr(mr), EPERM, EPERM);
    CHECK_FAILS(ibv_dealloc_pd(pd), EPERM, EPERM);
    CHECK_FAILS(ibv_get_async_event(context, &event), -1, EPERM);
    CHECK_FAILS(ibv_close_device(context), -1, EPERM);
    own = open_first();
    CHECK_IS(ibv_query_port(own, 1, &port), 0);
    CHECK_IS(ibv_close_device(own), 0);
}

void guards_against_forks(void)
{
    static char memory[64];
    struct ibv_context *context = open_first();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), 0);
    int status = -1;
    pid_t child;

    CHECK_IS(ibv_fork_init(), 0);
    fflush(stderr);
    child = fork();
    if (child == 0) {
        check_failures = 0;
        child_may_only_open_anew(context, pd, mr);
        _exit(check_failures == 0 ? 0 : 1);
    }
    CHECK_IS(waitpid(child, &status, 0), child);
    CHECK_IS(status, 0);
    CHECK_IS(ibv_dereg_mr(mr), 0);
    CHECK_IS(ibv_dealloc_pd(pd), 0);
    CHECK_IS(ibv_close_device(context), 0);
}
