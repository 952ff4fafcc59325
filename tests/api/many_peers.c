/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On two hosts of a large fabric, of which few others are alive: a connection needs nothing of its peer. Moves messages
 * between the two; then the first one connects to a thousand others, one after the other, and to as many as the
 * argument says, all at once, and to one more, which is refused. After each part it says so, and waits for a line.
 */
#include <errno.h>
#include <string.h>

#include "two_hosts.h"

enum { messages = 500, message_bytes = 16384, one_by_one = 1000, hosts_of_a_leaf = 100, most_at_once = 1000 };

static unsigned char byte_of(unsigned int message, size_t at)
{
    return (unsigned char)(message * 29 + at * 11 + (at >> 8));
}

static void await_line(const char *part)
{
    printf("%s\n", part);
    fflush(stdout);
    int next = 0;
    while ((next = getchar()) != '\n')
        REQUIRE(next != EOF);
}

static void move_messages(struct host hosts[2])
{
    struct endpoint ends[2];
    struct region memory[2];
    for (int i = 0; i < 2; ++i) {
        memory[i] = region_new(&hosts[i], message_bytes);
        ends[i] = endpoint_new(&hosts[i], 4, 0);
        endpoint_to_init(&ends[i]);
    }
    endpoints_connect(&ends[0], &ends[1]);
    for (unsigned int n = 0; n < messages; ++n) {
        struct endpoint *from = &ends[n % 2];
        const struct region *source = &memory[n % 2];
        const struct region *target = &memory[1 - n % 2];
        for (size_t at = 0; at < message_bytes; ++at)
            source->bytes[at] = byte_of(n, at);
        REQUIRE(post_write(from, n, source, 0, message_bytes, target, 0, IBV_SEND_SIGNALED) == 0);
        REQUIRE(completion_of(from->send_cq).status == IBV_WC_SUCCESS);
        for (size_t at = 0; at < message_bytes; ++at)
            REQUIRE(target->bytes[at] == byte_of(n, at));
    }
    await_line("MOVED");
    for (int i = 0; i < 2; ++i) {
        endpoint_free(&ends[i]);
        region_free(&memory[i]);
    }
}

/* fd6d:7263::LEAF:DOWNLINK + 1, on leaves that the lab does not have. */
static struct address number(unsigned int n)
{
    struct address peer = {.qpn = 1000 + n};
    const unsigned int leaf = 10 + n / hosts_of_a_leaf;
    const unsigned char prefix[4] = {0xfd, 0x6d, 0x72, 0x63};
    memset(peer.gid.raw, 0, sizeof(peer.gid.raw));
    memcpy(peer.gid.raw, prefix, sizeof(prefix));
    peer.gid.raw[13] = (unsigned char)leaf;
    peer.gid.raw[15] = (unsigned char)(n % hosts_of_a_leaf + 1);
    return peer;
}

static void connect_one_by_one(struct host *host)
{
    for (unsigned int n = 0; n < one_by_one; ++n) {
        const struct address peer = number(n);
        struct endpoint end = endpoint_new(host, 4, 0);
        endpoint_to_init(&end);
        endpoint_to_rtr(&end, &peer);
        endpoint_to_rts(&end);
        endpoint_free(&end);
    }
}

static void connect_at_once(struct host *host, unsigned int at_once)
{
    static struct endpoint ends[most_at_once + 1];
    for (unsigned int n = 0; n <= at_once; ++n) {
        const struct address peer = number(n);
        ends[n] = endpoint_new(host, 4, 0);
        endpoint_to_init(&ends[n]);
        if (n < at_once)
            endpoint_to_rtr(&ends[n], &peer);
        else
            REQUIRE(endpoint_try_rtr(&ends[n], &peer) == ENOMEM);
    }
    await_line("CONNECTED");
    for (unsigned int n = 0; n <= at_once; ++n)
        endpoint_free(&ends[n]);
}

int main(int argc, char **argv)
{
    struct host hosts[2];
    const unsigned int at_once = argc == 2 ? (unsigned int)atoi(argv[1]) : 0;
    REQUIRE(at_once > 0 && at_once <= most_at_once);
    for (int i = 0; i < 2; ++i)
        host_open(&hosts[i], i);
    move_messages(hosts);
    connect_one_by_one(&hosts[0]);
    connect_at_once(&hosts[0], at_once);
    await_line("DISCONNECTED");
    for (int i = 0; i < 2; ++i)
        host_close(&hosts[i]);
    return 0;
}
