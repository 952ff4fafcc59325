// SPDX-License-Identifier: Apache-2.0
// Verbs' own queues (verbs/queues.h), and what virtual devices have none of.
#include "client/verbs/exports.h"
#include "client/verbs/queues.h"

using namespace mrc::client; // NOLINT(google-build-using-namespace): every line below would begin with it

extern "C" {

MRC_OFFER("ibv_create_comp_channel", "1.0") ibv_comp_channel *shim_create_comp_channel(ibv_context *context)
{
    return ours(context)
               ? verbs::create_comp_channel(context)
               : real_verb<&shim_create_comp_channel>::call("ibv_create_comp_channel", "IBVERBS_1.0", nullptr, context);
}

MRC_OFFER("ibv_destroy_comp_channel", "1.0") int shim_destroy_comp_channel(ibv_comp_channel *channel)
{
    return ours(channel) ? verbs::destroy_comp_channel(channel)
                         : real_verb<&shim_destroy_comp_channel>::call("ibv_destroy_comp_channel", "IBVERBS_1.0",
                                                                       ENOSYS, channel);
}

MRC_OFFER("ibv_create_cq", "1.1")
ibv_cq *shim_create_cq(ibv_context *context, int entries, void *cq_context, ibv_comp_channel *channel, int vector)
{
    return ours(context) ? verbs::create_cq(context, entries, cq_context, channel, vector)
                         : real_verb<&shim_create_cq>::call("ibv_create_cq", "IBVERBS_1.1", nullptr, context, entries,
                                                            cq_context, channel, vector);
}

MRC_OFFER("ibv_resize_cq", "1.1") int shim_resize_cq(ibv_cq *cq, int entries)
{
    return ours(cq) ? unsupported_code(EOPNOTSUPP)
                    : real_verb<&shim_resize_cq>::call("ibv_resize_cq", "IBVERBS_1.1", ENOSYS, cq, entries);
}

MRC_OFFER("ibv_destroy_cq", "1.1") int shim_destroy_cq(ibv_cq *cq)
{
    return ours(cq) ? verbs::destroy_cq(cq)
                    : real_verb<&shim_destroy_cq>::call("ibv_destroy_cq", "IBVERBS_1.1", ENOSYS, cq);
}

MRC_OFFER("ibv_get_cq_event", "1.1") int shim_get_cq_event(ibv_comp_channel *channel, ibv_cq **cq, void **cq_context)
{
    return ours(channel)
               ? verbs::get_cq_event(channel, cq, cq_context)
               : real_verb<&shim_get_cq_event>::call("ibv_get_cq_event", "IBVERBS_1.1", -1, channel, cq, cq_context);
}

MRC_OFFER("ibv_create_srq", "1.1") ibv_srq *shim_create_srq(ibv_pd *pd, ibv_srq_init_attr *attributes)
{
    return ours(pd) ? unsupported<ibv_srq *>()
                    : real_verb<&shim_create_srq>::call("ibv_create_srq", "IBVERBS_1.1", nullptr, pd, attributes);
}

MRC_OFFER("ibv_create_qp", "1.1") ibv_qp *shim_create_qp(ibv_pd *pd, ibv_qp_init_attr *attributes)
{
    return ours(pd) ? verbs::create_qp(pd, attributes)
                    : real_verb<&shim_create_qp>::call("ibv_create_qp", "IBVERBS_1.1", nullptr, pd, attributes);
}

MRC_OFFER("ibv_modify_qp", "1.1") int shim_modify_qp(ibv_qp *qp, ibv_qp_attr *attributes, int mask)
{
    return ours(qp) ? verbs::modify_qp(qp, attributes, mask)
                    : real_verb<&shim_modify_qp>::call("ibv_modify_qp", "IBVERBS_1.1", ENOSYS, qp, attributes, mask);
}

MRC_OFFER("ibv_query_qp", "1.1")
int shim_query_qp(ibv_qp *qp, ibv_qp_attr *attributes, int mask, ibv_qp_init_attr *init)
{
    return ours(qp)
               ? verbs::query_qp(qp, attributes, init) // as others, all attributes whatever the mask
               : real_verb<&shim_query_qp>::call("ibv_query_qp", "IBVERBS_1.1", ENOSYS, qp, attributes, mask, init);
}

MRC_OFFER("ibv_destroy_qp", "1.1") int shim_destroy_qp(ibv_qp *qp)
{
    return ours(qp) ? verbs::destroy_qp(qp)
                    : real_verb<&shim_destroy_qp>::call("ibv_destroy_qp", "IBVERBS_1.1", ENOSYS, qp);
}

// The interface of ibv_wr_start and its like goes with ibv_create_qp_ex, which ours do not have.
MRC_OFFER("ibv_qp_to_qp_ex", "1.6") ibv_qp_ex *shim_qp_to_qp_ex(ibv_qp *qp)
{
    return ours(qp) ? nullptr : real_verb<&shim_qp_to_qp_ex>::call("ibv_qp_to_qp_ex", "IBVERBS_1.6", nullptr, qp);
}

MRC_OFFER("ibv_query_qp_data_in_order", "1.14")
int shim_query_qp_data_in_order(ibv_qp *qp, ibv_wr_opcode opcode, std::uint32_t flags)
{
    return ours(qp) ? 0 // not to be relied on
                    : real_verb<&shim_query_qp_data_in_order>::call("ibv_query_qp_data_in_order", "IBVERBS_1.14", 0, qp,
                                                                    opcode, flags);
}

MRC_OFFER("ibv_query_ece", "1.10") int shim_query_ece(ibv_qp *qp, ibv_ece *enhancements)
{
    return ours(qp) ? unsupported_code(EOPNOTSUPP)
                    : real_verb<&shim_query_ece>::call("ibv_query_ece", "IBVERBS_1.10", ENOSYS, qp, enhancements);
}

MRC_OFFER("ibv_set_ece", "1.10") int shim_set_ece(ibv_qp *qp, ibv_ece *enhancements)
{
    return ours(qp) ? unsupported_code(EOPNOTSUPP)
                    : real_verb<&shim_set_ece>::call("ibv_set_ece", "IBVERBS_1.10", ENOSYS, qp, enhancements);
}

MRC_OFFER("ibv_attach_mcast", "1.1") int shim_attach_mcast(ibv_qp *qp, const ibv_gid *group, std::uint16_t lid)
{
    return ours(qp) ? unsupported_code(EOPNOTSUPP)
                    : real_verb<&shim_attach_mcast>::call("ibv_attach_mcast", "IBVERBS_1.1", ENOSYS, qp, group, lid);
}

MRC_OFFER("ibv_detach_mcast", "1.1") int shim_detach_mcast(ibv_qp *qp, const ibv_gid *group, std::uint16_t lid)
{
    return ours(qp) ? unsupported_code(EOPNOTSUPP)
                    : real_verb<&shim_detach_mcast>::call("ibv_detach_mcast", "IBVERBS_1.1", ENOSYS, qp, group, lid);
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
