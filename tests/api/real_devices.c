/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real RDMA devices beside virtual ones: what belongs to them reaches libibverbs, function by function. Linked with
 * libmrc (of fake daemons), then with a stand-in for libibverbs.
 */
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "check.h"
#include "fake_daemon.h"
#include "stand_in.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

int check_failures = 0;

/* Functions that verbs.h of Debian 12 does not declare yet, by names that newer ones cannot clash with. */
uintptr_t new_query_port_speed(void *context, uint32_t port, uint64_t *speed) __asm__("ibv_query_port_speed");
uintptr_t new_query_gid_type(void *context, uint8_t port, unsigned int index, int *type) __asm__("ibv_query_gid_type");
uintptr_t new_alloc_dmah(void *context, void *attributes) __asm__("ibv_alloc_dmah");
uintptr_t new_reg_mr_ex(void *pd, void *attributes) __asm__("ibv_reg_mr_ex");
uintptr_t new_alloc_buf(void *pd, size_t size, void **buffer) __asm__("ibv_alloc_buf");
uintptr_t new_reg_buf_mr(void *pd, void *buffer, void *at, size_t length, int access) __asm__("ibv_reg_buf_mr");
uintptr_t new_query_comp_cntr_caps(void *context, void *caps, size_t size) __asm__("_ibv_query_comp_cntr_caps");
uintptr_t new_create_comp_cntr(void *context, void *attributes) __asm__("ibv_create_comp_cntr");

static void reached(const char *name, const void *object, uintptr_t answer)
{
    const char *called = stand_in_called();

    if (strcmp(called, name) != 0 || stand_in_object() != object || answer != STAND_IN_ANSWER) {
        fprintf(stderr, "%s came to '%s' with %s object and the answer %#lx\n", name, called,
                stand_in_object() == object ? "its" : "another", (unsigned long)answer);
        ++check_failures;
    }
}

/* Pointers and numbers of all widths are the same register. */
#define REACHES(name, object, call) reached(name, object, (uintptr_t)(call))

static void context_functions(struct ibv_context *context)
{
    REACHES("ibv_close_device", context, ibv_close_device(context));
    REACHES("ibv_get_async_event", context, ibv_get_async_event(context, NULL));
    REACHES("ibv_query_device", context, ibv_query_device(context, NULL));
    REACHES("ibv_query_port", context, ibv_query_port(context, 1, NULL));
    REACHES("ibv_query_port_speed", context, new_query_port_speed(context, 1, NULL));
    REACHES("ibv_query_gid", context, ibv_query_gid(context, 1, 0, NULL));
    REACHES("_ibv_query_gid_ex", context, _ibv_query_gid_ex(context, 1, 0, NULL, 0, 0));
    REACHES("_ibv_query_gid_table", context, _ibv_query_gid_table(context, NULL, 0, 0, 0));
    REACHES("ibv_query_gid_type", context, new_query_gid_type(context, 1, 0, NULL));
    REACHES("ibv_query_pkey", context, ibv_query_pkey(context, 1, 0, NULL));
    REACHES("ibv_get_pkey_index", context, ibv_get_pkey_index(context, 1, 0));
    REACHES("ibv_alloc_pd", context, ibv_alloc_pd(context));
    REACHES("ibv_import_pd", context, ibv_import_pd(context, 0));
    REACHES("ibv_import_dm", context, ibv_import_dm(context, 0));
    REACHES("ibv_alloc_dmah", context, new_alloc_dmah(context, NULL));
    REACHES("ibv_create_comp_channel", context, ibv_create_comp_channel(context));
    REACHES("ibv_create_cq", context, ibv_create_cq(context, 1, NULL, NULL, 0));
    REACHES("ibv_init_ah_from_wc", context, ibv_init_ah_from_wc(context, 1, NULL, NULL, NULL));
    REACHES("ibv_resolve_eth_l2_from_gid", context, ibv_resolve_eth_l2_from_gid(context, NULL, NULL, NULL));
    REACHES("_ibv_query_comp_cntr_caps", context, new_query_comp_cntr_caps(context, NULL, 0));
    REACHES("ibv_create_comp_cntr", context, new_create_comp_cntr(context, NULL));
}

