/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/*
 * The BPF map ABI: keys, values, and the one enum of verdicts and drop reasons for BPF, the agent, metrics and
 * documents.
 *
 * Maps are pinned under /sys/fs/bpf/mrc/<instance>/ and BTF-typed, so `bpftool map dump` prints these names. Rows are
 * multiples of 64 bytes. Each row says who writes it and who reads it; a field that somebody else writes says so in
 * brackets. There is one writer, or all add atomically. Times are CLOCK_MONOTONIC nanoseconds (bpf_ktime_get_ns).
 * docs/maps.md is made of these comments: scripts/maps-page.
 */
#ifndef MRC_MAPS_H
#define MRC_MAPS_H

#include "mrc/abi/ip.h"
#include "mrc/abi/srv6.h"
#include "mrc/abi/wire.h"
#include <linux/types.h>

/* Of an enum: a member of a row takes one byte, in C and C++ alike, and bpftool prints it by its name. */
#define MRC_ONE_BYTE __attribute__((packed))

#define MRC_MAX_PORTS 8         /* one per plane; the EV's plane field has 3 bits */
#define MRC_MAX_QUEUES 16       /* receive queues per port that get an AF_XDP socket */
#define MRC_MAX_WORKERS 4       /* threads that have a socket each on such a queue; power of two */
#define MRC_MAX_PATHS (1 << 20) /* path rows that a host can have; row 0 counts packets of unknown paths */
#define MRC_USUAL_PATHS 8192    /* that it has, unless its configuration says otherwise */
#define MRC_MAX_QPS 16384       /* power of two: the low bits of a QPN are its row */
#define MRC_MAX_PEERS 131072    /* hosts in use at one time that a host can have rows for, a row for each address */
#define MRC_USUAL_PEERS 4096
#define MRC_MAX_CLIENTS 8192 /* that are listed at one time; more are served */
#define MRC_MAX_GROUPS 1536  /* remote T0s, by their number: struct mrc_path_row group */

/* Neighbours that frames are sent to: a port's gateway in the port's own row, then each group's on each plane. */
#define MRC_MAX_NEXT_HOPS (MRC_MAX_PORTS + MRC_MAX_GROUPS * MRC_MAX_PORTS)
#define MRC_NEXT_HOP_ROW(group, plane) (MRC_MAX_PORTS + (group) * MRC_MAX_PORTS + (plane))

#define MRC_ADDRESS_TEXT 40 /* of an address: IPv6 as RFC 5952 has it, IPv4 as a.b.c.d; zeros follow */

#define MRC_ETHERNET_BYTES 14
#define MRC_OUTER_BYTES 54 /* Ethernet 14 + outer IPv6 40 */

#define MRC_QPN_ROW(qpn) ((qpn) & (MRC_MAX_QPS - 1))

/* Of `xsks`: the AF_XDP socket of a worker. */
#define MRC_SOCKET_ROW(port, queue, worker) (((port) * MRC_MAX_QUEUES + (queue)) * MRC_MAX_WORKERS + (worker))

/* Of a request id, when so many workers ask: the bits that have the number of the one that does. */
#define MRC_ASKER_MASK(workers) ((workers) <= 1 ? 0u : (workers) == 2 ? 1u : MRC_MAX_WORKERS - 1u)
/*
 * Which worker has asked what the response with this request id answers. Updates of port status (ids 0x4000…0x7FFF)
 * and batches (0xE000…0xFFFF) are the first one's, whatever their low bits are.
 */
#define MRC_ASKING_WORKER(id, mask) ((id) >> 14 == 1 || (id) >> 13 == 7 ? 0u : (id) & (mask))

/*
 * Verdicts of all programs and drop reasons of the agent. Map `verdicts` (per-CPU array of __u64, one per program set;
 * the agent writes its own rows every 10 ms).
 *
 * A name ends in the word that documents and metrics use; new values go before the _COUNT of their group's end only.
 */
enum mrc_verdict {
    /* host_rx, XDP on a fabric port */
    MRC_RX_STEERED,           /* MRC, handed to the AF_XDP socket of its queue */
    MRC_RX_REFLECTED,         /* endpoint EV probe answered in place */
    MRC_RX_PASS_NOT_OURS,     /* to the kernel untouched: neither our uSID nor MRC for one of our addresses */
    MRC_RX_PASS_POPPED,       /* popped and handed to the kernel */
    MRC_RX_PASS_MALFORMED,    /* not parseable, to the kernel untouched */
    MRC_RX_DROP_CE_NOT_ECT,   /* outer CE over inner Not-ECT, RFC 6040 section 4.2 */
    MRC_RX_DROP_CARRIER_LEFT, /* our uSID is active but others follow: a host does not forward */
    MRC_RX_DROP_INNER,        /* our uSID, but next header is neither 41 nor 4, or the inner header is cut short */
    MRC_RX_DROP_BAD_MRC,      /* MRC by port and opcode, but the headers are cut short or malformed */
    MRC_RX_DROP_UNKNOWN_QP,   /* no such QP */
    MRC_RX_DROP_WRONG_PEER,   /* the QP exists, but this source is not its peer */
    MRC_RX_DROP_UNKNOWN_PEER, /* endpoint operation from an address not in `peers` */
    MRC_RX_DROP_NO_SOCKET,    /* no AF_XDP socket on this queue */
    MRC_RX_DROP_RESIZE,       /* bpf_xdp_adjust_head refused */
    MRC_RX_DROP_NOT_FABRIC,   /* MRC or the uSID block on a port that is not a fabric port */
    MRC_RX_DROP_PROBE_RATE,   /* EV probe beyond the rate at which they are answered */
    MRC_RX_DROP_FOREIGN,      /* under our uSID, but for an address that is not this host's */
    MRC_RX_DROP_NEIGHBOUR,    /* neighbour discovery under our uSID: it belongs to one link */
    MRC_RX_LOOP,              /* a loop of this daemon's fabric map has come back, and ends here */
    MRC_RX_DROP_LOOP,         /* a loop that is not this daemon's, or of none that it sends on this port */
    /* host_push, XDP transmit engine */
    MRC_PUSH_SENT,     /* handed to the port by redirect */
    MRC_PUSH_EMPTY,    /* a live frame without a slot to send */
    MRC_PUSH_BAD_SLOT, /* slot length or path out of range */
    MRC_PUSH_NO_PORT,  /* the path's port is down, or its next hop is not known */
    MRC_PUSH_STORE,    /* the slot does not fit the frame */
    /* host_tx, TC egress on the overlay */
    MRC_TX_PUSHED,        /* encapsulated, and sent to a port */
    MRC_TX_PASS_NOT_IP,   /* neither IPv4 nor IPv6 */
    MRC_TX_DROP_NO_PEER,  /* destination is no known peer */
    MRC_TX_DROP_NO_PATH,  /* no healthy path to the peer */
    MRC_TX_DROP_RESIZE,   /* bpf_skb_adjust_room or a store refused */
    MRC_TX_DROP_MRC_PORT, /* UDP to one of MRC's ports: only the daemon speaks MRC for this host */
    MRC_TX_DROP_HEADERS,  /* headers cut short, or too many of them, to tell whether it is that */
    /* switch, XDP uSID switch of labs */
    MRC_SW_FORWARDED,        /* sent to a port */
    MRC_SW_PASS_NOT_USID,    /* to the kernel: not the uSID block */
    MRC_SW_PASS_KERNEL,      /* to the kernel's own seg6local, after impairments */
    MRC_SW_DROP_NO_ROUTE,    /* active uSID is in no table row */
    MRC_SW_DROP_CARRIER_END, /* own uSID is the last of the carrier */
    MRC_SW_DROP_HOP_LIMIT,
    MRC_SW_DROP_MALFORMED,
    MRC_SW_MARKED,          /* CE set by the virtual queue (also counted as forwarded) */
    MRC_SW_TRIMMED,         /* payload cut by the virtual queue (also counted as forwarded) */
    MRC_SW_DROP_QUEUE,      /* virtual queue full, packet not trimmable */
    MRC_SW_DROP_TRIM_QUEUE, /* trimmed packets' own virtual queue is full */
    MRC_SW_IMPAIR_BLACKHOLE,
    MRC_SW_IMPAIR_LOSS,
    MRC_SW_IMPAIR_CORRUPT,   /* one bit flipped (also counted as forwarded) */
    MRC_SW_IMPAIR_DUPLICATE, /* a second copy was sent */
    MRC_SW_DROP_NO_PORT,     /* the route's port has no device any more */
    /* agent: after AF_XDP, or from a queue pair of this host */
    MRC_AGENT_ACCEPTED,         /* from a port */
    MRC_AGENT_DROP_NO_METADATA, /* frame without host_rx's metadata */
    MRC_AGENT_DROP_TRUNCATED,
    MRC_AGENT_DROP_BAD_LENGTH,
    MRC_AGENT_DROP_BAD_ICRC,
    MRC_AGENT_DROP_BAD_OPCODE,
    MRC_AGENT_DROP_UNKNOWN_QP,
    MRC_AGENT_DROP_WRONG_PEER,
    MRC_AGENT_DROP_UNASKED, /* endpoint response to nothing that was asked, or an operation unknown here */
    MRC_AGENT_DROP_RATE,    /* endpoint request beyond the rate at which they are taken */
    MRC_AGENT_DROP_NO_PORT, /* port status without a port of this fabric */
    MRC_AGENT_LOCAL,        /* between queue pairs of this host, accepted: it has seen no port */
    MRC_VERDICT_COUNT
};

