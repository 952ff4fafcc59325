// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/finding.h"

#include <array>

namespace mrc::ctl::diagnose
{

std::string_view name_of(cause what)
{
    static constexpr std::array<std::string_view, static_cast<std::size_t>(cause::worker) + 1> names{"daemon",
                                                                                                     "port",
                                                                                                     "flapping_port",
                                                                                                     "host_link",
                                                                                                     "leaf",
                                                                                                     "spine",
                                                                                                     "leaf_spine_link",
                                                                                                     "spine_or_link",
                                                                                                     "leaf_or_link",
                                                                                                     "peer_link",
                                                                                                     "peer_port",
                                                                                                     "peer_or_network",
                                                                                                     "plane_network",
                                                                                                     "peer_down",
                                                                                                     "mtu",
                                                                                                     "host_losses",
                                                                                                     "congestion",
                                                                                                     "incast",
                                                                                                     "slow_receiver",
                                                                                                     "flooding_client",
                                                                                                     "worker"};
    return names[static_cast<std::size_t>(what)];
}

std::string_view name_of(direction which)
{
    static constexpr std::array<std::string_view, 4> names{"unknown", "out", "in", "both"};
    return names[static_cast<std::size_t>(which)];
}

} // namespace mrc::ctl::diagnose
