// SPDX-License-Identifier: Apache-2.0
// `mrc-doctor --peer` in SRv6 mode: what this host can see of its ports' places in the fabric, and, where an mrcd runs
// here, what its probes and a diagnosis (tools/mrcctl/diagnose) say of the way to the peer.
#pragma once

#include <string>

#include "service/config/config.h"
#include "tools/mrc-doctor/peer/peer.h"

namespace mrc::doctor
{

// `peer`: a name or an address. Sends loops and echo requests on the ports. Throws std::runtime_error where nothing can
// be tried: it is no host of the fabric.
[[nodiscard]] peer_report examine_srv6_peer(const service::daemon_config &config, const std::string &peer);

} // namespace mrc::doctor
