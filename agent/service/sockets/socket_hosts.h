// SPDX-License-Identifier: Apache-2.0
// The hosts whose ordinary addresses programs know ([[sockets]]): their rows in the map `ordinary`, which say where
// adopted sockets go instead, and whether a host answers there.
//
// Each host is asked by ICMPv6 echo, which the kernel's route sends over the overlay, as it would a connection: what
// answers is the kernel that would take it, at the address that its mrcd holds. A host without mrcd, or that no plane
// reaches, is silent, and new connections to it stay on the ordinary network.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "kernel/socket_programs.h"
#include "service/config/config.h"
#include "service/echo_socket.h"
#include "service/fabric_rules.h"
#include "service/sockets/answering_host.h"

namespace mrc::service
{

// What host_sockets has to know of this host. Throws startup_error.
[[nodiscard]] mrc_sockets_config sockets_config_of(const fabric_rules &rules);

class socket_hosts
{
public:
    // Writes the rows, and begins to ask; the overlay is there. The programs are borrowed. Throws startup_error.
    socket_hosts(boost::asio::io_context &context, const daemon_config &config, const fabric_rules &rules,
                 const kernel::socket_programs &programs);

private:
    struct host {
        mrc_ip address{};
        std::vector<mrc_ip> ordinary;
        mrc_ip address4{}; // zero: none
        bool own = false;
        answering_host state;
    };

    void write_rows(const host &of) const;
    void ask_all();
    void hear();
    void say(const host &of) const;

    const kernel::socket_programs &programs_;
    std::vector<host> hosts_;
    echo_socket echo_;
    boost::asio::steady_timer timer_;
    boost::asio::posix::stream_descriptor readable_;
    std::uint16_t round_ = 0;
};

} // namespace mrc::service