static void memory_functions(struct ibv_pd *pd, struct ibv_mr *mr)
{
    REACHES("ibv_dealloc_pd", pd, ibv_dealloc_pd(pd));
    REACHES("ibv_reg_mr", pd, ibv_reg_mr(pd, NULL, 0, 0));
    REACHES("ibv_reg_mr_iova", pd, ibv_reg_mr_iova(pd, NULL, 0, 0, 0));
    REACHES("ibv_reg_mr_iova2", pd, ibv_reg_mr_iova2(pd, NULL, 0, 0, 0));
    REACHES("ibv_reg_mr_ex", pd, new_reg_mr_ex(pd, NULL));
    REACHES("ibv_reg_dmabuf_mr", pd, ibv_reg_dmabuf_mr(pd, 0, 0, 0, 0, 0));
    REACHES("ibv_rereg_mr", mr, ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0));
    REACHES("ibv_dereg_mr", mr, ibv_dereg_mr(mr));
    REACHES("ibv_import_mr", pd, ibv_import_mr(pd, 0));
    REACHES("ibv_alloc_buf", pd, new_alloc_buf(pd, 0, NULL));
    REACHES("ibv_reg_buf_mr", pd, new_reg_buf_mr(pd, NULL, NULL, 0, 0));
    REACHES("ibv_create_srq", pd, ibv_create_srq(pd, NULL));
    REACHES("ibv_create_qp", pd, ibv_create_qp(pd, NULL));
    REACHES("ibv_create_ah", pd, ibv_create_ah(pd, NULL));
    REACHES("ibv_create_ah_from_wc", pd, ibv_create_ah_from_wc(pd, NULL, NULL, 0));
}

static void queue_functions(struct ibv_context *context)
{
    struct ibv_comp_channel channel;
    struct ibv_cq cq;
    struct ibv_qp qp;

    memset(&channel, 0, sizeof(channel));
    memset(&cq, 0, sizeof(cq));
    memset(&qp, 0, sizeof(qp));
    channel.context = context;
    cq.context = context;
    qp.context = context;
    REACHES("ibv_destroy_comp_channel", &channel, ibv_destroy_comp_channel(&channel));
    REACHES("ibv_get_cq_event", &channel, ibv_get_cq_event(&channel, NULL, NULL));
    REACHES("ibv_resize_cq", &cq, ibv_resize_cq(&cq, 1));
    REACHES("ibv_destroy_cq", &cq, ibv_destroy_cq(&cq));
    REACHES("ibv_modify_qp", &qp, ibv_modify_qp(&qp, NULL, 0));
    REACHES("ibv_query_qp", &qp, ibv_query_qp(&qp, NULL, 0, NULL));
    REACHES("ibv_destroy_qp", &qp, ibv_destroy_qp(&qp));
    REACHES("ibv_qp_to_qp_ex", &qp, ibv_qp_to_qp_ex(&qp));
    REACHES("ibv_query_qp_data_in_order", &qp, ibv_query_qp_data_in_order(&qp, IBV_WR_RDMA_WRITE, 0));
    REACHES("ibv_query_ece", &qp, ibv_query_ece(&qp, NULL));
    REACHES("ibv_set_ece", &qp, ibv_set_ece(&qp, NULL));
    REACHES("ibv_attach_mcast", &qp, ibv_attach_mcast(&qp, NULL, 0));
    REACHES("ibv_detach_mcast", &qp, ibv_detach_mcast(&qp, NULL, 0));
}

static void real_devices_come_last(void)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    struct ibv_context foreign;
    struct ibv_pd pd;
    struct ibv_mr mr;

    CHECK_IS(count, 2);
    CHECK(strcmp(ibv_get_device_name(list[0]), "mrc0") == 0);
    CHECK(list[2] == NULL);
    CHECK_IS(stand_in_lists(), 1);
    (void)stand_in_called();
    REACHES("ibv_get_device_name", list[1], ibv_get_device_name(list[1]));
    REACHES("ibv_get_device_guid", list[1], ibv_get_device_guid(list[1]));
    REACHES("ibv_get_device_index", list[1], ibv_get_device_index(list[1]));
    REACHES("ibv_open_device", list[1], ibv_open_device(list[1]));
    memset(&foreign, 0, sizeof(foreign));
    memset(&pd, 0, sizeof(pd));
    memset(&mr, 0, sizeof(mr));
    foreign.device = list[1];
    pd.context = &foreign;
    mr.context = &foreign;
    mr.pd = &pd;
    context_functions(&foreign);
    memory_functions(&pd, &mr);
    queue_functions(&foreign);
    ibv_free_device_list(list);
    CHECK_IS(stand_in_lists(), 0); /* the real library's array goes with ours */
}

