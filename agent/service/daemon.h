// SPDX-License-Identifier: Apache-2.0
// mrcd: puts the parts together in order, serves clients, follows the links, and takes everything down again.
#pragma once

#include <list>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>

#include "datapath/tap_device.h"
#include "service/client_session.h"
#include "service/config.h"
#include "service/fabric.h"
#include "service/host_ports.h"
#include "service/link_monitor.h"
#include "service/peer_directory.h"

namespace mrc::service
{

class daemon
{
public:
    // Loads, attaches and listens; after it the host is an MRC endpoint. Throws datapath::startup_error with one line
    // that names what is wrong; nothing stays attached or pinned then.
    explicit daemon(daemon_config config);
    daemon(const daemon &) = delete;
    daemon &operator=(const daemon &) = delete;
    ~daemon();

    // Serves until SIGTERM or SIGINT.
    void run();

private:
    struct connection {
        connection(boost::asio::io_context &context, const session_resources &shared, datapath::unique_fd socket);
        boost::asio::posix::stream_descriptor readable;
        client_session session;
    };

    void create_overlay();
    void listen();
    void log_ports(const std::vector<std::string> &modes) const;
    void log_counters();
    void accept_next();
    [[nodiscard]] static bool serves(connection &client);
    void serve_next(std::list<std::unique_ptr<connection>>::iterator at);
    void watch_links();
    void apply_links();
    [[nodiscard]] session_resources shared();

    daemon_config config_;
    fabric rules_;
    link_monitor links_;
    port_plan plan_;
    datapath::host_programs programs_;
    std::unique_ptr<datapath::tap_device> overlay_;
    host_ports ports_;
    protocol::plane_mask usable_; // read by all path groups on the worker thread, changed there only
    peer_directory peers_;        // its path groups outlive the worker that uses them
    datapath::worker worker_;

    boost::asio::io_context context_;
    boost::asio::signal_set signals_;
    boost::asio::posix::stream_descriptor links_readable_;
    boost::asio::posix::stream_descriptor acceptor_;
    std::list<std::unique_ptr<connection>> connections_;
};

} // namespace mrc::service