/* `ports`: array of MRC_MAX_PORTS rows. Row = plane of the port. */
enum mrc_port_flags {
    MRC_PORT_PRESENT = 1,   /* the device is there */
    MRC_PORT_UP = 2,        /* carrier and administrative state */
    MRC_PORT_NEIGHBOUR = 4, /* its gateway is resolved, or one of its next hops at least */
};
#define MRC_PORT_USABLE (MRC_PORT_PRESENT | MRC_PORT_UP | MRC_PORT_NEIGHBOUR)

/* Why a port is out of use; new values go before the _COUNT. */
enum mrc_port_reason {
    MRC_PORT_IN_USE,             /* it is not out of use */
    MRC_PORT_MISSING,            /* no device of that name in the daemon's network namespace */
    MRC_PORT_DOWN,               /* administratively down */
    MRC_PORT_NO_CARRIER,         /* up, but the link is not */
    MRC_PORT_NO_NEIGHBOUR,       /* the gateway has no MAC address, nor has any other next hop */
    MRC_PORT_SEVERAL_NEIGHBOURS, /* gateway = auto, and there is more than one to choose from */
    MRC_PORT_REPLACED,           /* came back, or another in its place: our sockets are not on it */
    MRC_PORT_SMALL_MTU,          /* its MTU has shrunk below what a packet needs */
    MRC_PORT_DISABLED,           /* by the controller */
    MRC_PORT_REASON_COUNT
} MRC_ONE_BYTE;

enum mrc_xdp_mode {
    MRC_XDP_NONE,    /* no program of ours is on the port */
    MRC_XDP_NATIVE,  /* in its driver */
    MRC_XDP_GENERIC, /* behind it */
} MRC_ONE_BYTE;

enum mrc_engine {
    MRC_ENGINE_NONE,   /* the host has no port on this plane */
    MRC_ENGINE_XDP,    /* live frames; small bursts by AF_XDP */
    MRC_ENGINE_AF_XDP, /* AF_XDP rings alone */
} MRC_ONE_BYTE;

/* Writer: mrcd: service. Readers: mrcd, host_push, host_tx, mrcctl, bpftool. */
struct mrc_port_row {
    __u32 ifindex;          /* the kernel's number of the device */
    __u32 flags;            /* enum mrc_port_flags */
    __u8 mac[6];            /* the port's own */
    enum mrc_xdp_mode xdp;  /* how packets arrive */
    enum mrc_engine engine; /* how they leave */
    __u16 queues;           /* receive queues that have sockets */
    __u8 reserved[2];
    __u16 mtu;                   /* as the kernel has it */
    enum mrc_port_reason reason; /* why it is out of use */
    __u8 reserved2;
    struct mrc_ip address; /* this host's on the plane */
    struct mrc_ip outer;   /* outer destination that is popped here; zero: none is */
    __u64 rx_packets;      /* frames that arrived here and are ours [host_rx, atomic] */
    __u64 rx_bytes;        /* of those, from Ethernet on [host_rx, atomic] */
    __u64 tx_packets;      /* frames handed to the port [host_push, host_tx, and the worker for AF_XDP, atomic] */
    __u64 tx_bytes;        /* of those, from Ethernet on [host_push, host_tx, and the worker for AF_XDP, atomic] */
    __u64 last_tx_ns;      /* the latest of those [host_push, host_tx] */
    char device[16];       /* name; empty: the host has no port on this plane */
    char address_text[MRC_ADDRESS_TEXT]; /* `address`, for readers */
    /* packets of XDP transmit that left by AF_XDP, as the device had too many frames to send [mrcd: worker, atomic] */
    __u64 tx_held;
    __u64 reserved3[4];
};

/* `next_hops`: array of MRC_MAX_NEXT_HOPS rows: where a path's frames go on its link. */
/* Writer: mrcd: service. Readers: host_push, host_tx, and mrcd's worker for AF_XDP. */
struct mrc_next_hop_row {
    __u8 mac[6];    /* where frames go */
    __u16 resolved; /* 0: the neighbour is not known, nothing is sent there */
    __u64 reserved;
};

/*
 * `host`: array of one row. Every draw of a path, in the agent and in host_tx, takes plane_mask & peer.plane_mask:
 * losing or regaining a local port is this one store, whatever the number of QPs, paths or peers.
 */
/* Writer: mrcd: service. Readers: host_tx, mrcctl. */
struct mrc_host_row {
    __u32 plane_mask;    /* bit p: the port of plane p is usable */
    __u32 planes;        /* of the fabric */
    __u32 pid;           /* of the daemon, in its own PID namespace */
    __u32 payload_bytes; /* of one packet */
    __u64 started_ns;    /* when the daemon began */
    __u64 events;        /* number of the last one in `events`; 0: there was none */
    __u32 leaf;          /* SRv6: the T0 that the host is on, as `group` of paths counts them */
    __u32 block_bytes;   /* SRv6: of the uSID block in carriers; 0: paths are direct */
    __u64 drop_events;   /* number of the last one of drops in `events` [host_rx, host_push, host_tx, atomic] */
    /* What the wall clock (CLOCK_REALTIME) is ahead of CLOCK_MONOTONIC, which programs cannot ask. */
    __u64 real_ahead_ns;
    __u64 untold_qp_errors; /* queue pairs that failed and have no event: too many did at once */
    char version[16];       /* of the daemon */
    __u64 reserved[6];
};

/*
 * `paths`: array of rows, MRC_USUAL_PATHS or as many as configured. Row = group base + plane * uplinks + uplink of one
 * remote T0; a group that does not use all uplinks has a row for one of those with the same remainder (see struct
 * mrc_peer_row, chosen). Where paths are direct, a host is its own T0 and its EVs on a plane are its uplinks. Rows of a
 * group that is not in use any more are UNUSED for a while before they are another's.
 */
enum mrc_path_state {
    MRC_PATH_UNUSED,      /* the row is nobody's */
    MRC_PATH_GOOD,        /* in use */
    MRC_PATH_KEPT,        /* would be out of use, kept because nothing better is left */
    MRC_PATH_ASSUMED_BAD, /* out of use until probes are answered */
    MRC_PATH_DENIED,      /* out of use by the controller */
} MRC_ONE_BYTE;

/* What packets of a path are carried by. */
enum mrc_carrier_kind {
    MRC_CARRIER_SRV6,   /* an outer IPv6 header whose destination is uSIDs */
    MRC_CARRIER_DIRECT, /* no outer header: the packet's own addresses are those of both hosts on the plane */
} MRC_ONE_BYTE;

