// SPDX-License-Identifier: Apache-2.0
// Protection domains and memory regions.
#include "client/verbs/exports.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

using namespace mrc::client; // NOLINT(google-build-using-namespace): every line below would begin with it

namespace
{

std::uint64_t same_address(const void *address)
{
    return reinterpret_cast<std::uintptr_t>(address);
}

} // namespace

extern "C" {

MRC_OFFER("ibv_alloc_pd", "1.1") ibv_pd *shim_alloc_pd(ibv_context *context)
{
    return ours(context) ? verbs::alloc_pd(context)
                         : real_verb<&shim_alloc_pd>::call("ibv_alloc_pd", "IBVERBS_1.1", nullptr, context);
}

MRC_OFFER("ibv_dealloc_pd", "1.1") int shim_dealloc_pd(ibv_pd *pd)
{
    return ours(pd) ? verbs::dealloc_pd(pd)
                    : real_verb<&shim_dealloc_pd>::call("ibv_dealloc_pd", "IBVERBS_1.1", ENOSYS, pd);
}

MRC_OFFER("ibv_import_pd", "1.10") ibv_pd *shim_import_pd(ibv_context *context, std::uint32_t handle)
{
    return ours(context) ? unsupported<ibv_pd *>()
                         : real_verb<&shim_import_pd>::call("ibv_import_pd", "IBVERBS_1.10", nullptr, context, handle);
}

MRC_OFFER("ibv_reg_mr", "1.1") ibv_mr *shim_reg_mr(ibv_pd *pd, void *address, std::size_t length, int access)
{
    return ours(pd) ? verbs::reg_mr(pd, address, length, same_address(address), static_cast<unsigned int>(access))
                    : real_verb<&shim_reg_mr>::call("ibv_reg_mr", "IBVERBS_1.1", nullptr, pd, address, length, access);
}

MRC_OFFER("ibv_reg_mr_iova", "1.7")
ibv_mr *shim_reg_mr_iova(ibv_pd *pd, void *address, std::size_t length, std::uint64_t iova, int access)
{
    return ours(pd) ? verbs::reg_mr(pd, address, length, iova, static_cast<unsigned int>(access))
                    : real_verb<&shim_reg_mr_iova>::call("ibv_reg_mr_iova", "IBVERBS_1.7", nullptr, pd, address, length,
                                                         iova, access);
}

MRC_OFFER("ibv_reg_mr_iova2", "1.8")
ibv_mr *shim_reg_mr_iova2(ibv_pd *pd, void *address, std::size_t length, std::uint64_t iova, unsigned int access)
{
    return ours(pd) ? verbs::reg_mr(pd, address, length, iova, access)
                    : real_verb<&shim_reg_mr_iova2>::call("ibv_reg_mr_iova2", "IBVERBS_1.8", nullptr, pd, address,
                                                          length, iova, access);
}

MRC_OFFER("ibv_reg_mr_ex", "1.15") ibv_mr *shim_reg_mr_ex(ibv_pd *pd, region_request *request)
{
    return ours(pd) ? verbs::reg_mr_ex(pd, request)
                    : real_verb<&shim_reg_mr_ex>::call("ibv_reg_mr_ex", "IBVERBS_1.15", nullptr, pd, request);
}

MRC_OFFER("ibv_reg_dmabuf_mr", "1.12")
ibv_mr *shim_reg_dmabuf_mr(ibv_pd *pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd, int access)
{
    return ours(pd) ? unsupported<ibv_mr *>()
                    : real_verb<&shim_reg_dmabuf_mr>::call("ibv_reg_dmabuf_mr", "IBVERBS_1.12", nullptr, pd, offset,
                                                           length, iova, fd, access);
}

MRC_OFFER("ibv_rereg_mr", "1.1")
int shim_rereg_mr(ibv_mr *mr, int flags, ibv_pd *pd, void *address, std::size_t length, int access)
{
    return ours(mr) ? unsupported_code(IBV_REREG_MR_ERR_INPUT)
                    : real_verb<&shim_rereg_mr>::call("ibv_rereg_mr", "IBVERBS_1.1", IBV_REREG_MR_ERR_INPUT, mr, flags,
                                                      pd, address, length, access);
}

MRC_OFFER("ibv_dereg_mr", "1.1") int shim_dereg_mr(ibv_mr *mr)
{
    return ours(mr) ? verbs::dereg_mr(mr) : real_verb<&shim_dereg_mr>::call("ibv_dereg_mr", "IBVERBS_1.1", ENOSYS, mr);
}

MRC_OFFER("ibv_import_mr", "1.10") ibv_mr *shim_import_mr(ibv_pd *pd, std::uint32_t handle)
{
    return ours(pd) ? unsupported<ibv_mr *>()
                    : real_verb<&shim_import_mr>::call("ibv_import_mr", "IBVERBS_1.10", nullptr, pd, handle);
}

MRC_OFFER("ibv_import_dm", "1.13") ibv_dm *shim_import_dm(ibv_context *context, std::uint32_t handle)
{
    return ours(context) ? unsupported<ibv_dm *>()
                         : real_verb<&shim_import_dm>::call("ibv_import_dm", "IBVERBS_1.13", nullptr, context, handle);
}

MRC_OFFER("ibv_alloc_dmah", "1.15") ibv_dmah *shim_alloc_dmah(ibv_context *context, ibv_dmah_init_attr *attributes)
{
    return ours(context)
               ? unsupported<ibv_dmah *>()
               : real_verb<&shim_alloc_dmah>::call("ibv_alloc_dmah", "IBVERBS_1.15", nullptr, context, attributes);
}

MRC_OFFER("ibv_alloc_buf", "1.17") void *shim_alloc_buf(ibv_pd *pd, std::size_t size, ibv_buf **buffer)
{
    return ours(pd) ? unsupported<void *>()
                    : real_verb<&shim_alloc_buf>::call("ibv_alloc_buf", "IBVERBS_1.17", nullptr, pd, size, buffer);
}

MRC_OFFER("ibv_reg_buf_mr", "1.17")
ibv_mr *shim_reg_buf_mr(ibv_pd *pd, ibv_buf *buffer, void *address, std::size_t length, int access)
{
    return ours(pd) ? unsupported<ibv_mr *>()
                    : real_verb<&shim_reg_buf_mr>::call("ibv_reg_buf_mr", "IBVERBS_1.17", nullptr, pd, buffer, address,
                                                        length, access);
}

} // extern "C"
