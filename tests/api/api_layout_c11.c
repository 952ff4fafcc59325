/* SPDX-License-Identifier: Apache-2.0 */
/* The headers as a C11 program of version 1.0.0 sees them: nothing of 1.0.1 is declared. */
#define MRC_API_VER_USED MRC_API_VER(1, 0, 0)
#define MRC_CTL_API_VER_USED MRC_CTL_API_VER(1, 0, 0)
#include "api_layout.h"

/* Would clash with a declaration. */
enum { mrc_query_device_ex, mrc_ctl_query_device_ex };

int api_layout_unpopulated_c11(void);

int api_layout_unpopulated_c11(void)
{
    const struct mrc_ctl_ev ev = MRC_CTL_EV_UNPOPULATED;
    int sum = ev.port;
    for (int i = 0; i < MRC_CTL_EV_MAX_BYTES; ++i)
        sum += ev.val[i];
    return sum;
}
