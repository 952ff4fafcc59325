// SPDX-License-Identifier: Apache-2.0
// Constants of kernels newer than Debian 12's headers (6.1).
#pragma once

#include <linux/if_xdp.h>

// AF_XDP multi-buffer, kernel 6.6: a packet may span several descriptors.
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif
