/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/*
 * What a controller of a software endpoint can ask besides mrc_ctl.h: which profiles there are, why a call was
 * refused, and how long calls wait. An extension of libmrc: the OCP API has none of these.
 */
#ifndef MRC_CONTROL_H
#define MRC_CONTROL_H

#include <stdint.h>

#include <mrc.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mrc_ctl_profile_list {
    MRC_CTL_LIST_EV_FMT_PROFILES,
    MRC_CTL_LIST_EV_PROFILES,
    MRC_CTL_LIST_CC_PROFILES,
};

/*
 * The profiles that are not INIT, in ascending order. *count: in, room in `ids`; out, their number. 0, or -1 with
 * errno: E2BIG when there is too little room, *count says how much is needed; EINVAL, EPERM, EIO.
 */
int mrc_ctl_list_profiles(struct mrc_context *mrc_ctx, enum mrc_ctl_profile_list list, uint64_t *ids, int *count);

/*
 * How long calls on this context, and on the device that it is of, wait for the daemon's answer, in milliseconds; 0,
 * which holds at first: until the daemon answers or has ended, as one does that is merely stopped for a while. A call
 * that has waited for so long fails with ETIMEDOUT, and all later ones as if the daemon had ended: with ECONNRESET.
 * Endpoint batches have their own time. 0, or -1 with errno: EINVAL; EPERM in a forked child.
 */
int mrc_ctl_set_patience(struct mrc_context *mrc_ctx, uint32_t milliseconds);

/*
 * Why the call of mrc.h or mrc_ctl.h that failed last in this thread did so, as a line for people: what was wrong, and
 * what is allowed. Empty when there is nothing to tell. Valid until the next call that fails. Not of posts and polls,
 * which must stay quick.
 * After ibv_get_device_list(): why a device is missing that should be there, whether others are or not.
 */
const char *mrc_failure_text(void);

#ifdef __cplusplus
}
#endif

#endif
