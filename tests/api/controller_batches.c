/* SPDX-License-Identifier: Apache-2.0 */
#include "controller_batches.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mrc_ctl.h>

#include "check.h"

enum { gid_index = 2, ipv4_gid_index = 4, most_listed = 64, most_requests = 2048, children = 2, dscp = 46 };

/* As long as a busy machine may need; what is never answered waits for less. */
static const uint32_t long_ns = 2000000000;
static const uint32_t short_ns = 20000000;
static const uint32_t longest_ns = UINT32_MAX;

static struct mrc_ctl_ep_rsp responses[most_requests + 1];
static struct mrc_ctl_ep_req requests[most_requests + 1];
static struct mrc_ctl_ev_op_entry listed[most_listed]; /* the EVs of profile 0 */
static int listed_count;
static int response_count;
static int batch_is_over;

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct mrc_ctl_ep_req request_to(uint16_t id, const union ibv_gid *source, const union ibv_gid *target,
                                        const struct mrc_ctl_ev *ev)
{
    struct mrc_ctl_ep_req request;

    memset(&request, 0, sizeof(request));
    request.req_id = id;
    request.sgid = *source;
    request.dgid = *target;
    request.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
    request.req_ev = *ev;
    return request;
}

static int send_batch(struct host *from, enum mrc_ctl_ep_op_type type, int count, uint32_t timeout_ns)
{
    response_count = -1;
    memset(responses, 0, sizeof(responses));
    return mrc_ctl_ep_batch_send_wait(from->context, dscp, type, requests, count, timeout_ns, responses,
                                      &response_count);
}

static void list_evs(struct host *host)
{
    struct mrc_ctl_ev_profile_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_ARRAY;
    attr.ev_op.entries = listed;
    attr.ev_op.entry_count = most_listed;
    REQUIRE(mrc_ctl_query_ev_profile(host->context, 0, &attr, MRC_CTL_EV_PROFILE_EV_OP) == 0);
    listed_count = attr.ev_op.entry_count;
    REQUIRE(listed_count >= 4);
}

/* Each EV of the profile, at index i by the id 100 + i. */
static int ask_all_evs(const union ibv_gid *source, const union ibv_gid *target)
{
    for (int i = 0; i < listed_count; ++i)
        requests[i] = request_to((uint16_t)(100 + i), source, target, &listed[i].ev);
    return listed_count;
}

/* Every response belongs to a request, no two to the same, with the port of its EV and an RTT that can be. */
static void check_responses(uint32_t timeout_ns)
{
    char seen[most_listed] = {0};

    for (int i = 0; i < response_count; ++i) {
        const int index = responses[i].req_id - 100;

        REQUIRE(index >= 0 && index < listed_count);
        CHECK(!seen[index]);
        seen[index] = 1;
        CHECK_IS(responses[i].port, listed[index].ev.port);
        CHECK_IS(responses[i].adj_svc_time, 0);
        CHECK(responses[i].rtt > 1000 && responses[i].rtt <= timeout_ns);
    }
}

static void probes_every_ev(struct host *from, const union ibv_gid *source, const union ibv_gid *target)
{
    union ibv_gid any;
    const int count = ask_all_evs(source, target);

    CHECK_IS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, count, long_ns), 0);
    CHECK_IS(response_count, count);
    check_responses(long_ns);
    memset(&any, 0, sizeof(any)); /* this host's, whichever */
    ask_all_evs(&any, target);
    CHECK_IS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, count, long_ns), 0);
    CHECK_IS(response_count, count);
}

