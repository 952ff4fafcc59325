/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ping-pong between two processes in the two ways that programs use: a word in memory that the other side polls, and
 * messages with an immediate. Every message is checked.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <string.h>

#include "processes.h"

enum { word_rounds = 500, message_rounds = 200, depth = 16, most_bytes = 64 << 10, polls_per_yield = 64 };

static const size_t message_sizes[] = {0, 1, 4096, most_bytes};

struct side {
    struct host host;
    struct endpoint end;
    struct region out;
    struct region in;
    struct region there; /* the peer's `in` */
    struct ibv_mr room;
};

static void side_open(struct side *side, int index, int socket)
{
    host_open(&side->host, index);
    side->end = endpoint_new(&side->host, depth, 0);
    side->out = region_new(&side->host, most_bytes);
    side->in = region_new(&side->host, most_bytes);
    const struct offer offer = connect_over(socket, &side->end, &side->in);
    side->there = offered(&offer, &side->room);
}

static void side_close(struct side *side)
{
    endpoint_free(&side->end);
    region_free(&side->out);
    region_free(&side->in);
    host_close(&side->host);
}

static struct ibv_wc polled(struct mrc_cq *cq)
{
    struct ibv_wc wc;
    const double begin = seconds_now();
    for (unsigned int polls = 1;; ++polls) {
        const int got = mrc_poll_cq(cq, 1, &wc);
        REQUIRE(got >= 0);
        if (got == 1)
            break;
        if (polls % polls_per_yield == 0) {
            sched_yield(); /* the daemon may need the core */
            REQUIRE(seconds_now() - begin < 20);
        }
    }
    REQUIRE(wc.status == IBV_WC_SUCCESS);
    return wc;
}

/* ---- words ---- */

/* Signalled once a round trip: the answer says that the slot is free, and the completion is there soon. */
static void send_word(struct side *side, uint64_t number)
{
    struct region word = side->out;
    word.bytes = (unsigned char *)&number;
    REQUIRE(post_write(&side->end, number, &word, 0, sizeof(number), &side->there, 0,
                       IBV_SEND_SIGNALED | IBV_SEND_INLINE) == 0);
    REQUIRE(polled(side->end.send_cq).wr_id == number);
}

static void await_word(const struct side *side, uint64_t number)
{
    const double begin = seconds_now();
    uint64_t *word = (uint64_t *)(void *)side->in.bytes;
    for (unsigned int polls = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) != number; ++polls)
        if (polls % polls_per_yield == 0) {
            sched_yield();
            REQUIRE(seconds_now() - begin < 20);
        }
}

/* ---- messages ---- */

static unsigned char byte_of(uint32_t number, size_t at)
{
    return (unsigned char)(number * 29 + at * 3 + (at >> 8));
}

static void post_receive(struct side *side, uint64_t id)
{
    struct ibv_recv_wr request;
    struct ibv_recv_wr *bad = NULL;
    memset(&request, 0, sizeof(request));
    request.wr_id = id;
    REQUIRE(mrc_post_recv(side->end.qp, &request, &bad) == 0);
}

static void send_message(struct side *side, uint32_t number, size_t length)
{
    struct ibv_sge piece;
    struct ibv_send_wr request;
    struct ibv_send_wr *bad = NULL;
    for (size_t i = 0; i < length; ++i)
        side->out.bytes[i] = byte_of(number, i);
    memset(&request, 0, sizeof(request));
    piece.addr = (uint64_t)(uintptr_t)side->out.bytes;
    piece.length = (uint32_t)length;
    piece.lkey = side->out.mr->lkey;
    request.wr_id = number;
    request.sg_list = &piece;
    request.num_sge = length != 0;
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.send_flags = IBV_SEND_SIGNALED;
    request.imm_data = htonl(number);
    request.wr.rdma.remote_addr = (uint64_t)(uintptr_t)side->there.bytes;
    request.wr.rdma.rkey = side->there.mr->rkey;
    REQUIRE(mrc_post_send(side->end.qp, &request, &bad) == 0);
    REQUIRE(polled(side->end.send_cq).wr_id == number);
}

static void take_message(struct side *side, uint32_t number, size_t length)
{
    const struct ibv_wc wc = polled(side->end.receive_cq);
    REQUIRE(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.wr_id == number && ntohl(wc.imm_data) == number);
    REQUIRE(wc.byte_len == length);
    for (size_t i = 0; i < length; ++i)
        REQUIRE(side->in.bytes[i] == byte_of(number, i));
}

/* ---- both ---- */

static void play(struct side *side, int socket, int serves)
{
    for (uint64_t number = 1; number <= word_rounds; ++number) {
        if (!serves)
            send_word(side, number);
        await_word(side, number);
        if (serves)
            send_word(side, number);
    }
    meet(socket);
    for (size_t s = 0; s < sizeof(message_sizes) / sizeof(message_sizes[0]); ++s) {
        const double begin = seconds_now();
        post_receive(side, 1);
        meet(socket); /* both have a receive, for there is no RNR */
        for (uint32_t number = 1; number <= message_rounds; ++number) {
            if (!serves)
                send_message(side, number, message_sizes[s]);
            take_message(side, number, message_sizes[s]);
            if (number < message_rounds)
                post_receive(side, number + 1);
            if (serves)
                send_message(side, number, message_sizes[s]);
        }
        meet(socket);
        if (!serves)
            printf("%6zu bytes: %d round trips in %.3f s\n", message_sizes[s], message_rounds, seconds_now() - begin);
    }
}

static void server(int socket)
{
    struct side side;
    side_open(&side, 1, socket);
    play(&side, socket, 1);
    side_close(&side);
}

int main(void)
{
    struct process other = process_start(server);
    struct side side;
    side_open(&side, 0, other.socket);
    play(&side, other.socket, 0);
    side_close(&side);
    process_end(&other);
    return 0;
}