static void only_real_devices_without_daemon(void)
{
    int count = 0;
    struct ibv_device **list;

    fake_daemons(0);
    list = ibv_get_device_list(&count);
    CHECK_IS(count, 1);
    CHECK_IS(stand_in_lists(), 1);
    ibv_free_device_list(list);
    CHECK_IS(stand_in_lists(), 0);
    fake_daemons(1);
    fake_refuse(EACCES); /* to this user: the others are there */
    list = ibv_get_device_list(&count);
    CHECK(list != NULL && count == 1);
    ibv_free_device_list(list);
    stand_in_without_kernel(1);
    fake_refuse(EACCES);
    CHECK_FAILS(ibv_get_device_list(&count), NULL, EACCES);
    CHECK_IS(count, 0);
    fake_daemons(0);
    CHECK_FAILS(ibv_get_device_list(&count), NULL, ENOSYS);
}

static void virtual_devices_without_real_ones(void)
{
    int count = 0;
    struct ibv_device **list;

    fake_daemons(1);
    stand_in_without_kernel(1);
    errno = 0;
    list = ibv_get_device_list(&count);
    CHECK(list != NULL);
    CHECK_IS(errno, 0); /* the real library's ENOSYS is nobody's business */
    CHECK_IS(count, 1);
    CHECK(list[1] == NULL);
    ibv_free_device_list(list);
    stand_in_without_kernel(0);
}

/* What the real library says of our objects would be nonsense: it is never asked. */
static void virtual_objects_stay_here(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_pd *pd;
    uint64_t speed = 0;
    int type = -1;
    /* ibv_mr_init_attr: length, access, mask, iova, addr */
    char memory[64];
    struct {
        size_t length;
        int access;
        uint64_t mask;
        uint64_t iova;
        void *address;
    } request = {sizeof(memory), IBV_ACCESS_LOCAL_WRITE, 2, 0x5000, memory};
    struct ibv_mr *mr;

    ibv_free_device_list(list);
    (void)stand_in_called();
    pd = ibv_alloc_pd(context);
    CHECK_IS(new_query_port_speed(context, 1, &speed), 0);
    CHECK_IS(speed, 1000); /* hundreds of Mb/s */
    CHECK_IS(new_query_gid_type(context, 1, 0, &type), 0);
    CHECK_IS(type, 1);
    mr = (struct ibv_mr *)new_reg_mr_ex(pd, &request);
    CHECK(mr != NULL && mr->addr == memory);
    CHECK_IS(fake_last_iova(), (uintptr_t)memory);
    CHECK_IS(ibv_dereg_mr(mr), 0);
    request.mask = 3;
    mr = (struct ibv_mr *)new_reg_mr_ex(pd, &request);
    CHECK_IS(fake_last_iova(), 0x5000);
    CHECK_IS(ibv_dereg_mr(mr), 0);
    request.mask = 4;
    CHECK_FAILS(new_reg_mr_ex(pd, &request), 0, EOPNOTSUPP);
    request.mask = 1;
    CHECK_FAILS(new_reg_mr_ex(pd, &request), 0, EINVAL);
    CHECK_FAILS(new_alloc_dmah(context, NULL), 0, EOPNOTSUPP);
    CHECK_FAILS(new_alloc_buf(pd, 1, NULL), 0, EOPNOTSUPP);
    CHECK_FAILS(new_reg_buf_mr(pd, NULL, NULL, 0, 0), 0, EOPNOTSUPP);
    CHECK_FAILS(new_create_comp_cntr(context, NULL), 0, EOPNOTSUPP);
    CHECK_FAILS((int)new_query_comp_cntr_caps(context, NULL, 0), EOPNOTSUPP, EOPNOTSUPP);
    CHECK_IS(ibv_dealloc_pd(pd), 0);
    CHECK_IS(ibv_close_device(context), 0);
    CHECK(strcmp(stand_in_called(), "") == 0);
}

int main(void)
{
    fake_reset();
    real_devices_come_last();
    only_real_devices_without_daemon();
    virtual_devices_without_real_ones();
    virtual_objects_stay_here();
    return check_failures == 0 ? 0 : 1;
}