static void probes_denied_evs(struct host *from, const union ibv_gid *source, const union ibv_gid *target)
{
    struct mrc_ctl_ev_profile_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.ev_op.op = MRC_CTL_EV_OP_MODIFY_EV_STATE;
    attr.ev_op.entries = listed;
    attr.ev_op.entry_count = 1;
    listed[0].state = MRC_CTL_EV_DENIED;
    CHECK_IS(mrc_ctl_modify_ev_profile(from->context, 0, &attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
    requests[0] = request_to(100, source, target, &listed[0].ev);
    CHECK_IS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, 1, long_ns), 0);
    CHECK_IS(response_count, 1);
    check_responses(long_ns);
    listed[0].state = MRC_CTL_EV_GOOD;
    CHECK_IS(mrc_ctl_modify_ev_profile(from->context, 0, &attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
}

static void put_usid(uint8_t *at, unsigned int role, unsigned int plane, unsigned int index)
{
    at[0] = (uint8_t)(role << 4 | plane);
    at[1] = (uint8_t)index;
}

/* The outer destination on one path of the lab's fabric: block, leaf, spine, leaf, host (scripts/lab/addresses.py). */
static struct mrc_ctl_ev carrier_of(const union ibv_gid *source, const union ibv_gid *target, unsigned int plane,
                                    unsigned int uplink)
{
    static const uint8_t block[] = {0xFC, 0xBB, 0xBB, 0x00};
    struct mrc_ctl_ev ev;

    memset(&ev, 0, sizeof(ev));
    memcpy(ev.val, block, sizeof(block));
    put_usid(ev.val + 4, 2, plane, source->raw[13]);
    put_usid(ev.val + 6, 1, plane, uplink);
    put_usid(ev.val + 8, 2, plane, target->raw[13]);
    put_usid(ev.val + 10, 8, plane, target->raw[15] - 1U);
    ev.port = (uint8_t)(plane + 1);
    return ev;
}

static void probes_in_other_formats(struct host *from, const union ibv_gid *source, const union ibv_gid *target)
{
    struct mrc_ctl_ev ev = carrier_of(source, target, 1, 1);

    requests[0] = request_to(1, source, target, &ev);
    requests[0].ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6;
    CHECK_IS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, 1, long_ns), 0);
    CHECK_IS(response_count, 1);
    CHECK(responses[0].req_id == 1 && responses[0].port == 2);
    requests[0].req_ev.val[16] = 1; /* a segment of an SRH */
    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, 1, long_ns), -1, EINVAL);
    requests[0].req_ev = ev;
    requests[0].req_ev.port = 1; /* the other plane's */
    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, 1, long_ns), -1, EINVAL);
    ev = carrier_of(source, source, 1, 1); /* to another host than the one that is asked */
    requests[0].req_ev = ev;
    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, 1, long_ns), -1, EINVAL);

    /* 16 bits, the last of the number */
    requests[0] = request_to(100, source, target, &listed[0].ev);
    requests[0].ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
    memset(requests[0].req_ev.val, 0, sizeof(requests[0].req_ev.val));
    requests[0].req_ev.val[0] = (uint8_t)(listed[0].ev.val[2] | 0x08); /* with entropy of our own */
    requests[0].req_ev.val[1] = listed[0].ev.val[3];
    CHECK_IS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, 1, long_ns), 0);
    CHECK_IS(response_count, 1);
    check_responses(long_ns);
    requests[0].req_ev.val[2] = 1;
    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, 1, long_ns), -1, EINVAL);
}

/* These probes are answered by the peer's agent, not in its receive path. */
static void probes_over_ipv4(struct host *from, struct host *to)
{
    union ibv_gid source;
    union ibv_gid source6;
    union ibv_gid target;

    REQUIRE(ibv_query_gid(from->verbs, 1, gid_index, &source6) == 0);
    REQUIRE(ibv_query_gid(from->verbs, 1, ipv4_gid_index, &source) == 0);
    REQUIRE(ibv_query_gid(to->verbs, 1, ipv4_gid_index, &target) == 0);
    const int count = ask_all_evs(&source, &target);
    CHECK_IS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, count, long_ns), 0);
    CHECK_IS(response_count, count);
    check_responses(long_ns);
    requests[0].req_ev.val[1] = 1; /* of more than 16 bits */
    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, 1, long_ns), -1, EINVAL);
    ask_all_evs(&source6, &target);
    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, 1, long_ns), -1, EINVAL);
}

static void refuses_what_is_wrong(struct host *from, const union ibv_gid *source, const union ibv_gid *target)
{
    struct mrc_ctl_ep_rsp *const room = responses;
    const enum mrc_ctl_ep_op_type probe = MRC_CTL_EP_OP_EV_PROBE;
    enum mrc_ctl_ep_op_type unknown;
    const int none_of_them = 2;
    int count = 0;

    memcpy(&unknown, &none_of_them, sizeof(unknown));
    ask_all_evs(source, target);
    CHECK_FAILS(mrc_ctl_ep_batch_send_wait(NULL, 0, probe, requests, 1, long_ns, room, &count), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_ep_batch_send_wait(from->context, 0, probe, NULL, 1, long_ns, room, &count), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_ep_batch_send_wait(from->context, 0, probe, requests, 0, long_ns, room, &count), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_ep_batch_send_wait(from->context, 0, probe, requests, 1, long_ns, NULL, &count), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_ep_batch_send_wait(from->context, 0, probe, requests, 1, long_ns, room, NULL), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_ep_batch_send_wait(from->context, 64, probe, requests, 1, long_ns, room, &count), -1, EINVAL);
    CHECK_FAILS(send_batch(from, unknown, 1, long_ns), -1, EINVAL);
    CHECK_FAILS(send_batch(from, probe, most_requests + 1, long_ns), -1, EINVAL);
    requests[1].req_id = requests[0].req_id;
    CHECK_FAILS(send_batch(from, probe, 2, long_ns), -1, EINVAL);
    CHECK_IS(response_count, 0);

    requests[0].req_ev.port = 2; /* of the other plane */
    CHECK_FAILS(send_batch(from, probe, 1, long_ns), -1, EINVAL);
    requests[0].req_ev.port = 0;
    CHECK_FAILS(send_batch(from, probe, 1, long_ns), -1, EINVAL);
    ask_all_evs(source, target);
    requests[0].req_ev.val[2] = 0x07; /* an uplink that is not there */
    CHECK_FAILS(send_batch(from, probe, 1, long_ns), -1, EINVAL);
    ask_all_evs(source, source); /* to itself */
    CHECK_FAILS(send_batch(from, probe, 1, long_ns), -1, EINVAL);
    ask_all_evs(target, target); /* in another host's name */
    CHECK_FAILS(send_batch(from, probe, 1, long_ns), -1, EINVAL);
    CHECK_IS(response_count, 0);
}

