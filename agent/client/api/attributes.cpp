// SPDX-License-Identifier: Apache-2.0
#include "client/api/attributes.h"

#include <algorithm>
#include <cstring>

#include "client/verbs/gid_table.h"
#include "mrc/abi/wire.h"
#include "protocol/qp_state.h"

namespace mrc::client
{

namespace
{

using protocol::qp_state;

constexpr std::uint8_t default_hop_limit = 64;

constexpr int settable = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                         IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN | IBV_QP_DEST_QPN |
                         IBV_QP_EN_SQD_ASYNC_NOTIFY;
constexpr int ignored = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER |
                        IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
constexpr unsigned int mrc_settable = MRC_QP_MAX_WIMM | MRC_QP_MAX_WIMM_DEST | MRC_QP_MPR | MRC_QP_MPR_DEST |
                                      MRC_QP_TIMEOUT | MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID | MRC_QP_HINT |
                                      MRC_QP_RETRY_CNT | MRC_QP_CAP | static_cast<unsigned int>(MRC_QP_VENDOR_CFG);
constexpr unsigned int known_caps =
    MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED | MRC_QP_CAP_DYNAMIC_MPR | MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED;

struct state_pair {
    ibv_qp_state verbs;
    qp_state daemon;
};
constexpr state_pair states[] = {
    {IBV_QPS_RESET, qp_state::reset},
    {IBV_QPS_INIT, qp_state::init},
    {IBV_QPS_RTR, qp_state::ready_to_receive},
    {IBV_QPS_RTS, qp_state::ready_to_send},
    {IBV_QPS_SQD, qp_state::send_queue_drained},
    {IBV_QPS_ERR, qp_state::error},
};

result<std::uint8_t> daemon_state(ibv_qp_state state)
{
    const auto *at = std::ranges::find(states, state, &state_pair::verbs);
    if (at == std::end(states))
        return refused(EINVAL, "no such state of a queue pair");
    return static_cast<std::uint8_t>(at->daemon);
}

ibv_qp_state verbs_state(std::uint8_t state)
{
    const auto *at = std::ranges::find(states, static_cast<qp_state>(state), &state_pair::daemon);
    return at == std::end(states) ? IBV_QPS_ERR : at->verbs;
}

std::uint32_t bytes_of(ibv_mtu mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << static_cast<unsigned int>(mtu) : 0;
}

result<void> take_address(const mrc_qp &qp, const ibv_qp_attr &vattr, int vmask, mrc::session::qp_attributes &wanted)
{
    if (((vmask & IBV_QP_AV) != 0) != ((vmask & IBV_QP_DEST_QPN) != 0))
        return refused(EINVAL, "the peer's address and its queue pair number belong together");
    if ((vmask & IBV_QP_AV) == 0)
        return {};
    if (vattr.ah_attr.is_global == 0)
        return refused(EINVAL, "the address vector needs a GID (is_global)");
    const auto host = qp.context->daemon->describe();
    if (!host)
        return std::unexpected{host.error()};
    if (!gid_at(*host, vattr.ah_attr.grh.sgid_index))
        return refused(EINVAL, "no GID at that index");
    wanted.peer = to_address(vattr.ah_attr.grh.dgid);
    wanted.peer_qpn = vattr.dest_qp_num;
    wanted.mask |= mrc::session::qp_sets_peer;
    return {};
}

result<void> take_verbs(const mrc_qp &qp, const ibv_qp_attr &vattr, int vmask, mrc::session::qp_attributes &wanted)
{
    if ((vmask & IBV_QP_STATE) != 0) {
        const auto state = daemon_state(vattr.qp_state);
        if (!state)
            return std::unexpected{state.error()};
        wanted.state = *state;
        wanted.mask |= mrc::session::qp_sets_state;
    }
    if ((vmask & IBV_QP_CUR_STATE) != 0) {
        const auto state = daemon_state(vattr.cur_qp_state);
        if (!state)
            return std::unexpected{state.error()};
        wanted.current_state = *state;
        wanted.mask |= mrc::session::qp_asserts_state;
    }
    if ((vmask & IBV_QP_PKEY_INDEX) != 0 && vattr.pkey_index != 0)
        return refused(EINVAL, "the only partition key is at index 0");
    if ((vmask & IBV_QP_ACCESS_FLAGS) != 0) {
        wanted.access = (vattr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) != 0 ? mrc::session::access_remote_write : 0;
        wanted.mask |= mrc::session::qp_sets_access;
    }
    if ((vmask & IBV_QP_PATH_MTU) != 0) {
        wanted.payload_bytes = bytes_of(vattr.path_mtu);
        wanted.mask |= mrc::session::qp_sets_mtu;
        if (wanted.payload_bytes == 0)
            return refused(EINVAL, "no such MTU");
    }
    if ((vmask & IBV_QP_RQ_PSN) != 0) {
        wanted.receive_psn = vattr.rq_psn & MRC_PSN_MASK;
        wanted.mask |= mrc::session::qp_sets_receive_psn;
    }
    if ((vmask & IBV_QP_SQ_PSN) != 0) {
        wanted.send_psn = vattr.sq_psn & MRC_PSN_MASK;
        wanted.mask |= mrc::session::qp_sets_send_psn;
    }
    return take_address(qp, vattr, vmask, wanted);
}

void take_mrc(const mrc_qp_attr &mattr, unsigned int mmask, mrc::session::qp_attributes &wanted)
{
    const auto asks = [mmask](unsigned int bit) { return (mmask & bit) != 0; };
    const auto set = [&](unsigned int bit, std::uint32_t daemon_bit, auto &to, auto from) {
        if (!asks(bit))
            return;
        to = from;
        wanted.mask |= daemon_bit;
    };
    set(MRC_QP_MPR, mrc::session::qp_sets_mpr, wanted.mpr, mattr.mpr.mpr);
    set(MRC_QP_MPR_DEST, mrc::session::qp_sets_mpr_dest, wanted.mpr_dest, mattr.mpr.mpr_dest);
    set(MRC_QP_MAX_WIMM, mrc::session::qp_sets_max_wimm, wanted.max_wimm, mattr.wimm.max_wimm);
    set(MRC_QP_MAX_WIMM_DEST, mrc::session::qp_sets_max_wimm_dest, wanted.max_wimm_dest, mattr.wimm.max_wimm_dest);
    set(MRC_QP_TIMEOUT, mrc::session::qp_sets_timeout, wanted.timeout, mattr.timeout);
    set(MRC_QP_RETRY_CNT, mrc::session::qp_sets_retries, wanted.linear, mattr.retry.linear_cnt);
    set(MRC_QP_RETRY_CNT, mrc::session::qp_sets_retries, wanted.exponential, mattr.retry.exp_cnt);
    set(MRC_QP_EV_PROFILE_ID, mrc::session::qp_sets_ev_profile, wanted.ev_profile, mattr.profile.ev_profile_id);
    set(MRC_QP_CC_PROFILE_ID, mrc::session::qp_sets_cc_profile, wanted.cc_profile, mattr.profile.cc_profile_id);
    if (asks(MRC_QP_HINT)) {
        const mrc_qp_hint_attr hint = mattr.qp_hint != nullptr ? mattr.qp_hint->now() : mrc_qp_hint_attr{};
        take_hint(hint, wanted);
    }
    set(MRC_QP_CAP, mrc::session::qp_sets_capabilities, wanted.capabilities, mattr.cap);
}

void report_mrc(const mrc_qp &qp, const mrc::session::qp_attributes &now, mrc_qp_attr &mattr, unsigned int mmask)
{
    if ((mmask & MRC_QP_MPR) != 0)
        mattr.mpr.mpr = now.mpr;
    if ((mmask & MRC_QP_MPR_DEST) != 0)
        mattr.mpr.mpr_dest = now.mpr_dest;
    if ((mmask & MRC_QP_MAX_WIMM) != 0)
        mattr.wimm.max_wimm = now.max_wimm;
    if ((mmask & MRC_QP_MAX_WIMM_DEST) != 0)
        mattr.wimm.max_wimm_dest = now.max_wimm_dest;
    if ((mmask & MRC_QP_TIMEOUT) != 0)
        mattr.timeout = now.timeout;
    if ((mmask & MRC_QP_EV_PROFILE_ID) != 0)
        mattr.profile.ev_profile_id = now.ev_profile;
    if ((mmask & MRC_QP_CC_PROFILE_ID) != 0)
        mattr.profile.cc_profile_id = now.cc_profile;
    if ((mmask & MRC_QP_RETRY_CNT) != 0)
        mattr.retry = {.linear_cnt = now.linear, .exp_cnt = now.exponential};
    if ((mmask & MRC_QP_HINT) != 0)
        mattr.qp_hint = qp.hint;
    if ((mmask & MRC_QP_CAP) != 0)
        mattr.cap = now.capabilities;
}

// Only what is asked for.
void report_verbs(const mrc_qp &qp, const mrc::session::qp_attributes &now, ibv_qp_attr &vattr, int vmask)
{
    const auto store = [&](int bit, auto &to, const auto &value) {
        if ((vmask & bit) != 0)
            to = value;
    };
    store(IBV_QP_STATE, vattr.qp_state, verbs_state(now.state));
    store(IBV_QP_STATE, vattr.sq_draining, now.draining);
    store(IBV_QP_CUR_STATE, vattr.cur_qp_state, verbs_state(now.state));
    store(IBV_QP_PATH_MTU, vattr.path_mtu, mtu_not_above(now.payload_bytes));
    store(IBV_QP_RQ_PSN, vattr.rq_psn, now.receive_psn);
    store(IBV_QP_SQ_PSN, vattr.sq_psn, now.send_psn);
    store(IBV_QP_DEST_QPN, vattr.dest_qp_num, now.peer_qpn);
    store(IBV_QP_CAP, vattr.cap, qp.granted);
    store(IBV_QP_AV, vattr.ah_attr, qp.verbs.ah_attr);
    store(IBV_QP_ACCESS_FLAGS, vattr.qp_access_flags, qp.verbs.qp_access_flags);
    store(IBV_QP_PORT, vattr.port_num, qp.verbs.port_num);
    store(IBV_QP_PKEY_INDEX, vattr.pkey_index, std::uint16_t{0});
}

template <typename Page>
void put(const Page &page, std::span<std::uint8_t, MRC_MAX_VENDOR_CFG_SIZE> to)
{
    static_assert(sizeof(Page) == MRC_MAX_VENDOR_CFG_SIZE);
    std::memcpy(to.data(), &page, sizeof(page));
}

mrc_qp_report page_of(const mrc::session::qp_report &from)
{
    mrc_qp_report page{};
    page.version = MRC_REPORT_VERSION;
    page.planes = static_cast<std::uint16_t>(from.planes);
    page.paths_kept = static_cast<std::uint16_t>(from.paths_kept);
    page.tx_packets = from.tx_packets;
    page.rx_packets = from.rx_packets;
    page.retransmits = static_cast<std::uint32_t>(from.retransmits);
    page.cwnd_bytes = static_cast<std::uint32_t>(from.cwnd_bytes);
    page.spurious = static_cast<std::uint32_t>(from.spurious);
    page.timeouts = static_cast<std::uint32_t>(from.timeouts);
    page.losses = static_cast<std::uint32_t>(from.losses);
    page.nacks = static_cast<std::uint32_t>(from.nacks);
    page.longest_stall_us = static_cast<std::uint32_t>(from.longest_stall_ns / 1000);
    page.smoothed_rtt_ns = static_cast<std::uint32_t>(from.smoothed_rtt_ns);
    page.paths_good = static_cast<std::uint16_t>(from.paths_good);
    page.paths_skip = static_cast<std::uint16_t>(from.paths_skip);
    page.paths_assumed_bad = static_cast<std::uint16_t>(from.paths_assumed_bad);
    page.paths_denied = static_cast<std::uint16_t>(from.paths_denied);
    const auto low_word = [](std::uint64_t count) { return static_cast<std::uint32_t>(count); };
    std::ranges::transform(from.plane_tx_packets, page.plane_tx_packets, low_word);
    std::ranges::transform(from.plane_rx_packets, page.plane_rx_packets, low_word);
    return page;
}

mrc_traffic_report traffic_of(const mrc::session::qp_report &from)
{
    return {.version = MRC_REPORT_VERSION,
            .payload_bytes = from.payload_bytes,
            .tx_bytes = from.tx_bytes,
            .rx_bytes = from.rx_bytes,
            .rx_duplicates = from.rx_duplicates,
            .rx_refused = from.rx_refused,
            .sacks_sent = from.sacks_sent,
            .sacks_received = from.sacks_received,
            .reserved = {}};
}

mrc_host_report page_of(const mrc::session::status_report &from)
{
    mrc_host_report page{};
    page.version = MRC_REPORT_VERSION;
    page.plane_mask = from.plane_mask;
    page.received = from.received;
    page.dropped = from.dropped;
    page.bad_icrc = from.bad_icrc;
    page.socket_dropped = from.socket_dropped;
    page.transmit_sent = from.transmit_sent;
    page.transmit_refused = from.transmit_refused;
    page.worker_loops = from.worker_loops;
    page.worker_sleeps = from.worker_sleeps;
    page.backlogged = from.backlogged;
    return page;
}

} // namespace

void take_hint(const mrc_qp_hint_attr &hint, mrc::session::qp_attributes &wanted)
{
    const auto told = [](int count) { return static_cast<std::uint16_t>(std::min(count, UINT16_MAX)); };
    wanted.senders_here = told(hint.num_qps_per_peer);
    wanted.senders_elsewhere = told(hint.num_remote_recv_peers);
    wanted.receivers = told(hint.num_send_peers);
    wanted.mask |= mrc::session::qp_sets_hint;
}

result<mrc::session::qp_attributes> request_of(const mrc_qp &qp, const ibv_qp_attr *vattr, int vmask,
                                               const mrc_qp_attr *mattr, int mmask)
{
    const auto mrc_mask = static_cast<unsigned int>(mmask);
    if ((vmask & ~(settable | ignored)) != 0 || (mrc_mask & ~mrc_settable) != 0)
        return refused(EINVAL, "an attribute that queue pairs of MRC do not have");
    if ((mrc_mask & MRC_QP_CAP) != 0 && (mattr->cap & ~known_caps) != 0)
        return refused(EINVAL, "unknown capability bit");
    mrc::session::qp_attributes wanted{};
    wanted.qpn = qp.numbers.qpn;
    if (vmask != 0)
        if (auto taken = take_verbs(qp, *vattr, vmask, wanted); !taken)
            return std::unexpected{taken.error()};
    if (mmask != 0)
        take_mrc(*mattr, mrc_mask, wanted);
    return wanted;
}

void remember(mrc_qp &qp, const ibv_qp_attr *vattr, int vmask)
{
    if ((vmask & IBV_QP_AV) != 0) {
        qp.verbs.ah_attr = vattr->ah_attr;
        if (qp.verbs.ah_attr.grh.hop_limit == 0)
            qp.verbs.ah_attr.grh.hop_limit = default_hop_limit;
    }
    if ((vmask & IBV_QP_ACCESS_FLAGS) != 0)
        qp.verbs.qp_access_flags = vattr->qp_access_flags;
    if ((vmask & IBV_QP_PORT) != 0)
        qp.verbs.port_num = vattr->port_num;
}

void report(const mrc_qp &qp, const mrc::session::qp_attributes &now, ibv_qp_attr *vattr, int vmask, mrc_qp_attr *mattr,
            int mmask)
{
    if (vmask != 0)
        report_verbs(qp, now, *vattr, vmask);
    if (mmask != 0)
        report_mrc(qp, now, *mattr, static_cast<unsigned int>(mmask));
}

result<void> report_vendor(const mrc_qp &qp, std::span<std::uint8_t, MRC_MAX_VENDOR_CFG_SIZE> to)
{
    if (qp.report_page == MRC_REPORT_PAGE_HOST)
        return map(qp.context->daemon->status(), [&](const auto &status) { put(page_of(status), to); });
    return map(qp.context->daemon->report_qp(qp.numbers.qpn), [&](const auto &one) {
        if (qp.report_page == MRC_REPORT_PAGE_TRAFFIC)
            put(traffic_of(one), to);
        else
            put(page_of(one), to);
    });
}

} // namespace mrc::client
