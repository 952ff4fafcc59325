/* SPDX-License-Identifier: Apache-2.0 */
/* Protection domains and memory regions, and what a virtual device has not. */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "fake_daemon.h"
#include "verbs_conformance.h"

void registers_memory(void)
{
    static char memory[8192];
    struct ibv_context *context = open_first();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_mr *mr;
    const unsigned int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    volatile unsigned int not_constant = all;

    CHECK(pd != NULL && pd->context == context);
    mr = ibv_reg_mr(pd, memory, sizeof(memory), all);
    CHECK(mr != NULL && mr->context == context && mr->pd == pd && mr->addr == memory && mr->length == sizeof(memory));
    CHECK(mr->lkey != 0 && mr->rkey != 0);
    CHECK_IS(fake_last_access(), all);
    CHECK_IS(fake_last_iova(), (uintptr_t)memory);
    CHECK_FAILS(ibv_dealloc_pd(pd), EBUSY, EBUSY);
    CHECK_FAILS(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT, EOPNOTSUPP);
    CHECK_IS(ibv_dereg_mr(mr), 0);

    mr = ibv_reg_mr(pd, memory + 1, 1, all | IBV_ACCESS_RELAXED_ORDERING); /* ibv_reg_mr_iova2 */
    CHECK(mr != NULL);
    CHECK_IS(fake_last_access(), all);
    CHECK_IS(ibv_dereg_mr(mr), 0);
    mr = ibv_reg_mr(pd, memory, 1, not_constant);
    CHECK(mr != NULL);
    CHECK_IS(ibv_dereg_mr(mr), 0);
    mr = ibv_reg_mr_iova(pd, memory, 64, 0x10000, all);
    CHECK(mr != NULL);
    CHECK_IS(fake_last_iova(), 0x10000);
    CHECK_IS(ibv_dereg_mr(mr), 0);
    mr = ibv_reg_mr_iova(pd, memory, 64, 0x20000, not_constant);
    CHECK(mr != NULL);
    CHECK_IS(fake_last_iova(), 0x20000);
    CHECK_IS(ibv_dereg_mr(mr), 0);
    CHECK_IS(ibv_dealloc_pd(pd), 0);
    CHECK_IS(fake_regions() + fake_domains(), 0);
    CHECK_IS(ibv_close_device(context), 0);
}

void refuses_bad_regions(void)
{
    static char memory[64];
    struct ibv_context *context = open_first();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_mr *mr[FAKE_MAX_REGIONS];

    CHECK_FAILS(ibv_reg_mr(pd, memory, 64, IBV_ACCESS_REMOTE_WRITE), NULL, EINVAL);
    CHECK_FAILS(ibv_reg_mr(pd, memory, 64, IBV_ACCESS_REMOTE_ATOMIC), NULL, EINVAL);
    CHECK_FAILS(ibv_reg_mr(pd, memory, 64, IBV_ACCESS_MW_BIND), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_reg_mr(pd, memory, 64, IBV_ACCESS_ZERO_BASED), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_reg_mr(pd, memory, 64, IBV_ACCESS_ON_DEMAND), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_reg_mr(pd, memory, 64, IBV_ACCESS_HUGETLB), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_reg_mr(pd, memory, 64, 1 << 19), NULL, EINVAL);
    CHECK_FAILS(ibv_reg_mr(pd, memory, 0, 0), NULL, EINVAL);
    CHECK_FAILS(ibv_reg_mr(pd, memory, SIZE_MAX, 0), NULL, EINVAL);
    CHECK_FAILS(ibv_reg_mr_iova(pd, memory, 64, UINT64_MAX - 8, 0), NULL, EINVAL);
    CHECK_FAILS(ibv_reg_mr(pd, NULL, 64, 0), NULL, EFAULT);
    CHECK_FAILS(ibv_reg_dmabuf_mr(pd, 0, 64, 0, -1, 0), NULL, EOPNOTSUPP);
    for (int i = 0; i < FAKE_MAX_REGIONS; ++i)
        mr[i] = ibv_reg_mr(pd, memory, 64, 0);
    CHECK_FAILS(ibv_reg_mr(pd, memory, 64, 0), NULL, ENOMEM);
    fake_refuse(EIO);
    CHECK_FAILS(ibv_dereg_mr(mr[0]), EIO, EIO); /* and it is still there */
    for (int i = 0; i < FAKE_MAX_REGIONS; ++i)
        CHECK_IS(ibv_dereg_mr(mr[i]), 0);
    CHECK_IS(ibv_dealloc_pd(pd), 0);
    fake_refuse(ENOMEM);
    CHECK_FAILS(ibv_alloc_pd(context), NULL, ENOMEM);
    fake_throw(1);
    CHECK_FAILS(ibv_alloc_pd(context), NULL, ENOMEM);
    CHECK_IS(ibv_close_device(context), 0);
}

void refuses_what_it_has_not(void)
{
    struct ibv_context *context = open_first();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_qp_init_attr qp;
    struct ibv_srq_init_attr srq;
    struct ibv_ah_attr ah;
    struct ibv_wc wc;
    struct ibv_alloc_dm_attr dm;
    struct ibv_parent_domain_init_attr parent;
    struct ibv_td_init_attr td;
    struct ibv_cq_init_attr_ex cq;
    struct ibv_values_ex values;
    struct ibv_counters_init_attr counters;
    uint8_t mac[6];
    uint16_t vlan;

    memset(&qp, 0, sizeof(qp));
    memset(&srq, 0, sizeof(srq));
    memset(&ah, 0, sizeof(ah));
    memset(&wc, 0, sizeof(wc));
    memset(&dm, 0, sizeof(dm));
    memset(&parent, 0, sizeof(parent));
    memset(&td, 0, sizeof(td));
    memset(&cq, 0, sizeof(cq));
    memset(&values, 0, sizeof(values));
    memset(&counters, 0, sizeof(counters));
    cq.cqe = 1;
    CHECK_FAILS(ibv_create_cq_ex(context, &cq), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_create_qp(pd, &qp), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_create_srq(pd, &srq), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_create_ah(pd, &ah), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_create_ah_from_wc(pd, &wc, NULL, 1), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_init_ah_from_wc(context, 1, &wc, NULL, &ah), -1, EOPNOTSUPP);
    CHECK_FAILS(ibv_resolve_eth_l2_from_gid(context, &ah, mac, &vlan), EOPNOTSUPP, EOPNOTSUPP);
    CHECK_FAILS(ibv_import_pd(context, 1), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_import_mr(pd, 1), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_import_dm(context, 1), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_alloc_mw(pd, IBV_MW_TYPE_1), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_alloc_dm(context, &dm), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_alloc_null_mr(pd), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_alloc_td(context, &td), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_alloc_parent_domain(context, &parent), NULL, EOPNOTSUPP);
    CHECK_FAILS(ibv_create_counters(context, &counters), NULL, EOPNOTSUPP);
    CHECK_IS(ibv_query_rt_values_ex(context, &values), EOPNOTSUPP);
    CHECK_IS(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0), EOPNOTSUPP);
    CHECK_IS(ibv_dealloc_pd(pd), 0);
    CHECK_IS(ibv_close_device(context), 0);
}
