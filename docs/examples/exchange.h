/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two ends tell each other by TCP before either can write into the other's memory. C and C++.
 *
 *   sender → receiver   struct introduction: its queue pair, the file's size
 *   sender ← receiver   struct introduction: its queue pair, where its memory is
 *   sender ⇒ receiver   the file, by MRC
 *   sender ← receiver   one byte: it has arrived
 */
#ifndef EXAMPLES_EXCHANGE_H
#define EXAMPLES_EXCHANGE_H

#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define EXCHANGE_PORT "18600"
#define LARGEST_FILE (UINT64_C(1) << 30) /* bytes; a WRITE takes twice that */

enum { first_psn = 1, gid_index = 2 }; /* GID 2 is the host's MRC address */

/* Sent as it lies in memory: both ends are of one byte order. */
struct introduction {
    uint64_t size; /* bytes: of the file, and of the memory for it */
    uint64_t address;
    uint32_t rkey;
    uint32_t qpn;
    union ibv_gid gid;
};

/* Ends the program with what could not be done, and why. */
static inline void fail(const char *what, const char *why)
{
    fprintf(stderr, "send_file: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static inline void send_all(int peer, const void *from, size_t bytes)
{
    const char *at = (const char *)from;
    while (bytes > 0) {
        const ssize_t sent = send(peer, at, bytes, MSG_NOSIGNAL);
        if (sent < 0)
            fail("tell the other end", strerror(errno));
        at += sent;
        bytes -= (size_t)sent;
    }
}

static inline void receive_all(int peer, void *to, size_t bytes)
{
    const ssize_t got = recv(peer, to, bytes, MSG_WAITALL);
    if (got < 0)
        fail("hear from the other end", strerror(errno));
    if ((size_t)got != bytes)
        fail("hear from the other end", "it has closed the connection");
}

/* A connection to the receiver at `host`. */
static inline int connect_to(const char *host)
{
    struct addrinfo wanted;
    struct addrinfo *found = NULL;
    int error = 0;
    int peer = -1;
    memset(&wanted, 0, sizeof(wanted));
    wanted.ai_socktype = SOCK_STREAM;
    if ((error = getaddrinfo(host, EXCHANGE_PORT, &wanted, &found)) != 0)
        fail(host, gai_strerror(error));
    peer = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (peer < 0 || connect(peer, found->ai_addr, found->ai_addrlen) != 0)
        fail(host, strerror(errno));
    freeaddrinfo(found);
    return peer;
}

/* The connection of the one sender that this receiver serves. */
static inline int accept_one(void)
{
    const int yes = 1;
    struct addrinfo wanted;
    struct addrinfo *any = NULL;
    int error = 0;
    int listener = -1;
    int peer = -1;
    memset(&wanted, 0, sizeof(wanted));
    wanted.ai_family = AF_INET6; /* which takes IPv4, too */
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_PASSIVE;
    if ((error = getaddrinfo(NULL, EXCHANGE_PORT, &wanted, &any)) != 0)
        fail("port " EXCHANGE_PORT, gai_strerror(error));
    listener = socket(any->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(listener, any->ai_addr, any->ai_addrlen) != 0 || listen(listener, 1) != 0)
        fail("port " EXCHANGE_PORT, strerror(errno));
    freeaddrinfo(any);
    fprintf(stderr, "send_file: waits on port " EXCHANGE_PORT "\n");
    if ((peer = accept(listener, NULL, NULL)) < 0)
        fail("accept", strerror(errno));
    close(listener);
    return peer;
}

#endif
