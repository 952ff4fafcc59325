// SPDX-License-Identifier: Apache-2.0
// What became of trying a port as mrcd would, and the findings that follow. Nothing here looks at the port again.
#pragma once

#include <optional>
#include <vector>

#include "kernel/probes/af_xdp.h"
#include "kernel/probes/xdp_attach.h"
#include "tools/mrc-doctor/subject.h"

namespace mrc::doctor
{

struct port_outcome {
    kernel::probes::xdp_support as_mrcd; // its own trial, untried where it does not ask; with its number of buffers
    bool attached = false;               // by that trial
    kernel::probes::xdp_support alone;   // each mode by itself, with the same number
    bool large_receive = false;          // the NIC joins packets
    std::optional<kernel::probes::attempt> redirect;    // none where mrcd redirects nothing
    std::vector<kernel::probes::af_xdp_support> queues; // none without an attached program
    bool agent_answers = false;                         // mrcd's worker answers EV probes
};

void judge_outcome(const port_outcome &outcome, subject &of);

} // namespace mrc::doctor
