/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process with the daemon inside (MRC_EMBEDDED), alone on its host: what it and its children have of that. Says how
 * many devices there are; its argument is what to look at besides.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "two_hosts.h"

static int devices(void)
{
    int count = -1;
    struct ibv_device **all = ibv_get_device_list(&count);
    if (all == NULL)
        return 0; /* no daemon, and no verbs in this kernel */
    ibv_free_device_list(all);
    return count;
}

static void on_pipe(int number)
{
    (void)number;
}

static void pipe_has(void (*wanted)(int))
{
    struct sigaction now;
    REQUIRE(sigaction(SIGPIPE, NULL, &now) == 0);
    REQUIRE(now.sa_handler == wanted);
}

/* The daemon writes to sockets: SIGPIPE would end the program. What it handles itself stays its own. */
static void keeps_pipes(void (*before)(int), void (*after)(int))
{
    REQUIRE(signal(SIGPIPE, before) != SIG_ERR);
    pipe_has(before);
    REQUIRE(devices() == 1);
    pipe_has(after);
}

static void child(struct host *host, struct mrc_cq *cq)
{
    struct ibv_wc wc;
    errno = 0;
    REQUIRE(mrc_poll_cq(cq, 1, &wc) == -1 && errno == EPERM);
    errno = 0;
    REQUIRE(mrc_create_cq(host->context, 4, NULL, NULL, 0) == NULL && errno == EPERM);
}

/* A write from one queue pair of the process to another one. */
static void writes_to_itself(struct host *host)
{
    struct endpoint from = endpoint_new(host, 16, 0);
    struct endpoint to = endpoint_new(host, 16, 0);
    struct region source = region_new(host, 4096);
    struct region target = region_new(host, 4096);
    endpoint_to_init(&from);
    endpoint_to_init(&to);
    endpoints_connect(&from, &to);
    memset(source.bytes, 0x42, source.length);
    REQUIRE(post_write(&from, 1, &source, 0, source.length, &target, 0, IBV_SEND_SIGNALED) == 0);
    REQUIRE(completion_of(from.send_cq).status == IBV_WC_SUCCESS);
    REQUIRE(memcmp(source.bytes, target.bytes, source.length) == 0);
    endpoint_free(&from);
    endpoint_free(&to);
    region_free(&source);
    region_free(&target);
}

/* A child has no daemon, and takes nothing from its parent's: neither while it lives nor by its end. */
static void forks(void)
{
    struct host host;
    struct mrc_cq *cq = NULL;
    int status = -1;
    pid_t pid = -1;
    host_open(&host, 0);
    cq = mrc_create_cq(host.context, 4, NULL, NULL, 0);
    REQUIRE(cq != NULL);
    writes_to_itself(&host);
    for (int ends = 0; ends < 3; ++ends) {
        fflush(NULL);
        pid = fork();
        REQUIRE(pid >= 0);
        if (pid == 0) {
            child(&host, cq);
            if (ends == 0)
                exit(0); /* with what the libraries do at the end of a program */
            if (ends == 1)
                _exit(0);
            raise(SIGKILL);
        }
        REQUIRE(waitpid(pid, &status, 0) == pid);
        REQUIRE(ends < 2 ? status == 0 : WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        writes_to_itself(&host);
    }
    REQUIRE(mrc_destroy_cq(cq) == 0);
    host_close(&host);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    if (strcmp(argv[1], "pipes") == 0)
        keeps_pipes(SIG_DFL, SIG_IGN);
    else if (strcmp(argv[1], "handled-pipes") == 0)
        keeps_pipes(on_pipe, on_pipe);
    else if (strcmp(argv[1], "forks") == 0)
        forks();
    printf("%d devices\n", devices());
    return 0;
}
