/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep over message sizes, as benchmarks do it: WRITEs with as many outstanding as the queue holds, few of them
 * signalled, then an immediate that tells the receiver to check every byte. 1 byte to 64 MiB, and one message of 1 GiB.
 */
#include <arpa/inet.h>
#include <string.h>

#include "processes.h"

enum { depth = 64, signal_every = 16, most_messages = 200, receive_id = 77, check_step = 1 << 16 };

static const size_t sweep_end = 64 << 20;
static const size_t sweep_bytes = 16 << 20; /* of a size, about */
static const size_t largest = 1 << 30;

struct side {
    struct host host;
    struct endpoint end;
    struct region memory;
};

static struct side side_open(int index)
{
    struct side side;
    memset(&side, 0, sizeof(side));
    host_open(&side.host, index);
    side.end = endpoint_new(&side.host, depth, 1);
    side.memory = region_new(&side.host, largest);
    return side;
}

static void side_close(struct side *side)
{
    endpoint_free(&side->end);
    region_free(&side->memory);
    host_close(&side->host);
}

/* Of a block: no byte of one that is displaced, stale or of another size is right. */
static void make_block(unsigned char *block, size_t size, size_t offset)
{
    uint64_t state = (size * 0x9E3779B97F4A7C15ULL) ^ offset;
    for (size_t i = 0; i < check_step; i += sizeof(state)) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        memcpy(block + i, &state, sizeof(state));
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void fill(unsigned char *memory, size_t size)
{
    static unsigned char block[check_step];
    for (size_t at = 0; at < size; at += check_step) {
        make_block(block, size, at);
        memcpy(memory + at, block, least(check_step, size - at));
    }
}

static void verify(const unsigned char *memory, size_t size)
{
    static unsigned char block[check_step];
    for (size_t at = 0; at < size; at += check_step) {
        make_block(block, size, at);
        REQUIRE(memcmp(memory + at, block, least(check_step, size - at)) == 0);
    }
    REQUIRE(size == largest || memory[size] == 0xEE);
}

static void receive_size(struct side *side, int socket, size_t size)
{
    struct ibv_recv_wr request;
    struct ibv_recv_wr *bad = NULL;
    memset(&request, 0, sizeof(request));
    request.wr_id = receive_id;
    memset(side->memory.bytes, 0xEE, least(size + 1, largest));
    REQUIRE(mrc_post_recv(side->end.qp, &request, &bad) == 0);
    meet(socket);
    const struct ibv_wc wc = awaited(side->end.receive_cq, side->end.channel);
    REQUIRE(wc.status == IBV_WC_SUCCESS && wc.wr_id == receive_id && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
    REQUIRE(ntohl(wc.imm_data) == size && wc.byte_len == 0);
    verify(side->memory.bytes, size);
    meet(socket);
}

static void send_immediate(struct side *side, const struct region *there, size_t size)
{
    struct ibv_send_wr request;
    struct ibv_send_wr *bad = NULL;
    memset(&request, 0, sizeof(request));
    request.wr_id = receive_id;
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.send_flags = IBV_SEND_SIGNALED;
    request.imm_data = htonl((uint32_t)size);
    request.wr.rdma.remote_addr = (uint64_t)(uintptr_t)there->bytes;
    request.wr.rdma.rkey = there->mr->rkey;
    REQUIRE(mrc_post_send(side->end.qp, &request, &bad) == 0);
    const struct ibv_wc wc = awaited(side->end.send_cq, side->end.channel);
    REQUIRE(wc.status == IBV_WC_SUCCESS && wc.wr_id == receive_id);
}

static void send_size(struct side *side, const struct region *there, int socket, size_t size, unsigned int messages)
{
    unsigned int done = 0;
    fill(side->memory.bytes, size);
    meet(socket);
    const double begin = seconds_now();
    for (unsigned int posted = 0; done < messages;) {
        while (posted < messages && posted - done < depth) {
            const int signals = ++posted % signal_every == 0 || posted == messages;
            REQUIRE(post_write(&side->end, posted, &side->memory, 0, size, there, 0, signals ? IBV_SEND_SIGNALED : 0) ==
                    0);
        }
        const struct ibv_wc wc = awaited(side->end.send_cq, side->end.channel);
        REQUIRE(wc.status == IBV_WC_SUCCESS && wc.wr_id > done);
        done = (unsigned int)wc.wr_id;
    }
    const double seconds = seconds_now() - begin;
    send_immediate(side, there, size);
    meet(socket); /* it is all there */
    printf("%10zu bytes, %3u messages: %8.3f Gb/s\n", size, messages, (double)(size * messages) * 8 / seconds / 1e9);
}

static void server(int socket)
{
    struct side side = side_open(1);
    (void)connect_over(socket, &side.end, &side.memory);
    for (size_t size = 1; size <= sweep_end; size *= 2)
        receive_size(&side, socket, size);
    receive_size(&side, socket, largest);
    side_close(&side);
}

int main(void)
{
    struct process other = process_start(server);
    struct side side = side_open(0);
    struct ibv_mr room;
    const struct offer offer = connect_over(other.socket, &side.end, &side.memory);
    const struct region there = offered(&offer, &room);
    for (size_t size = 1; size <= sweep_end; size *= 2) {
        const size_t messages = sweep_bytes / size;
        send_size(&side, &there, other.socket, size, messages < 2 ? 2 : (unsigned int)least(messages, most_messages));
    }
    send_size(&side, &there, other.socket, largest, 1);
    side_close(&side);
    process_end(&other);
    return 0;
}
