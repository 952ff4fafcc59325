/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two clients, in processes of their own, on the same two daemons. One has the other's keys, addresses and QP numbers
 * and tries to write and to read its memory, from both sides of the wire; the other's transfers go on meanwhile.
 */
#include <errno.h>
#include <string.h>

#include "processes.h"

enum { length = 4096, own_byte = 0x11, other_byte = 0xD7, guesses = 24, hidden_byte = 0x5C };

/* What the other client knows of the honest client. */
struct knowledge {
    struct offer source; /* on h0 */
    struct offer target; /* on h1 */
};

struct link {
    struct host hosts[2];
    struct endpoint ends[2];
    struct region memory[2];
};

static void open_hosts(struct link *link)
{
    for (int i = 0; i < 2; ++i) {
        host_open(&link->hosts[i], i);
        link->memory[i] = region_new(&link->hosts[i], length);
    }
}

static void make_ends(struct link *link)
{
    for (int i = 0; i < 2; ++i) {
        link->ends[i] = endpoint_new(&link->hosts[i], 16, 0);
        endpoint_to_init(&link->ends[i]);
    }
}

static void connect_ends(struct link *link)
{
    make_ends(link);
    endpoints_connect(&link->ends[0], &link->ends[1]);
}

static void free_ends(struct link *link)
{
    for (int i = 0; i < 2; ++i)
        endpoint_free(&link->ends[i]);
}

static void close_hosts(struct link *link)
{
    for (int i = 0; i < 2; ++i) {
        region_free(&link->memory[i]);
        host_close(&link->hosts[i]);
    }
}

static int all_are(const unsigned char *bytes, int value)
{
    for (size_t i = 0; i < length; ++i)
        if (bytes[i] != value)
            return 0;
    return 1;
}

/* Moves and checks messages until it is told to stop; the other client's byte must never be there. */
static void honest(int socket)
{
    struct link link;
    struct region kept[2]; /* nobody writes them */
    struct knowledge known;
    unsigned int rounds = 0;
    open_hosts(&link);
    connect_ends(&link);
    for (int i = 0; i < 2; ++i) {
        kept[i] = region_new(&link.hosts[i], length);
        memset(kept[i].bytes, own_byte, length);
    }
    known.source = offer_of(&link.ends[0], &kept[0]);
    known.target = offer_of(&link.ends[1], &kept[1]);
    send_all(socket, &known, sizeof(known));
    for (; !is_said(socket) || rounds == 0; ++rounds) {
        memset(link.memory[0].bytes, (int)(rounds % 100), length);
        REQUIRE(post_write(&link.ends[0], rounds, &link.memory[0], 0, length, &link.memory[1], 0, IBV_SEND_SIGNALED) ==
                0);
        REQUIRE(completion_of(link.ends[0].send_cq).status == IBV_WC_SUCCESS);
        REQUIRE(all_are(link.memory[1].bytes, (int)(rounds % 100)));
    }
    for (int i = 0; i < 2; ++i) {
        REQUIRE(all_are(kept[i].bytes, own_byte));
        region_free(&kept[i]);
    }
    free_ends(&link);
    close_hosts(&link);
    printf("the honest client: %u messages, each as it was sent\n", rounds);
}

static void expect_refusal(struct link *link, const struct region *from, const struct region *to,
                           enum ibv_wc_status status)
{
    connect_ends(link);
    REQUIRE(post_write(&link->ends[0], 1, from, 0, 512, to, 0, IBV_SEND_SIGNALED) == 0);
    const struct ibv_wc wc = completion_of(link->ends[0].send_cq);
    if (wc.status != status)
        fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
    REQUIRE(wc.status == status);
    free_ends(link);
}

/* From its own, connected queue pair: with the other client's key, and with keys near it. */
static void attack_from_afar(struct link *link, const struct knowledge *known)
{
    struct ibv_mr room;
    struct region theirs = offered(&known->target, &room);
    expect_refusal(link, &link->memory[0], &theirs, IBV_WC_REM_ACCESS_ERR);
    for (uint32_t i = 1; i <= guesses; ++i) {
        room.rkey = known->target.rkey + (i % 2 != 0 ? i : i << 16); /* other rows, other uses of the row */
        expect_refusal(link, &link->memory[0], &theirs, IBV_WC_REM_ACCESS_ERR);
    }
}

/* Sends the other's bytes, by its local key, to memory of its own. */
static void attack_from_beside(struct link *link, const struct knowledge *known)
{
    struct ibv_mr room;
    struct region theirs = offered(&known->source, &room);
    memset(link->memory[1].bytes, hidden_byte, length);
    expect_refusal(link, &theirs, &link->memory[1], IBV_WC_LOC_PROT_ERR);
    REQUIRE(all_are(link->memory[1].bytes, hidden_byte));
    /* The key of the other end, in case the sides were mixed up. */
    theirs = offered(&known->target, &room);
    expect_refusal(link, &theirs, &link->memory[1], IBV_WC_LOC_PROT_ERR);
    REQUIRE(all_are(link->memory[1].bytes, hidden_byte));
}

/* Deregisters memory that is another's. */
static void attack_by_request(struct link *link, const struct knowledge *known)
{
    struct ibv_mr *mine = link->memory[0].mr;
    const uint32_t kept = mine->lkey;
    mine->lkey = known->source.lkey;
    REQUIRE(ibv_dereg_mr(mine) == EINVAL);
    mine->lkey = kept;
}

/* Connects to the other's queue pair: whatever it then sent would come from the right host. */
static void attack_by_connecting(struct link *link, const struct knowledge *known)
{
    const uint32_t theirs[2] = {known->target.end.qpn, known->source.end.qpn};
    make_ends(link);
    for (int i = 0; i < 2; ++i) {
        struct ibv_qp_attr attr;
        memset(&attr, 0, sizeof(attr));
        attr.qp_state = IBV_QPS_RTR;
        attr.path_mtu = IBV_MTU_1024;
        attr.dest_qp_num = theirs[i];
        attr.ah_attr.is_global = 1;
        attr.ah_attr.port_num = 1;
        REQUIRE(ibv_query_gid(link->hosts[1 - i].verbs, 1, 2, &attr.ah_attr.grh.dgid) == 0);
        REQUIRE(mrc_modify_qp(link->ends[i].qp, &attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_PATH_MTU, NULL,
                              0) == EBUSY);
    }
    free_ends(link);
}

int main(void)
{
    struct process client = process_start(honest);
    struct link link;
    struct knowledge known;
    char byte = 's';
    open_hosts(&link);
    memset(link.memory[0].bytes, other_byte, length);
    receive_all(client.socket, &known, sizeof(known));
    attack_from_afar(&link, &known);
    attack_from_beside(&link, &known);
    attack_by_request(&link, &known);
    attack_by_connecting(&link, &known);
    connect_ends(&link); /* and what is allowed works */
    REQUIRE(post_write(&link.ends[0], 1, &link.memory[0], 0, length, &link.memory[1], 0, IBV_SEND_SIGNALED) == 0);
    REQUIRE(completion_of(link.ends[0].send_cq).status == IBV_WC_SUCCESS);
    REQUIRE(all_are(link.memory[1].bytes, other_byte));
    free_ends(&link);
    send_all(client.socket, &byte, 1);
    process_end(&client);
    close_hosts(&link);
    return 0;
}
