/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What packets of mrc-bench-raw say, and what its XDP program shares with the programs at both ends: C for both.
 */
#ifndef MRC_RAW_NOTE_H
#define MRC_RAW_NOTE_H

#include <linux/types.h>

#include "mrc/abi/maps.h"
#include "mrc/abi/wire.h"

#ifdef __cplusplus
#define RAW_ZERO                                                                                                       \
    {                                                                                                                  \
    }
#else
#define RAW_ZERO
#endif

#define RAW_MAGIC 0x6D726372u
#define RAW_REGION_BYTES (1u << 20)
#define RAW_LONGEST_PAYLOAD 4096u /* that is placed */
#define RAW_SHORT_PAYLOAD 256u    /* that is answered */

enum raw_kind {
    RAW_BEGIN = 1, /* of a run; `number`: after how many data packets the far end tells its totals */
    RAW_DATA,
    RAW_PING,
    RAW_PONG,
    RAW_FINISH,   /* asks for the totals */
    RAW_TOTALS,   /* struct run_totals is the payload */
    RAW_PROGRESS, /* the XDP program's: all data packets with numbers below `number` have arrived, or are lost */
    RAW_TAKEN,    /* the XDP program's: ping or pong `number` stands in the region */
};

/*
 * In the host's byte order: both ends are of one kind. It stands where MRC has BTH and what follows it; the byte that
 * the ICRC does not cover there is the first one of `uncovered`.
 */
struct raw_note {
    __u32 magic RAW_ZERO;
    __u32 uncovered RAW_ZERO;
    __u32 run RAW_ZERO;
    __u32 offset RAW_ZERO; /* in the far end's region */
    __u64 number RAW_ZERO;
    __u8 kind RAW_ZERO; /* enum raw_kind */
    __u8 path RAW_ZERO;
    __u16 reserved RAW_ZERO;
    __u32 payload_bytes RAW_ZERO;
};
MRC_ASSERT_SIZE(struct raw_note, 32);
MRC_ASSERT_OFFSET(struct raw_note, uncovered, 4);

/* From the inner IP header on. */
#define RAW_NOTE_AT 48u
#define RAW_PAYLOAD_AT 84u
#define RAW_ANSWER_BYTES 100u /* without payload: as long as a SACK */

/* What the XDP program does with packets of the run. */
enum raw_mode {
    RAW_WHOLE,  /* nothing: whole ones to AF_XDP */
    RAW_PLACE,  /* payload goes to the region, headers go to AF_XDP */
    RAW_ANSWER, /* short pings and data: placed, noted and answered; AF_XDP has none of them */
    RAW_MARK,   /* short pings and pongs: placed, noted and acknowledged; the program looks at the notes */
};

/* Writer: the loader, before it loads. */
struct raw_config {
    __u32 port; /* row of `raw_marks`, and of `paths` for the way back */
    __u16 udp_port;
    __u8 mode; /* enum raw_mode */
    __u8 icrc; /* is checked before anything is placed */
};

enum raw_refusal {
    RAW_WRONG_ICRC,
    RAW_OUT_OF_REGION,
    RAW_NOT_WHOLE, /* another length than it says */
    RAW_REFUSALS,
};

/* What has arrived by a port. Writer: the XDP program of that port, which runs on one CPU at a time. */
struct raw_mark {
    __u64 latest; /* 1 and the number of the latest ping or pong that was placed; written last */
    __u32 run;    /* that the rest is of */
    __u32 offset; /* of that ping or pong, as the next */
    __u32 payload_bytes;
    __u32 reserved;
    __u64 packets; /* of data and pings that were placed, as the rest */
    __u64 bytes;
    __u64 behind; /* the highest number, and 1 */
    __u64 first_ns;
    __u64 last_ns;
    __u64 refused[RAW_REFUSALS]; /* of any run */
    __u64 taken;                 /* acknowledgements of any run */
    __u64 padding[4];
};
MRC_ASSERT_SIZE(struct raw_mark, 128);

/* Writer: the program. A packet of another run is left to it. */
struct raw_session {
    __u32 run;
    __u32 report_after; /* data packets of a port */
};

/*
 * Of a packet that raw_push takes from the region: what stands in its slot behind RAW_PAYLOAD_AT bytes of headers.
 * Writer: the program.
 */
struct raw_source {
    __u32 offset;
    __u32 payload_bytes;
    __u32 icrc; /* as it goes over the wire */
};

/*
 * What arrives: writers are the XDP programs, where a packet says, and nobody else. What leaves: the program. Behind
 * the region: room that no packet may name.
 */
struct raw_region {
    __u8 bytes[RAW_REGION_BYTES + RAW_LONGEST_PAYLOAD];
};

#endif
