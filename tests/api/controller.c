/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of mrc_ctl.h and mrc/control.h against the daemon of a lab's host. */
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <mrc/control.h>
#include <mrc_ctl.h>

#include "check.h"
#include "controller_batches.h"
#include "two_hosts.h"

#include <string.h>

enum { format_id = 77, profile_id = 78, cc_id = 79, most_evs = 2048 };

int check_failures = 0;
static struct host hosts[2];

static void queries_device(void)
{
    struct mrc_ctl_device_attr attr;
    struct mrc_ctl_device_attr same;
    int supported = 0;

    memset(&attr, 0, sizeof(attr));
    CHECK_IS(mrc_ctl_query_device(hosts[0].verbs, &attr), 0);
    CHECK_IS(attr.mrc_ctl_protocol_version, MRC_CTL_PROTOCOL_VERSION_1);
    REQUIRE(attr.cc.algorithms != NULL && attr.cc.algorithms[0] != NULL);
    CHECK_IS(strcmp(attr.cc.algorithms[0], "uet-1.0-nscc"), 0);
    CHECK(attr.cc.algorithms[1] == NULL && (attr.phy_port_mask & 1) == 0 && (attr.phy_port_mask & 2) != 0);
    CHECK_IS(mrc_ctl_query_device_ex(hosts[0].verbs, hosts[0].context, &same, &supported), 0);
    CHECK_IS(supported, 1);
    CHECK_IS(same.ev.ev_free_count, attr.ev.ev_free_count);
    CHECK_FAILS(mrc_ctl_query_device(NULL, &attr), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_query_device(hosts[0].verbs, NULL), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_query_device_ex(hosts[0].verbs, NULL, &attr, &supported), -1, EINVAL);
}

static void disables_ports(void)
{
    struct mrc_ctl_port_attr attr = {MRC_CTL_PORT_ADMIN_DISABLED};
    struct ibv_port_attr port;

    CHECK_IS(mrc_ctl_modify_port(hosts[0].context, 2, &attr, MRC_CTL_PORT_ADMIN_STATE), 0);
    CHECK_IS(ibv_query_port(hosts[0].verbs, 2, &port), 0);
    CHECK_IS(port.state, IBV_PORT_DOWN);
    attr.port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED;
    CHECK_IS(mrc_ctl_query_port(hosts[0].context, 2, &attr, MRC_CTL_PORT_ADMIN_STATE), 0);
    CHECK_IS(attr.port_admin_state, MRC_CTL_PORT_ADMIN_DISABLED);
    attr.port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED;
    CHECK_IS(mrc_ctl_modify_port(hosts[0].context, 2, &attr, MRC_CTL_PORT_ADMIN_STATE), 0);
    CHECK_IS(ibv_query_port(hosts[0].verbs, 2, &port), 0);
    CHECK_IS(port.state, IBV_PORT_ACTIVE);
    CHECK_FAILS(mrc_ctl_query_port(hosts[0].context, 0, &attr, 1), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_query_port(hosts[0].context, 99, &attr, 1), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_query_port(hosts[0].context, 1, &attr, 1 << 5), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_modify_port(hosts[0].context, 1, NULL, 1), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_query_port(NULL, 1, &attr, 1), -1, EINVAL);
}

