/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OCP MRC controller API, version 1.0.1: ports, entropy values (EVs), congestion control (CC), probes. C and C++.
 *
 * For the process that manages a host's paths. It uses an mrc_context like any other, and needs CAP_NET_ADMIN (EPERM).
 * What it sets up is kept by the daemon and stays when the process ends. Profiles are named by the caller: 64-bit
 * numbers, of which 0 is built in.
 *
 * Every kind of profile has the states INIT → OFFLINE → ONLINE → OFFLINE → INIT: nothing set, set but not in use, in
 * use. The entry point for a change is one attribute structure and a mask of what in it counts.
 *
 * Results, where nothing else is said: 0, or -1 with errno; EINVAL, EPERM, EIO are possible everywhere.
 */
#ifndef _MRC_CTL_API_H_
#define _MRC_CTL_API_H_

#include <stdint.h>

#include <infiniband/verbs.h>

#include <mrc.h>
#include <mrc_ctl_api_ver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_CTL_MAX_VENDOR_CFG_SIZE 128 /* bytes; this library ignores and returns them */
#define MRC_CTL_EV_MAX_BYTES 32

/* What an explicit profile's entries are until they are replaced: no value, no port. */
#ifdef __cplusplus
#define MRC_CTL_EV_UNPOPULATED (mrc_ctl_ev{{0}, 0})
#else
#define MRC_CTL_EV_UNPOPULATED ((struct mrc_ctl_ev){.val = {0}, .port = 0})
#endif

enum mrc_ctl_protocol_version {
    MRC_CTL_PROTOCOL_VERSION_0 = 0, /* let the library choose */
    MRC_CTL_PROTOCOL_VERSION_1 = 1 << 0,
};

enum mrc_ctl_profile_state {
    MRC_CTL_PROFILE_INIT,
    MRC_CTL_PROFILE_OFFLINE,
    MRC_CTL_PROFILE_ONLINE,
};

/* ---- the device ---- */

enum mrc_ctl_attr_opt {
    MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE = 1 << 0,
    MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE = 1 << 1,
    MRC_CTL_OPT_CAP_EV_EVENT = 1 << 2,
    MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE = 1 << 3, /* explicit EVs are one contiguous range, and nothing else */
    MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT = 1 << 4,
    MRC_CTL_OPT_CAP_EP_OP_EV_PROBE = 1 << 5,
};

struct mrc_ctl_device_attr {
    uint32_t mrc_ctl_protocol_version; /* mrc_ctl_protocol_version bits */
    struct {
        uint32_t ev_max_fmt_profiles;
        uint32_t ev_max_profiles;
        uint32_t ev_max_count; /* EVs, over all profiles */
        uint32_t ev_free_count;
        uint32_t ev_max_count_profile; /* EVs of one profile */
        uint32_t ev_count_align;       /* the length of an explicit array is a multiple of this */
        uint32_t ev_max_width;         /* bits of an EV before expansion */
        uint32_t ev_fmt_mode_mask;     /* mrc_ctl_ev_fmt_mode bits */
        uint32_t ev_mode_mask;         /* mrc_ctl_ev_mode bits */
        uint32_t ev_op_max_entries;    /* of one call; 0: no limit of its own */
    } ev;
    struct {
        uint32_t cc_max_profiles;
        const char **algorithms; /* ends with NULL; the library's. "uet-1.0-nscc" is UET's NSCC */
    } cc;
    uint32_t phy_port_mask; /* bit N: port N, from 1 */
    uint32_t opt_attr;      /* mrc_ctl_attr_opt bits */
};

/*
 * Limits and options. *supported is 0, and the result too, for a verbs device that has no MRC; the form of 1.0.0 has
 * EOPNOTSUPP for it.
 */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
int mrc_ctl_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
                            struct mrc_ctl_device_attr *ctl_attr, int *supported);
#endif
int mrc_ctl_query_device(struct ibv_context *context, struct mrc_ctl_device_attr *ctl_attr);

/* As mrc_query_version, in MRC_CTL_API_VER words. */
void mrc_ctl_query_version(uint32_t *current_version, uint32_t *last_supported_version, uint32_t *vendor_version,
                           uint32_t *last_supported_vendor_version);

/* ---- ports ---- */

enum mrc_ctl_port_admin_state {
    MRC_CTL_PORT_ADMIN_DISABLED = 0, /* ibv_query_port says IBV_PORT_DOWN, and its EVs are not used */
    MRC_CTL_PORT_ADMIN_ENABLED = 1,
};

