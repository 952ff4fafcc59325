// SPDX-License-Identifier: Apache-2.0
// `mrcctl setup`: from a host with cables to a configuration that mrcd takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "service/config/config.h"

namespace mrc::setup
{

// What the peers answered.
struct probe_outcome {
    int status = 0; // 1: not all on all planes
    std::string text;
    boost::json::object view;
    std::string next; // command to type
};

// Of a fabric whose switches shift uSIDs.
struct srv6_wish {
    std::string like; // configuration of another host of the fabric, whose plan holds; empty: the default plan
    std::optional<std::uint32_t> leaf; // of this host; none: found out
    std::optional<std::uint32_t> downlink;
};

struct setup_wish {
    std::vector<std::string> ports; // empty: all that look like ports
    std::string instance;           // empty: "default"
    std::string file;               // empty: where the instance's unit looks for it
    std::chrono::seconds longest{60};
    std::optional<std::uint32_t> hosts;
    std::optional<srv6_wish> srv6; // none: direct mode
    // Direct mode: "[NAME=]ADDRESS,…" with one for each port, instead of hellos. SRv6: an address or a name, to be
    // probed.
    std::vector<std::string> peers;
    bool dry_run = false;
    bool yes = false;
    bool force = false;
    bool start = false;
    bool json = false;
    // Once the daemon has been started.
    std::function<probe_outcome(const setup_wish &)> probe;
};

// That is written, and read by --restore and --probe.
[[nodiscard]] std::string config_file_of(const setup_wish &wish);
// What to type to have the same peers probed, or those of the same file.
[[nodiscard]] std::string probe_command(const setup_wish &wish);

// Tells what it finds on standard error, the result on standard output. Returns the exit status. Throws
// std::runtime_error with what cannot be, and what helps; then nothing is written.
[[nodiscard]] int run_setup(const setup_wish &wish);

// Puts the addresses that setup has given to the ports of a configuration on them again, as after a restart of the
// machine, and leaves out devices that are not there. Does nothing for a configuration of other addresses.
[[nodiscard]] int restore_addresses(const setup_wish &wish);
// The same for one port whose device has just come. Throws std::system_error.
void restore_address(const service::port_options &port);

} // namespace mrc::setup
