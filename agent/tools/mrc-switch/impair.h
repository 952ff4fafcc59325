// SPDX-License-Identifier: Apache-2.0
// `mrc-switch impair`: changes one port's row of sw_impair while traffic runs.
#pragma once

#include <optional>
#include <string>

#include "mrc/abi/switch_maps.h"

namespace mrc::lab_switch
{

// As given on the command line; what is not given keeps its value.
struct impair_request {
    std::string pin;
    std::string port;
    std::optional<std::string> loss;
    std::optional<std::string> corrupt;
    std::optional<std::string> duplicate;
    std::optional<std::string> blackhole;
    std::optional<std::string> rate;
    std::optional<std::string> rtt;
    std::optional<std::string> ecn_threshold;
    std::optional<std::string> trim;
    bool clear = false;
};

// The row that `request` makes of `row`. Throws switch_error that names the option, what was found and what is allowed.
[[nodiscard]] mrc_sw_impair_row changed_row(mrc_sw_impair_row row, const mrc_sw_port_row &port,
                                            const impair_request &request);

// Refuses what a switch cannot do that leaves forwarding to the kernel. Throws switch_error.
void check_forwarding(const mrc_sw_info &info, const impair_request &request);

// Throws switch_error.
void apply_impairments(const impair_request &request);

} // namespace mrc::lab_switch