enum mrc_ctl_port_attr_mask {
    MRC_CTL_PORT_ADMIN_STATE = 1 << 0,
};

struct mrc_ctl_port_attr {
    enum mrc_ctl_port_admin_state port_admin_state;
};

/* port_num counts from 1. */
int mrc_ctl_query_port(struct mrc_context *context, uint8_t port_num, struct mrc_ctl_port_attr *attr, int attr_mask);
int mrc_ctl_modify_port(struct mrc_context *context, uint8_t port_num, struct mrc_ctl_port_attr *attr, int attr_mask);

/* ---- EV format profiles: the fields of an expanded EV on the wire ---- */

enum mrc_ctl_ev_fmt_mode {
    MRC_CTL_EV_FMT_MODE_STEV = 1 << 0, /* in flow label and UDP source port */
    MRC_CTL_EV_FMT_MODE_SRV6 = 1 << 1, /* as outer IPv6 destination of uSIDs, and a segment of an SRH */
    MRC_CTL_EV_FMT_MODE_UDP = 1 << 2,  /* as UDP source port */
};

enum mrc_ctl_ev_fmt_op {
    MRC_CTL_EV_FMT_OP_MODIFY_FIELDS,
    MRC_CTL_EV_FMT_OP_QUERY_FIELDS,
};

enum mrc_ctl_ev_fmt_profile_attr_mask {
    MRC_CTL_EV_FMT_PROFILE_STATE = 1 << 0,
    MRC_CTL_EV_FMT_PROFILE_CUR_STATE = 1 << 1,
    MRC_CTL_EV_FMT_PROFILE_MODE = 1 << 2,  /* needed to go OFFLINE */
    MRC_CTL_EV_FMT_PROFILE_OP = 1 << 3,    /* fields are needed to go ONLINE */
    MRC_CTL_EV_FMT_VENDOR_CFG = INT32_MIN, /* bit 31 */
};

struct mrc_ctl_ev_fmt_field {
    uint8_t width; /* bits */
};

struct mrc_ctl_ev_fmt_profile_attr {
    enum mrc_ctl_profile_state profile_state; /* to go to */
    enum mrc_ctl_profile_state cur_profile_state;
    enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
    struct {
        enum mrc_ctl_ev_fmt_op op;
        struct mrc_ctl_ev_fmt_field *fmt_fields; /* the caller's */
        int fmt_field_count;                     /* in: room or number; out: number */
    } ev_fmt_op;
    uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* EBUSY: an EV profile that uses it is ONLINE. E2BIG: such widths cannot be sent. */
int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
                                  struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask);

/* E2BIG: too little room, fmt_field_count says how much is needed. EINVAL: MODIFY_FIELDS. */
int mrc_ctl_query_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
                                 struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask);

/* ---- entropy values ---- */

/* Bits in order, the first byte first. SRv6: 16 bytes of destination, then 16 of segment. Unused ones are 0. */
typedef uint8_t mrc_ctl_ev_t[MRC_CTL_EV_MAX_BYTES];

struct mrc_ctl_ev {
    mrc_ctl_ev_t val;
    uint8_t port; /* from 1 */
};

enum mrc_ctl_ev_state {
    MRC_CTL_EV_GOOD = 1 << 0,
    MRC_CTL_EV_ASSUMED_BAD = 1 << 1, /* by the transport */
    MRC_CTL_EV_DENIED = 1 << 2,      /* by the controller */
    MRC_CTL_EV_UNKNOWN = INT32_MIN,  /* bit 31 */
};

enum mrc_ctl_ev_mode {
    MRC_CTL_EV_MODE_AUTO = 1 << 0, /* the library chooses */
    MRC_CTL_EV_MODE_EXP = 1 << 1,  /* the controller lists them */
    MRC_CTL_EV_MODE_GEN = 1 << 2,  /* the library generates them within the fields' limits */
};

enum mrc_ctl_ev_op {
    MRC_CTL_EV_OP_REPLACE_EV,
    MRC_CTL_EV_OP_MODIFY_EV_STATE,
    MRC_CTL_EV_OP_QUERY_EV_STATE,
    MRC_CTL_EV_OP_QUERY_EV_ARRAY,
};

enum mrc_ctl_ev_fields_op {
    MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS,
    MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS,
};

