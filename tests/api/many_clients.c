/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many clients, each a process with a session to either of two daemons: all are connected before the first one moves a
 * byte, and each checks what arrived. Its argument: how many.
 */
#include <string.h>
#include <unistd.h>

#include "processes.h"

enum { message_bytes = 64 << 10, rounds = 20, most_clients = 1000 };

static unsigned int own_number;

static unsigned char byte_of(unsigned int round, size_t at)
{
    return (unsigned char)(own_number * 131 + round * 17 + at * 7 + (at >> 8));
}

static void move(struct endpoint *end, const struct region memory[2])
{
    for (unsigned int round = 0; round < rounds; ++round) {
        for (size_t i = 0; i < message_bytes; ++i)
            memory[0].bytes[i] = byte_of(round, i);
        REQUIRE(post_write(end, round, &memory[0], 0, message_bytes, &memory[1], 0, IBV_SEND_SIGNALED) == 0);
        const struct ibv_wc wc = awaited(end->send_cq, end->channel);
        REQUIRE(wc.status == IBV_WC_SUCCESS && wc.wr_id == round && wc.qp_num == end->qpn);
        for (size_t i = 0; i < message_bytes; ++i)
            REQUIRE(memory[1].bytes[i] == byte_of(round, i));
    }
}

static void client(int socket)
{
    struct host hosts[2];
    struct endpoint ends[2];
    struct region memory[2];
    for (int i = 0; i < 2; ++i) {
        host_open(&hosts[i], i);
        memory[i] = region_new(&hosts[i], message_bytes);
        ends[i] = endpoint_new(&hosts[i], 16, 1);
        endpoint_to_init(&ends[i]);
    }
    endpoints_connect(&ends[0], &ends[1]);
    meet(socket); /* with all the others */
    move(&ends[0], memory);
    meet(socket);
    for (int i = 0; i < 2; ++i) {
        endpoint_free(&ends[i]);
        region_free(&memory[i]);
        host_close(&hosts[i]);
    }
}

int main(int argc, char **argv)
{
    static struct process clients[most_clients];
    const unsigned int count = argc == 2 ? (unsigned int)atoi(argv[1]) : 0;
    const double begin = seconds_now();
    double connected = 0;
    double moved = 0;
    char byte = 'm';
    REQUIRE(count >= 1 && count <= most_clients);
    for (own_number = 0; own_number < count; ++own_number)
        clients[own_number] = process_start(client);
    for (unsigned int i = 0; i < count; ++i)
        receive_all(clients[i].socket, &byte, 1);
    connected = seconds_now();
    for (unsigned int i = 0; i < count; ++i)
        send_all(clients[i].socket, &byte, 1);
    for (unsigned int i = 0; i < count; ++i)
        receive_all(clients[i].socket, &byte, 1);
    moved = seconds_now();
    for (unsigned int i = 0; i < count; ++i)
        send_all(clients[i].socket, &byte, 1);
    for (unsigned int i = 0; i < count; ++i)
        process_end(&clients[i]);
    printf(
        "%u clients: connected in %.2f s; %u messages of %u bytes each moved and checked in %.2f s; gone in %.2f s\n",
        count, connected - begin, (unsigned int)rounds, (unsigned int)message_bytes, moved - connected,
        seconds_now() - moved);
    return 0;
}
