// SPDX-License-Identifier: Apache-2.0
// What setup would write, by what it has found out: in direct mode from the hellos of others, in an SRv6 fabric from
// loops over its switches; or from a list of the others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "service/ports/own_addresses.h"
#include "tools/setup/run.h"

namespace mrc::setup
{

// Where a port comes to be; without a plane it is not used.
struct port_seat {
    std::optional<unsigned> plane;
    std::string address;
};

struct proposal {
    std::string text;                               // of the configuration
    std::vector<service::device_address> addresses; // to be put on the ports; in an SRv6 fabric mrcd does it
    std::vector<port_seat> seats;                   // by port
    std::string question;                           // before it is written, with what a person should look at
    std::string next;                               // what to type once the daemon runs
    boost::json::object view;                       // of this host and others, without the ports
};

// What setup has been asked for, and where it writes. Borrowed.
struct proposal_wish {
    const setup_wish &wish;
    const std::vector<std::string> &ports;
    const std::string &instance; // never empty
    const std::string &file;
};

// They tell what they find on standard error, and throw std::runtime_error with what cannot be, and what helps.
[[nodiscard]] proposal propose_direct(const proposal_wish &of);
[[nodiscard]] proposal propose_srv6(const proposal_wish &of);
// Direct mode with the hosts of wish.peers. Sends nothing.
[[nodiscard]] proposal propose_listed(const proposal_wish &of);

// For all.
void say(const std::string &line);
[[nodiscard]] std::string text_of_file(const std::string &path); // empty where there is none
[[nodiscard]] std::string own_name();                            // of the host

} // namespace mrc::setup
