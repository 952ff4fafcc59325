// SPDX-License-Identifier: Apache-2.0
// `mrc-switch show`: what a running switch's maps and its ports' kernel counters say.
#pragma once

#include <string>

namespace mrc::lab_switch
{

struct show_request {
    std::string pin;
    bool json = false;
};

// Prints to stdout. Throws switch_error.
void show_switch(const show_request &request);

} // namespace mrc::lab_switch
