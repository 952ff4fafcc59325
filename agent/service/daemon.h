// SPDX-License-Identifier: Apache-2.0
// mrcd: puts the parts together in order, serves until a signal ends it, and takes everything down again.
//
// what                                               where
// the user that it becomes                           daemon_user.h
// ports, and what follows from their links           ports/host_ports.h, ports/port_watch.h
// mrcnet0, for ordinary sockets                      overlay.h
// what adopted programs have for sockets             sockets/adoptions.h, sockets/socket_hosts.h
// hosts and the paths to them                        peer_directory.h, path_groups.h; forgotten: peer_release.h
// clients                                            sessions/session_listener.h, sessions/session_server.h
// controllers, and what they have set                control/control_service.h, control/settings_keeper.h
// XDP transmit that has to wait                      ports/live_call_recovery.h
// loops, and what they say of links                  fabric_map/fabric_map.h
// lines of the log, for all that comes and goes      transition_log.h, held_back_lines.h
// what programs call the peers                       peer_names.h
// the service manager; the end                       service_manager.h, drain.h
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "datapath/trace_ring.h"
#include "kernel/event_history.h"
#include "kernel/moved_interrupts.h"
#include "kernel/socket_programs.h"
#include "kernel/tap_device.h"
#include "service/config/config.h"
#include "service/control/control_service.h"
#include "service/control/settings_keeper.h"
#include "service/daemon_user.h"
#include "service/drain.h"
#include "service/drop_watch.h"
#include "service/fabric_map/direct_watch.h"
#include "service/fabric_map/fabric_map.h"
#include "service/fabric_map/lossy_planes.h"
#include "service/fabric_map/lossy_spines.h"
#include "service/fabric_rules.h"
#include "service/held_back_lines.h"
#include "service/log.h"
#include "service/peer_directory.h"
#include "service/peer_names.h"
#include "service/peer_release.h"
#include "service/ports/host_ports.h"
#include "service/ports/link_monitor.h"
#include "service/ports/live_call_recovery.h"
#include "service/ports/port_watch.h"
#include "service/published_config.h"
#include "service/service_manager.h"
#include "service/sessions/session_listener.h"
#include "service/sessions/session_server.h"
#include "service/sockets/adoptions.h"
#include "service/sockets/socket_hosts.h"
#include "service/transition_log.h"
#include "service/worker_crew.h"
#include "service/worker_place.h"

namespace mrc::service
{

// What a daemon is: a process, mrcd; or part of a program, whose signals, user, capabilities and service manager are
// not the daemon's (agent/embedded).
enum class daemon_place { process, program };

// Given a port whose device has come while the daemon runs, before it is taken in, on the thread of the links.
using device_preparation = std::function<void(const port_options &)>;

class daemon
{
public:
    // Loads, attaches and listens; after it the host is an MRC endpoint. Throws kernel::startup_error with one line
    // that names what is wrong; nothing stays attached or pinned then.
    explicit daemon(
        daemon_config config, daemon_place place = daemon_place::process,
        device_preparation prepare = [](const port_options &) {});
    daemon(const daemon &) = delete;
    daemon &operator=(const daemon &) = delete;

    // Serves until end(), SIGTERM or SIGINT, then gives what is in flight a while; a second signal ends that. SIGHUP
    // reloads. Signals are those of a process.
    void run();
    void end(); // from any thread

    // Of a daemon that is part of a program, its only one.
    [[nodiscard]] datapath::worker &worker() const { return workers_.first(); }

private:
    [[nodiscard]] control_service::surroundings control_surroundings();
    [[nodiscard]] session_resources resources_for(const daemon_config &config);
    [[nodiscard]] worker_crew *make_workers();
    void move_interrupts();
    void hold_socket_hosts();
    void take_notes();
    void follow_live_calls();
    void announce(const std::vector<port_change> &changes);
    void follow_speed();
    void map_fabric();
    void exchange_reports();
    void log_change_of_port(protocol::plane_index plane, bool usable, mrc_port_reason reason);
    void notify_of_port(protocol::plane_index plane, bool usable);

    void await_signal();
    void on_signal(int signal);
    void reload();
    void adopt(const daemon_config &fresh);
    void begin_end(const std::string &why);
    void publish();
    void feed_watchdog();
    [[nodiscard]] std::string summary() const;

    daemon_place place_;
    daemon_config config_;
    std::shared_ptr<const daemon_config>
        session_config_; // copy of it for sessions to come; older ones have an older one
    daemon_user user_;
    std::unique_ptr<const fabric_rules> made_rules_;
    const fabric_rules &rules_{*made_rules_};
    transition_log log_;
    link_monitor links_;
    port_plan plan_;
    worker_place worker_place_;
    kernel::moved_interrupts interrupts_;
    device_settings device_settings_;
    port_preparation preparation_;                             // before ports are tried as they will be used
    host_modes modes_;                                         // its attachments until programs_ takes their place
    std::uint64_t loop_cookie_;                                // of the fabric map; 0: there is none
    std::unique_ptr<kernel::socket_programs> socket_programs_; // null: no sockets can be adopted
    kernel::host_programs programs_;
    kernel::event_history history_{programs_.tables().events, programs_.host()[0]}; // of log_
    std::list<datapath::trace_ring> traces_;                                        // by worker
    std::unique_ptr<kernel::tap_device> overlay_;
    host_ports ports_;
    // What workers do together.
    datapath::verdict_sums verdicts_{programs_.map_fd("verdicts")};
    datapath::shared_path_states path_states_{programs_.paths()};
    datapath::loopback_lanes lanes_;
    kernel::mapped_array<mrc_overlay_row> no_overlay_; // of those that do not serve it
    worker_crew workers_;
    peer_directory peers_; // its path groups outlive the workers that use them
    struct workers_gone {
        void operator()(worker_crew *made) const { made->clear(); }
    };
    std::unique_ptr<worker_crew, workers_gone> made_;
    control_service control_;
    // Ends the workers' threads, before anything goes that they use.
    struct workers_end {
        void operator()(const worker_crew *running) const { running->stop(); }
    };
    std::unique_ptr<worker_crew, workers_end> running_{&workers_};

    boost::asio::io_context context_;
    std::vector<peer_hold> socket_peers_; // what adopted sockets reach
    adoptions adoptions_{socket_programs_.get()};
    std::optional<socket_hosts> socket_hosts_; // where sockets can be adopted
    port_watch port_watch_; // its thread calls the worker and posts to the context, and ends before both
    dispatcher_lines dispatcher_lines_{log::write};
    std::list<live_call_recovery> recoveries_; // of each worker, where a port uses XDP transmit
    std::optional<lossy_planes> lossy_planes_; // where they are to be left
    std::optional<lossy_spines> lossy_spines_; // likewise
    std::optional<direct_watch> direct_watch_; // in direct mode
    std::optional<fabric_map> fabric_map_;     // its thread posts to the context, and ends before it
    settings_keeper settings_;
    peer_release release_; // outlives the sessions that hold peers
    held_back_lines held_back_;
    drop_watch drops_;
    boost::asio::signal_set signals_;
    boost::asio::posix::stream_descriptor notes_readable_;
    session_server sessions_;
    session_listener listener_;
    published_names names_; // these two beside the listener's socket
    published_config published_;
    service_manager manager_;
    boost::asio::steady_timer watchdog_;
    boost::asio::steady_timer report_timer_; // of the fabric map
    drain drain_;
    bool ending_ = false;
};

} // namespace mrc::service
