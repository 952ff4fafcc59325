/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client takes pages out of huge-page memory that it has registered, and other programs take those pages: what it
 * still sends from there, and what a peer writes there, fails. Another client's transfers go on. Needs free huge pages.
 */
#include <string.h>
#include <sys/mman.h>

#include <mrc/memory.h>

#include "huge_files.h"
#include "processes.h"

enum { message_bytes = 64 << 10, most_pages = 64, further_rounds = 20 };

/* ---- the other client ---- */

static unsigned int *other_rounds; /* shared with it */

struct link {
    struct host hosts[2];
    struct endpoint ends[2];
    struct region memory[2];
};

static void connect_ends(struct link *link)
{
    for (int i = 0; i < 2; ++i) {
        link->ends[i] = endpoint_new(&link->hosts[i], 16, 0);
        endpoint_to_init(&link->ends[i]);
    }
    endpoints_connect(&link->ends[0], &link->ends[1]);
}

static void open_link(struct link *link)
{
    for (int i = 0; i < 2; ++i) {
        host_open(&link->hosts[i], i);
        link->memory[i] = region_new(&link->hosts[i], message_bytes);
    }
}

static void free_ends(struct link *link)
{
    for (int i = 0; i < 2; ++i)
        endpoint_free(&link->ends[i]);
}

static void close_link(struct link *link)
{
    for (int i = 0; i < 2; ++i) {
        region_free(&link->memory[i]);
        host_close(&link->hosts[i]);
    }
}

static void other_client(int socket)
{
    struct link link;
    open_link(&link);
    connect_ends(&link);
    while (!is_said(socket)) {
        const unsigned int round = __atomic_add_fetch(other_rounds, 1, __ATOMIC_RELAXED);
        for (size_t i = 0; i < message_bytes; ++i)
            link.memory[0].bytes[i] = (unsigned char)(round * 7 + i);
        REQUIRE(post_write(&link.ends[0], round, &link.memory[0], 0, message_bytes, &link.memory[1], 0,
                           IBV_SEND_SIGNALED) == 0);
        REQUIRE(completion_of(link.ends[0].send_cq).status == IBV_WC_SUCCESS);
        REQUIRE(memcmp(link.memory[0].bytes, link.memory[1].bytes, message_bytes) == 0);
    }
    free_ends(&link);
    close_link(&link);
}

static unsigned int rounds_so_far(void)
{
    return __atomic_load_n(other_rounds, __ATOMIC_RELAXED);
}

static void other_client_goes_on(void)
{
    const unsigned int before = rounds_so_far();
    const double begin = seconds_now();
    while (rounds_so_far() - before < further_rounds)
        REQUIRE(seconds_now() - begin < 20);
}

/* ---- the client with the holes ---- */

/* Huge pages that nobody has: taken, so that a hole cannot be filled. */
static void *taken[most_pages];
static unsigned int taken_count;

static void *huge_page(int more_flags)
{
    return mmap(NULL, huge_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | more_flags, -1,
                0);
}

static void take_all_free(void)
{
    for (;;) {
        void *at = huge_page(0);
        if (at == MAP_FAILED)
            return;
        memset(at, 1, 1);
        REQUIRE(taken_count < most_pages);
        taken[taken_count++] = at;
    }
}

static void give_back(void)
{
    while (taken_count > 0)
        REQUIRE(munmap(taken[--taken_count], huge_bytes) == 0);
}

static unsigned char *shared_pages(void)
{
    files_are_huge = 1;
    void *at = mrc_alloc_shared(huge_bytes);
    files_are_huge = 0;
    REQUIRE(at != NULL);
    return (unsigned char *)at;
}

static unsigned char *private_pages(void)
{
    void *at = huge_page(MAP_NORESERVE); /* others may have them once they are dropped */
    REQUIRE(at != MAP_FAILED);
    return (unsigned char *)at;
}

static void free_shared(unsigned char *at)
{
    REQUIRE(mrc_free_shared(at) == 0);
}

static void free_private(unsigned char *at)
{
    (void)munmap(at, huge_bytes);
}

/* fallocate(FALLOC_FL_PUNCH_HOLE) of the file behind the mapping. */
static void punch(unsigned char *at)
{
    REQUIRE(madvise(at, huge_bytes, MADV_REMOVE) == 0);
}

static void drop(unsigned char *at)
{
    REQUIRE(madvise(at, huge_bytes, MADV_DONTNEED) == 0);
}

static void unmap(unsigned char *at)
{
    REQUIRE(munmap(at, huge_bytes) == 0);
}

struct hole {
    const char *name;
    unsigned char *(*allocate)(void);
    void (*release)(unsigned char *);
    void (*make)(unsigned char *);
    int pool_is_empty;
    int fails;
};

/* The memory is at the receiver (1) or at the sender (0). */
static void expect(struct link *link, int side, const struct region *holey, int fails)
{
    REQUIRE(post_write(&link->ends[0], 1, side == 0 ? holey : &link->memory[0], 0, message_bytes,
                       side == 1 ? holey : &link->memory[1], 0, IBV_SEND_SIGNALED) == 0);
    const struct ibv_wc wc = completion_of(link->ends[0].send_cq);
    printf("  at the %s: %s\n", side == 0 ? "sender" : "receiver", ibv_wc_status_str(wc.status));
    REQUIRE(wc.status == (!fails ? IBV_WC_SUCCESS : side == 0 ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR));
}

static void try_hole(struct link *link, const struct hole *hole)
{
    printf("%s\n", hole->name);
    for (int side = 0; side < 2; ++side) {
        unsigned char *at = hole->allocate();
        struct region holey;
        memset(at, 0x33, huge_bytes);
        holey = region_at(&link->hosts[side], at, huge_bytes);
        memset(link->memory[0].bytes, 0x44, message_bytes);
        connect_ends(link);
        expect(link, side, &holey, 0);
        hole->make(at);
        if (hole->pool_is_empty)
            take_all_free();
        expect(link, side, &holey, hole->fails);
        other_client_goes_on();
        give_back();
        if (!hole->fails)
            REQUIRE(side == 0 ? link->memory[1].bytes[0] == 0 : at[0] == 0x44 && at[huge_bytes - 1] == 0);
        free_ends(link);
        REQUIRE(ibv_dereg_mr(holey.mr) == 0);
        hole->release(at);
    }
}

int main(void)
{
    static const struct hole holes[] = {
        {"a hole in shared pages, filled again", shared_pages, free_shared, punch, 0, 0},
        {"a hole in shared pages, none left to fill it", shared_pages, free_shared, punch, 1, 1},
        {"private pages dropped, and come again", private_pages, free_private, drop, 0, 0},
        {"private pages dropped, none left", private_pages, free_private, drop, 1, 1},
        {"private pages unmapped", private_pages, free_private, unmap, 0, 1},
    };
    struct link link;
    struct process other;
    char byte = 's';
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    other_rounds = (unsigned int *)shared;
    other = process_start(other_client);
    open_link(&link);
    for (size_t i = 0; i < sizeof(holes) / sizeof(holes[0]); ++i)
        try_hole(&link, &holes[i]);
    connect_ends(&link);
    expect(&link, 1, &link.memory[1], 0);
    free_ends(&link);
    close_link(&link);
    send_all(other.socket, &byte, 1);
    process_end(&other);
    printf("the other client: %u messages, each as it was sent\n", rounds_so_far());
    return 0;
}