/* Writer: mrcd: service. Readers: host_push, host_tx, mrcd, mrcctl. */
struct mrc_path_row {
    /* SRv6: uSIDs up to the remote T0, and where the destination host's own uSID goes, at host_usid_at, what tells it
     * from the same one on plane 0. Direct: the peer's address on the plane. */
    struct mrc_ip carrier;
    enum mrc_path_state state;  /* whether packets are sent on it [mrcd: worker] */
    __u8 source;                /* SRv6: which of the outer sources its packets have; 0: the port's address itself */
    __u8 host_usid_at;          /* SRv6: at which byte of `carrier` the destination host's uSID begins */
    enum mrc_carrier_kind kind; /* what carries its packets */
    __u16 group;                /* path group: which remote T0; direct: which peer */
    __u16 next_hop;             /* row of `next_hops` */
    __u8 plane;                 /* 0 to MRC_MAX_PORTS - 1 */
    __u8 port;                  /* row of `ports`; equal to plane today */
    __u16 uplink;               /* of the remote T0, or the EV of a direct path, counted from 0 */
    __u32 ev;                   /* entropy value that selects this path */
    __u64 tx_packets;           /* handed to the port [host_push, host_tx, and the worker for AF_XDP, atomic] */
    __u64 tx_bytes;             /* from Ethernet on [host_push, host_tx, and the worker for AF_XDP, atomic] */
    __u64 retransmits;          /* packets sent again on it [mrcd: worker] */
    __u64 losses;               /* packets sent here and inferred lost [mrcd: worker] */
};

#define MRC_RTT_PERIOD_NS 10000000000ull

/* Histograms of times: the first bucket ends at 2^12 ns, the next at 2^13 … the last one does not end. */
#define MRC_RTT_BUCKETS 16
#define MRC_RTT_SHIFT 12

/* `signals`: array of as many rows as `paths`, same index; written by host_rx with atomic adds and plain stores. */
/* Writer: host_rx, atomic. Readers: mrcd: service, mrcctl. */
struct mrc_signal_row {
    __u64 packets;           /* arrived on this path from the peer */
    __u64 bytes;             /* from Ethernet on */
    __u64 ce;                /* of those, congestion experienced in outer or inner header */
    __u64 trims;             /* of those, trimmed */
    __u64 last_arrival_ns;   /* the latest of those */
    __u64 acks;              /* SACK and NACK whose reflected EV names this path */
    __u64 ce_echoes;         /* SACK with m = SKIP_ONCE */
    __u64 trim_echoes;       /* NACK TRIMMED or TRIMMED_LASTHOP */
    __u64 last_ack_ns;       /* the latest of those */
    __u32 rtt_ns;            /* latest: reflected timestamp to arrival */
    __u32 rtt_min_ns;        /* of this period and the one before; 0: none yet */
    __u32 rtt_smoothed_ns;   /* 7/8 old + 1/8 new, RFC 6298's gain */
    __u32 rtt_period_min_ns; /* of this period */
    __u64 rtt_period_ns;     /* when it began */
    __u64 reserved[4];
};

/*
 * `peers`: hash, struct mrc_ip (inner source or destination address) -> struct mrc_peer_row. Of hosts in use, and of
 * all hosts of a small fabric.
 */
/* Writer: mrcd: service. Readers: host_rx, host_tx, mrcctl. */
struct mrc_peer_row {
    __u32 sender;     /* 1…: who has the same one may speak for it, see mrc_qp_row; a host that returns has another */
    __u32 group_base; /* first row of the peer's T0 in `paths` */
    __u16 uplinks;    /* rows per plane */
    __u8 planes;      /* of the fabric */
    __u8 plane_mask;  /* planes on which the peer can be reached, as it reports them */
    __u16 host_usid;  /* the peer's downlink on its T0, on plane 0; see mrc_path_destination */
    __u16 chosen;     /* 1: `uplinks`, a power of 2, are not all of the fabric; which they are stands in `paths` */
    char address[MRC_ADDRESS_TEXT]; /* the key, for readers */
    __u64 reserved;
};

/*
 * `paths_in_use`: hash, __u32 (first row of a path group in `paths` and `signals`) -> struct mrc_paths_in_use. Which
 * rows of these arrays are somebody's, for readers.
 */
/* Writer: mrcd: service. Readers: bpftool. */
struct mrc_paths_in_use {
    __u32 rows;                  /* of each plane as many, one plane after the other */
    __u32 group;                 /* as in struct mrc_path_row */
    __u64 profile;               /* EV profile; 0: everybody's */
    char host[MRC_ADDRESS_TEXT]; /* direct: whom the paths lead to; empty: whoever is behind that T0 */
};

/*
 * `overlay`: array of MRC_MAX_GROUPS rows, row = number of the remote T0. host_tx tells what ordinary sockets use, and
 * the agent watches the health of those paths: no acknowledgement of such traffic passes through it.
 */
/* Writer: host_tx. Readers: mrcd: worker. */
struct mrc_overlay_row {
    __u64 last_tx_ns; /* latest packet of ordinary sockets to that T0 */
    __u16 host_usid;  /* of the peer that was sent to then, as in struct mrc_peer_row */
    __u16 reserved[3];
    __u64 reserved2[6];
};

/*
 * Ordinary sockets of adopted cgroups (bpf/host_sockets.bpf.c): what they send to the addresses of hosts that programs
 * know goes to these hosts' MRC addresses.
 *
 * `ordinary`: hash, struct mrc_ip (an address that programs know) -> struct mrc_ordinary_row.
 * `ordinary_of`: hash, struct mrc_ip (an MRC address) -> struct mrc_ip: the first ordinary one of the same family.
 */
#define MRC_MAX_ORDINARY 8192

enum mrc_ordinary_state {
    MRC_ORDINARY_SILENT,    /* the host does not answer at its MRC address: nothing is sent there */
    MRC_ORDINARY_REACHABLE, /* it does */
    MRC_ORDINARY_OWN,       /* an address of this host */
};

/* Writer: mrcd: service. Readers: host_sockets. */
struct mrc_ordinary_row {
    struct mrc_ip address;         /* MRC address of the host, in the same family */
    enum mrc_ordinary_state state; /* whether it is sent to there */
    __u32 reserved[3];
};

/* `adopted`: cgroup storage, __u64 (a cgroup's id) -> struct mrc_adopted_row. Counters: atomic adds. */
enum mrc_adopted_flags {
    MRC_ADOPTED_BINDS = 1, /* sockets that bind to an ordinary address of this host get its MRC address */
};

/* Writer: host_sockets, atomic. Readers: mrcd: service. */
struct mrc_adopted_row {
    __u32 flags; /* enum mrc_adopted_flags [mrcd: service] */
    __u32 reserved;
    __u64 connections; /* mapped by connect(), TCP and UDP */
    __u64 datagrams;   /* mapped by sendto() and sendmsg() */
    __u64 binds;       /* mapped by bind() */
    __u64 silent;      /* left on the ordinary network: the host did not answer at its MRC address */
    __u64 bound;       /* left there: the socket had bound itself to another address, or to a device */
    __u64 reserved2[2];
};

/* `socket_notes`: socket storage -> struct mrc_socket_note. */
/* Writer: host_sockets. Readers: host_sockets. */
struct mrc_socket_note {
    struct mrc_ip asked; /* what the program sent to, or connected to, last; zero: nothing that is mapped */
    struct mrc_ip peer;  /* and the MRC address that it became */
    struct mrc_ip local; /* what the program bound to; zero: nothing that is mapped */
};

/* host_sockets' configuration, written into its read-only data before load. */
struct mrc_sockets_config {
    __u64 netns_cookie;     /* of the daemon's network namespace: sockets of others are left alone */
    struct mrc_ip address;  /* this host's MRC address */
    struct mrc_ip address4; /* its IPv4 counterpart; zero: none */
};

/* Bytes in front of a packet's own IP header on `path`, from Ethernet on. */
static inline __u32 mrc_path_header_bytes(const struct mrc_path_row *path)
{
    return path->kind == MRC_CARRIER_DIRECT ? MRC_ETHERNET_BYTES : MRC_OUTER_BYTES;
}

/* Outer destination of a packet on `path` to the host that has `host_usid` on plane 0: one table of paths serves all of
 * a T0. A direct path leads to one host, whose address on the plane it is.
 */
