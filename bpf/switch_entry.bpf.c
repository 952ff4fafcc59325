// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * switch_entry: what sits on the ports of several switches of a lab in place of their own programs, each of which is
 * called by the port's ifindex. The kernel's XDP dispatcher has 48 places, one for each program that is attached
 * anywhere on the machine: a lab takes one for all of its switches.
 *
 * hook     XDP on every port of the switches that share it, native or generic; multi-buffer aware (xdp.frags)
 * inputs   any frame; sw_switches
 * outputs  what the switch's own program makes of it; to the kernel where the port has none
 * maps     reads sw_switches
 * kernel   6.1
 * cost     a tail call, about 5 ns
 */
#include "maps.h"

MRC_USES(sw_switches);

SEC("xdp.frags")
int switch_entry(struct xdp_md *ctx)
{
    bpf_tail_call(ctx, &sw_switches, ctx->ingress_ifindex);
    return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
