/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/*
 * Map ABI of the lab's uSID switch (bpf/switch.bpf.c), shared by the program, mrc-switch and the tests.
 *
 * Pinned in the switch's own directory: sw_info, sw_ports, sw_routes, sw_impair, sw_queues, verdicts (enum mrc_verdict,
 * per CPU). Rows are multiples of 64 bytes. Port numbers are rows of sw_ports, sw_impair and sw_queues alike.
 */
#ifndef MRC_SWITCH_MAPS_H
#define MRC_SWITCH_MAPS_H

#include "mrc/abi/srv6.h"
#include "mrc/abi/wire.h"
#include <linux/bpf.h>
#include <linux/types.h>

#define MRC_SW_MAX_PORTS 64
#define MRC_SW_MAX_IFINDEX 65536 /* of ports whose switches share an entry program; beyond, a port has its own */
#define MRC_SW_MAX_ROUTES                                                                                              \
    1024 /* a hash of what a topology uses: a full /48 table as an array would lock 1 MB a switch */
#define MRC_SW_NAME_BYTES 32
#define MRC_SW_DEVICE_BYTES 16 /* IFNAMSIZ */

/* `sw_info`: array of one row, written once by mrc-switch: what runs here, for `impair` and `show`. */
enum mrc_sw_info_flags {
    MRC_SW_INFO_KERNEL = 1,  /* forward = "kernel": impairments act on the ingress port, the kernel forwards */
    MRC_SW_INFO_GENERIC = 2, /* generic XDP */
};

struct mrc_sw_info {
    char name[MRC_SW_NAME_BYTES];
    __u8 block[MRC_USID_LONGEST_BLOCK]; /* the uSID block, as in the address */
    __u32 block_bytes;
    __u32 usid;  /* own uSID */
    __u32 flags; /* enum mrc_sw_info_flags */
    __u32 ports;
    __u32 pid; /* of mrc-switch: its network namespace holds the ports */
    __u32 reserved;
};

/* `sw_ports`: array of MRC_SW_MAX_PORTS rows. */
enum mrc_sw_port_flags {
    MRC_SW_PORT_PRESENT = 1,
    MRC_SW_PORT_HOST_FACING = 2, /* last hop: no ECN marks, trims say LASTHOP */
};

struct mrc_sw_port_row {
    char device[MRC_SW_DEVICE_BYTES];
    __u32 ifindex;
    __u32 flags; /* enum mrc_sw_port_flags */
    __u8 mac[6]; /* source of what leaves here */
    __u16 reserved;
    __u64 rx_packets; /* from here on the program, atomic: every frame that reached XDP, from Ethernet on */
    __u64 rx_bytes;
    __u64 tx_packets; /* handed to the device by redirect; its own drops are in the device's counters */
    __u64 tx_bytes;
    __u64 reserved2[8];
};

/* `sw_routes`: hash, uSID (16 bits, host order, as __u32) -> static route. */
struct mrc_sw_route_row {
    __u32 port;
    __u8 mac[6]; /* next hop's */
    __u16 reserved;
    __u32 reserved2;
};

/*
 * `sw_impair`: array of MRC_SW_MAX_PORTS rows, for packets leaving by that port (forward = "kernel": arriving at it,
 * and then only blackhole, loss and corrupt act); a blackhole also takes what arrives. Written by `mrc-switch impair`
 * while traffic runs; a packet in flight may see a row half old and half new. Probabilities in 1/2^32; MRC_SW_ALWAYS is
 * certainty, 0 never.
 */
#define MRC_SW_ALWAYS 0xFFFFFFFFu

enum mrc_sw_impair_flags {
    MRC_SW_BLACKHOLE = 1,
    MRC_SW_ECN = 2,  /* the virtual queue marks ECT packets between ecn_min and ecn_max */
    MRC_SW_TRIM = 4, /* the virtual queue trims what has a trimmable DSCP above trim_bytes */
};

struct mrc_sw_impair_row {
    __u32 flags; /* enum mrc_sw_impair_flags */
    __u32 loss;
    __u32 corrupt;
    __u32 duplicate;
    __u64 rate;           /* of the virtual queue, bytes per ns << MRC_SW_RATE_SHIFT; 0: no virtual queue */
    __u32 bdp_bytes;      /* rate times round-trip time; what mrc-switch derived the thresholds from */
    __u32 ecn_min_bytes;  /* no mark up to here; from here on with linearly growing probability */
    __u32 ecn_max_bytes;  /* every ECT packet is marked from here on */
    __u32 trim_bytes;     /* queue longer than this: trim */
    __u32 drop_bytes;     /* queue longer than this: drop */
    __u32 priority_bytes; /* the same for the queue of control and trimmed packets */
    __u64 reserved[2];
};
#define MRC_SW_RATE_SHIFT 24

/*
 * `sw_queues`: array of MRC_SW_MAX_PORTS rows: the virtual queue of each egress port. It signals and never delays.
 * Backlogs are bytes << MRC_SW_RATE_SHIFT, so that draining is one multiplication and nothing is lost to rounding.
 */
struct mrc_sw_queue_row {
    struct bpf_spin_lock lock; /* of the row: packets for one port come from every CPU */
    __u32 reserved;
    __u64 updated_ns;
    __u64 backlog;
    __u64 priority_backlog; /* control and trimmed packets, drained first */
    __u64 peak_bytes;
    __u64 priority_peak_bytes;
    __u64 reserved2[2];
};

/* The switch's configuration, written into its read-only data before load. */
struct mrc_sw_config {
    __u64 block;            /* the first half of an address, zero behind the block */
    __u64 block_mask;       /* ones for the block */
    __u16 usid;             /* own */
    __u8 block_bytes;       /* 2, 4, 6 or 8 */
    __u8 forward_in_kernel; /* 1: the kernel's own seg6local forwards */
    __u32 reserved;
};

/*
 * The ports by their devices' ifindex, likewise in its read-only data, so that no map is searched: each in the first
 * free slot from the one on that its ifindex names. Usually that is free, as devices are numbered in turn.
 */
struct mrc_sw_device {
    __u32 ifindex; /* 0: nobody's */
    __u32 port;    /* row of sw_ports */
};

static inline __u32 mrc_sw_device_slot(__u32 ifindex, __u32 next)
{
    return (ifindex + next) & (MRC_SW_MAX_PORTS - 1);
}

/* Into a table of MRC_SW_MAX_PORTS slots, which has one for each port. */
static inline void mrc_sw_add_device(struct mrc_sw_device *devices, __u32 ifindex, __u32 port)
{
    __u32 next = 0;

    while (devices[mrc_sw_device_slot(ifindex, next)].ifindex)
        next++;
    devices[mrc_sw_device_slot(ifindex, next)] = (struct mrc_sw_device){.ifindex = ifindex, .port = port};
}

MRC_ASSERT_SIZE(struct mrc_sw_config, 24);
MRC_ASSERT_SIZE(struct mrc_sw_device, 8);
MRC_ASSERT_SIZE(struct mrc_sw_info, 64);
MRC_ASSERT_SIZE(struct mrc_sw_port_row, 128);
MRC_ASSERT_SIZE(struct mrc_sw_route_row, 16);
MRC_ASSERT_SIZE(struct mrc_sw_impair_row, 64);
MRC_ASSERT_SIZE(struct mrc_sw_queue_row, 64);
MRC_ASSERT_OFFSET(struct mrc_sw_port_row, rx_packets, 32);
MRC_ASSERT_OFFSET(struct mrc_sw_impair_row, rate, 16);

#endif