__attribute__((always_inline)) static inline struct mrc_ip mrc_path_destination(const struct mrc_path_row *path,
                                                                                __u16 host_usid)
{
    struct mrc_ip out = path->carrier;

    if (path->kind == MRC_CARRIER_DIRECT)
        return out;
    const __u32 at = path->host_usid_at & 14u;

    out.bytes[at] |= (__u8)(host_usid >> 8);
    out.bytes[at + 1] |= (__u8)host_usid;
    return out;
}

/*
 * Outer source of a packet on `path`, of the port's address: NICs that hash addresses only take packets of different
 * sources for different flows. The byte is zero in the port's address, behind its /64 and in front of what tells hosts
 * apart.
 */
#define MRC_SOURCE_AT 11

__attribute__((always_inline)) static inline void mrc_mark_source(void *address, const struct mrc_path_row *path)
{
    ((__u8 *)address)[MRC_SOURCE_AT] |= path->source;
}

/* What a queue pair that sends waits for. */
enum mrc_send_limit {
    MRC_LIMIT_NOTHING,     /* no request is unfinished */
    MRC_LIMIT_APPLICATION, /* all that was posted is on its way: more requests at a time would send more */
    MRC_LIMIT_WORKER,      /* it could send: its turn, or room where the packet would leave */
    MRC_LIMIT_RECEIVER,    /* the peer's window of PSNs, or places for immediates */
    MRC_LIMIT_CONGESTION,  /* the congestion window */
    MRC_LIMIT_LOSS,        /* the oldest packet under way, which had been lost */
    MRC_LIMIT_PATHS,       /* no plane is usable, or the peer is silent on all of them */
    MRC_LIMIT_MEMORY,      /* the daemon's memory for packets under way is used up */
};

/* Of a queue pair, as verbs have them (IBTA 10.3.1). */
enum mrc_qp_state {
    MRC_QP_RESET,              /* nothing yet */
    MRC_QP_INIT,               /* be given receive requests */
    MRC_QP_READY_TO_RECEIVE,   /* receive */
    MRC_QP_READY_TO_SEND,      /* receive and send */
    MRC_QP_SEND_QUEUE_DRAINED, /* receive, and end what it has begun to send */
    MRC_QP_ERROR,              /* nothing more: requests are flushed */
} MRC_ONE_BYTE;

/* `qps`: array of MRC_MAX_QPS rows, row = MRC_QPN_ROW(qpn). */
/* Writer: mrcd: worker. Readers: host_rx, mrcctl. */
struct mrc_qp_row {
    __u32 qpn;               /* 0: free; host_rx compares all 24 bits [mrcd: service] */
    __u32 peer_qpn;          /* 0: not connected [mrcd: service] */
    struct mrc_ip peer;      /* whom it is connected to; zero: nobody [mrcd: service] */
    enum mrc_qp_state state; /* what it may do */
    __u8 reserved;
    __u8 worker; /* whose socket gets its packets; what is of no queue pair goes to 0 [mrcd: service] */
    __u8 reserved2;
    __u32 sender;              /* of mrc_peer_row: who may speak to this QP; 0: nobody [mrcd: service] */
    __u64 rx_packets;          /* data packets accepted, first copies */
    __u64 rx_bytes;            /* payload placed */
    __u64 rx_duplicates;       /* below the edge, or already marked */
    __u64 rx_out_of_window;    /* beyond the PSN window, or too far behind */
    __u64 rx_refused;          /* key, bounds or access violations */
    __u64 tx_packets;          /* data packets, retransmissions included */
    __u64 tx_bytes;            /* payload, first transmissions */
    __u64 retransmits;         /* packets sent again */
    __u64 timeouts;            /* packets whose time ran out */
    __u64 nacks;               /* received */
    __u64 sacks_sent;          /* for data packets that arrived */
    __u64 sacks_received;      /* for data packets that were sent */
    __u32 cwnd_bytes;          /* congestion window, which queue pairs to one peer share */
    __s32 inflight_bytes;      /* of that window; negative for a moment after a cut */
    __u32 mpr;                 /* how far the receiver lets this end run ahead, PSNs [mrcd: service] */
    __u32 session;             /* of the client that has made it: key of `clients` [mrcd: service] */
    enum mrc_send_limit limit; /* since limit_since_ns */
    __u32 rtt_ns;              /* smoothed round trip; 0: none yet */
    __u64 limit_since_ns;      /* counted up to then: what follows is not in limited_... yet */
    __u64 losses;              /* inferred: a later packet of the same EV had arrived */
    __u64 losses_by_age;       /* inferred: older than its paths' skew explains */
    __u64 losses_by_sleek;     /* inferred: by the count of packets out of order */
    __u64 spurious;            /* retransmissions whose original had arrived */
    __u64 silences;            /* times that the peer fell silent on all paths */
    __u64 rx_trimmed;          /* data packets that arrived without their payload */
    __u64 rx_congested;        /* data packets with CE */
    /* Rejections, each by its reason (agent/protocol/qp_config.h). */
    __u64 rx_malformed;     /* header fields that contradict each other */
    __u64 rx_busy;          /* no memory or no place of receive requests just then: answered by NACK */
    __u64 rx_unexpected;    /* new packets after this end had failed */
    __u64 rx_bad_immediate; /* more messages with immediate than negotiated, or one number twice */
    __u64 rx_no_receive;    /* an immediate found no receive request */
    __u64 rx_wrong_state;   /* packets before the QP was ready for them */
    __u64 sacks_stale;      /* too far behind to be of use */
    __u64 sacks_rejected;   /* confirmed what was never sent */
    __u64 acks_rejected;    /* Transport ACK or NAK of what was never sent */
    __u64 nacks_rejected;   /* of what is not in the window */
    __u64 probes_rejected;  /* answers to probes that were not sent */
    __u64 nacks_stale;      /* of what is not in flight any more, or of an earlier transmission */
    __u64 nacks_unknown;    /* with a reason that the specification does not name */
    __u64 control_dropped;  /* answers that found no room in their queue */
    __u64 acks_unknown;     /* neither ACK nor NAK */
    __u64 penalties;        /* SACKs by which the peer's host asked to slow down */
    __u64 rx_no_memory;     /* refused for want of memory to note them in */
    /* How long it waited for each limit, all together: the time in which requests were unfinished. */
    __u64 limited_application_ns; /* MRC_LIMIT_APPLICATION */
    __u64 limited_worker_ns;      /* MRC_LIMIT_WORKER */
    __u64 limited_receiver_ns;    /* MRC_LIMIT_RECEIVER */
    __u64 limited_congestion_ns;  /* MRC_LIMIT_CONGESTION */
    __u64 limited_loss_ns;        /* MRC_LIMIT_LOSS */
    __u64 limited_paths_ns;       /* MRC_LIMIT_PATHS */
    __u64 limited_memory_ns;      /* MRC_LIMIT_MEMORY */
    __u32 rtt_min_ns;             /* the shortest round trip; 0: none yet */
    __u32 reserved3;
    /* Round trips, one of each SACK for a packet sent once: below 2^12 ns, 2^13 … the last one all above. */
    __u64 rtt_log2[MRC_RTT_BUCKETS];
    __u64 reserved4[4];
};

/*
 * `qps_in_use`: hash, __u32 (row of `qps`) -> struct mrc_qp_in_use. Which rows of that array are somebody's, and whose,
 * for readers.
 */
/* Writer: mrcd: service. Readers: bpftool. */
struct mrc_qp_in_use {
    __u32 qpn;                   /* its number */
    __u32 peer_qpn;              /* 0: not connected */
    char peer[MRC_ADDRESS_TEXT]; /* whom it is connected to; empty: nobody */
    __u32 session;               /* of the client that has made it: key of `clients` */
    __u32 pid;                   /* this and the next as in struct mrc_client_row */
    char command[16];            /* name of the client's process */
};

