/* SPDX-License-Identifier: Apache-2.0 */
#include "stand_in.h"

#include <errno.h>
#include <stdlib.h>

/* No <infiniband/verbs.h>: the functions below have no prototypes of their own, only names. */

static const char *called = "";
static const void *object;
static int without_kernel;
static int lists;

static long real0[128]; /* as large as struct ibv_device */

const char *stand_in_called(void)
{
    const char *last = called;
    called = "";
    return last;
}

const void *stand_in_object(void)
{
    return object;
}

void stand_in_without_kernel(int without)
{
    without_kernel = without;
}

int stand_in_lists(void)
{
    return lists;
}

void **ibv_get_device_list(int *count);
void ibv_free_device_list(void **list);

void **ibv_get_device_list(int *count)
{
    void **list = without_kernel ? NULL : calloc(2, sizeof(*list));

    called = __func__;
    if (list == NULL) {
        errno = ENOSYS;
        return NULL;
    }
    ++lists;
    list[0] = real0;
    if (count != NULL)
        *count = 1;
    return list;
}

void ibv_free_device_list(void **list)
{
    called = __func__;
    object = list;
    --lists;
    free(list);
}

#define ANSWER(name)                                                                                                   \
    uintptr_t name(const void *first);                                                                                 \
    uintptr_t name(const void *first)                                                                                  \
    {                                                                                                                  \
        called = #name;                                                                                                \
        object = first;                                                                                                \
        return STAND_IN_ANSWER;                                                                                        \
    }

ANSWER(ibv_get_device_name)
ANSWER(ibv_get_device_guid)
ANSWER(ibv_get_device_index)
ANSWER(ibv_open_device)
ANSWER(ibv_close_device)
ANSWER(ibv_get_async_event)
ANSWER(ibv_query_device)
ANSWER(ibv_query_port)
ANSWER(ibv_query_port_speed)
ANSWER(ibv_query_gid)
ANSWER(_ibv_query_gid_ex)
ANSWER(_ibv_query_gid_table)
ANSWER(ibv_query_gid_type)
ANSWER(ibv_query_pkey)
ANSWER(ibv_get_pkey_index)
ANSWER(ibv_alloc_pd)
ANSWER(ibv_dealloc_pd)
ANSWER(ibv_import_pd)
ANSWER(ibv_reg_mr)
ANSWER(ibv_reg_mr_iova)
ANSWER(ibv_reg_mr_iova2)
ANSWER(ibv_reg_mr_ex)
ANSWER(ibv_reg_dmabuf_mr)
ANSWER(ibv_rereg_mr)
ANSWER(ibv_dereg_mr)
ANSWER(ibv_import_mr)
ANSWER(ibv_import_dm)
ANSWER(ibv_alloc_dmah)
ANSWER(ibv_alloc_buf)
ANSWER(ibv_reg_buf_mr)
ANSWER(ibv_create_comp_channel)
ANSWER(ibv_destroy_comp_channel)
ANSWER(ibv_create_cq)
ANSWER(ibv_resize_cq)
ANSWER(ibv_destroy_cq)
ANSWER(ibv_get_cq_event)
ANSWER(ibv_create_srq)
ANSWER(ibv_create_qp)
ANSWER(ibv_modify_qp)
ANSWER(ibv_query_qp)
ANSWER(ibv_destroy_qp)
ANSWER(ibv_qp_to_qp_ex)
ANSWER(ibv_query_qp_data_in_order)
ANSWER(ibv_query_ece)
ANSWER(ibv_set_ece)
ANSWER(ibv_attach_mcast)
ANSWER(ibv_detach_mcast)
ANSWER(ibv_create_ah)
ANSWER(ibv_create_ah_from_wc)
ANSWER(ibv_init_ah_from_wc)
ANSWER(ibv_resolve_eth_l2_from_gid)
ANSWER(_ibv_query_comp_cntr_caps)
ANSWER(ibv_create_comp_cntr)
