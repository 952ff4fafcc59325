// SPDX-License-Identifier: Apache-2.0
// XDP, redirect, AF_XDP and live frames on a veth pair in a network namespace of mrc-doctor's own.
#pragma once

#include <optional>
#include <string>

#include "kernel/probes/attempt.h"
#include "kernel/probes/xdp_attach.h"
#include "service/config/config.h"
#include "tools/mrc-doctor/report.h"

namespace mrc::doctor
{

struct pair_outcome {
    kernel::probes::xdp_support xdp;
    kernel::probes::attempt live_frames;
    kernel::probes::attempt redirect;
    std::optional<double> attached_ns; // a packet
    std::optional<double> unattached_ns;
    kernel::probes::attempt af_xdp_copy;
    kernel::probes::attempt af_xdp_multi_buffer;
};

// Where there can be no pair, all of it is untried, with the reason.
[[nodiscard]] pair_outcome try_pair();
void judge_pair(const pair_outcome &outcome, const service::daemon_config &config, report &to);

} // namespace mrc::doctor
