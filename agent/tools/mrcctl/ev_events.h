// SPDX-License-Identifier: Apache-2.0
// EV events as they come: EVs of profiles whose event mask has the state that was entered.
#pragma once

#include <optional>

#include "tools/mrcctl/device.h"

namespace mrc::ctl
{

struct event_options {
    std::optional<double> seconds = 1; // nothing: until interrupted
    int room = 4096;                   // events that wait; later ones are dropped and counted
    bool json = false;
};

// Prints a line per event. Throws ctl_error.
void print_events(const controller_device &device, const event_options &options);

} // namespace mrc::ctl