/* `workers`: array of MRC_MAX_WORKERS rows, written every 10 ms while the worker is awake. */
/* Writer: mrcd: worker. Readers: mrcctl. */
struct mrc_worker_row {
    __u32 thread; /* its id, in the daemon's PID namespace; 0: there is no such worker */
    __u32 reserved;
    __u64 rounds;     /* each looks for packets, requests and timers */
    __u64 sleeps;     /* for want of any */
    __u64 rx_packets; /* taken from its sockets */
    __u64 rx_late;    /* of these, those that had waited for longer than backlog_mark_us */
    __u64 rx_dropped; /* packets that found no room in its sockets */
    __u64 ran_ns;     /* time that its thread has had a processor */
    __u64 waited_ns;  /* time that it was ready to run, and had none */
    __u64 looked_ns;  /* when these two were asked for */
    /* Packets by the time from host_rx to the worker's round: below 2^12 ns, 2^13 … the last one all above. No round
     * trip has it in it: they end in host_rx. */
    __u64 lag_log2[MRC_RTT_BUCKETS];
    __u64 reserved2[7];
};

/*
 * `clients`: hash, __u32 (number of the session, from 1 on as long as the daemon runs) -> struct mrc_client_row. A row
 * for each client, from hello to the end of its connection; written by the agent's service thread only.
 */
/* Writer: mrcd: service. Readers: mrcctl. */
struct mrc_client_row {
    __u32 pid; /* of the process that connected, in the daemon's PID namespace; 0: it is in another */
    __u32 uid; /* as the daemon's user namespace has it */
    /* The process's name at hello, as /proc/PID/comm has it; '?' for bytes that are no printable ASCII. Empty: not
     * known. */
    char command[16];
    __u64 connected_ns;     /* when it said hello, CLOCK_MONOTONIC */
    __u64 registered_bytes; /* of all its memory regions */
    __u32 queue_pairs;      /* that it has */
    __u32 reserved;
    __u64 shared_bytes; /* of registered_bytes, those that the worker copies without calls of the kernel */
    __u64 reserved2;
};

/*
 * The fabric map: packets that this host sends to itself, by way of its leaf and of each spine, as an own uSID list
 * has them turn back there: host_rx counts and drops those that come back. None reaches the kernel or the worker.
 *
 * `loops`: array of rows, one for each way that loops go: of each plane the one to the leaf and back, then those by its
 * spines, then three that tell directions (MRC_LOOP_CROSSING). A single row that says nothing where there is no fabric
 * map.
 * `loop_arrivals`: array of MRC_LOOP_SLOTS for each row of `loops`: which of its latest loops have come back.
 * `fabric_faults`: array of links and switches that are at fault, by the loops of this host and by what other hosts
 * report of theirs; in direct mode, without loops, of planes toward peers, by this host's packets and probes. The first
 * row whose state is MRC_LINK_UNKNOWN ends them.
 */
#define MRC_LOOP_SLOTS 512 /* power of two */
#define MRC_LOOP_NO_SPINE 0xFFFFu
#define MRC_LOOP_CROSSING 0xFFFEu

enum mrc_link_state {
    MRC_LINK_UNKNOWN, /* not probed enough, or hidden by what is in front of it */
    MRC_LINK_GOOD,
    MRC_LINK_SLOW,  /* everything takes longer than it did */
    MRC_LINK_LOSSY, /* some is lost */
    MRC_LINK_DEAD,  /* nothing gets through */
} MRC_ONE_BYTE;

/* What a verdict is about. Loops of one host cannot tell everything apart; reports of others do. */
enum mrc_link_blame {
    MRC_BLAME_NOTHING,
    MRC_BLAME_HOST_LINK_OR_LEAF,   /* the link of the port to its leaf, or the leaf: no other host behind it reports */
    MRC_BLAME_LEAF,                /* the leaf, or everything between it and its spines */
    MRC_BLAME_SPINE_LINK_OR_SPINE, /* the link of the leaf to that spine, or the spine: no other leaf's hosts report */
    MRC_BLAME_HOST_LINK,           /* the link of the port to its leaf: other hosts' are good */
    MRC_BLAME_LEAF_SPINE_LINK,     /* the link of the leaf to that spine: other leaves' are good */
    MRC_BLAME_SPINE,               /* the spine: all leaves whose hosts report find it so */
    MRC_BLAME_PEER,                /* direct mode: everything between this host and that one on the plane */
} MRC_ONE_BYTE;

/*
 * Which way a link loses packets: up is from the host to the leaf, and from the leaf to the spine; in direct mode from
 * this host to the peer.
 */
enum mrc_link_direction {
    MRC_DIRECTION_UNKNOWN,
    MRC_DIRECTION_UP,
    MRC_DIRECTION_DOWN,
    MRC_DIRECTION_BOTH,
} MRC_ONE_BYTE;

/* Writer: mrcd: fabric map. Readers: host_rx, mrcctl. */
struct mrc_loop_row {
    __u16 plane; /* of the port that its loops leave and come back by */
    /* The spine, counted from 0. MRC_LOOP_NO_SPINE: they turn back at the leaf. MRC_LOOP_CROSSING: up by one spine and
     * down by another. */
    __u16 uplink;
    enum mrc_link_state state; /* of what is behind the shorter loop */
    __u8 reserved;
    enum mrc_link_blame blame; /* what the state is about, when it is not good */
    __u8 reserved2;
    __u32 leaf;                        /* this host's own */
    __u32 loss_ppm;                    /* of the loops of the last second, those lost, in millionths */
    __u32 loss_low_ppm;                /* it is between this … */
    __u32 loss_high_ppm;               /* … and this, with 99 % confidence */
    __u32 extra_rtt_ns;                /* of the last second's quickest loop, beyond the quickest ever */
    enum mrc_link_direction direction; /* in which the loops are lost */
    __u8 reserved3[3];
    __u64 since_ns;        /* in this state; 0: never in another */
    __u64 sent;            /* handed to the kernel */
    __u64 lost;            /* of those: did not come back, though later ones did, or other ways did meanwhile */
    __u64 unjudged;        /* of those: did not come back, when nothing else did either */
    __u64 arrived;         /* came back [host_rx, atomic] */
    __u64 last_arrival_ns; /* the latest of those [host_rx] */
    __u64 rtt_sum_ns;      /* of all of those [host_rx, atomic] */
    __u32 rtt_ns;          /* of the latest [host_rx] */
    __u32 rtt_min_ns;      /* of the quickest ever; 0: none yet [host_rx] */
    __u64 reserved4[4];
    /* Arrivals by round trip: below 2^12 ns, 2^13 … the last one all above. [host_rx, atomic] */
    __u64 rtt_log2[MRC_RTT_BUCKETS];
};

/* Writer: host_rx. Readers: mrcd: fabric map. */
struct mrc_loop_arrival {
    __u64 what; /* number of the loop << 32 | its round trip in ns; 0: none has come back here */
};

/* What a row of `fabric_faults` does not have: a leaf of spines, a spine of leaves and host links, a host of others. */
#define MRC_FAULT_NOWHERE 0xFFFFFFFFu
#define MRC_MAX_FAULTS 64

/* Writer: mrcd: fabric map; in direct mode its service thread. Readers: mrcctl. */
struct mrc_fault_row {
    enum mrc_link_state state; /* MRC_LINK_UNKNOWN: there are no more */
    __u8 reserved;
    enum mrc_link_blame blame; /* what is at fault */
    __u8 reserved2;
    enum mrc_link_direction direction; /* which way packets are lost */
    __u8 reserved3;
    __u16 plane;        /* whose link or switch it is */
    __u32 leaf;         /* or MRC_FAULT_NOWHERE */
    __u32 uplink;       /* the spine, or MRC_FAULT_NOWHERE */
    struct mrc_ip host; /* the common address of the host whose link it is, or the peer's; zero: no host's */
    __u32 loops;        /* of the last second, of all hosts that find it at fault: judged; of peers: packets … */
    __u32 lost;         /* … and of these lost */
    __u32 extra_rtt_ns; /* of the quickest, the least of all hosts that find it at fault */
    __u32 hosts;        /* that find it at fault */
    __u32 witnesses;    /* hosts that find the same good, by which a link is told from a switch */
    __u32 reserved4;
    __u64 since_ns;                   /* named, CLOCK_MONOTONIC */
    char host_text[MRC_ADDRESS_TEXT]; /* `host`, for readers */
    __u64 reserved5[3];
};

