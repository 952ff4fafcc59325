/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OCP MRC API, version 1.0.1: queue pairs for RDMA writes over many paths, beside <infiniband/verbs.h>, whose
 * devices, protection domains, memory regions and work requests it uses. C and C++.
 *
 * Objects are made by mrc_create_… and released by the mrc_destroy_… of the same name; a parent must outlive its
 * children: context → channel, CQ, hint → QP. Any function may be called from any thread. An object is the property of
 * the process that made it: a forked child gets EPERM.
 *
 * Results, where nothing else is said: 0, or -1 with errno. "As verbs" is the errno value itself as result (and in
 * errno). Pointers are NULL with errno.
 */
#ifndef _MRC_API_H_
#define _MRC_API_H_

#include <stdint.h>

#include <infiniband/verbs.h>

#include <mrc_api_ver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_MAX_VENDOR_CFG_SIZE 128 /* bytes; this library ignores and returns them */

/* Versions on the wire: a set in mrc_device_attr, one of them in mrc_qp_init_attr. */
enum mrc_protocol_version {
    MRC_PROTOCOL_VERSION_0 = 0, /* let the library choose */
    MRC_PROTOCOL_VERSION_1 = 1 << 0,
};

struct mrc_context;
struct mrc_qp_hint;
struct mrc_qp;
struct mrc_cq;
struct mrc_comp_channel;

/* ---- the device ---- */

enum mrc_device_cap {
    MRC_DEVICE_CAP_TRIM_NACK = 1 << 0,   /* answers trimmed packets with a NACK */
    MRC_DEVICE_CAP_DYNAMIC_MPR = 1 << 1, /* the responder's window can follow its load */
    MRC_DEVICE_CAP_SVC_TIME = 1 << 2,    /* tells how long an answer waited here */
};

/* WIMM: write with immediate. MPR: the largest span of outstanding PSNs, in units of 128. */
struct mrc_device_attr {
    uint32_t mrc_protocol_version; /* mrc_protocol_version bits */
    struct {
        uint16_t max_wimm;      /* unacknowledged WIMMs of one QP, sent */
        uint16_t max_wimm_dest; /* the same, received */
    } wimm_attr;
    struct {
        uint8_t max_mpr;        /* either role, units of 128 PSNs */
        uint8_t mpr_resolution; /* step, units of 128 PSNs */
    } mpr_attr;
    struct {
        uint32_t max_qp_hint; /* hints of one context */
    } qp_attr;
    uint32_t cap; /* mrc_device_cap bits */
};

/*
 * What the device can do. *supported is 0, and the result too, for a verbs device that has no MRC.
 * EINVAL: a null pointer. The form without MRC context is that of 1.0.0, to be called before there is one.
 */
#if MRC_API_VER_USED >= MRC_API_VER(1, 0, 1)
int mrc_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext, struct mrc_device_attr *attr,
                        int *supported);
#endif
int mrc_query_device(struct ibv_context *context, struct mrc_device_attr *attr, int *supported);

/* The library's newest and oldest versions, as MRC_API_VER words. Needs no device; null pointers are skipped. */
void mrc_query_version(uint32_t *current_version, uint32_t *last_supported_version, uint32_t *vendor_version,
                       uint32_t *last_supported_vendor_version);

/* ---- the context ---- */

struct mrc_context_attr {
    uint32_t mrc_api_version_used; /* 0: the newest */
    uint32_t mrc_vendor_api_version_used;
};

/*
 * The parent of everything below, on an open verbs device; several per device are allowed. context_attr may be NULL.
 * EOPNOTSUPP: not an MRC device. EPROTO: a version newer than the library. ECONNREFUSED: the daemon has gone.
 */
struct mrc_context *mrc_create_context(struct ibv_context *vcontext, struct mrc_context_attr *context_attr);

/* EBUSY: it still has children. The verbs device may be closed before. */
int mrc_destroy_context(struct mrc_context *mrc_ctx);

/* ---- completion channels and queues ---- */

/* As verbs; a channel collects the events of any number of CQs. */
int mrc_create_comp_channel(struct mrc_context *mrc_ctx, struct mrc_comp_channel **channel);

/* To poll, and to set O_NONBLOCK on; never to close or read. */
int mrc_get_comp_channel_fd(struct mrc_comp_channel *channel, int *fd);

/* As verbs. EBUSY: a CQ uses it. */
int mrc_destroy_comp_channel(struct mrc_comp_channel *channel);

/*
 * A CQ of at least `cqe` entries, at most the device's max_cqe. channel may be NULL: no events. comp_vector is below
 * the verbs context's num_comp_vectors. EINVAL, ENOMEM. A CQ that overruns raises IBV_EVENT_CQ_ERR.
 */
struct mrc_cq *mrc_create_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context, struct mrc_comp_channel *channel,
                             int comp_vector);

/* Never blocks. The number of completions taken, at most num_entries; fewer: the CQ is empty now. -1: error. */
int mrc_poll_cq(struct mrc_cq *cq, int num_entries, struct ibv_wc *wc);

/* As verbs. EBUSY: a QP uses it. Waits until its events are acknowledged. */
int mrc_destroy_cq(struct mrc_cq *cq);

/* ---- traffic hints ---- */

/*
 * How a QP's traffic will look; advice only. NSCC's window to a peer begins with the share that is left of both ends'
 * links, if nothing was sent there before, and moves as ever from then on. 0: not known.
 */
struct mrc_qp_hint_attr {
    int num_qps_per_peer;      /* QPs with this hint that send to one peer at a time */
    int num_send_peers;        /* peers that they send to at a time */
    int num_remote_recv_peers; /* QPs of other hosts that send to such a peer meanwhile: its incast */
    uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

enum mrc_qp_hint_attr_mask {
    MRC_QP_HINT_NUM_QPS_PER_PEER = 1 << 0,
    MRC_QP_HINT_NUM_SEND_PEERS = 1 << 1,
    MRC_QP_HINT_NUM_REMOTE_RECV_PEERS = 1 << 2,
    MRC_QP_HINT_VENDOR_CFG = INT32_MIN, /* bit 31, which an int cannot shift into */
};

struct mrc_qp_hint_init_attr {
    struct mrc_qp_hint_attr attr;
};

/* EINVAL; ENOSPC: max_qp_hint are there already. */
struct mrc_qp_hint *mrc_create_qp_hint(struct mrc_context *mrc_ctx, struct mrc_qp_hint_init_attr *init_attr);

/* EINVAL; EBUSY: a QP uses it. */
int mrc_destroy_qp_hint(struct mrc_qp_hint *qp_hint);

/* The attributes of the mask, in either direction; a change holds for all QPs of the hint. EINVAL: an unknown bit. */
int mrc_query_qp_hint(struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr, int qp_hint_attr_mask);
int mrc_modify_qp_hint(struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr, int qp_hint_attr_mask);

/* ---- queue pairs ---- */

struct mrc_qp_init_attr {
    void *qp_context; /* the caller's */
    struct mrc_cq *send_cq;
    struct mrc_cq *recv_cq;
    struct ibv_qp_cap cap; /* in: at least; out: what was granted */
    int sq_sig_all;
    struct ibv_pd *pd;
    uint64_t send_ops_flags;                    /* ibv_qp_create_send_ops_flags; 0: both writes */
    enum mrc_protocol_version protocol_version; /* one bit, or 0 */
};

/* A QP in RESET. EINVAL, ENOMEM. */
struct mrc_qp *mrc_create_qp(struct mrc_context *mrc_ctx, struct mrc_qp_init_attr *mrc_qp_attr);

/* As verbs. In any state; work that is under way ends without completions. Does not wait for the network. */
int mrc_destroy_qp(struct mrc_qp *qp);

/* Each may be set at the transition named; what is not set there has the library's default. */
enum mrc_qp_attr_mask {
    MRC_QP_MAX_WIMM = 1 << 0,      /* to RTS */
    MRC_QP_MAX_WIMM_DEST = 1 << 1, /* to RTR */
    MRC_QP_MPR = 1 << 2,           /* to RTS */
    MRC_QP_MPR_DEST = 1 << 3,      /* to RTR */
    MRC_QP_TIMEOUT = 1 << 4,       /* to RTS */
    MRC_QP_EV_PROFILE_ID = 1 << 5, /* to INIT */
    MRC_QP_CC_PROFILE_ID = 1 << 6, /* to INIT */
    MRC_QP_HINT = 1 << 7,          /* to INIT */
    MRC_QP_RETRY_CNT = 1 << 8,     /* to RTS: both counts */
    MRC_QP_CAP = 1 << 9,           /* to RTR */
    MRC_QP_VENDOR_CFG = INT32_MIN, /* bit 31 */
};

/* What the peer can do; before it is set, as mrcd's [peer_defaults] say. EINVAL: a change after RTR. */
enum mrc_qp_cap {
    MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED = 1 << 0, /* the peer does not answer trimmed packets */
    MRC_QP_CAP_DYNAMIC_MPR = 1 << 1,                /* both roles; in effect if both ends set it */
    MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED = 1 << 2,  /* the peer does not tell service times */
};

struct mrc_qp_attr {
    struct {
        uint8_t mpr;      /* requester, units of 128 PSNs */
        uint8_t mpr_dest; /* responder */
    } mpr;
    struct {
        uint16_t max_wimm;      /* in flight as requester */
        uint16_t max_wimm_dest; /* as responder */
    } wimm;
    uint8_t timeout; /* 1.024 us times 2 to the power of this, at most 24 */
    struct {
        uint64_t ev_profile_id; /* as a controller named them (mrc_ctl.h); 0: built in */
        uint64_t cc_profile_id;
    } profile;
    struct {
        uint8_t linear_cnt; /* retries at a fixed interval, at most 7 */
        uint8_t exp_cnt;    /* then at doubling ones, at most 25, which is for ever */
    } retry;
    struct mrc_qp_hint *qp_hint; /* NULL: none */
    uint32_t cap;                /* mrc_qp_cap bits */
    uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

/* As verbs. Fills what the masks name, with the values in effect, and *init_attr unless NULL. */
int mrc_query_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask, struct mrc_qp_attr *mrc_attr,
                 int mrc_attr_mask, struct mrc_qp_init_attr *init_attr);

/*
 * As verbs: RESET → INIT → RTR → RTS, and SQD, ERR, RESET. The masks are independent, and either may be 0; after an
 * error nothing has changed. The source address is the GID of the AV's sgid_index (ibv_query_gid); path_mtu is an upper
 * bound. Accepted without effect: IBV_QP_PORT, TIMEOUT, RETRY_CNT, RNR_RETRY, MIN_RNR_TIMER, MAX_QP_RD_ATOMIC,
 * MAX_DEST_RD_ATOMIC, ALT_PATH, PATH_MIG_STATE; the MRC attributes stand for those that have a meaning here.
 */
int mrc_modify_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask, struct mrc_qp_attr *mrc_attr,
                  int mrc_attr_mask);

