/* SPDX-License-Identifier: Apache-2.0 */
/* Who may read and write which memory; memory that goes while packets come. */
#include "conformance.h"

#include <fcntl.h>
#include <mrc/memory.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t page = 4096;

static unsigned char *mapped(size_t length)
{
    void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(at != MAP_FAILED);
    return (unsigned char *)at;
}

void refuses_unmapped_memory(void)
{
    unsigned char *at = mapped(4 * page);
    const unsigned int write = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    struct ibv_mr *mr = NULL;

    REQUIRE(munmap(at + page, page) == 0);
    CHECK_FAILS(ibv_reg_mr(hosts[0].pd, at, 3 * page, write), NULL, EFAULT); /* a hole */
    CHECK_FAILS(ibv_reg_mr(hosts[0].pd, at + page, page, write), NULL, EFAULT);
    REQUIRE(mprotect(at + 2 * page, page, PROT_READ) == 0);
    CHECK_FAILS(ibv_reg_mr(hosts[0].pd, at + 2 * page, page, write), NULL, EFAULT); /* not writable */
    mr = ibv_reg_mr(hosts[0].pd, at + 2 * page, page, 0);
    CHECK(mr != NULL);
    CHECK_IS(ibv_dereg_mr(mr), 0);
    REQUIRE(mprotect(at + 3 * page, page, PROT_NONE) == 0);
    CHECK_FAILS(ibv_reg_mr(hosts[0].pd, at + 3 * page, page, 0), NULL, EFAULT); /* not readable */
    REQUIRE(munmap(at, page) == 0 && munmap(at + 2 * page, 2 * page) == 0);
}

static void expect_status(struct pair *pair, const struct region *from, const struct region *to,
                          enum ibv_wc_status wanted)
{
    REQUIRE(post_write(&pair->ends[0], 1, from, 0, 64, to, 0, IBV_SEND_SIGNALED) == 0);
    const struct ibv_wc wc = completion_of(pair->ends[0].send_cq);
    if (wc.status != wanted)
        fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
    CHECK_IS(wc.status, wanted);
    if (wanted != IBV_WC_SUCCESS)
        wait_for_state(&pair->ends[0], IBV_QPS_ERR);
}

/* Shared memory is the daemon's as well, from whatever byte on: unmapped here, it is still there, and whatever else was
   mapped at its address is left alone. */