/* What is in a loop's UDP payload, in the host's own byte order: nobody else reads it. */
#define MRC_LOOP_UDP_PORT 61733
struct mrc_loop {
    __u64 cookie;  /* random, of this run of the daemon: nobody else's packet counts */
    __u64 sent_ns; /* CLOCK_MONOTONIC */
    __u32 row;     /* of `loops` */
    __u32 number;  /* of the row's loops, from 1 on */
};

/*
 * `events`: the last transitions of ports, planes, peers, links, paths, sessions and queue pairs, and drops that begin,
 * of which each is a line of the daemon's log, too, at its level. MRC_EVENT_CLASSES rings of MRC_EVENT_ROWS rows, one
 * after the other, for each enum mrc_event_class: what flaps in one drives out no history of the others. Numbers count
 * through all of them but drops, which have their own. Nothing is consumed: whoever comes late, or reads beside others,
 * sees the same rows.
 *
 * One writer of a row: the agent's service thread, or the program that has claimed its number of drops. It writes
 * number 0, the row, its number. A reader has the row as it was if it finds the same number before and after
 * (agent/kernel/event_history.h).
 */
#define MRC_EVENT_ROWS 1024 /* power of two; of a class */

enum mrc_event_class {
    MRC_EVENTS_OF_PORTS,
    MRC_EVENTS_OF_PLANES,
    MRC_EVENTS_OF_PEERS,
    MRC_EVENTS_OF_LINKS,
    MRC_EVENTS_OF_DROPS, /* written by the programs themselves */
    MRC_EVENTS_OF_PATHS,
    MRC_EVENTS_OF_SESSIONS,
    MRC_EVENTS_OF_QUEUE_PAIRS,
    MRC_EVENT_CLASSES
};

enum mrc_event_kind {
    MRC_EVENT_NONE, /* the row has not been used */
    MRC_EVENT_PORT_USABLE,
    MRC_EVENT_PORT_OUT_OF_USE,
    MRC_EVENT_PLANE_IN_USE, /* a path of a plane toward a leaf is in use again */
    MRC_EVENT_PLANE_OUT_OF_USE,
    MRC_EVENT_PEER_PORT_USABLE,
    MRC_EVENT_PEER_PORT_OUT_OF_USE,
    MRC_EVENT_PEER_PLANE_IN_USE, /* a plane toward one host */
    MRC_EVENT_PEER_PLANE_OUT_OF_USE,
    MRC_EVENT_PEER_HEARD,
    MRC_EVENT_PEER_SILENT,
    MRC_EVENT_LINK_GOOD, /* these four: enum mrc_link_state */
    MRC_EVENT_LINK_SLOW,
    MRC_EVENT_LINK_LOSSY,
    MRC_EVENT_LINK_DEAD,
    MRC_EVENT_DROPS_BEGIN, /* a program drops a packet, and has dropped none for the same reason there for a second */
    MRC_EVENT_PATH_GOOD,   /* these four: enum mrc_path_state */
    MRC_EVENT_PATH_KEPT,
    MRC_EVENT_PATH_ASSUMED_BAD,
    MRC_EVENT_PATH_DENIED,
    MRC_EVENT_SESSION_OPENED,
    MRC_EVENT_SESSION_CLOSED,
    MRC_EVENT_QP_CONNECTED,     /* ready to receive: packets of its peer are taken */
    MRC_EVENT_QP_ERROR,         /* it has failed, and completes nothing but flushed requests */
    MRC_EVENT_QP_CLOSED,        /* it has left a connection */
    MRC_EVENT_QP_ERRORS_UNTOLD, /* so many more have failed, too many at once for an event each */
    MRC_EVENT_COUNT
};

enum mrc_event_reason {
    MRC_REASON_NONE,
    /* of ports: what enum mrc_port_reason calls the same, by the same number */
    MRC_REASON_MISSING,
    MRC_REASON_DOWN,
    MRC_REASON_NO_CARRIER,
    MRC_REASON_NO_NEIGHBOUR,
    MRC_REASON_SEVERAL_NEIGHBOURS,
    MRC_REASON_REPLACED,
    MRC_REASON_SMALL_MTU,
    MRC_REASON_DISABLED,
    /* of paths and planes */
    MRC_REASON_SILENCE,     /* nothing gets through, though other paths deliver */
    MRC_REASON_LOSS,        /* packets are lost */
    MRC_REASON_ALWAYS_SKIP, /* the peer asks not to use it */
    MRC_REASON_CALM,        /* none of these for a second */
    MRC_REASON_PROBES,      /* are answered */
    MRC_REASON_DELIVERIES,  /* packets get through */
    MRC_REASON_CONTROLLER,
    /* of peers */
    MRC_REASON_PEER_SAYS,
    MRC_REASON_OTHER_PLANES, /* packets reach it on other planes only */
    MRC_REASON_REACHED,      /* packets reach it on this plane */
    MRC_REASON_NO_ANSWER,    /* on any plane */
    /* of links */
    MRC_REASON_LOOPS,   /* of this host's fabric map, and other hosts' */
    MRC_REASON_PACKETS, /* of this host's to the peer, and probes */
    /* of sessions */
    MRC_REASON_CLIENT_GONE, /* it has closed the connection, or its process has ended */
    MRC_REASON_VIOLATION,   /* of the session protocol, or its request failed */
    MRC_REASON_DAEMON_ENDS,
    /* of queue pairs that fail */
    MRC_REASON_RETRIES,           /* packets were sent again until none were left to try: nothing is acknowledged */
    MRC_REASON_REMOTE_ACCESS,     /* the peer refused a request: key, bounds or permission */
    MRC_REASON_REMOTE_OPERATION,  /* the peer could not carry out a request */
    MRC_REASON_REMOTE_INVALID,    /* the peer takes a request to be invalid */
    MRC_REASON_LOCAL_PROTECTION,  /* a request of this end names memory that may not be read */
    MRC_REASON_REFUSED_ACCESS,    /* this end refused a request of the peer, as the three above */
    MRC_REASON_REFUSED_OPERATION, /* likewise */
    MRC_REASON_REFUSED_INVALID,   /* likewise */
    MRC_REASON_OVERRUN,           /* a completion queue was full */
    MRC_REASON_CLIENT,            /* the client asked for it */
    /* of those that are closed: also by the client, which destroyed it */
    MRC_REASON_RESET,       /* the client took it back to its beginning */
    MRC_REASON_SESSION_END, /* its session has ended */
    MRC_REASON_COUNT
};

/* What a kind of event does not have is zero. */
/* Writer: mrcd: service; of drops host_rx, host_push, host_tx. Readers: mrcctl; of drops mrcd: service. */
struct mrc_event_row {
    __u64 number;                 /* 1 for the daemon's first, or of drops; 0: is being written, or was never used */
    __u64 time_ns;                /* when it was told */
    enum mrc_event_kind kind;     /* what has happened */
    enum mrc_event_reason reason; /* and why */
    __u32 plane;                  /* of ports, planes, links and paths; of drops: MRC_DROP_NO_PORT of no port's */
    __u32 leaf;                   /* remote T0, of planes and paths; of links: MRC_FAULT_NOWHERE of a spine */
    __u32 uplink;                 /* of paths, and of links to spines; of other links: MRC_LOOP_NO_SPINE */
    __u32 path;                   /* row of `paths` */
    __u32 paths;                  /* of the plane toward the leaf */
    __u32 session;     /* key of `clients` while it was open; then pid to queue_pairs: as in struct mrc_client_row */
    __u32 pid;         /* of sessions */
    __u32 uid;         /* of sessions */
    __u32 queue_pairs; /* that a session left behind, and the bytes of its memory; that have failed untold */
    /* Of paths: since the last acknowledgement that names it; 0: there was none, or it has just come. Of drops: since
     * the last one like it; 0: there was none. */
    __u32 quiet_us;
    __u64 registered_bytes; /* of the session */
    __u64 profile;          /* EV profile, of planes and paths */
    /* Of peers and queue pairs; of planes and paths in direct mode, where a leaf is a host; of hosts' links; of drops:
     * where the packet came from, in host_tx where it was to go; zero: it was not read that far. */
    struct mrc_ip peer;
    char name[16]; /* device of the port, command of the session */
    /* Sent on the path until then, and of them inferred lost: as in its row; of links: loops, or packets to the peer,
     * of the last second. */
    __u64 tx_packets;
    __u64 losses;              /* of those; of drops: so many like it, with this one */
    __u64 real_time_ns;        /* when it was told, by the wall clock (CLOCK_REALTIME) as it was then */
    __u32 qpn;                 /* of queue pairs, which have a session and a peer as well; that the packet names */
    __u32 peer_qpn;            /* of the peer's queue pair */
    enum mrc_link_blame blame; /* of links: what is meant */
    __u8 reserved[3];
    __u32 extra_rtt_ns;                /* of slow links: beyond the least that their loops have taken */
    enum mrc_link_direction direction; /* of links: which way packets are lost */
    __u8 reserved2[3];
    __u32 hosts;                      /* of links: that find it at fault … */
    __u32 witnesses;                  /* … and that find the same good */
    enum mrc_verdict verdict;         /* of drops */
    char peer_text[MRC_ADDRESS_TEXT]; /* `peer`, for readers; of drops empty */
};

