/* SPDX-License-Identifier: Apache-2.0 */
#include "processes.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { milliseconds_to_wait = 100000 };

struct process process_start(void (*body)(int socket))
{
    struct process process;
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    fflush(NULL);
    process.id = fork();
    REQUIRE(process.id >= 0);
    process.socket = ends[0];
    if (process.id == 0) {
        close(ends[0]);
        body(ends[1]);
        fflush(NULL);
        _exit(0);
    }
    close(ends[1]);
    return process;
}

void process_end(struct process *process)
{
    int status = -1;
    REQUIRE(waitpid(process->id, &status, 0) == process->id);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(process->socket);
}

void send_all(int socket, const void *what, size_t length)
{
    REQUIRE(send(socket, what, length, MSG_NOSIGNAL) == (ssize_t)length);
}

int is_said(int socket)
{
    struct pollfd ready = {.fd = socket, .events = POLLIN, .revents = 0};
    return poll(&ready, 1, 0) == 1;
}

void receive_all(int socket, void *what, size_t length)
{
    struct pollfd ready = {.fd = socket, .events = POLLIN, .revents = 0};
    REQUIRE(poll(&ready, 1, milliseconds_to_wait) == 1);
    REQUIRE(recv(socket, what, length, MSG_WAITALL) == (ssize_t)length);
}

void meet(int socket)
{
    char byte = 'm';
    send_all(socket, &byte, 1);
    receive_all(socket, &byte, 1);
    REQUIRE(byte == 'm');
}

struct offer offer_of(const struct endpoint *end, const struct region *region)
{
    struct offer offer;
    memset(&offer, 0, sizeof(offer));
    offer.end = address_of(end);
    offer.at = (uint64_t)(uintptr_t)region->bytes;
    offer.rkey = region->mr->rkey;
    offer.lkey = region->mr->lkey;
    return offer;
}

struct region offered(const struct offer *offer, struct ibv_mr *room)
{
    struct region region = {.mr = room, .bytes = (unsigned char *)(uintptr_t)offer->at, .length = 0};
    memset(room, 0, sizeof(*room));
    room->rkey = offer->rkey;
    room->lkey = offer->lkey;
    return region;
}

struct offer connect_over(int socket, struct endpoint *end, const struct region *region)
{
    const struct offer mine = offer_of(end, region);
    struct offer other;
    send_all(socket, &mine, sizeof(mine));
    receive_all(socket, &other, sizeof(other));
    endpoint_to_init(end);
    endpoint_to_rtr(end, &other.end);
    meet(socket); /* who sends finds a receiver */
    endpoint_to_rts(end);
    return other;
}

struct ibv_wc awaited(struct mrc_cq *cq, struct mrc_comp_channel *channel)
{
    struct ibv_wc wc;
    struct mrc_cq *signalled = NULL;
    void *user = NULL;
    struct pollfd ready = {.fd = -1, .events = POLLIN, .revents = 0};
    REQUIRE(mrc_get_comp_channel_fd(channel, &ready.fd) == 0);
    for (;;) {
        REQUIRE(mrc_req_notify_cq(cq, 0) == 0);
        const int got = mrc_poll_cq(cq, 1, &wc); /* what came before it was armed raises no event */
        REQUIRE(got >= 0);
        if (got == 1)
            return wc;
        REQUIRE(poll(&ready, 1, milliseconds_to_wait) == 1);
        REQUIRE(mrc_get_cq_event(channel, &signalled, &user) == 0);
        mrc_ack_cq_events(signalled, 1);
    }
}

double seconds_now(void)
{
    struct timespec now;
    REQUIRE(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
