/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery, opening, capabilities. */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <mrc.h>
#include <mrc_ctl.h>

#include "check.h"
#include "fake_daemon.h"
#include "verbs_conformance.h"

void lists_one_device_per_daemon(void)
{
    int count = -1;
    struct ibv_device **list;
    struct ibv_device **again;
    struct ibv_device *kept;

    fake_daemons(2);
    errno = 4711;
    list = ibv_get_device_list(&count);
    CHECK(list != NULL);
    CHECK_IS(errno, 4711);
    CHECK_IS(count, 2);
    CHECK(strcmp(ibv_get_device_name(list[0]), "mrc0") == 0);
    CHECK(strcmp(ibv_get_device_name(list[1]), "mrc1") == 0);
    CHECK(list[2] == NULL);
    CHECK(strlen(list[0]->dev_name) > 0 && strlen(list[0]->dev_path) > 0 && strlen(list[0]->ibdev_path) > 0);
    CHECK(access(list[0]->ibdev_path, F_OK) != 0);
    CHECK_IS(list[0]->node_type, IBV_NODE_CA);
    CHECK_IS(list[0]->transport_type, IBV_TRANSPORT_IB);
    CHECK_IS(ibv_get_device_index(list[0]), -1);
    again = ibv_get_device_list(NULL);
    CHECK(again != list && again[0] == list[0] && again[1] == list[1]);
    kept = list[0];
    ibv_free_device_list(list);
    ibv_free_device_list(again);
    CHECK(strcmp(ibv_get_device_name(kept), "mrc0") == 0); /* devices outlive their lists */
    CHECK_IS(fake_sessions(), 0);
}

void lists_nothing_without_daemon(void)
{
    int count = -1;
    struct ibv_device **list;

    fake_daemons(0);
    list = ibv_get_device_list(&count); /* the host's own devices, or its error */
    CHECK(list == NULL || count >= 0);
    for (int i = 0; list != NULL && i < count; ++i)
        CHECK(strncmp(ibv_get_device_name(list[i]), "mrc", 3) != 0);
    if (list != NULL)
        ibv_free_device_list(list);
    fake_daemons(1);
    fake_refuse(ECONNREFUSED);
    list = ibv_get_device_list(&count);
    for (int i = 0; list != NULL && i < count; ++i)
        CHECK(strncmp(ibv_get_device_name(list[i]), "mrc", 3) != 0);
    if (list != NULL)
        ibv_free_device_list(list);
}

/* Outside the group of its socket: an empty list would not say why. */
void tells_users_who_are_denied(void)
{
    int count = -1;
    struct ibv_device **list;

    fake_daemons(1);
    fake_refuse(EACCES);
    errno = 0;
    list = ibv_get_device_list(&count);
    if (list == NULL) {
        CHECK_IS(errno, EACCES);
        CHECK_IS(count, 0);
    } else {
        CHECK(count > 0); /* the host has others */
        ibv_free_device_list(list);
    }
    fake_daemons(2);
    fake_refuse(EACCES); /* one of them */
    list = ibv_get_device_list(&count);
    CHECK(list != NULL && strcmp(ibv_get_device_name(list[0]), "mrc1") == 0);
    ibv_free_device_list(list);
}

void opens_and_closes(void)
{
    struct ibv_context *context = open_first();
    struct ibv_device *one = context->device;
    struct pollfd events = {context->async_fd, POLLIN, 0};

    CHECK(strcmp(ibv_get_device_name(one), "mrc0") == 0);
    CHECK(context->num_comp_vectors >= 1);
    CHECK_IS(context->cmd_fd, -1);
    CHECK_IS(pthread_mutex_lock(&context->mutex), 0);
    CHECK_IS(pthread_mutex_unlock(&context->mutex), 0);
    CHECK_IS(poll(&events, 1, 0), 0);
    CHECK_IS(fake_sessions(), 1);
    CHECK_IS(ibv_close_device(context), 0);
    CHECK_IS(fake_sessions(), 0);
    CHECK(fcntl(events.fd, F_GETFD) == -1);

    fake_refuse(EACCES);
    CHECK_FAILS(ibv_open_device(one), NULL, EACCES);
    fake_throw(1);
    CHECK_FAILS(ibv_open_device(one), NULL, ENOMEM);
    fake_throw(0);
    CHECK_FAILS(ibv_open_device(one), NULL, EIO);
    CHECK_IS(fake_sessions(), 0);
}