/* 24 bits, known from creation on. */
int mrc_get_qpn(struct mrc_qp *qp, uint32_t *qpn);

/*
 * Receives are consumed by writes with immediate only, so a list of no SGEs is the normal one; a WIMM that finds none
 * is fatal for the QP. From INIT on. -1 with errno, *bad_wr the first that was not posted. ENOMEM: the queue is full.
 */
int mrc_post_recv(struct mrc_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/*
 * As verbs: IBV_WR_RDMA_WRITE and IBV_WR_RDMA_WRITE_WITH_IMM of up to 2^31 bytes, in RTS (in ERR they are flushed).
 * EINVAL: another opcode, key or length. ENOMEM: the queue is full. *bad_wr is the first that was not posted.
 */
int mrc_post_send(struct mrc_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/* ---- events ---- */

struct mrc_async_event {
    union {
        struct mrc_cq *cq;
        struct mrc_qp *qp;
        int port_num; /* from 1 */
    } element;
    enum ibv_event_type event_type;
};

/* Waits for the next event, unless the descriptor is O_NONBLOCK (EAGAIN). Each is to be acknowledged. */
int mrc_get_async_event(struct mrc_context *mrc_ctx, struct mrc_async_event *event);

/* Destroying an event's QP or CQ waits for this. */
void mrc_ack_async_event(struct mrc_async_event *event);

/* As verbs. The next completion raises one event on the CQ's channel; poll once more after arming. */
int mrc_req_notify_cq(struct mrc_cq *cq, int solicited_only);

/* Waits for the next event of any CQ of the channel, unless it is O_NONBLOCK (EAGAIN). */
int mrc_get_cq_event(struct mrc_comp_channel *channel, struct mrc_cq **cq, void **cq_context);

/* Acknowledges that many events of the CQ at once; mrc_destroy_cq waits for the last. */
void mrc_ack_cq_events(struct mrc_cq *cq, unsigned int nevents);

#ifdef __cplusplus
}
#endif

#endif
