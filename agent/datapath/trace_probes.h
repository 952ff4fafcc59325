// SPDX-License-Identifier: Apache-2.0
// USDT probes of mrcd, one for each kind of trace event, under its name and the provider `mrc`. Each has six arguments:
// qpn, psn, ev, reason (a string), value, peer_qpn, as in struct mrc_trace_row. docs/trace.md shows how bpftrace uses
// them.
#pragma once

#include "protocol/trace_event.h"

namespace mrc::datapath
{

// Somebody is attached to one of them: the kernel counts who is, in words that stand beside the probes.
[[nodiscard]] bool probes_attached();
void fire_probe(const protocol::trace_event &event);

} // namespace mrc::datapath