/* ---- EV profiles: the EVs of a group of QPs, and how they expand ---- */

enum mrc_ctl_ev_profile_attr_mask {
    MRC_CTL_EV_PROFILE_STATE = 1 << 0,
    MRC_CTL_EV_PROFILE_CUR_STATE = 1 << 1,
    MRC_CTL_EV_PROFILE_MODE = 1 << 2, /* these three, and fields, to go OFFLINE */
    MRC_CTL_EV_PROFILE_FMT_ID = 1 << 3,
    MRC_CTL_EV_PROFILE_COUNT = 1 << 4,
    MRC_CTL_EV_PROFILE_MIN_ACTIVE = 1 << 5, /* these two, and all explicit EVs, to go ONLINE */
    MRC_CTL_EV_PROFILE_EVENT_MASK = 1 << 6,
    MRC_CTL_EV_PROFILE_EV_OP = 1 << 7, /* only one of these two in a call */
    MRC_CTL_EV_PROFILE_EV_FIELDS_OP = 1 << 8,
    MRC_CTL_EV_PROFILE_VENDOR_CFG = INT32_MIN, /* bit 31 */
};

/*
 * A field starts as init_val; then as many bits of the EV as mask has, the most significant first, take the places of
 * the mask's bits from the highest on. The result is right-aligned in the format's field of the same index.
 */
struct mrc_ctl_ev_field {
    uint32_t width; /* bits, not more than the format's field */
    uint32_t init_val;
    uint32_t min_val; /* of the EV's bits here, when generated */
    uint32_t max_val;
    uint32_t mask; /* 0: a constant */
};

enum mrc_ctl_ev_op_flags {
    MRC_CTL_EV_OP_F_ALL_COPIES = 1 << 0, /* REPLACE_EV: every match, not just one */
};

/* What an operation reads (in) and writes (out); an EV is found by value and port. */
struct mrc_ctl_ev_op_entry {
    struct mrc_ctl_ev ev;        /* in; QUERY_EV_ARRAY: out */
    struct mrc_ctl_ev ev_new;    /* REPLACE_EV: in */
    enum mrc_ctl_ev_state state; /* REPLACE_EV, MODIFY_EV_STATE: in; queries: out */
    uint32_t flags;              /* REPLACE_EV, MODIFY_EV_STATE: in, mrc_ctl_ev_op_flags */
};

struct mrc_ctl_ev_profile_attr {
    enum mrc_ctl_profile_state profile_state; /* to go to */
    enum mrc_ctl_profile_state cur_profile_state;
    enum mrc_ctl_ev_mode ev_mode;
    uint64_t ev_fmt_profile_id;
    uint32_t ev_count;      /* query: as aligned */
    uint32_t ev_min_active; /* so many are never assumed bad; at most ev_count */
    int ev_event_mask;      /* GOOD and ASSUMED_BAD: entering these raises an EV event */
    struct {
        enum mrc_ctl_ev_op op;
        struct mrc_ctl_ev_op_entry *entries; /* the caller's */
        int entry_count;                     /* in: room or number; out: number */
    } ev_op;
    struct {
        enum mrc_ctl_ev_fields_op op;
        struct mrc_ctl_ev_field *fields; /* the caller's */
        int field_count;                 /* in: room or number; out: number */
    } ev_fields_op;
    uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/*
 * ONLINE it can go OFFLINE, and EV states can change; with the option bit also the event mask, EVs and fields. Entries
 * are done in order up to the first that fails, and what was done stays. E2BIG: too many. ENOENT: no such EV. EBUSY:
 * QPs use it.
 */
int mrc_ctl_modify_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id, struct mrc_ctl_ev_profile_attr *attr,
                              int attr_mask);

/* E2BIG: too little room, the count says how much is needed. ENOENT: no such EV. */
int mrc_ctl_query_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id, struct mrc_ctl_ev_profile_attr *attr,
                             int attr_mask);

/* ---- CC profiles ---- */

enum mrc_ctl_cc_profile_attr_mask {
    MRC_CTL_CC_PROFILE_STATE = 1 << 0,
    MRC_CTL_CC_PROFILE_CUR_STATE = 1 << 1,
    MRC_CTL_CC_PROFILE_ALGORITHM = 1 << 2,     /* needed to go OFFLINE */
    MRC_CTL_CC_PROFILE_CONFIG = 1 << 3,        /* needed to go ONLINE; there with the option bit only */
    MRC_CTL_CC_PROFILE_VENDOR_CFG = INT32_MIN, /* bit 31 */
};