/*
 * `drops`: array of MRC_DROP_ROWS rows, row = port * MRC_DROP_VERDICTS + verdict: packets that a program has dropped,
 * by the port that they came by, or were to leave by. What belongs to no port, as all that host_tx drops, has the rows
 * of MRC_DROP_NO_PORT. The first drop in a row after a second without one is an event.
 */
#define MRC_DROP_VERDICTS 64 /* power of two */
#define MRC_DROP_NO_PORT MRC_MAX_PORTS
#define MRC_DROP_ROWS ((MRC_MAX_PORTS + 1) * MRC_DROP_VERDICTS)
#define MRC_DROP_QUIET_NS 1000000000ull

/* Writer: host_rx, host_push, host_tx, atomic. Readers: mrcctl. */
struct mrc_drop_row {
    __u64 packets; /* dropped since the daemon began */
    __u64 last_ns; /* the latest of those */
};

/* Metadata that host_rx writes directly in front of each frame it steers (Ethernet follows, outer header popped). */
enum mrc_rx_kind {
    MRC_KIND_DATA,
    MRC_KIND_ACK,
    MRC_KIND_SACK,
    MRC_KIND_NACK,
    MRC_KIND_PROBE,
    MRC_KIND_ENDPOINT_REQUEST,
    MRC_KIND_ENDPOINT_RESPONSE,
};

enum mrc_rx_flags {
    MRC_RX_CE = 1, /* outer or inner CE */
    MRC_RX_TRIMMED = 2,
    MRC_RX_LAST_HOP = 4, /* trimmed at the last hop */
    MRC_RX_ENCAPSULATED = 8,
};

struct mrc_rx_meta {
    __u64 arrival_ns;
    __u32 ev;     /* of this packet */
    __u32 path;   /* row of `paths` and `signals`, 0 = unknown */
    __u32 qp_row; /* row of `qps`; 0xFFFFFFFF for endpoint operations */
    __u8 port;
    __u8 kind;  /* enum mrc_rx_kind */
    __u8 flags; /* enum mrc_rx_flags */
    __u8 queue;
    __u32 length; /* bytes behind this metadata, from Ethernet on */
    __u32 magic;  /* MRC_RX_META_MAGIC: proves to the agent that host_rx wrote this */
};
#define MRC_RX_META_MAGIC 0x6d726331u
#define MRC_NO_QP 0xFFFFFFFFu

/* host_rx's configuration, written into its read-only data before load; one object instance per port. */
#define MRC_RX_ADDRESSES 10            /* the common address, its IPv4 counterpart and one per plane */
#define MRC_RX_PROBES_PER_SECOND 50000 /* a peer probes each bad EV every 5 ms */
#define MRC_RX_PROBE_BURST_NS 10000000 /* how far arrivals may run ahead of that rate */

struct mrc_rx_config {
    __u32 port;         /* row of `ports` */
    __u8 fabric;        /* 0: neither MRC nor the uSID block is accepted here */
    __u8 address_count; /* of `addresses` */
    __u8 dscp_trimmed;
    __u8 dscp_trimmed_lasthop;
    __u8 dscp_control;
    __u8 agent_answers;    /* 1: no EV probe is answered in place, for the driver loses what XDP_TX sends */
    __u8 redirect_answers; /* 1: in place, and sent by a redirect: by XDP_TX the driver would keep it for a while */
    enum mrc_carrier_kind carrier; /* of this port's packets */
    __u8 block_bytes;              /* SRv6: of the uSID block in `outer` */
    __u8 asker_mask;               /* MRC_ASKER_MASK of the host's workers */
    __u8 reserved[2];
    __u32 probes_per_second; /* EV probes answered in place, per CPU; 0: MRC_RX_PROBES_PER_SECOND */
    __u32 reserved2;
    __u64 loop_cookie;   /* of struct mrc_loop; 0: there is no fabric map */
    struct mrc_ip outer; /* outer destination that is popped: block:hostusid::, or this host's address on the plane */
    struct mrc_ip addresses[MRC_RX_ADDRESSES]; /* of this host, the most used first */
};

/* host_tx's configuration, in its read-only data; the initial values are the defaults. */
struct mrc_tx_config {
    __u8 dscp; /* of the outer header: a class that is never trimmed */
    __u8 hop_limit;
    __u8 mrc_from_sockets; /* 1: UDP to MRC's ports passes, sprayed packet by packet */
    __u8 reserved[5];
};

/* host_push's configuration, in its read-only data; one object instance for each worker. */
struct mrc_push_config {
    __u32 worker; /* whose slots it sends */
    __u32 reserved;
};

/*
 * XDP transmit engine: `push_slots`, an mmapable array of MRC_PUSH_SLOTS slots for each worker, and `push_ring`, a row
 * for each. The worker fills slots [producer, …), publishes producer, and runs its host_push with repeat = frames
 * queued; host_push sends slot `consumer` and increments it. `consumer` is the only truth about what left:
 * BPF_PROG_TEST_RUN may end early.
 */
#define MRC_PUSH_SLOTS 1024 /* power of two */
#define MRC_PUSH_SLOT_BYTES 4096
#define MRC_PUSH_FRAME_MAX 3364 /* longest frame a live-frames page carries on 6.1; 3408 on 6.18 */
#define MRC_PUSH_BLANK_BYTES 64 /* of the frame that each run starts with; host_push grows it */

/* Writer: mrcd: worker. Readers: host_push. */
struct mrc_push_slot {
    __u32 length;     /* bytes of `inner`: IP header on, ICRC included */
    __u32 path;       /* row of `paths` */
    __u32 flow_label; /* of the outer header, 20 bits */
    __u8 tclass;      /* of the outer header */
    __u8 hop_limit;   /* of the outer header */
    __u8 next_header; /* 41 or 4 */
    __u8 reserved;
    __u16 host_usid; /* of the destination, see mrc_path_destination */
    __u16 reserved2;
    __u8 inner[MRC_PUSH_SLOT_BYTES - 20]; /* the packet */
};

/* Writer: host_push. Readers: mrcd: worker. */
struct mrc_push_ring {
    __u32 producer;     /* slots filled, modulo 2^32 [mrcd: worker] */
    __u32 consumer;     /* slots taken, modulo 2^32 */
    __u64 sent;         /* frames redirected */
    __u64 refused;      /* slots consumed without a redirect; the reason is in `verdicts` */
    __u64 last_send_ns; /* latest redirect */
    __u64 reserved[4];
};

/*
 * `capture_slots`: array of MRC_CAPTURE_SLOTS copies of packets, and `capture_ring`, one row: what `mrcctl capture` has
 * asked for. An array and no BPF_MAP_TYPE_RINGBUF: packets that leave by AF_XDP pass no program, and user space cannot
 * write into such a ring. host_rx, host_push, host_tx and the worker claim the slot `producer` by compare and swap
 * (include/mrc/abi/capture.h); mrcctl takes those that have their number, in order.
 */