static void keeps_formats(void)
{
    struct mrc_ctl_ev_fmt_profile_attr attr;
    struct mrc_ctl_ev_fmt_field widths[4] = {{16}, {16}, {0}, {0}};

    memset(&attr, 0, sizeof(attr));
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    CHECK_FAILS(mrc_ctl_modify_ev_fmt_profile(hosts[0].context, format_id, &attr, MRC_CTL_EV_FMT_PROFILE_STATE), -1,
                EINVAL); /* no mode */
    attr.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6;
    attr.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
    attr.ev_fmt_op.fmt_fields = widths;
    attr.ev_fmt_op.fmt_field_count = 2;
    CHECK_IS(mrc_ctl_modify_ev_fmt_profile(hosts[0].context, format_id, &attr,
                                           MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE |
                                               MRC_CTL_EV_FMT_PROFILE_OP),
             0);
    CHECK_FAILS(mrc_ctl_query_ev_fmt_profile(hosts[0].context, format_id, &attr, MRC_CTL_EV_FMT_PROFILE_OP), -1,
                EINVAL); /* a query modifies nothing */
    attr.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_QUERY_FIELDS;
    attr.ev_fmt_op.fmt_field_count = 1;
    CHECK_FAILS(mrc_ctl_query_ev_fmt_profile(hosts[0].context, format_id, &attr, MRC_CTL_EV_FMT_PROFILE_OP), -1, E2BIG);
    CHECK_IS(attr.ev_fmt_op.fmt_field_count, 2);
    memset(widths, 0, sizeof(widths));
    CHECK_IS(mrc_ctl_query_ev_fmt_profile(hosts[0].context, format_id, &attr,
                                          MRC_CTL_EV_FMT_PROFILE_OP | MRC_CTL_EV_FMT_PROFILE_STATE |
                                              MRC_CTL_EV_FMT_PROFILE_MODE),
             0);
    CHECK(widths[0].width == 16 && widths[1].width == 16 && attr.ev_fmt_op.fmt_field_count == 2);
    CHECK_IS(attr.profile_state, MRC_CTL_PROFILE_OFFLINE);
    CHECK_IS(attr.ev_fmt_mode, MRC_CTL_EV_FMT_MODE_SRV6);
    attr.profile_state = MRC_CTL_PROFILE_INIT;
    CHECK_IS(mrc_ctl_modify_ev_fmt_profile(hosts[0].context, format_id, &attr, MRC_CTL_EV_FMT_PROFILE_STATE), 0);
    CHECK_FAILS(mrc_ctl_modify_ev_fmt_profile(hosts[0].context, format_id, NULL, 1), -1, EINVAL);
}

