/* SPDX-License-Identifier: Apache-2.0 */
/* A thousand queue pairs between two hosts: each moves and checks messages of its own, all at once. */
#include <string.h>

#include "processes.h"

enum { pairs = 1000, message_bytes = 16 << 10, rounds = 3, depth = 4 };

struct side {
    struct host host;
    struct mrc_comp_channel *channel;
    struct mrc_cq *send_cq;
    struct mrc_cq *receive_cq;
    struct region memory; /* a message of each pair */
    struct endpoint ends[pairs];
};

static struct side sides[2];

static unsigned char byte_of(unsigned int pair, unsigned int round, size_t at)
{
    return (unsigned char)(pair * 37 + round * 101 + at * 13 + (at >> 8));
}

static void open_side(struct side *side, int index)
{
    host_open(&side->host, index);
    REQUIRE(mrc_create_comp_channel(side->host.context, &side->channel) == 0);
    side->send_cq = mrc_create_cq(side->host.context, pairs * depth, NULL, side->channel, 0);
    side->receive_cq = mrc_create_cq(side->host.context, pairs, NULL, NULL, 0);
    side->memory = region_new(&side->host, (size_t)pairs * message_bytes);
    for (int i = 0; i < pairs; ++i) {
        side->ends[i] = endpoint_on(&side->host, depth, side->send_cq, side->receive_cq);
        endpoint_to_init(&side->ends[i]);
    }
}

static void close_side(struct side *side)
{
    for (int i = 0; i < pairs; ++i)
        REQUIRE(mrc_destroy_qp(side->ends[i].qp) == 0);
    REQUIRE(mrc_destroy_cq(side->send_cq) == 0 && mrc_destroy_cq(side->receive_cq) == 0);
    REQUIRE(mrc_destroy_comp_channel(side->channel) == 0);
    region_free(&side->memory);
    host_close(&side->host);
}

static void move(unsigned int round)
{
    static unsigned char done[pairs];
    memset(done, 0, sizeof(done));
    for (unsigned int i = 0; i < pairs; ++i) {
        unsigned char *message = sides[0].memory.bytes + (size_t)i * message_bytes;
        for (size_t at = 0; at < message_bytes; ++at)
            message[at] = byte_of(i, round, at);
        REQUIRE(post_write(&sides[0].ends[i], i, &sides[0].memory, (size_t)i * message_bytes, message_bytes,
                           &sides[1].memory, (size_t)i * message_bytes, IBV_SEND_SIGNALED) == 0);
    }
    for (unsigned int i = 0; i < pairs; ++i) {
        const struct ibv_wc wc = awaited(sides[0].send_cq, sides[0].channel);
        REQUIRE(wc.status == IBV_WC_SUCCESS && wc.wr_id < pairs && !done[wc.wr_id]);
        REQUIRE(wc.qp_num == sides[0].ends[wc.wr_id].qpn);
        done[wc.wr_id] = 1;
    }
    for (unsigned int i = 0; i < pairs; ++i)
        for (size_t at = 0; at < message_bytes; ++at)
            REQUIRE(sides[1].memory.bytes[(size_t)i * message_bytes + at] == byte_of(i, round, at));
}

int main(void)
{
    double at[4];
    at[0] = seconds_now();
    for (int i = 0; i < 2; ++i)
        open_side(&sides[i], i);
    for (int i = 0; i < pairs; ++i)
        endpoints_connect(&sides[0].ends[i], &sides[1].ends[i]);
    at[1] = seconds_now();
    for (unsigned int round = 0; round < rounds; ++round)
        move(round);
    at[2] = seconds_now();
    for (int i = 0; i < 2; ++i)
        close_side(&sides[i]);
    at[3] = seconds_now();
    printf(
        "%d pairs: set up in %.2f s; %d messages of %d bytes each moved and checked in %.2f s; destroyed in %.2f s\n",
        pairs, at[1] - at[0], rounds, message_bytes, at[2] - at[1], at[3] - at[2]);
    return 0;
}
