/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signalling by immediates: a client sends them over several queue pairs, a server sleeps in epoll on its completion
 * channel, answers each with another, and keeps receives posted. In order per queue pair, each exactly once.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "processes.h"

enum { pairs = 4, signals_each = 500, window = 16, depth = 2 * window, wait_ms = 20000 };

struct side {
    struct host host;
    struct mrc_comp_channel *channel;
    struct mrc_cq *cq; /* of all, sends and receives */
    struct endpoint ends[pairs];
    struct region memory; /* words that came with signals: a window of each pair, for writes land in any order */
    struct region there;
    struct ibv_mr room;
    int poll;
    uint32_t sent[pairs];
    uint32_t taken[pairs];
    uint32_t acknowledged[pairs]; /* send completions */
};

static void side_open(struct side *side, int index, int socket)
{
    struct epoll_event wanted;
    int fd = -1;
    memset(side, 0, sizeof(*side));
    host_open(&side->host, index);
    REQUIRE(mrc_create_comp_channel(side->host.context, &side->channel) == 0);
    REQUIRE(mrc_get_comp_channel_fd(side->channel, &fd) == 0);
    REQUIRE(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
    side->poll = epoll_create1(EPOLL_CLOEXEC);
    memset(&wanted, 0, sizeof(wanted));
    wanted.events = EPOLLIN;
    REQUIRE(side->poll >= 0 && epoll_ctl(side->poll, EPOLL_CTL_ADD, fd, &wanted) == 0);
    side->cq = mrc_create_cq(side->host.context, 2 * pairs * depth, side, side->channel, 0);
    side->memory = region_new(&side->host, pairs * window * sizeof(uint64_t));
    for (int i = 0; i < pairs; ++i) {
        side->ends[i] = endpoint_on(&side->host, depth, side->cq, side->cq);
        const struct offer offer = connect_over(socket, &side->ends[i], &side->memory);
        side->there = offered(&offer, &side->room);
    }
}

static void side_close(struct side *side)
{
    for (int i = 0; i < pairs; ++i)
        REQUIRE(mrc_destroy_qp(side->ends[i].qp) == 0);
    REQUIRE(mrc_destroy_cq(side->cq) == 0 && mrc_destroy_comp_channel(side->channel) == 0);
    region_free(&side->memory);
    host_close(&side->host);
    close(side->poll);
}

static void post_receive(struct side *side, int pair, uint32_t id)
{
    struct ibv_recv_wr request;
    struct ibv_recv_wr *bad = NULL;
    memset(&request, 0, sizeof(request));
    request.wr_id = id;
    REQUIRE(mrc_post_recv(side->ends[pair].qp, &request, &bad) == 0);
}

/* Where the word of a signal is; the next one there is sent when this one has been answered. */
static size_t offset_of(int pair, uint32_t number)
{
    return ((size_t)pair * window + number % window) * sizeof(uint64_t);
}

static void send_signal(struct side *side, int pair)
{
    struct ibv_sge piece;
    struct ibv_send_wr request;
    struct ibv_send_wr *bad = NULL;
    uint64_t word = side->sent[pair];
    memset(&request, 0, sizeof(request));
    piece.addr = (uint64_t)(uintptr_t)&word;
    piece.length = sizeof(word);
    piece.lkey = 0;
    request.wr_id = side->sent[pair];
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    request.imm_data = htonl(((uint32_t)pair << 24) | side->sent[pair]);
    request.wr.rdma.remote_addr = (uint64_t)(uintptr_t)(side->there.bytes + offset_of(pair, side->sent[pair]));
    request.wr.rdma.rkey = side->there.mr->rkey;
    REQUIRE(mrc_post_send(side->ends[pair].qp, &request, &bad) == 0);
    ++side->sent[pair];
}

static int pair_of(const struct side *side, uint32_t qpn)
{
    for (int i = 0; i < pairs; ++i)
        if (side->ends[i].qpn == qpn)
            return i;
    REQUIRE(!"a known queue pair");
    return -1;
}

/* The word is there before its immediate. */
static void check_signal(const struct side *side, int pair, const struct ibv_wc *wc)
{
    uint64_t word = 0;
    memcpy(&word, side->memory.bytes + offset_of(pair, side->taken[pair]), sizeof(word));
    REQUIRE(wc->wr_id == side->taken[pair] && wc->byte_len == sizeof(word));
    REQUIRE(ntohl(wc->imm_data) == (((uint32_t)pair << 24) | side->taken[pair]));
    REQUIRE(word == side->taken[pair]);
}

static void take(struct side *side, const struct ibv_wc *wc, int serves)
{
    const int pair = pair_of(side, wc->qp_num);
    REQUIRE(wc->status == IBV_WC_SUCCESS);
    if (wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM) {
        REQUIRE(wc->wr_id == side->acknowledged[pair]);
        ++side->acknowledged[pair];
        return;
    }
    check_signal(side, pair, wc);
    ++side->taken[pair];
    if (side->taken[pair] + window <= signals_each)
        post_receive(side, pair, side->taken[pair] + window - 1);
    if (serves || side->sent[pair] < signals_each)
        send_signal(side, pair);
}

static int complete(const struct side *side)
{
    for (int i = 0; i < pairs; ++i)
        if (side->taken[i] != signals_each || side->acknowledged[i] != signals_each)
            return 0;
    return 1;
}

/* Sleeps in epoll; events are acknowledged all at once in the end. */
static void run(struct side *side, int serves)
{
    struct mrc_cq *cq = NULL;
    void *user = NULL;
    struct epoll_event ready;
    struct ibv_wc wcs[8];
    unsigned int events = 0;
    int got = 0;
    REQUIRE(mrc_req_notify_cq(side->cq, 0) == 0);
    for (;;) {
        while ((got = mrc_poll_cq(side->cq, 8, wcs)) > 0)
            for (int i = 0; i < got; ++i)
                take(side, &wcs[i], serves);
        REQUIRE(got == 0);
        if (complete(side))
            break;
        REQUIRE(epoll_wait(side->poll, &ready, 1, wait_ms) == 1);
        while (mrc_get_cq_event(side->channel, &cq, &user) == 0) {
            REQUIRE(cq == side->cq && user == side);
            ++events;
        }
        REQUIRE(errno == EAGAIN);
        REQUIRE(mrc_req_notify_cq(side->cq, 0) == 0); /* before the queue is emptied */
    }
    mrc_ack_cq_events(side->cq, events);
    printf("%s: %d signals each way over %d queue pairs, %u wakings\n", serves ? "server" : "client",
           pairs * signals_each, pairs, events);
}

static void start(struct side *side, int socket)
{
    for (int pair = 0; pair < pairs; ++pair)
        for (uint32_t i = 0; i < window; ++i)
            post_receive(side, pair, i);
    meet(socket);
}

static void server(int socket)
{
    static struct side side;
    side_open(&side, 1, socket);
    start(&side, socket);
    run(&side, 1);
    meet(socket);
    side_close(&side);
}

int main(void)
{
    static struct side side;
    struct process other = process_start(server);
    side_open(&side, 0, other.socket);
    start(&side, other.socket);
    for (int pair = 0; pair < pairs; ++pair)
        for (uint32_t i = 0; i < window; ++i)
            send_signal(&side, pair);
    run(&side, 0);
    meet(other.socket);
    side_close(&side);
    process_end(&other);
    return 0;
}
