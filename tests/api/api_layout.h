/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary layout and values of mrc.h and mrc_ctl.h on x86-64, as the published headers have them: a program compiled
 * with those runs with this library. Included by a C11 and a C++ source.
 */
#include <assert.h>
#include <stddef.h>

#include <mrc.h>
#include <mrc_ctl.h>

#define AT(type, field, offset, bytes)                                                                                 \
    static_assert(offsetof(struct type, field) == (offset), #type "." #field " offset");                               \
    static_assert(sizeof(((struct type *)NULL)->field) == (bytes), #type "." #field " size")
#define SIZE(type, bytes) static_assert(sizeof(struct type) == (bytes), #type " size")
#define IS(constant, number) static_assert((constant) == (number), #constant)
#define BIT(constant, bit) static_assert((uint32_t)(constant) == UINT32_C(1) << (bit), #constant)

/* mrc.h */
SIZE(mrc_device_attr, 20);
AT(mrc_device_attr, mrc_protocol_version, 0, 4);
AT(mrc_device_attr, wimm_attr.max_wimm, 4, 2);
AT(mrc_device_attr, wimm_attr.max_wimm_dest, 6, 2);
AT(mrc_device_attr, mpr_attr.max_mpr, 8, 1);
AT(mrc_device_attr, mpr_attr.mpr_resolution, 9, 1);
AT(mrc_device_attr, qp_attr.max_qp_hint, 12, 4);
AT(mrc_device_attr, cap, 16, 4);

SIZE(mrc_context_attr, 8);
AT(mrc_context_attr, mrc_api_version_used, 0, 4);
AT(mrc_context_attr, mrc_vendor_api_version_used, 4, 4);

SIZE(mrc_qp_hint_attr, 140);
AT(mrc_qp_hint_attr, num_qps_per_peer, 0, 4);
AT(mrc_qp_hint_attr, num_send_peers, 4, 4);
AT(mrc_qp_hint_attr, num_remote_recv_peers, 8, 4);
AT(mrc_qp_hint_attr, vendor_cfg, 12, 128);
SIZE(mrc_qp_hint_init_attr, 140);
AT(mrc_qp_hint_init_attr, attr, 0, 140);

SIZE(mrc_qp_init_attr, 72);
AT(mrc_qp_init_attr, qp_context, 0, 8);
AT(mrc_qp_init_attr, send_cq, 8, 8);
AT(mrc_qp_init_attr, recv_cq, 16, 8);
AT(mrc_qp_init_attr, cap, 24, 20);
AT(mrc_qp_init_attr, sq_sig_all, 44, 4);
AT(mrc_qp_init_attr, pd, 48, 8);
AT(mrc_qp_init_attr, send_ops_flags, 56, 8);
AT(mrc_qp_init_attr, protocol_version, 64, 4);

SIZE(mrc_qp_attr, 176);
AT(mrc_qp_attr, mpr.mpr, 0, 1);
AT(mrc_qp_attr, mpr.mpr_dest, 1, 1);
AT(mrc_qp_attr, wimm.max_wimm, 2, 2);
AT(mrc_qp_attr, wimm.max_wimm_dest, 4, 2);
AT(mrc_qp_attr, timeout, 6, 1);
AT(mrc_qp_attr, profile.ev_profile_id, 8, 8);
AT(mrc_qp_attr, profile.cc_profile_id, 16, 8);
AT(mrc_qp_attr, retry.linear_cnt, 24, 1);
AT(mrc_qp_attr, retry.exp_cnt, 25, 1);
AT(mrc_qp_attr, qp_hint, 32, 8);
AT(mrc_qp_attr, cap, 40, 4);
AT(mrc_qp_attr, vendor_cfg, 44, 128);

SIZE(mrc_async_event, 16);
AT(mrc_async_event, element, 0, 8);
AT(mrc_async_event, element.port_num, 0, 4);
AT(mrc_async_event, event_type, 8, 4);

IS(MRC_MAX_VENDOR_CFG_SIZE, 128);
IS(MRC_PROTOCOL_VERSION_0, 0);
BIT(MRC_PROTOCOL_VERSION_1, 0);
BIT(MRC_DEVICE_CAP_TRIM_NACK, 0);
BIT(MRC_DEVICE_CAP_DYNAMIC_MPR, 1);
BIT(MRC_DEVICE_CAP_SVC_TIME, 2);
BIT(MRC_QP_HINT_NUM_QPS_PER_PEER, 0);
BIT(MRC_QP_HINT_NUM_SEND_PEERS, 1);
BIT(MRC_QP_HINT_NUM_REMOTE_RECV_PEERS, 2);
BIT(MRC_QP_HINT_VENDOR_CFG, 31);
BIT(MRC_QP_MAX_WIMM, 0);
BIT(MRC_QP_MAX_WIMM_DEST, 1);
BIT(MRC_QP_MPR, 2);
BIT(MRC_QP_MPR_DEST, 3);
BIT(MRC_QP_TIMEOUT, 4);
BIT(MRC_QP_EV_PROFILE_ID, 5);
BIT(MRC_QP_CC_PROFILE_ID, 6);
BIT(MRC_QP_HINT, 7);
BIT(MRC_QP_RETRY_CNT, 8);
BIT(MRC_QP_CAP, 9);
BIT(MRC_QP_VENDOR_CFG, 31);
BIT(MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED, 0);
BIT(MRC_QP_CAP_DYNAMIC_MPR, 1);
BIT(MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED, 2);

/* mrc_ctl.h */
SIZE(mrc_ctl_device_attr, 72);
AT(mrc_ctl_device_attr, mrc_ctl_protocol_version, 0, 4);
AT(mrc_ctl_device_attr, ev, 4, 40);
AT(mrc_ctl_device_attr, ev.ev_max_fmt_profiles, 4, 4);
AT(mrc_ctl_device_attr, ev.ev_max_profiles, 8, 4);
AT(mrc_ctl_device_attr, ev.ev_max_count, 12, 4);
AT(mrc_ctl_device_attr, ev.ev_free_count, 16, 4);
AT(mrc_ctl_device_attr, ev.ev_max_count_profile, 20, 4);
AT(mrc_ctl_device_attr, ev.ev_count_align, 24, 4);
AT(mrc_ctl_device_attr, ev.ev_max_width, 28, 4);
AT(mrc_ctl_device_attr, ev.ev_fmt_mode_mask, 32, 4);
AT(mrc_ctl_device_attr, ev.ev_mode_mask, 36, 4);
AT(mrc_ctl_device_attr, ev.ev_op_max_entries, 40, 4);
AT(mrc_ctl_device_attr, cc.cc_max_profiles, 48, 4);
AT(mrc_ctl_device_attr, cc.algorithms, 56, 8);
AT(mrc_ctl_device_attr, phy_port_mask, 64, 4);
AT(mrc_ctl_device_attr, opt_attr, 68, 4);

SIZE(mrc_ctl_port_attr, 4);
AT(mrc_ctl_port_attr, port_admin_state, 0, 4);

SIZE(mrc_ctl_ev_fmt_field, 1);
SIZE(mrc_ctl_ev_fmt_profile_attr, 168);
AT(mrc_ctl_ev_fmt_profile_attr, profile_state, 0, 4);
AT(mrc_ctl_ev_fmt_profile_attr, cur_profile_state, 4, 4);
AT(mrc_ctl_ev_fmt_profile_attr, ev_fmt_mode, 8, 4);
AT(mrc_ctl_ev_fmt_profile_attr, ev_fmt_op.op, 16, 4);
AT(mrc_ctl_ev_fmt_profile_attr, ev_fmt_op.fmt_fields, 24, 8);
AT(mrc_ctl_ev_fmt_profile_attr, ev_fmt_op.fmt_field_count, 32, 4);
AT(mrc_ctl_ev_fmt_profile_attr, vendor_cfg, 40, 128);

SIZE(mrc_ctl_ev, 33);
AT(mrc_ctl_ev, val, 0, 32);
AT(mrc_ctl_ev, port, 32, 1);
SIZE(mrc_ctl_ev_field, 20);
AT(mrc_ctl_ev_field, width, 0, 4);
AT(mrc_ctl_ev_field, init_val, 4, 4);
AT(mrc_ctl_ev_field, min_val, 8, 4);
AT(mrc_ctl_ev_field, max_val, 12, 4);
AT(mrc_ctl_ev_field, mask, 16, 4);
SIZE(mrc_ctl_ev_op_entry, 76);
AT(mrc_ctl_ev_op_entry, ev, 0, 33);
AT(mrc_ctl_ev_op_entry, ev_new, 33, 33);
AT(mrc_ctl_ev_op_entry, state, 68, 4);
AT(mrc_ctl_ev_op_entry, flags, 72, 4);

SIZE(mrc_ctl_ev_profile_attr, 216);
AT(mrc_ctl_ev_profile_attr, profile_state, 0, 4);
AT(mrc_ctl_ev_profile_attr, cur_profile_state, 4, 4);
AT(mrc_ctl_ev_profile_attr, ev_mode, 8, 4);
AT(mrc_ctl_ev_profile_attr, ev_fmt_profile_id, 16, 8);
AT(mrc_ctl_ev_profile_attr, ev_count, 24, 4);
AT(mrc_ctl_ev_profile_attr, ev_min_active, 28, 4);
AT(mrc_ctl_ev_profile_attr, ev_event_mask, 32, 4);
AT(mrc_ctl_ev_profile_attr, ev_op.op, 40, 4);
AT(mrc_ctl_ev_profile_attr, ev_op.entries, 48, 8);
AT(mrc_ctl_ev_profile_attr, ev_op.entry_count, 56, 4);
AT(mrc_ctl_ev_profile_attr, ev_fields_op.op, 64, 4);
AT(mrc_ctl_ev_profile_attr, ev_fields_op.fields, 72, 8);
AT(mrc_ctl_ev_profile_attr, ev_fields_op.field_count, 80, 4);
AT(mrc_ctl_ev_profile_attr, vendor_cfg, 88, 128);

SIZE(mrc_ctl_cc_profile_attr, 152);
AT(mrc_ctl_cc_profile_attr, profile_state, 0, 4);
AT(mrc_ctl_cc_profile_attr, cur_profile_state, 4, 4);
AT(mrc_ctl_cc_profile_attr, algorithm, 8, 8);
AT(mrc_ctl_cc_profile_attr, cc_config, 16, 8);
AT(mrc_ctl_cc_profile_attr, vendor_cfg, 24, 128);

SIZE(mrc_ctl_cc_nscc_cfg, 52);
AT(mrc_ctl_cc_nscc_cfg, disable_qa, 0, 1);
AT(mrc_ctl_cc_nscc_cfg, adjust_bytes_threshold, 4, 4);
AT(mrc_ctl_cc_nscc_cfg, adjust_period_threshold, 8, 4);
AT(mrc_ctl_cc_nscc_cfg, base_rtt, 12, 4);
AT(mrc_ctl_cc_nscc_cfg, eta, 16, 4);
AT(mrc_ctl_cc_nscc_cfg, fi, 20, 4);
AT(mrc_ctl_cc_nscc_cfg, fi_scale, 24, 4);
AT(mrc_ctl_cc_nscc_cfg, gamma, 28, 4);
AT(mrc_ctl_cc_nscc_cfg, max_md_jump, 32, 4);
AT(mrc_ctl_cc_nscc_cfg, max_cwnd, 36, 4);
AT(mrc_ctl_cc_nscc_cfg, qa_gate, 40, 1);
AT(mrc_ctl_cc_nscc_cfg, qa_threshold, 44, 4);
AT(mrc_ctl_cc_nscc_cfg, target_delay, 48, 4);

AT(mrc_ctl_ev_event, profile_id, 0, 8);
AT(mrc_ctl_ev_event, ev, 8, 33);
AT(mrc_ctl_ev_event, drop_count, 44, 4);
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
AT(mrc_ctl_ev_event, state, 48, 4);
SIZE(mrc_ctl_ev_event, 56);
#else
SIZE(mrc_ctl_ev_event, 48);
#endif

SIZE(mrc_ctl_ep_req, 88);
AT(mrc_ctl_ep_req, req_id, 0, 2);
AT(mrc_ctl_ep_req, sgid, 8, 16);
AT(mrc_ctl_ep_req, dgid, 24, 16);
AT(mrc_ctl_ep_req, ev_fmt_mode, 40, 4);
AT(mrc_ctl_ep_req, req_ev, 44, 33);
AT(mrc_ctl_ep_req, op, 80, 4);
AT(mrc_ctl_ep_req, op.port_status_update.port_status, 80, 4);
SIZE(mrc_ctl_ep_rsp, 12);
AT(mrc_ctl_ep_rsp, req_id, 0, 2);
AT(mrc_ctl_ep_rsp, port, 2, 1);
AT(mrc_ctl_ep_rsp, rtt, 4, 4);
AT(mrc_ctl_ep_rsp, adj_svc_time, 8, 1);

IS(MRC_CTL_MAX_VENDOR_CFG_SIZE, 128);
IS(MRC_CTL_EV_MAX_BYTES, 32);
static_assert(sizeof(mrc_ctl_ev_t) == 32, "mrc_ctl_ev_t size");
IS(MRC_CTL_PROTOCOL_VERSION_0, 0);
BIT(MRC_CTL_PROTOCOL_VERSION_1, 0);
IS(MRC_CTL_PROFILE_INIT, 0);
IS(MRC_CTL_PROFILE_OFFLINE, 1);
IS(MRC_CTL_PROFILE_ONLINE, 2);
BIT(MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE, 0);
BIT(MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE, 1);
BIT(MRC_CTL_OPT_CAP_EV_EVENT, 2);
BIT(MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE, 3);
BIT(MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT, 4);
BIT(MRC_CTL_OPT_CAP_EP_OP_EV_PROBE, 5);
IS(MRC_CTL_PORT_ADMIN_DISABLED, 0);
IS(MRC_CTL_PORT_ADMIN_ENABLED, 1);
BIT(MRC_CTL_PORT_ADMIN_STATE, 0);
BIT(MRC_CTL_EV_FMT_MODE_STEV, 0);
BIT(MRC_CTL_EV_FMT_MODE_SRV6, 1);
BIT(MRC_CTL_EV_FMT_MODE_UDP, 2);
IS(MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, 0);
IS(MRC_CTL_EV_FMT_OP_QUERY_FIELDS, 1);
BIT(MRC_CTL_EV_FMT_PROFILE_STATE, 0);
BIT(MRC_CTL_EV_FMT_PROFILE_CUR_STATE, 1);
BIT(MRC_CTL_EV_FMT_PROFILE_MODE, 2);
BIT(MRC_CTL_EV_FMT_PROFILE_OP, 3);
BIT(MRC_CTL_EV_FMT_VENDOR_CFG, 31);
BIT(MRC_CTL_EV_GOOD, 0);
BIT(MRC_CTL_EV_ASSUMED_BAD, 1);
BIT(MRC_CTL_EV_DENIED, 2);
BIT(MRC_CTL_EV_UNKNOWN, 31);
BIT(MRC_CTL_EV_MODE_AUTO, 0);
BIT(MRC_CTL_EV_MODE_EXP, 1);
BIT(MRC_CTL_EV_MODE_GEN, 2);
IS(MRC_CTL_EV_OP_REPLACE_EV, 0);
IS(MRC_CTL_EV_OP_MODIFY_EV_STATE, 1);
IS(MRC_CTL_EV_OP_QUERY_EV_STATE, 2);
IS(MRC_CTL_EV_OP_QUERY_EV_ARRAY, 3);
IS(MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, 0);
IS(MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, 1);
BIT(MRC_CTL_EV_PROFILE_STATE, 0);
BIT(MRC_CTL_EV_PROFILE_CUR_STATE, 1);
BIT(MRC_CTL_EV_PROFILE_MODE, 2);
BIT(MRC_CTL_EV_PROFILE_FMT_ID, 3);
BIT(MRC_CTL_EV_PROFILE_COUNT, 4);
BIT(MRC_CTL_EV_PROFILE_MIN_ACTIVE, 5);
BIT(MRC_CTL_EV_PROFILE_EVENT_MASK, 6);
BIT(MRC_CTL_EV_PROFILE_EV_OP, 7);
BIT(MRC_CTL_EV_PROFILE_EV_FIELDS_OP, 8);
BIT(MRC_CTL_EV_PROFILE_VENDOR_CFG, 31);
BIT(MRC_CTL_EV_OP_F_ALL_COPIES, 0);
BIT(MRC_CTL_CC_PROFILE_STATE, 0);
BIT(MRC_CTL_CC_PROFILE_CUR_STATE, 1);
BIT(MRC_CTL_CC_PROFILE_ALGORITHM, 2);
BIT(MRC_CTL_CC_PROFILE_CONFIG, 3);
BIT(MRC_CTL_CC_PROFILE_VENDOR_CFG, 31);
IS(MRC_CTL_EP_OP_EV_PROBE, 0);
IS(MRC_CTL_EP_OP_PORT_STATUS_UPDATE, 1);

/* versions */
IS(MRC_API_VER(1, 2, 3), 0x01020003);
IS(MRC_API_VER_LATEST, UINT32_MAX);
IS(MRC_API_CURRENT_VERSION, 0x01000001);
IS(MRC_API_LAST_SUPPORTED_VERSION, 0);
IS(MRC_VENDOR_API_CURRENT_VERSION, 0x01000000);
IS(MRC_VENDOR_API_LAST_SUPPORTED_VERSION, 0);
IS(MRC_VENDOR_API_VER_USED, MRC_VENDOR_API_CURRENT_VERSION);
IS(MRC_CTL_API_VER(1, 2, 3), 0x01020003);
IS(MRC_CTL_API_VER_LATEST, UINT32_MAX);
IS(MRC_CTL_API_CURRENT_VERSION, 0x01000001);
IS(MRC_CTL_API_LAST_SUPPORTED_VERSION, 0);
IS(MRC_CTL_VENDOR_API_CURRENT_VERSION, 0x01000000);
IS(MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION, 0);
IS(MRC_CTL_VENDOR_API_VER_USED, MRC_CTL_VENDOR_API_CURRENT_VERSION);
