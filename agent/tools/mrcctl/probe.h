// SPDX-License-Identifier: Apache-2.0
// EV probes: one request along each EV at a time, answered by the other endpoint, with the round-trip time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "tools/mrcctl/device.h"
#include "tools/mrcctl/ev_notation.h"

namespace mrc::ctl
{

struct probe_options {
    std::string destination{};     // an MRC address
    std::vector<mrc_ctl_ev> evs{}; // as they stand in packets; none: one for each of EV profile 0
    mrc_ctl_ev_fmt_mode format = MRC_CTL_EV_FMT_MODE_STEV;
    unsigned count = 1;         // requests for each EV
    double interval_s = 0;      // between the beginnings of two rounds
    unsigned timeout_ms = 1000; // of a batch
    unsigned dscp = 46;
};

struct probes_sent {
    boost::json::array rows; // for each EV: sent, answered, round-trip times
    bool whole = true;       // everything was answered
    std::string complaint;   // the daemon's, about EVs that cannot be probed beside others that can
};
// {"plane", "port", "sent", "answered", "loss", …} of the rows' ports, added up.
[[nodiscard]] boost::json::array by_plane(const boost::json::array &rows);
// Throws ctl_error.
[[nodiscard]] probes_sent send_probes(const controller_device &device, const probe_options &options);

} // namespace mrc::ctl
