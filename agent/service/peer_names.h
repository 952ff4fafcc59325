// SPDX-License-Identifier: Apache-2.0
// What programs of this host may call its peers: by [[peer]] name, and by a hosts file. Published beside the socket
// (session/host_names.h), where mrcctl and mrc-perf read it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "service/config/config.h"
#include "service/fabric_rules.h"
#include "session/host_names.h"

namespace mrc::service
{

struct peer_names {
    std::vector<session::named_host> hosts; // a name of each, and a host of each name
    std::vector<std::string> refused; // lines of the hosts file that name a peer and do not count, with the reason
};

// The configuration's names come first: a file neither renames a peer that has one, nor gives its name to another.
// `file_text` is that of fabric.hosts_file, in the format of hosts(5); addresses that are no peers' are passed over.
[[nodiscard]] peer_names names_of_peers(const daemon_config &config, const fabric_rules &rules,
                                        std::string_view file_text);

// The file with the names; there is none without any. It goes with the object.
class published_names
{
public:
    published_names() = default;
    published_names(const published_names &) = delete;
    published_names &operator=(const published_names &) = delete;
    ~published_names();

    // Reads fabric.hosts_file again. Returns what is amiss, for the log.
    [[nodiscard]] std::vector<std::string> publish(const daemon_config &config, const fabric_rules &rules);

private:
    std::string path_; // empty: nothing was published yet
};

} // namespace mrc::service