void shares_memory_from_anywhere(void)
{
    struct pair pair = pair_connected(16, 0);
    struct region shared[2];

    for (int i = 0; i < 2; ++i) {
        unsigned char *at = (unsigned char *)mrc_alloc_shared(4 * page);
        REQUIRE(at != NULL);
        shared[i] = region_at(&hosts[i], at + 100, 2 * page);
        memset(at, 0x55, 4 * page);
        REQUIRE(mmap(at, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
    }
    memset(pair.memory[1].bytes, 0, 64);
    expect_status(&pair, &shared[0], &pair.memory[1], IBV_WC_SUCCESS);
    CHECK_IS(pair.memory[1].bytes[0], 0x55);
    expect_status(&pair, &pair.memory[0], &shared[1], IBV_WC_SUCCESS);
    CHECK_IS(shared[1].bytes[0], 0);

    /* Registered now, it is what is mapped there now. */
    struct region other = region_at(&hosts[1], shared[1].bytes, 2 * page);
    memset(pair.memory[0].bytes, 0x66, 64);
    expect_status(&pair, &pair.memory[0], &other, IBV_WC_SUCCESS);
    CHECK_IS(other.bytes[0], 0x66);
    CHECK_IS(ibv_dereg_mr(other.mr), 0);
    for (int i = 0; i < 2; ++i) {
        CHECK_IS(ibv_dereg_mr(shared[i].mr), 0);
        CHECK_IS(mrc_free_shared(shared[i].bytes - 100), 0);
    }
    pair_free(&pair);
}

/* A memfd is the daemon's as well where it cannot shrink and the program has it open: what is mapped in its place later
   is left alone. One that may shrink, or that nobody may map for writing any more, is reached by its address. */
void shares_a_programs_own_memfd(void)
{
    struct pair pair = pair_connected(16, 0);

    const int seals[] = {F_SEAL_SHRINK, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE, F_SEAL_GROW};
    for (int i = 0; i < 3; ++i) {
        const int file = memfd_create("conformance", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        REQUIRE(file >= 0 && ftruncate(file, (off_t)(4 * page)) == 0);
        unsigned char *at =
            (unsigned char *)mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)page);
        REQUIRE(at != MAP_FAILED);
        REQUIRE(fcntl(file, F_ADD_SEALS, seals[i]) == 0);
        memset(at, 0x77, 3 * page);
        struct region own = region_at(&hosts[0], at + 100, 2 * page);
        REQUIRE(close(file) == 0);
        REQUIRE(mmap(at, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
        memset(pair.memory[1].bytes, 0x11, 64);
        expect_status(&pair, &own, &pair.memory[1], IBV_WC_SUCCESS);
        CHECK_IS(pair.memory[1].bytes[0], i == 0 ? 0x77 : 0);
        CHECK_IS(ibv_dereg_mr(own.mr), 0);
        REQUIRE(munmap(at, 3 * page) == 0);
    }
    pair_free(&pair);
}

void protects_local_memory(void)
{
    struct pair pair = pair_connected(16, 0);
    struct ibv_pd *other_pd = ibv_alloc_pd(hosts[0].verbs);
    struct region foreign = region_with(other_pd, page, IBV_ACCESS_LOCAL_WRITE);
    struct region none = pair.memory[0];
    struct ibv_mr no_mr;
    struct ibv_context *second = NULL;
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);

    memset(&no_mr, 0, sizeof(no_mr));
    none.mr = &no_mr;
    expect_status(&pair, &none, &pair.memory[1], IBV_WC_LOC_PROT_ERR); /* no such key */
    reconnect(&pair);
    expect_status(&pair, &foreign, &pair.memory[1], IBV_WC_LOC_PROT_ERR); /* of another protection domain */
    reconnect(&pair);
    none = pair.memory[0];
    none.bytes -= page; /* beyond the region */
    expect_status(&pair, &none, &pair.memory[1], IBV_WC_LOC_PROT_ERR);
    reconnect(&pair);

    second = ibv_open_device(list[0]); /* another client, as far as the daemon is concerned */
    REQUIRE(second != NULL);
    struct ibv_pd *second_pd = ibv_alloc_pd(second);
    struct region strange = region_with(second_pd, page, IBV_ACCESS_LOCAL_WRITE);
    expect_status(&pair, &strange, &pair.memory[1], IBV_WC_LOC_PROT_ERR);
    reconnect(&pair);
    expect_status(&pair, &pair.memory[0], &pair.memory[1], IBV_WC_SUCCESS);
    region_free(&strange);
    CHECK_IS(ibv_dealloc_pd(second_pd), 0);
    CHECK_IS(ibv_close_device(second), 0);
    ibv_free_device_list(list);
    region_free(&foreign);
    CHECK_IS(ibv_dealloc_pd(other_pd), 0);
    pair_free(&pair);
}

static void refuse_remote(struct pair *pair, const struct region *to)
{
    expect_status(pair, &pair->memory[0], to, IBV_WC_REM_ACCESS_ERR);
    expect_event(&hosts[1], IBV_EVENT_QP_ACCESS_ERR, pair->ends[1].qp);
    CHECK_IS(state_of(&pair->ends[1]), IBV_QPS_ERR);
    reconnect(pair);
}

void protects_remote_memory(void)
{
    struct pair pair = pair_connected(16, 0);
    struct ibv_pd *other_pd = ibv_alloc_pd(hosts[1].verbs);
    const unsigned int write = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    struct region foreign = region_with(other_pd, page, write);
    struct region closed = region_with(hosts[1].pd, page, IBV_ACCESS_LOCAL_WRITE);
    struct region beyond = pair.memory[1];
    struct region none = pair.memory[1];
    struct ibv_mr no_mr;
    struct ibv_qp_attr attr;

    memset(&no_mr, 0, sizeof(no_mr));
    none.mr = &no_mr;
    refuse_remote(&pair, &none);
    refuse_remote(&pair, &foreign); /* of another protection domain */
    refuse_remote(&pair, &closed);  /* no remote access */
    beyond.bytes += beyond.length - 63;
    refuse_remote(&pair, &beyond);
    beyond.bytes = NULL;
    refuse_remote(&pair, &beyond);
    for (size_t i = 0; i < page; ++i)
        CHECK((closed.bytes[i] | foreign.bytes[i]) == 0);

    /* The queue pair's own flag. */
    CHECK_IS(move_to(&pair.ends[1], IBV_QPS_RESET, NULL), 0);
    CHECK_IS(move_to(&pair.ends[0], IBV_QPS_RESET, NULL), 0);
    memset(&attr, 0, sizeof(attr));
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    CHECK_IS(mrc_modify_qp(pair.ends[1].qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                           NULL, 0),
             0);
    endpoint_to_init(&pair.ends[0]);
    endpoints_connect(&pair.ends[0], &pair.ends[1]);
    refuse_remote(&pair, &pair.memory[1]);
    expect_status(&pair, &pair.memory[0], &pair.memory[1], IBV_WC_SUCCESS);
    region_free(&foreign);
    region_free(&closed);
    CHECK_IS(ibv_dealloc_pd(other_pd), 0);
    pair_free(&pair);
}

/* Registered, then unmapped: only the queue pairs that touch it fail, as verbs' on-demand pages would. */
void fails_when_memory_goes(void)
{
    struct pair pair = pair_connected(16, 0);
    struct region gone[2];
    struct mrc_async_event event;
    struct ibv_wc wc;

    for (int i = 0; i < 2; ++i) {
        gone[i].bytes = mapped(page);
        gone[i].length = page;
        gone[i].mr = ibv_reg_mr(hosts[i].pd, gone[i].bytes, page, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
        REQUIRE(gone[i].mr != NULL);
        expect_status(&pair, i == 0 ? &gone[0] : &pair.memory[0], i == 1 ? &gone[1] : &pair.memory[1], IBV_WC_SUCCESS);
        REQUIRE(munmap(gone[i].bytes, page) == 0);
    }
    expect_status(&pair, &gone[0], &pair.memory[1], IBV_WC_LOC_PROT_ERR);
    reconnect(&pair);
    REQUIRE(post_write(&pair.ends[0], 2, &pair.memory[0], 0, 64, &gone[1], 0, IBV_SEND_SIGNALED) == 0);
    wc = completion_of(pair.ends[0].send_cq);
    CHECK(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_REM_OP_ERR);
    CHECK_IS(mrc_get_async_event(hosts[1].context, &event), 0);
    CHECK(event.element.qp == pair.ends[1].qp);
    mrc_ack_async_event(&event);
    reconnect(&pair);
    expect_status(&pair, &pair.memory[0], &pair.memory[1], IBV_WC_SUCCESS);
    for (int i = 0; i < 2; ++i)
        CHECK_IS(ibv_dereg_mr(gone[i].mr), 0);
    pair_free(&pair);
}

/* After ibv_dereg_mr() has returned, not one byte of the region changes, whatever is still on its way. */
void deregisters_under_traffic(void)
{
    enum { length = 256 << 10, depth = 32 };
    struct pair pair = pair_connected(depth, 0);
    unsigned char *copy = (unsigned char *)malloc(length);
    struct ibv_wc wc;

    for (int round = 0; round < 8; ++round) {
        struct region target = region_new(&hosts[1], length);
        int failed = 0;
        memset(pair.memory[0].bytes, round + 1, length);
        for (int i = 0; i < depth; ++i)
            REQUIRE(post_write(&pair.ends[0], (uint64_t)i, &pair.memory[0], 0, length, &target, 0, IBV_SEND_SIGNALED) ==
                    0);
        REQUIRE(completion_of(pair.ends[0].send_cq).status == IBV_WC_SUCCESS); /* under way */
        REQUIRE(ibv_dereg_mr(target.mr) == 0);
        memset(target.bytes, 0xEE, length);
        memcpy(copy, target.bytes, length);
        for (int i = 1; i < depth; ++i) {
            wc = completion_of(pair.ends[0].send_cq);
            CHECK_IS(wc.wr_id, i);
            CHECK(failed ? wc.status == IBV_WC_WR_FLUSH_ERR
                         : wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_REM_ACCESS_ERR);
            failed |= wc.status != IBV_WC_SUCCESS;
        }
        CHECK_IS(memcmp(copy, target.bytes, length), 0);
        free(target.bytes);
        if (failed) {
            expect_event(&hosts[1], IBV_EVENT_QP_ACCESS_ERR, pair.ends[1].qp);
            reconnect(&pair);
        }
    }
    free(copy);
    pair_free(&pair);
}

/* Each with a key of its own that opens it and nothing beside it. */
void registers_thousands(void)
{
    enum { regions = 5000, stride = 61 };
    static struct region all[regions];
    struct pair pair = pair_connected(16, 0);
    unsigned char *bytes = (unsigned char *)aligned_alloc(page, regions * page);
    struct ibv_wc wc;

    REQUIRE(bytes != NULL);
    memset(bytes, 0, regions * page);
    memset(pair.memory[0].bytes, 0x5A, page);
    for (int i = 0; i < regions; ++i)
        all[i] = region_at(&hosts[1], bytes + (size_t)i * page, page);
    for (int i = 0; i < regions; i += stride) {
        REQUIRE(post_write(&pair.ends[0], (uint64_t)i, &pair.memory[0], 0, page, &all[i], 0, IBV_SEND_SIGNALED) == 0);
        wc = completion_of(pair.ends[0].send_cq);
        CHECK(wc.wr_id == (uint64_t)i && wc.status == IBV_WC_SUCCESS);
    }
    for (int i = 0; i < regions; ++i)
        CHECK_IS(bytes[(size_t)i * page] == 0x5A && bytes[(size_t)i * page + page - 1] == 0x5A, i % stride == 0);
    REQUIRE(post_write(&pair.ends[0], 1, &pair.memory[0], 0, 1, &all[1], page, IBV_SEND_SIGNALED) == 0);
    CHECK_IS(completion_of(pair.ends[0].send_cq).status, IBV_WC_REM_ACCESS_ERR);
    CHECK_IS(bytes[2 * page], 0);
    expect_event(&hosts[1], IBV_EVENT_QP_ACCESS_ERR, pair.ends[1].qp);
    for (int i = 0; i < regions; ++i)
        CHECK_IS(ibv_dereg_mr(all[i].mr), 0);
    free(bytes);
    pair_free(&pair);
}
