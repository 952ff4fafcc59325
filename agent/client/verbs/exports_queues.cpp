// SPDX-License-Identifier: Apache-2.0
// Verbs' own queues, which virtual devices do not have: theirs are mrc.h's.
#include "client/verbs/exports.h"

using namespace mrc::client; // NOLINT(google-build-using-namespace): every line below would begin with it

extern "C" {

MRC_OFFER("ibv_create_comp_channel", "1.0") ibv_comp_channel *shim_create_comp_channel(ibv_context *context)
{
    return ours(context)
               ? unsupported<ibv_comp_channel *>()
               : real_verb<&shim_create_comp_channel>::call("ibv_create_comp_channel", "IBVERBS_1.0", nullptr, context);
}

MRC_OFFER("ibv_create_cq", "1.1")
ibv_cq *shim_create_cq(ibv_context *context, int entries, void *cq_context, ibv_comp_channel *channel, int vector)
{
    return ours(context) ? unsupported<ibv_cq *>()
                         : real_verb<&shim_create_cq>::call("ibv_create_cq", "IBVERBS_1.1", nullptr, context, entries,
                                                            cq_context, channel, vector);
}

MRC_OFFER("ibv_create_srq", "1.1") ibv_srq *shim_create_srq(ibv_pd *pd, ibv_srq_init_attr *attributes)
{
    return ours(pd) ? unsupported<ibv_srq *>()
                    : real_verb<&shim_create_srq>::call("ibv_create_srq", "IBVERBS_1.1", nullptr, pd, attributes);
}

MRC_OFFER("ibv_create_qp", "1.1") ibv_qp *shim_create_qp(ibv_pd *pd, ibv_qp_init_attr *attributes)
{
    return ours(pd) ? unsupported<ibv_qp *>()
                    : real_verb<&shim_create_qp>::call("ibv_create_qp", "IBVERBS_1.1", nullptr, pd, attributes);
}

MRC_OFFER("ibv_create_ah", "1.1") ibv_ah *shim_create_ah(ibv_pd *pd, ibv_ah_attr *attributes)
{
    return ours(pd) ? unsupported<ibv_ah *>()
                    : real_verb<&shim_create_ah>::call("ibv_create_ah", "IBVERBS_1.1", nullptr, pd, attributes);
}

MRC_OFFER("ibv_create_ah_from_wc", "1.1")
ibv_ah *shim_create_ah_from_wc(ibv_pd *pd, ibv_wc *completion, ibv_grh *header, std::uint8_t port)
{
    return ours(pd) ? unsupported<ibv_ah *>()
                    : real_verb<&shim_create_ah_from_wc>::call("ibv_create_ah_from_wc", "IBVERBS_1.1", nullptr, pd,
                                                               completion, header, port);
}

MRC_OFFER("ibv_init_ah_from_wc", "1.1")
int shim_init_ah_from_wc(ibv_context *context, std::uint8_t port, ibv_wc *completion, ibv_grh *header,
                         ibv_ah_attr *attributes)
{
    return ours(context) ? unsupported_code(-1)
                         : real_verb<&shim_init_ah_from_wc>::call("ibv_init_ah_from_wc", "IBVERBS_1.1", -1, context,
                                                                  port, completion, header, attributes);
}

MRC_OFFER("ibv_resolve_eth_l2_from_gid", "1.1")
int shim_resolve_eth_l2_from_gid(ibv_context *context, ibv_ah_attr *attributes, std::uint8_t *mac, std::uint16_t *vlan)
{
    return ours(context) ? unsupported_code(EOPNOTSUPP)
                         : real_verb<&shim_resolve_eth_l2_from_gid>::call("ibv_resolve_eth_l2_from_gid", "IBVERBS_1.1",
                                                                          ENOSYS, context, attributes, mac, vlan);
}

MRC_OFFER("_ibv_query_comp_cntr_caps", "1.18")
int shim_query_comp_cntr_caps(ibv_context *context, ibv_comp_cntr_caps *capabilities, std::size_t size)
{
    return ours(context) ? unsupported_code(EOPNOTSUPP)
                         : real_verb<&shim_query_comp_cntr_caps>::call("_ibv_query_comp_cntr_caps", "IBVERBS_1.18",
                                                                       ENOSYS, context, capabilities, size);
}

MRC_OFFER("ibv_create_comp_cntr", "1.18")
ibv_comp_cntr *shim_create_comp_cntr(ibv_context *context, ibv_comp_cntr_init_attr *attributes)
{
    return ours(context) ? unsupported<ibv_comp_cntr *>()
                         : real_verb<&shim_create_comp_cntr>::call("ibv_create_comp_cntr", "IBVERBS_1.18", nullptr,
                                                                   context, attributes);
}

} // extern "C"