struct mrc_ctl_cc_profile_attr {
    enum mrc_ctl_profile_state profile_state; /* to go to */
    enum mrc_ctl_profile_state cur_profile_state;
    const char *algorithm; /* of mrc_ctl_device_attr; NULL: none. Copied by modify, the library's after query */
    const void *cc_config; /* as the algorithm says: mrc_ctl_cc_nscc_cfg. Ownership likewise */
    uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

struct mrc_ctl_cc_nscc_cfg {
    uint8_t disable_qa;               /* no quick adapt */
    uint32_t adjust_bytes_threshold;  /* bytes */
    uint32_t adjust_period_threshold; /* ns */
    uint32_t base_rtt;                /* ns */
    float eta;
    float fi;
    float fi_scale;
    float gamma;
    float max_md_jump;
    uint32_t max_cwnd; /* bytes */
    uint8_t qa_gate;
    uint32_t qa_threshold; /* ns */
    uint32_t target_delay; /* ns */
};

/* EBUSY: QPs use it. */
int mrc_ctl_modify_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id, struct mrc_ctl_cc_profile_attr *attr,
                              int attr_mask);
int mrc_ctl_query_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id, struct mrc_ctl_cc_profile_attr *attr,
                             int attr_mask);

/* ---- EV events ---- */

struct mrc_ctl_ev_event {
    uint64_t profile_id;
    struct mrc_ctl_ev ev;
    uint32_t drop_count; /* events lost since the previous one; without the option bit just 1 or 0 */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
    enum mrc_ctl_ev_state state; /* entered; for contexts of version 1.0.1 on */
#endif
};

/* As mrc_create_cq. Never overruns: it drops, and counts. */
struct mrc_cq *mrc_ctl_create_ev_event_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context,
                                          struct mrc_comp_channel *channel, int comp_vector);

/* The number of events taken, at most num_entries; or the negative of an errno value. */
int mrc_ctl_poll_ev_event(struct mrc_cq *ev_cq, int num_entries, struct mrc_ctl_ev_event *ev_event);

/* ---- requests to another endpoint ---- */

enum mrc_ctl_ep_op_type {
    MRC_CTL_EP_OP_EV_PROBE,
    MRC_CTL_EP_OP_PORT_STATUS_UPDATE,
};

struct mrc_ctl_ep_req {
    uint16_t req_id;    /* the caller's; unique as long as an answer may be on its way */
    union ibv_gid sgid; /* one of this host's, or all zero */
    union ibv_gid dgid; /* both RoCE v2 */
    enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
    struct mrc_ctl_ev req_ev;
    union {
        struct {
            uint32_t port_status; /* bit N: port N is up, from 1 */
        } port_status_update;
    } op;
};

struct mrc_ctl_ep_rsp {
    uint16_t req_id;
    uint8_t port;         /* that it came in by, from 1 */
    unsigned int rtt;     /* ns */
    uint8_t adj_svc_time; /* not 0: the peer's service time is taken off */
};

/*
 * Sends num_req requests of one type, at most 2048, with the DSCP req_tc, each on the EV that it names, which may be
 * DENIED, and waits for the answer to each at most rsp_timeout ns, from its sending on: a host sends 5,000 a second,
 * the first 64 at once. rsp has room for num_req; they are in order of arrival, *num_rsp says how many. ETIMEDOUT: not
 * all came, those that did are there. EINVAL: so they are when it is for single requests, whose address or EV is none
 * of the fabric's: the others were sent. EAGAIN: too many requests are under way. Also ENOMEM. EVs stand here as in
 * packets: STEV 4 bytes, UDP 2, SRv6 the whole carrier, no SRH; a listed EV of profile 0 will do. A port status update
 * is sent up to three times; it holds until this host's own next one, a second later if it has queue pairs to that
 * peer.
 */
int mrc_ctl_ep_batch_send_wait(struct mrc_context *mrc_ctx, uint8_t req_tc, enum mrc_ctl_ep_op_type op_type,
                               struct mrc_ctl_ep_req *req, int num_req, uint32_t rsp_timeout,
                               struct mrc_ctl_ep_rsp *rsp, int *num_rsp);

#ifdef __cplusplus
}
#endif

#endif