#define MRC_CAPTURE_SLOTS 1024 /* power of two */
#define MRC_CAPTURE_SLOT_BYTES 4096
#define MRC_CAPTURE_SNAP_MAX (MRC_CAPTURE_SLOT_BYTES - 32)
#define MRC_CAPTURE_BURST_NS 10000000 /* how far packets may run ahead of the rate */

/* Where a packet was copied. */
enum mrc_capture_point {
    MRC_CAPTURE_ARRIVED,  /* received, as it arrived */
    MRC_CAPTURE_POPPED,   /* received, without its outer header, as it is handed on */
    MRC_CAPTURE_ANSWERED, /* sent: the answer to an EV probe, back out of the port that the probe came by */
    MRC_CAPTURE_PUSHED,   /* sent by XDP transmit */
    MRC_CAPTURE_AF_XDP,   /* sent by AF_XDP */
    MRC_CAPTURE_OVERLAY,  /* sent by an ordinary socket over the overlay, before the kernel cuts it into segments */
    MRC_CAPTURE_POINT_COUNT
};

/* Writer: host_rx, host_push, host_tx, mrcd: worker. Readers: mrcctl. */
struct mrc_capture_slot {
    __u64 number;   /* 1 for the first ever, of the slot that it stands in; stored last: the slot is whole */
    __u64 time_ns;  /* when it was copied */
    __u32 length;   /* bytes of the packet, from Ethernet on */
    __u16 captured; /* of them, those in `bytes` */
    __u16 verdict;  /* enum mrc_verdict */
    __u8 point;     /* enum mrc_capture_point */
    __u8 port;      /* row of `ports` */
    __u8 reserved[6];
    __u8 bytes[MRC_CAPTURE_SNAP_MAX]; /* the packet, from Ethernet on */
};

/* Writer: mrcctl. Readers: host_rx, host_push, host_tx, mrcd: worker. */
struct mrc_capture_ring {
    __u64 lease_ns;    /* packets are copied until then, which mrcctl puts off; 0: none are [and who finds it over] */
    __u64 producer;    /* slots claimed [host_rx, host_push, host_tx, mrcd: worker, atomic] */
    __u64 consumer;    /* slots taken */
    __u64 chosen;      /* packets that the filter let pass [host_rx, host_push, host_tx, mrcd: worker, atomic] */
    __u64 no_room;     /* copies that found no free slot [host_rx, host_push, host_tx, mrcd: worker, atomic] */
    __u64 over_rate;   /* packets beyond the rate [host_rx, host_push, host_tx, mrcd: worker, atomic] */
    __u64 due_ns;      /* when the next one would come at that rate [host_rx, host_push, host_tx, mrcd: worker] */
    __u32 interval_ns; /* of the rate, between two packets; 0: as many as come */
    __u32 sample;      /* of so many packets one is copied, 1 at least */
    __u32 snap_bytes;  /* of a packet at most, 14 at least */
    __u32 planes;      /* bit p: packets of the port of plane p */
    __u32 qpn;         /* received packets to this queue pair only; 0: whatever they are */
    __u32 peer_qpn;    /* and sent ones to this, where `qpn` is not 0 */
    __u32 psn_first;   /* packets whose BTH has this PSN, or one of the following */
    __u32 psn_count;   /* so many PSNs; 0: any */
    __u32 owner;       /* process of the mrcctl that captures, in its own PID namespace */
    __u32 reserved;
    __u64 reserved2[4];
};

/*
 * `trace_rows`: array of MRC_TRACE_ROWS rows, the last protocol events of the worker, and `trace_ring`, one row: what
 * `mrcctl trace` has asked for. Nothing is consumed and the worker waits for nobody: the newest row takes the place of
 * the oldest. Event n, 1 for the first ever, is in row (n - 1) % MRC_TRACE_ROWS, and whole where `newest` was n or more
 * before a reader looked and is less than n + MRC_TRACE_ROWS - 1 after: the one after the newest may be half written.
 */
#define MRC_TRACE_ROWS 32768 /* power of two */

/* Half a cache line, so that an event touches one. What a kind of event does not have is zero. */
/* Writer: mrcd: worker. Readers: mrcctl. */
struct mrc_trace_row {
    __u64 time_ns;       /* when it happened; of arrivals, when host_rx saw the packet */
    __u64 value;         /* as the kind has it: agent/protocol/trace_event.h */
    __u32 qpn : 24;      /* 0: of no queue pair */
    __u32 kind : 8;      /* as `mrcctl trace` names it: agent/protocol/trace_event.h */
    __u32 peer_qpn : 24; /* of the peer's queue pair */
    __u32 reason : 8;    /* as kind */
    __u32 psn : 24;      /* of the packet */
    __u32 reserved : 8;
    __u32 ev; /* of the packet, or the path */
};

/* Writer: mrcctl. Readers: mrcd: worker. */
struct mrc_trace_ring {
    __u64 lease_ns; /* events are written until then, which mrcctl puts off; 0: none are [and who finds it over] */
    __u64 newest;   /* number of the last row [mrcd: worker] */
    __u32 kinds;    /* bit k: events of kind k */
    __u32 qpn;      /* of this queue pair only, and of paths; 0: of all */
    __u32 owner;    /* process of the mrcctl that traces, in its own PID namespace */
    __u32 reserved;
    __u64 reserved2[4];
};

MRC_ASSERT_SIZE(struct mrc_port_row, 192);
MRC_ASSERT_SIZE(struct mrc_next_hop_row, 16);
MRC_ASSERT_SIZE(struct mrc_host_row, 128);
MRC_ASSERT_SIZE(struct mrc_path_row, 64);
MRC_ASSERT_SIZE(struct mrc_signal_row, 128);
MRC_ASSERT_SIZE(struct mrc_peer_row, 64);
MRC_ASSERT_SIZE(struct mrc_paths_in_use, 56);
MRC_ASSERT_SIZE(struct mrc_overlay_row, 64);
MRC_ASSERT_SIZE(struct mrc_ordinary_row, 32);
MRC_ASSERT_SIZE(struct mrc_adopted_row, 64);
MRC_ASSERT_SIZE(struct mrc_socket_note, 48);
MRC_ASSERT_SIZE(struct mrc_sockets_config, 40);
MRC_ASSERT_SIZE(struct mrc_qp_row, 576);
MRC_ASSERT_SIZE(struct mrc_qp_in_use, 72);
MRC_ASSERT_SIZE(struct mrc_worker_row, 256);
MRC_ASSERT_SIZE(struct mrc_client_row, 64);
MRC_ASSERT_SIZE(struct mrc_event_row, 208);
MRC_ASSERT_OFFSET(struct mrc_event_row, kind, 16);
MRC_ASSERT_SIZE(struct mrc_drop_row, 16);
MRC_ASSERT_SIZE(struct mrc_loop_row, 256);
MRC_ASSERT_SIZE(struct mrc_loop_arrival, 8);
MRC_ASSERT_SIZE(struct mrc_fault_row, 128);
MRC_ASSERT_SIZE(struct mrc_loop, 24);
MRC_ASSERT_SIZE(struct mrc_rx_meta, 32);
MRC_ASSERT_SIZE(struct mrc_rx_config, 208);
MRC_ASSERT_SIZE(struct mrc_tx_config, 8);
MRC_ASSERT_SIZE(struct mrc_push_config, 8);
MRC_ASSERT_SIZE(struct mrc_push_slot, MRC_PUSH_SLOT_BYTES);
MRC_ASSERT_SIZE(struct mrc_push_ring, 64);
MRC_ASSERT_SIZE(struct mrc_capture_slot, MRC_CAPTURE_SLOT_BYTES);
MRC_ASSERT_SIZE(struct mrc_capture_ring, 128);
MRC_ASSERT_SIZE(struct mrc_trace_row, 32);
MRC_ASSERT_SIZE(struct mrc_trace_ring, 64);
MRC_ASSERT_OFFSET(struct mrc_rx_meta, port, 20);
MRC_ASSERT_OFFSET(struct mrc_rx_meta, magic, 28);

#endif
