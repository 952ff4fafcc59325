/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/*
 * Waiting for completion events among other descriptors, so that a daemon inside the program (MRC_EMBEDDED) need not
 * wake another thread for them. An extension of libmrc: the OCP API has nothing like it.
 */
#ifndef MRC_WAIT_H
#define MRC_WAIT_H

#include <poll.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mrc_comp_channel;

/*
 * As ppoll(2) without a signal mask, on `count` descriptors; that of `channel` (mrc_get_comp_channel_fd()) is one of
 * them, or events of the channel are not waited for. `limit` NULL: without end. Returns as ppoll() does: how many are
 * ready, 0 when the time is over, -1 with errno (EINTR: a signal; EINVAL: no channel; EPERM: a child of the process
 * that made it).
 *
 * With a daemon inside the program the caller receives and sends meanwhile, and sleeps where packets wake it. Otherwise
 * this is ppoll().
 */
int mrc_poll_events(struct mrc_comp_channel *channel, struct pollfd *descriptors, nfds_t count,
                    const struct timespec *limit);

#ifdef __cplusplus
}
#endif

#endif