void queries_device(void)
{
    struct ibv_context *context = open_first();
    struct ibv_device_attr attributes;
    struct ibv_device_attr_ex more;
    __be64 guid;

    memcpy(&guid, FAKE_GUID_BYTES, sizeof(guid));
    CHECK(ibv_get_device_guid(context->device) == guid);
    CHECK_IS(ibv_query_device(context, &attributes), 0);
    CHECK_IS(attributes.phys_port_cnt, FAKE_PORTS);
    CHECK(attributes.node_guid == guid);
    CHECK_IS(attributes.max_qp, 1000);
    CHECK_IS(attributes.max_mr, FAKE_MAX_REGIONS);
    CHECK(attributes.max_cq > 0 && attributes.max_cqe > 0 && attributes.max_qp_wr > 0 && attributes.max_sge > 0);
    CHECK_IS(attributes.atomic_cap, IBV_ATOMIC_NONE);
    CHECK_IS(attributes.max_srq + attributes.max_ah + attributes.max_mw, 0);
    CHECK_IS(ibv_query_device_ex(context, NULL, &more), 0);
    CHECK(memcmp(&more.orig_attr, &attributes, sizeof(attributes)) == 0);
    CHECK_IS(more.phys_port_cnt_ex, FAKE_PORTS);
    CHECK_IS(more.odp_caps.general_caps, 0);
    fake_refuse(EIO);
    CHECK_FAILS(ibv_query_device(context, &attributes), EIO, EIO);
    CHECK_IS(ibv_close_device(context), 0);
}

void tells_capabilities_and_versions(void)
{
    struct ibv_context *context = open_first();
    struct ibv_device foreign_device;
    struct ibv_context foreign;
    struct mrc_device_attr attributes;
    struct mrc_context *some = (struct mrc_context *)&foreign; /* is only compared with NULL */
    uint32_t version[4] = {1, 1, 1, 1};
    int supported = -1;

    memset(&foreign_device, 0, sizeof(foreign_device));
    memset(&foreign, 0, sizeof(foreign));
    foreign.device = &foreign_device;
    CHECK_IS(mrc_query_device(context, &attributes, &supported), 0);
    CHECK(supported != 0);
    CHECK_IS(attributes.mrc_protocol_version, MRC_PROTOCOL_VERSION_1);
    CHECK(attributes.wimm_attr.max_wimm >= 128 && attributes.wimm_attr.max_wimm_dest >= 128);
    CHECK_IS(attributes.mpr_attr.max_mpr, 32);
    CHECK_IS(attributes.mpr_attr.mpr_resolution, 1);
    CHECK(attributes.qp_attr.max_qp_hint > 0);
    CHECK_IS(mrc_query_device_ex(context, some, &attributes, &supported), 0);
    CHECK(supported != 0);
    CHECK_FAILS(mrc_query_device_ex(context, NULL, &attributes, &supported), -1, EINVAL);
    CHECK_IS(mrc_query_device(&foreign, &attributes, &supported), 0);
    CHECK_IS(supported, 0);
    supported = -1;
    CHECK_IS(mrc_query_device_ex(&foreign, NULL, &attributes, &supported), 0);
    CHECK_IS(supported, 0);
    CHECK_FAILS(mrc_query_device(NULL, &attributes, &supported), -1, EINVAL);
    CHECK_FAILS(mrc_query_device(context, NULL, &supported), -1, EINVAL);
    CHECK_FAILS(mrc_query_device(context, &attributes, NULL), -1, EINVAL);

    mrc_query_version(&version[0], &version[1], &version[2], &version[3]);
    CHECK_IS(version[0], MRC_API_VER(1, 0, 1));
    CHECK_IS(version[1], 0);
    CHECK_IS(version[2], MRC_API_VER(1, 0, 0));
    CHECK_IS(version[3], 0);
    mrc_query_version(NULL, NULL, NULL, NULL);
    mrc_ctl_query_version(&version[0], &version[1], &version[2], &version[3]);
    CHECK_IS(version[0], MRC_CTL_API_VER(1, 0, 1));
    mrc_ctl_query_version(NULL, NULL, NULL, NULL);
    CHECK_IS(ibv_close_device(context), 0);
}