static void tells_unknown_addresses_and_asks_the_others(struct host *from, const union ibv_gid *source,
                                                        const union ibv_gid *target)
{
    const int count = ask_all_evs(source, target);

    requests[1].dgid.raw[15] = 0xEE; /* a downlink that no leaf has */
    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, count, long_ns), -1, EINVAL);
    CHECK_IS(response_count, count - 1);
    check_responses(long_ns);
    for (int i = 0; i < response_count; ++i)
        CHECK(responses[i].req_id != 101);
}

/* More than one packet of the session, and more than may leave at once. */
static void probes_by_the_thousand(struct host *from, const union ibv_gid *source, const union ibv_gid *target)
{
    static char seen[most_requests];
    const double start = seconds_now();

    memset(seen, 0, sizeof(seen));
    for (int i = 0; i < most_requests; ++i)
        requests[i] = request_to((uint16_t)i, source, target, &listed[i % listed_count].ev);
    CHECK_IS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, most_requests, long_ns), 0);
    CHECK_IS(response_count, most_requests);
    CHECK(seconds_now() - start >= (most_requests - 64) / 5000.0); /* the rate */
    for (int i = 0; i < response_count; ++i) {
        REQUIRE(responses[i].req_id < most_requests);
        CHECK(!seen[responses[i].req_id]);
        seen[responses[i].req_id] = 1;
    }
}

static void updates_port_status(struct host *from, const union ibv_gid *source, const union ibv_gid *target)
{
    requests[0] = request_to(100, source, target, &listed[0].ev);
    requests[0].op.port_status_update.port_status = 1 << 2; /* port 2 only */
    CHECK_IS(send_batch(from, MRC_CTL_EP_OP_PORT_STATUS_UPDATE, 1, long_ns), 0);
    CHECK_IS(response_count, 1);
    check_responses(long_ns);
    requests[0].op.port_status_update.port_status = 1 << 1 | 1 << 2;
    CHECK_IS(send_batch(from, MRC_CTL_EP_OP_PORT_STATUS_UPDATE, 1, long_ns), 0);
    CHECK_IS(response_count, 1);
    requests[0].op.port_status_update.port_status = 0; /* nobody is without a port */
    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_PORT_STATUS_UPDATE, 1, long_ns), -1, EINVAL);
    requests[0].op.port_status_update.port_status = 1 << 9;
    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_PORT_STATUS_UPDATE, 1, long_ns), -1, EINVAL);
}

static void turn_spine(const char *state)
{
    char command[1024];
    const char *const spine = getenv("MRC_TEST_SPINE");

    REQUIRE(spine != NULL);
    snprintf(command, sizeof(command), "%s %s", spine, state);
    REQUIRE(system(command) == 0);
}

/* The path of listed[0] is cut. */
static void times_out_where_the_path_is_cut(struct host *from, const union ibv_gid *source, const union ibv_gid *target)
{
    const int count = ask_all_evs(source, target);

    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, count, long_ns), -1, ETIMEDOUT);
    CHECK_IS(response_count, count - 1);
    check_responses(long_ns);
    for (int i = 0; i < response_count; ++i)
        CHECK(responses[i].req_id != 100);
    requests[0].op.port_status_update.port_status = 1 << 1 | 1 << 2;
    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_PORT_STATUS_UPDATE, 1, short_ns), -1, ETIMEDOUT);
    CHECK_IS(response_count, 0);
}

static void *send_long_batch(void *from)
{
    static int outcome;

    errno = 0;
    outcome = send_batch((struct host *)from, MRC_CTL_EP_OP_EV_PROBE, 1, longest_ns) == 0 ? 0 : errno;
    __atomic_store_n(&batch_is_over, 1, __ATOMIC_SEQ_CST);
    return &outcome;
}

