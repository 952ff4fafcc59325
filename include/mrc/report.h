/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/*
 * What a software endpoint can tell about a queue pair: the contents of vendor_cfg in mrc_query_qp() with
 * MRC_QP_VENDOR_CFG, an extension of libmrc within the OCP API. mrc_modify_qp() with MRC_QP_VENDOR_CFG takes a struct
 * mrc_report_control there, in any state. Counters run since the queue pair was created, unless said otherwise.
 */
#ifndef MRC_REPORT_H
#define MRC_REPORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_REPORT_VERSION 2
#define MRC_REPORT_MAX_PLANES 8

enum mrc_report_page {
    MRC_REPORT_PAGE_QP = 0,      /* struct mrc_qp_report */
    MRC_REPORT_PAGE_TRAFFIC = 1, /* struct mrc_traffic_report */
    MRC_REPORT_PAGE_HOST = 2,    /* struct mrc_host_report */
};

struct mrc_report_control {
    uint32_t version;     /* MRC_REPORT_VERSION */
    uint32_t page;        /* enum mrc_report_page: what queries of this QP give from now on */
    uint32_t reset_stall; /* not 0: the stall clock starts anew */
    uint32_t reserved[29];
};

struct mrc_qp_report {
    uint32_t version; /* MRC_REPORT_VERSION */
    uint16_t planes;
    uint16_t paths_kept; /* as paths_good: would be out of use, kept because nothing better is left */
    uint64_t tx_packets; /* data, retransmissions included */
    uint64_t rx_packets; /* data, first copies */
    uint32_t retransmits;
    uint32_t cwnd_bytes;
    uint32_t spurious; /* retransmissions whose original had arrived */
    uint32_t timeouts;
    uint32_t losses; /* inferred, not timed out */
    uint32_t nacks;
    uint32_t longest_stall_us; /* between two arrivals of new payload, since reset_stall */
    uint32_t smoothed_rtt_ns;
    /*
     * Each path once, of the path group that all QPs to the same leaf share, as the counters per plane, which run
     * since the daemon started and include control packets.
     */
    uint16_t paths_good;
    uint16_t paths_skip; /* good, but this QP passes it over in its next turn */
    uint16_t paths_assumed_bad;
    uint16_t paths_denied;
    uint32_t plane_tx_packets[MRC_REPORT_MAX_PLANES];
    uint32_t plane_rx_packets[MRC_REPORT_MAX_PLANES];
};

/* What more there is to tell about a queue pair. */
struct mrc_traffic_report {
    uint32_t version;       /* MRC_REPORT_VERSION */
    uint32_t payload_bytes; /* of a full packet that this end sends; path_mtu is the largest ibv_mtu not above */
    uint64_t tx_bytes;      /* payload, retransmissions included */
    uint64_t rx_bytes;      /* payload, first copies */
    uint64_t rx_duplicates; /* packets that had arrived before */
    uint64_t rx_refused;    /* packets that were not placed */
    uint64_t sacks_sent;
    uint64_t sacks_received;
    uint64_t reserved[9];
};

/* Of the whole daemon, since it started. */
struct mrc_host_report {
    uint32_t version; /* MRC_REPORT_VERSION */
    uint32_t plane_mask;
    uint64_t received;         /* packets taken from the ports */
    uint64_t dropped;          /* of these, by the daemon, for any reason */
    uint64_t bad_icrc;         /* of these, for their checksum */
    uint64_t socket_dropped;   /* for lack of room in AF_XDP rings */
    uint64_t transmit_sent;    /* packets handed to the kernel */
    uint64_t transmit_refused; /* packets that the kernel did not take */
    uint64_t worker_loops;
    uint64_t worker_sleeps;
    uint64_t backlogged; /* of the received, counted as congestion experienced: they waited too long for the daemon */
    uint64_t reserved[6];
};

#ifdef __cplusplus
}
#endif

#endif