static void lists_evs(void)
{
    static struct mrc_ctl_ev_op_entry entries[most_evs];
    struct mrc_ctl_ev_profile_attr attr;
    int count = 0;

    memset(&attr, 0, sizeof(attr));
    CHECK_IS(mrc_ctl_query_ev_profile(hosts[0].context, 0, &attr, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_COUNT),
             0);
    CHECK_IS(attr.profile_state, MRC_CTL_PROFILE_ONLINE); /* the one that is built in */
    CHECK(attr.ev_count > 0);
    count = (int)attr.ev_count;
    attr.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_ARRAY;
    attr.ev_op.entries = entries;
    attr.ev_op.entry_count = count - 1;
    CHECK_FAILS(mrc_ctl_query_ev_profile(hosts[0].context, 0, &attr, MRC_CTL_EV_PROFILE_EV_OP), -1, E2BIG);
    CHECK_IS(attr.ev_op.entry_count, count);
    attr.ev_op.entry_count = most_evs;
    CHECK_IS(mrc_ctl_query_ev_profile(hosts[0].context, 0, &attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
    REQUIRE(attr.ev_op.entry_count == count && count >= 2);
    CHECK_IS(entries[0].state, MRC_CTL_EV_GOOD);
    CHECK(entries[0].ev.port >= 1);

    entries[0].state = MRC_CTL_EV_DENIED;
    attr.ev_op.op = MRC_CTL_EV_OP_MODIFY_EV_STATE;
    attr.ev_op.entry_count = 1;
    CHECK_IS(mrc_ctl_modify_ev_profile(hosts[0].context, 0, &attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
    attr.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_STATE;
    entries[0].state = MRC_CTL_EV_UNKNOWN;
    CHECK_IS(mrc_ctl_query_ev_profile(hosts[0].context, 0, &attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
    CHECK_IS(entries[0].state, MRC_CTL_EV_DENIED);
    /* In order until one fails; what was done stays. */
    entries[0].state = MRC_CTL_EV_GOOD;
    memset(&entries[1].ev, 0xFF, sizeof(entries[1].ev));
    entries[1].state = MRC_CTL_EV_DENIED;
    attr.ev_op.op = MRC_CTL_EV_OP_MODIFY_EV_STATE;
    attr.ev_op.entry_count = 2;
    CHECK_FAILS(mrc_ctl_modify_ev_profile(hosts[0].context, 0, &attr, MRC_CTL_EV_PROFILE_EV_OP), -1, ENOENT);
    CHECK_IS(attr.ev_op.entry_count, 1);
    attr.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_STATE;
    attr.ev_op.entry_count = 1;
    CHECK_IS(mrc_ctl_query_ev_profile(hosts[0].context, 0, &attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
    CHECK_IS(entries[0].state, MRC_CTL_EV_GOOD);
    CHECK_FAILS(mrc_ctl_query_ev_profile(hosts[0].context, 0, &attr,
                                         MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP),
                -1, EINVAL);
    CHECK_FAILS(mrc_ctl_query_ev_profile(NULL, 0, &attr, 0), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_query_ev_profile(hosts[0].context, 0, NULL, 1), -1, EINVAL);
}

static void keeps_cc_profiles(void)
{
    struct mrc_ctl_cc_profile_attr attr;
    struct mrc_ctl_cc_nscc_cfg config;
    char name[] = "uet-1.0-nscc";
    const int both = MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG;

    memset(&attr, 0, sizeof(attr));
    CHECK_IS(mrc_ctl_query_cc_profile(hosts[0].context, 0, &attr, both | MRC_CTL_CC_PROFILE_STATE), 0);
    CHECK_IS(attr.profile_state, MRC_CTL_PROFILE_ONLINE);
    attr.algorithm = "reno";
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    CHECK_FAILS(mrc_ctl_modify_cc_profile(hosts[0].context, cc_id, &attr,
                                          MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM),
                -1, EINVAL);
    attr.algorithm = name;
    CHECK_IS(mrc_ctl_modify_cc_profile(hosts[0].context, cc_id, &attr,
                                       MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM),
             0);
    memset(name, 0, sizeof(name)); /* it was copied */
    CHECK_IS(mrc_ctl_query_cc_profile(hosts[0].context, 0, &attr, MRC_CTL_CC_PROFILE_CONFIG), 0);
    if (attr.cc_config == NULL) { /* the built-in one is a fixed window */
        memset(&config, 0, sizeof(config));
        attr.cc_config = &config;
    } else {
        memcpy(&config, attr.cc_config, sizeof(config));
        attr.profile_state = MRC_CTL_PROFILE_ONLINE;
        CHECK_IS(mrc_ctl_modify_cc_profile(hosts[0].context, cc_id, &attr,
                                           MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_CONFIG),
                 0);
        CHECK_IS(mrc_ctl_query_cc_profile(hosts[0].context, cc_id, &attr, both | MRC_CTL_CC_PROFILE_STATE), 0);
        CHECK(attr.cc_config != &config && attr.algorithm != name);
        CHECK_IS(strcmp(attr.algorithm, "uet-1.0-nscc"), 0);
        CHECK_IS(((const struct mrc_ctl_cc_nscc_cfg *)attr.cc_config)->max_cwnd, config.max_cwnd);
        attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
        CHECK_IS(mrc_ctl_modify_cc_profile(hosts[0].context, cc_id, &attr, MRC_CTL_CC_PROFILE_STATE), 0);
    }
    attr.profile_state = MRC_CTL_PROFILE_INIT;
    CHECK_IS(mrc_ctl_modify_cc_profile(hosts[0].context, cc_id, &attr, MRC_CTL_CC_PROFILE_STATE), 0);
}

static void lists_profiles(void)
{
    struct mrc_ctl_ev_fmt_profile_attr attr;
    struct mrc_ctl_port_attr port = {MRC_CTL_PORT_ADMIN_ENABLED};
    uint64_t ids[4] = {1, 1, 1, 1};
    int count = 4;

    CHECK_IS(mrc_ctl_list_profiles(hosts[0].context, MRC_CTL_LIST_EV_FMT_PROFILES, ids, &count), 0);
    CHECK(count == 1 && ids[0] == 0 && ids[1] == 1);
    memset(&attr, 0, sizeof(attr));
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
    CHECK_IS(mrc_ctl_modify_ev_fmt_profile(hosts[0].context, format_id, &attr,
                                           MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE),
             0);
    count = 1;
    CHECK_FAILS(mrc_ctl_list_profiles(hosts[0].context, MRC_CTL_LIST_EV_FMT_PROFILES, ids, &count), -1, E2BIG);
    CHECK_IS(count, 2);
    CHECK_IS(mrc_ctl_list_profiles(hosts[0].context, MRC_CTL_LIST_EV_FMT_PROFILES, ids, &count), 0);
    CHECK(count == 2 && ids[0] == 0 && ids[1] == format_id);
    attr.profile_state = MRC_CTL_PROFILE_INIT;
    CHECK_IS(mrc_ctl_modify_ev_fmt_profile(hosts[0].context, format_id, &attr, MRC_CTL_EV_FMT_PROFILE_STATE), 0);
    CHECK_FAILS(mrc_ctl_list_profiles(hosts[0].context, (enum mrc_ctl_profile_list)3, ids, &count), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_list_profiles(hosts[0].context, MRC_CTL_LIST_CC_PROFILES, NULL, &count), -1, EINVAL);
    CHECK_FAILS(mrc_ctl_list_profiles(NULL, MRC_CTL_LIST_CC_PROFILES, ids, &count), -1, EINVAL);
    /* Calls that are answered do not notice how long they would wait. */
    CHECK_IS(mrc_ctl_set_patience(hosts[0].context, 10000), 0);
    CHECK_IS(mrc_ctl_query_port(hosts[0].context, 1, &port, 1), 0);
    CHECK_IS(mrc_ctl_set_patience(hosts[0].context, 0), 0);
    CHECK_FAILS(mrc_ctl_set_patience(NULL, 1), -1, EINVAL);
    /* The words are the daemon's, and stay through calls that succeed. */
    CHECK_FAILS(mrc_ctl_query_port(hosts[0].context, 99, &port, 1), -1, EINVAL);
    CHECK_IS(mrc_ctl_query_port(hosts[0].context, 1, &port, 1), 0);
    CHECK(strstr(mrc_failure_text(), "port 99, allowed is 1 to ") != NULL);
}

static void queues_events(void)
{
    struct mrc_ctl_ev_event events[2];
    struct mrc_comp_channel *channel = NULL;
    struct mrc_cq *queue = NULL;
    struct mrc_cq *ordinary = mrc_create_cq(hosts[0].context, 4, NULL, NULL, 0);
    struct ibv_wc wc;

    CHECK_IS(mrc_create_comp_channel(hosts[0].context, &channel), 0);
    queue = mrc_ctl_create_ev_event_cq(hosts[0].context, 16, NULL, channel, 0);
    REQUIRE(queue != NULL);
    CHECK_IS(mrc_ctl_poll_ev_event(queue, 2, events), 0);
    CHECK_IS(mrc_req_notify_cq(queue, 0), 0);
    CHECK_FAILS(mrc_poll_cq(queue, 1, &wc), -1, EINVAL);
    CHECK_IS(mrc_ctl_poll_ev_event(ordinary, 1, events), -EINVAL);
    CHECK_IS(mrc_ctl_poll_ev_event(queue, -1, events), -EINVAL);
    CHECK_IS(mrc_ctl_poll_ev_event(queue, 1, NULL), -EINVAL);
    CHECK_FAILS(mrc_ctl_create_ev_event_cq(hosts[0].context, 0, NULL, channel, 0), NULL, EINVAL);
    CHECK_FAILS(mrc_ctl_create_ev_event_cq(hosts[0].context, 1, NULL, channel, 7), NULL, EINVAL);
    CHECK_FAILS(mrc_destroy_comp_channel(channel), EBUSY, EBUSY);
    CHECK_IS(mrc_destroy_cq(queue), 0);
    CHECK_IS(mrc_destroy_cq(ordinary), 0);
    CHECK_IS(mrc_destroy_comp_channel(channel), 0);
}

/* In effect only: what the daemon sees through the socket. */
static void needs_the_capability(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    struct mrc_ctl_port_attr attr = {MRC_CTL_PORT_ADMIN_ENABLED};
    struct mrc_ctl_device_attr device;

    REQUIRE(syscall(SYS_capget, &header, data) == 0);
    data[0].effective &= ~(1U << CAP_NET_ADMIN);
    REQUIRE(syscall(SYS_capset, &header, data) == 0);
    CHECK_FAILS(mrc_ctl_query_port(hosts[0].context, 1, &attr, 1), -1, EPERM);
    CHECK_FAILS(mrc_ctl_query_device(hosts[0].verbs, &device), -1, EPERM);
    CHECK_FAILS(mrc_ctl_create_ev_event_cq(hosts[0].context, 16, NULL, NULL, 0), NULL, EPERM);
    batches_need_the_capability(&hosts[0]);
}

int main(int count, char **words)
{
    if (count > 1) /* one of asks_for_ever()'s children */
        return send_batch_for_ever(words[1]);
    host_open(&hosts[0], 0);
    host_open(&hosts[1], 1);
    queries_device();
    disables_ports();
    keeps_formats();
    lists_evs();
    keeps_cc_profiles();
    lists_profiles();
    queues_events();
    sends_batches(&hosts[0], &hosts[1]);
    needs_the_capability();
    host_close(&hosts[1]);
    host_close(&hosts[0]);
    printf("%d failures\n", check_failures);
    return check_failures == 0 ? 0 : 1;
}