/* One thread waits for an answer that never comes; others of the same context are served meanwhile. */
static void serves_others_while_a_batch_waits(struct host *from, const union ibv_gid *source,
                                              const union ibv_gid *target)
{
    pthread_t waiting;
    void *outcome = NULL;
    struct ibv_port_attr port;

    requests[0] = request_to(100, source, target, &listed[0].ev);
    REQUIRE(pthread_create(&waiting, NULL, send_long_batch, from) == 0);
    for (int i = 0; i < 100; ++i) {
        struct ibv_pd *const pd = ibv_alloc_pd(from->verbs);

        REQUIRE(pd != NULL && ibv_dealloc_pd(pd) == 0);
        REQUIRE(ibv_query_port(from->verbs, 1, &port) == 0);
    }
    CHECK_IS(__atomic_load_n(&batch_is_over, __ATOMIC_SEQ_CST), 0);
    REQUIRE(pthread_join(waiting, &outcome) == 0);
    CHECK_IS(*(const int *)outcome, ETIMEDOUT);
}

int send_batch_for_ever(const char *gid)
{
    struct host host;
    union ibv_gid any;
    union ibv_gid target;

    memset(&any, 0, sizeof(any));
    for (int i = 0; i < 16; ++i) {
        unsigned int byte = 0;

        REQUIRE(sscanf(gid + i * 2, "%2x", &byte) == 1);
        target.raw[i] = (uint8_t)byte;
    }
    host_open(&host, 0);
    list_evs(&host);
    for (int i = 0; i < most_requests; ++i)
        requests[i] = request_to((uint16_t)i, &any, &target, &listed[0].ev);
    /* There may be one request too many for a moment: the parent's. */
    while (send_batch(&host, MRC_CTL_EP_OP_EV_PROBE, most_requests, longest_ns) != 0 && errno == EAGAIN)
        continue;
    return 1; /* it was to be killed */
}

static pid_t start_child(const union ibv_gid *target)
{
    char gid[2 * sizeof(target->raw) + 1];
    const pid_t child = (fflush(NULL), fork());

    REQUIRE(child >= 0);
    if (child != 0)
        return child;
    for (unsigned int i = 0; i < sizeof(target->raw); ++i)
        snprintf(gid + 2 * i, 3, "%02x", target->raw[i]);
    execl("/proc/self/exe", "controller", gid, (char *)NULL);
    _exit(127);
}

/* Asks by an EV that works until the outcome is the one wanted; how long that took. */
static double seconds_until(struct host *from, int wanted)
{
    const double start = seconds_now();
    int outcome = -1;

    while (outcome != wanted && seconds_now() - start < 10) {
        errno = 0;
        outcome = send_batch(from, MRC_CTL_EP_OP_EV_PROBE, 1, long_ns) == 0 ? 0 : errno;
        REQUIRE(outcome == 0 || outcome == EAGAIN);
    }
    CHECK_IS(outcome, wanted);
    return seconds_now() - start;
}

/* Two whole batches are as much as a daemon takes; they go with the controllers that sent them. */
static void forgets_batches_of_the_dead(struct host *from, const union ibv_gid *source, const union ibv_gid *target)
{
    pid_t child[children];

    for (int i = 0; i < children; ++i)
        child[i] = start_child(target);
    requests[0] = request_to(100, source, target, &listed[listed_count - 1].ev);
    (void)seconds_until(from, EAGAIN);
    for (int i = 0; i < children; ++i) {
        int status = 0;

        REQUIRE(kill(child[i], SIGKILL) == 0 && waitpid(child[i], &status, 0) == child[i]);
        CHECK(WIFSIGNALED(status)); /* it was still waiting */
    }
    CHECK(seconds_until(from, 0) < 2); /* their time would have been over after four */
}

void sends_batches(struct host *from, struct host *to)
{
    union ibv_gid source;
    union ibv_gid target;

    REQUIRE(ibv_query_gid(from->verbs, 1, gid_index, &source) == 0);
    REQUIRE(ibv_query_gid(to->verbs, 1, gid_index, &target) == 0);
    list_evs(from);
    probes_every_ev(from, &source, &target);
    probes_denied_evs(from, &source, &target);
    probes_in_other_formats(from, &source, &target);
    probes_over_ipv4(from, to);
    refuses_what_is_wrong(from, &source, &target);
    tells_unknown_addresses_and_asks_the_others(from, &source, &target);
    probes_by_the_thousand(from, &source, &target);
    updates_port_status(from, &source, &target);
    turn_spine("down");
    times_out_where_the_path_is_cut(from, &source, &target);
    serves_others_while_a_batch_waits(from, &source, &target);
    forgets_batches_of_the_dead(from, &source, &target);
    turn_spine("up");
    probes_every_ev(from, &source, &target);
}

void batches_need_the_capability(struct host *from)
{
    CHECK_FAILS(send_batch(from, MRC_CTL_EP_OP_EV_PROBE, 1, long_ns), -1, EPERM);
}
