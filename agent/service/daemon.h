// SPDX-License-Identifier: Apache-2.0
// mrcd: puts the parts together in order, serves clients, follows the links, and takes everything down again.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "kernel/tap_device.h"
#include "service/config/config.h"
#include "service/control/control_service.h"
#include "service/control/settings_file.h"
#include "service/daemon_user.h"
#include "service/fabric_rules.h"
#include "service/peer_directory.h"
#include "service/ports/host_ports.h"
#include "service/ports/link_monitor.h"
#include "service/ports/link_watch.h"
#include "service/service_manager.h"
#include "service/sessions/client_session.h"
#include "service/sessions/session_listener.h"
#include "service/transition_log.h"

namespace mrc::service
{

class daemon
{
public:
    // Loads, attaches and listens; after it the host is an MRC endpoint. Throws kernel::startup_error with one line
    // that names what is wrong; nothing stays attached or pinned then.
    explicit daemon(daemon_config config);
    daemon(const daemon &) = delete;
    daemon &operator=(const daemon &) = delete;
    ~daemon();

    // Serves until SIGTERM or SIGINT, then gives what is in flight a while; a second signal ends that. SIGHUP reloads.
    void run();

private:
    struct connection {
        connection(boost::asio::io_context &context, const session_resources &shared, kernel::unique_fd socket,
                   std::shared_ptr<const daemon_config> config, std::shared_ptr<user_account> account, holding place);
        std::shared_ptr<const daemon_config> config; // what the session was opened with
        boost::asio::posix::stream_descriptor readable;
        client_session session;
    };

    void create_overlay();
    void give_up_privileges();
    void attach_ports();
    void log_counters();
    void open_session(kernel::unique_fd socket);
    [[nodiscard]] static bool serves(connection &client);
    void serve_next(std::list<std::unique_ptr<connection>>::iterator at);
    void watch_paths();
    struct port_change {
        protocol::plane_index plane;
        bool up = false;     // as the kernel has it
        bool usable = false; // up, and the controller has it enabled
        std::string_view reason;
    };
    [[nodiscard]] std::vector<port_change> follow_links();
    void announce_changes(const std::vector<port_change> &changes);
    void follow_speed();
    void warn_of_unusable_ports();
    void log_change_of_port(protocol::plane_index plane, bool usable, std::string_view reason);
    void log_held_back_lines();
    void notify_of_port(protocol::plane_index plane, bool usable);
    [[nodiscard]] control_service::surroundings control_surroundings();
    // daemon_settings.cpp
    void restore_settings();
    void refuse_settings(const std::string &why);
    void save_settings_soon();
    void save_settings();
    [[nodiscard]] session_resources shared();

    // daemon_life.cpp
    void await_signal();
    void on_signal(int signal);
    void reload();
    void adopt(const daemon_config &fresh);
    void begin_end(int signal);
    void notify_clients_of_end();
    void drain(std::uint64_t traffic_before);
    [[nodiscard]] std::optional<std::uint64_t> traffic_in_flight();
    void feed_watchdog();
    [[nodiscard]] std::string summary() const;

    daemon_config config_;
    std::shared_ptr<const daemon_config>
        session_config_; // copy of it for sessions to come; older ones have an older one
    daemon_user user_;
    fabric_rules rules_;
    transition_log log_;
    link_monitor links_;
    port_plan plan_;
    host_modes modes_; // its attachments until programs_ takes their place
    kernel::host_programs programs_;
    std::unique_ptr<kernel::tap_device> overlay_;
    host_ports ports_;
    protocol::local_ports local_; // read by all path groups on the worker thread, changed there only
    peer_directory peers_;        // its path groups outlive the worker that uses them
    datapath::worker worker_;
    control_service control_;
    std::optional<control::settings_file> settings_; // none: they are not kept
    // Ends the worker's thread, before anything goes that it uses.
    struct worker_end {
        void operator()(datapath::worker *running) const { running->stop(); }
    };
    std::unique_ptr<datapath::worker, worker_end> running_{&worker_};
    link_watch link_watch_; // its thread calls the worker, and ends before that

    boost::asio::io_context context_;
    boost::asio::signal_set signals_;
    boost::asio::posix::stream_descriptor notes_readable_;
    session_listener listener_;
    user_accounts accounts_;
    std::list<std::unique_ptr<connection>> connections_;
    service_manager manager_;
    boost::asio::steady_timer watchdog_;
    boost::asio::steady_timer drain_;
    boost::asio::steady_timer held_back_; // lines of log_
    boost::asio::steady_timer settings_due_;
    bool settings_wait_ = false; // for settings_due_
    boost::asio::steady_timer::time_point drain_until_;
    bool ending_ = false;
};

} // namespace mrc::service
