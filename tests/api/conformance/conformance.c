/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance.h"

#include <arpa/inet.h>
#include <time.h>

enum { region_bytes = 1 << 20, gid_index = 2, wait_seconds = 20 };

int check_failures = 0;
struct host hosts[2];

struct region region_with(struct ibv_pd *pd, size_t length, unsigned int access)
{
    struct region region;
    memset(&region, 0, sizeof(region));
    region.length = length;
    region.bytes = (unsigned char *)calloc(1, length);
    region.mr = ibv_reg_mr(pd, region.bytes, length, access);
    REQUIRE(region.mr != NULL);
    return region;
}

struct pair pair_connected(uint32_t depth, int with_channel)
{
    struct pair pair;
    memset(&pair, 0, sizeof(pair));
    for (int i = 0; i < 2; ++i) {
        pair.ends[i] = endpoint_new(&hosts[i], depth, with_channel);
        pair.memory[i] = region_new(&hosts[i], region_bytes);
        endpoint_to_init(&pair.ends[i]);
    }
    endpoints_connect(&pair.ends[0], &pair.ends[1]);
    return pair;
}

void pair_free(struct pair *pair)
{
    for (int i = 0; i < 2; ++i) {
        endpoint_free(&pair->ends[i]);
        region_free(&pair->memory[i]);
    }
}

struct ibv_qp_attr attributes_to(enum ibv_qp_state state, const struct endpoint *peer, int *mask)
{
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.qp_state = state;
    *mask = IBV_QP_STATE;
    if (state == IBV_QPS_INIT) {
        attr.port_num = 1;
        attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
        *mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    } else if (state == IBV_QPS_RTR) {
        attr.path_mtu = IBV_MTU_4096;
        attr.dest_qp_num = peer->qpn;
        attr.rq_psn = first_psn;
        attr.ah_attr.is_global = 1;
        attr.ah_attr.grh.sgid_index = gid_index;
        REQUIRE(ibv_query_gid(peer->on->verbs, 1, gid_index, &attr.ah_attr.grh.dgid) == 0);
        *mask |= IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_PATH_MTU;
    } else if (state == IBV_QPS_RTS) {
        attr.sq_psn = first_psn;
        *mask |= IBV_QP_SQ_PSN;
    }
    return attr;
}

int move_to(struct endpoint *end, enum ibv_qp_state state, const struct endpoint *peer)
{
    int mask = 0;
    struct ibv_qp_attr attr = attributes_to(state, peer, &mask);
    return mrc_modify_qp(end->qp, &attr, mask, NULL, 0);
}

enum ibv_qp_state state_of(const struct endpoint *end)
{
    struct ibv_qp_attr attr;
    REQUIRE(mrc_query_qp(end->qp, &attr, IBV_QP_STATE, NULL, 0, NULL) == 0);
    return attr.qp_state;
}

void wait_for_state(const struct endpoint *end, enum ibv_qp_state state)
{
    const time_t begin = time(NULL);
    while (state_of(end) != state)
        REQUIRE(time(NULL) - begin < wait_seconds);
}

void reconnect(struct pair *pair)
{
    struct ibv_wc wc;
    for (int i = 0; i < 2; ++i) {
        CHECK_IS(move_to(&pair->ends[i], IBV_QPS_RESET, NULL), 0);
        while (mrc_poll_cq(pair->ends[i].send_cq, 1, &wc) == 1 || mrc_poll_cq(pair->ends[i].receive_cq, 1, &wc) == 1)
            continue;
        endpoint_to_init(&pair->ends[i]);
    }
    endpoints_connect(&pair->ends[0], &pair->ends[1]);
}

int post_receive(struct endpoint *end, uint64_t id)
{
    struct ibv_recv_wr request;
    struct ibv_recv_wr *bad = NULL;
    memset(&request, 0, sizeof(request));
    request.wr_id = id;
    return mrc_post_recv(end->qp, &request, &bad);
}

int post_immediate(struct endpoint *end, uint64_t id, const struct pair *pair, uint32_t immediate, unsigned int flags)
{
    const int from = end == &pair->ends[0] ? 0 : 1;
    struct ibv_sge piece;
    struct ibv_send_wr request;
    struct ibv_send_wr *bad = NULL;
    memset(&request, 0, sizeof(request));
    piece.addr = (uint64_t)(uintptr_t)pair->memory[from].bytes;
    piece.length = 8;
    piece.lkey = pair->memory[from].mr->lkey;
    request.wr_id = id;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.send_flags = flags;
    request.imm_data = htonl(immediate);
    request.wr.rdma.remote_addr = (uint64_t)(uintptr_t)pair->memory[1 - from].bytes;
    request.wr.rdma.rkey = pair->memory[1 - from].mr->rkey;
    return mrc_post_send(end->qp, &request, &bad);
}

void expect_event(const struct host *host, enum ibv_event_type type, const void *element)
{
    struct mrc_async_event event;
    REQUIRE(mrc_get_async_event(host->context, &event) == 0);
    CHECK_IS(event.event_type, type);
    CHECK((const void *)event.element.qp == element);
    mrc_ack_async_event(&event);
}

struct test {
    const char *name;
    void (*run)(void);
};

int main(int argc, char **argv)
{
#define TEST(name) {#name, name}
    static const struct test tests[] = {
        TEST(tells_versions),
        TEST(tells_capabilities),
        TEST(makes_contexts),
        TEST(makes_channels),
        TEST(makes_completion_queues),
        TEST(makes_hints),
        TEST(makes_queue_pairs),
        TEST(walks_the_states),
        TEST(needs_what_connects),
        TEST(checks_ranges),
        TEST(fixes_attributes),
        TEST(tells_what_is_asked),
        TEST(tells_attributes),
        TEST(accepts_what_programs_pass),
        TEST(posts_in_states),
        TEST(refuses_requests),
        TEST(fills_queues),
        TEST(leaves_requests_unsignaled),
        TEST(signals_all),
        TEST(restricts_operations),
        TEST(refuses_unmapped_memory),
        TEST(shares_memory_from_anywhere),
        TEST(shares_a_programs_own_memfd),
        TEST(protects_local_memory),
        TEST(protects_remote_memory),
        TEST(fails_when_memory_goes),
        TEST(deregisters_under_traffic),
        TEST(registers_thousands),
        TEST(flushes_both_queues),
        TEST(needs_receives),
        TEST(overruns),
        TEST(drains),
        TEST(waits_for_completions),
        TEST(tells_solicited_only),
        TEST(destroys_after_acknowledgement),
        TEST(serves_many_threads),
        TEST(guards_forks),
    };
    size_t run = 0;
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); ++i) {
        if (argc > 1 && strcmp(argv[1], tests[i].name) != 0)
            continue;
        printf("%s\n", tests[i].name);
        fflush(stdout);
        for (int h = 0; h < 2; ++h)
            host_open(&hosts[h], h);
        tests[i].run();
        for (int h = 0; h < 2; ++h)
            host_close(&hosts[h]); /* nothing is left of the test */
        ++run;
    }
    printf("%zu tests, %d failures\n", run, check_failures);
    return check_failures == 0 && run != 0 ? 0 : 1;
}
