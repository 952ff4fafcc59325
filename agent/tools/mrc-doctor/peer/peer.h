// SPDX-License-Identifier: Apache-2.0
// `mrc-doctor --peer`: a host of a configuration in direct mode, seen from this one by each plane. SRv6 mode:
// ../srv6_peer.h.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "service/config/config.h"
#include "tools/mrc-doctor/peer/evidence.h"
#include "tools/mrc-doctor/report.h"

namespace mrc::doctor
{

struct peer_report {
    std::string peer; // as the user calls it
    std::string address;
    unsigned planes = 0; // that both hosts are on
    std::vector<finding> findings;

    // On each plane, as far as could be tried.
    [[nodiscard]] bool is_reached() const;
};

// By plane, or why no mrcd could be asked for them.
using plane_probes = std::expected<std::map<unsigned, probe_count>, std::string>;
// Probes toward this MRC address.
using peer_prober = std::function<plane_probes(const std::string &address)>;

// The row of [[peer]] that is meant by its name or an address. Throws std::runtime_error with those that there are.
[[nodiscard]] const service::host_entry &find_peer(const service::daemon_config &config, const std::string &peer);
// Throws std::runtime_error where nothing can be tried: no plane in common.
[[nodiscard]] peer_report examine_peer(service::daemon_config config, const std::string &peer,
                                       const peer_prober &probe);

[[nodiscard]] std::string to_text(const peer_report &of);
[[nodiscard]] boost::json::object to_json(const peer_report &of);

} // namespace mrc::doctor
