/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an ordinary user may do. "member" is in the group of the sockets: all of mrc.h, nothing of mrc_ctl.h. "outsider"
 * is not: there are no devices, and the reason is reported.
 */
#include <string.h>
#include <unistd.h>

#include <mrc_ctl.h>

#include "check.h"
#include "two_hosts.h"

int check_failures = 0;

static void needs_the_capability(struct host *host)
{
    struct mrc_ctl_device_attr device;
    struct mrc_ctl_port_attr port = {MRC_CTL_PORT_ADMIN_DISABLED};
    struct mrc_ctl_ev_fmt_profile_attr format;
    struct mrc_ctl_ev_profile_attr evs;
    struct mrc_ctl_cc_profile_attr cc;
    struct mrc_ctl_ep_req request;
    struct mrc_ctl_ep_rsp response;
    struct ibv_port_attr state;
    int supported = 0;
    int count = 0;

    memset(&format, 0, sizeof(format));
    memset(&evs, 0, sizeof(evs));
    memset(&cc, 0, sizeof(cc));
    memset(&request, 0, sizeof(request));
    request.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6;
    request.req_ev.port = 1;
    REQUIRE(ibv_query_gid(host->verbs, 1, 2, &request.sgid) == 0);
    request.dgid = request.sgid;
    CHECK_FAILS(mrc_ctl_query_device(host->verbs, &device), -1, EPERM);
    CHECK_FAILS(mrc_ctl_query_device_ex(host->verbs, host->context, &device, &supported), -1, EPERM);
    CHECK_FAILS(mrc_ctl_query_port(host->context, 1, &port, MRC_CTL_PORT_ADMIN_STATE), -1, EPERM);
    port.port_admin_state = MRC_CTL_PORT_ADMIN_DISABLED;
    CHECK_FAILS(mrc_ctl_modify_port(host->context, 1, &port, MRC_CTL_PORT_ADMIN_STATE), -1, EPERM);
    CHECK_FAILS(mrc_ctl_modify_ev_fmt_profile(host->context, 5, &format, MRC_CTL_EV_FMT_PROFILE_STATE), -1, EPERM);
    CHECK_FAILS(mrc_ctl_query_ev_fmt_profile(host->context, 0, &format, MRC_CTL_EV_FMT_PROFILE_STATE), -1, EPERM);
    CHECK_FAILS(mrc_ctl_modify_ev_profile(host->context, 0, &evs, MRC_CTL_EV_PROFILE_EVENT_MASK), -1, EPERM);
    CHECK_FAILS(mrc_ctl_query_ev_profile(host->context, 0, &evs, MRC_CTL_EV_PROFILE_STATE), -1, EPERM);
    CHECK_FAILS(mrc_ctl_modify_cc_profile(host->context, 5, &cc, MRC_CTL_CC_PROFILE_STATE), -1, EPERM);
    CHECK_FAILS(mrc_ctl_query_cc_profile(host->context, 0, &cc, MRC_CTL_CC_PROFILE_STATE), -1, EPERM);
    CHECK_FAILS(mrc_ctl_create_ev_event_cq(host->context, 16, NULL, NULL, 0), NULL, EPERM);
    CHECK_FAILS(
        mrc_ctl_ep_batch_send_wait(host->context, 0, MRC_CTL_EP_OP_EV_PROBE, &request, 1, 100000000, &response, &count),
        -1, EPERM);
    CHECK_IS(ibv_query_port(host->verbs, 1, &state), 0); /* nothing has been done */
    CHECK_IS(state.state, IBV_PORT_ACTIVE);
}

static void transfers(struct host hosts[2])
{
    enum { length = 1 << 20 };
    struct endpoint ends[2];
    struct region memory[2];
    for (int i = 0; i < 2; ++i) {
        memory[i] = region_new(&hosts[i], length);
        ends[i] = endpoint_new(&hosts[i], 16, 0);
        endpoint_to_init(&ends[i]);
    }
    endpoints_connect(&ends[0], &ends[1]);
    for (size_t i = 0; i < length; ++i)
        memory[0].bytes[i] = (unsigned char)(i * 31 + (i >> 8));
    REQUIRE(post_write(&ends[0], 7, &memory[0], 0, length, &memory[1], 0, IBV_SEND_SIGNALED) == 0);
    CHECK_IS(completion_of(ends[0].send_cq).status, IBV_WC_SUCCESS);
    CHECK_IS(memcmp(memory[0].bytes, memory[1].bytes, length), 0);
    for (int i = 0; i < 2; ++i) {
        endpoint_free(&ends[i]);
        region_free(&memory[i]);
    }
}

static void member(void)
{
    struct host hosts[2];
    for (int i = 0; i < 2; ++i)
        host_open(&hosts[i], i);
    transfers(hosts);
    needs_the_capability(&hosts[0]);
    transfers(hosts);
    for (int i = 0; i < 2; ++i)
        host_close(&hosts[i]);
}

static void outsider(void)
{
    int count = -1;
    struct ibv_device **list = NULL;
    errno = 0;
    list = ibv_get_device_list(&count);
    CHECK_IS(errno, EACCES);
    CHECK(list == NULL);
    CHECK_IS(count, 0);
    perror("ibv_get_device_list");
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2 && geteuid() != 0);
    if (strcmp(argv[1], "member") == 0)
        member();
    else
        outsider();
    printf("%s: %d failures\n", argv[1], check_failures);
    return check_failures == 0 ? 0 : 1;
}
