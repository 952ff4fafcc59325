// SPDX-License-Identifier: Apache-2.0
#include "service/daemon.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/map_names.h"
#include "kernel/memory_policy.h"
#include "kernel/monotonic_clock.h"
#include "kernel/startup_error.h"
#include "service/config/reload.h"
#include "service/fabric_map/fault_event.h"
#include "service/log.h"
#include "service/overlay.h"
#include "service/ports/own_addresses.h"
#include "service/ports/port_speed.h"
#include "service/predecessor.h"
#include "service/qp_failure.h"
#include "service/random_seed.h"
#include "service/table_sizes.h"
#include "service/worker_setup.h"

namespace mrc::service
{

namespace
{

kernel::host_programs_options programs_for(const daemon_config &config, const fabric_rules &rules,
                                           const link_monitor &links, const port_plan &plan, const host_modes &modes,
                                           const kernel::user_identity &user, std::uint64_t loop_cookie,
                                           const std::unique_ptr<kernel::socket_programs> &sockets)
{
    std::vector<kernel::port_attachment> ports = attachments(config, rules, links, plan);
    for (std::size_t i = 0; i < ports.size(); ++i) {
        ports[i].config.agent_answers = modes.ports[i].agent_answers ? 1 : 0;
        ports[i].config.loop_cookie = loop_cookie;
        ports[i].config.redirect_answers = modes.ports[i].redirect_answers ? 1 : 0;
        ports[i].config.asker_mask = MRC_ASKER_MASK(workers_of(config));
    }
    return {.pin_dir = config.daemon.pin_dir,
            .user = user,
            .workers = workers_of(config),
            .scratch_device = "mrcpush%d",
            .overlay_dscp = config.wire.dscp.no_trim,
            .mrc_from_sockets = config.transmit.mrc_from_sockets,
            .tables = table_sizes_of(config, rules),
            .ports = std::move(ports),
            .pinned_beside = sockets ? sockets->maps() : std::map<std::string, int>{}};
}

// Null where no host's ordinary addresses are known.
std::unique_ptr<kernel::socket_programs> load_socket_programs(const daemon_config &config, const fabric_rules &rules)
{
    if (config.sockets.empty())
        return nullptr;
    if (rules.overlay_routes().empty())
        throw kernel::startup_error{"[[sockets]] needs the overlay, and this host has none: [host] address, or the "
                                    "address of its [[peer]], gives it one"};
    return std::make_unique<kernel::socket_programs>(sockets_config_of(rules));
}

// A program drives the one worker of its daemon itself (datapath/round_turns.h).
daemon_config fitted(daemon_config config, daemon_place place)
{
    if (place == daemon_place::program)
        config.worker.workers = 1;
    return config;
}

daemon_config with_port_speed(daemon_config config)
{
    config.transport.port_mbps = port_speed_mbps(config.ports, config.transport.port_mbps);
    return config;
}

daemon_config with_own_addresses(daemon_config config)
{
    if (config.fabric.mode != fabric_mode::direct)
        return config;
    const auto known = read_device_addresses();
    if (!known)
        throw kernel::startup_error{"cannot read the addresses of the ports: " + known.error().message()};
    if (const auto found = find_own_addresses(config, *known); !found)
        throw kernel::startup_error{found.error()};
    return config;
}

daemon_user required_user(const daemon_config &config)
{
    auto user = user_for(config);
    if (!user)
        throw kernel::startup_error{user.error()};
    return *std::move(user);
}

// The memory of a program that the daemon is part of is the program's to place.
worker_place chosen_place(const daemon_config &config, daemon_place place)
{
    worker_place chosen = place_worker(config.worker, find_host_cpus(config.ports));
    if (chosen.node >= 0 && place == daemon_place::process && kernel::prefer_memory_of(chosen.node))
        chosen.reason += fmt::format("; memory of NUMA node {} while it has any", chosen.node);
    return chosen;
}

port_plan plan_for(const daemon_config &config, link_monitor &links)
{
    session_listener::refuse_if_running(config);
    require_ports(config, links);
    await_free_ports(config, links);
    port_plan plan = plan_ports(config, links);
    warn_of_settings(config, links);
    return plan;
}

void log_counters(const worker_crew &workers, const host_ports &ports)
{
    datapath::worker_counters sum;
    workers.call_each([&](unsigned, const datapath::worker &worker) { sum += worker.counters(); });
    log::info("received {} packets, accepted {}", sum.received, sum.drops[MRC_AGENT_ACCEPTED]);
    for (unsigned verdict = MRC_AGENT_ACCEPTED + 1; verdict < MRC_VERDICT_COUNT; ++verdict)
        if (sum.drops[verdict] != 0)
            log::info("{}: {}", kernel::verdict_names[verdict], sum.drops[verdict]);
    if (const std::uint64_t drops = ports.socket_drops(); drops != 0)
        log::info("dropped for lack of room in AF_XDP rings: {}", drops);
}

} // namespace

daemon::daemon(daemon_config config, daemon_place place, device_preparation prepare)
    : place_{place}, config_{with_own_addresses(with_port_speed(fitted(std::move(config), place)))},
      session_config_{std::make_shared<const daemon_config>(config_)}, user_{required_user(config_)},
      made_rules_{make_fabric_rules(config_)},
      log_{{.planes = rules_.planes(),
            .write = &log::write_event,
            .keep = [this](const mrc_event_row &event) { history_.add(event, std::chrono::system_clock::now()); },
            .sole_host = [this](std::uint32_t leaf) { return rules_.sole_host(leaf); }}},
      links_{config_.ports, listed_hosts(config_)}, plan_{plan_for(config_, links_)},
      worker_place_{chosen_place(config_, place)},
      preparation_{config_, !rules_.overlay_routes().empty(), user_.who, device_settings_},
      modes_{choose_modes(config_, links_, plan_)}, loop_cookie_{loop_ways_of(config_).empty() ? 0 : random_seed()},
      socket_programs_{load_socket_programs(config_, rules_)},
      programs_{programs_for(config_, rules_, links_, plan_, modes_, user_.who, loop_cookie_, socket_programs_)},
      ports_{config_, rules_, programs_, plan_, modes_, links_, preparation_}, lanes_{programs_.workers()},
      workers_{programs_.workers(), listed_hosts(config_).size()},
      peers_{config_, rules_, programs_.tables(), programs_, workers_, path_states_, plan_.payload_bytes},
      made_{make_workers()}, control_{control_surroundings()},
      port_watch_{{.config = config_,
                   .links = links_,
                   .ports = ports_,
                   .tables = programs_.tables(),
                   .workers = workers_,
                   .prepare = std::move(prepare)},
                  context_,
                  [this](const std::vector<port_change> &changes) { announce(changes); }},
      settings_{context_, control_}, release_{context_, peers_, control_}, held_back_{context_, log_},
      drops_{context_, programs_.tables(),
             [this](const mrc_event_row &drop) {
                 log_.on_drops(drop, kernel::monotonic_now());
                 held_back_.schedule();
             }},
      signals_{context_}, notes_readable_{context_, ::fcntl(control_.notes_fd(), F_DUPFD_CLOEXEC, 0)},
      sessions_{context_,
                {.resources = [this](const daemon_config &opened_with) { return resources_for(opened_with); },
                 .on_closed = [this] { listener_.resume(); }}},
      listener_{context_, [this](kernel::unique_fd client) { sessions_.open(std::move(client), session_config_); }},
      manager_{place_ == daemon_place::process ? manager_environment::of_process() : manager_environment{}},
      watchdog_{context_}, report_timer_{context_},
      drain_{context_, [this] { return traffic_of(workers_, programs_.qps()); }}
{
    if (place_ == daemon_place::process) {
        ::signal(SIGPIPE, SIG_IGN); // a client may close its end of a pipe
        for (const int signal : {SIGTERM, SIGINT, SIGHUP})
            signals_.add(signal);
    }
    if (const auto &folder = config_.daemon.state_dir)
        settings_.restore(*folder, user_.who);
    overlay_ = create_overlay(config_, rules_, links_);
    if (overlay_)
        programs_.attach_overlay(overlay_->ifindex());
    if (overlay_ && socket_programs_)
        socket_hosts_.emplace(context_, config_, rules_, *socket_programs_);
    if (!peers_.hold_all_if_small() && overlay_)
        log::info("{} reaches the hosts that connections use: the fabric has too many to keep all", overlay_->name());
    hold_socket_hosts();
    announce(port_watch_.follow_links());
    attach_ports(config_, programs_, ports_, modes_);
    log::info("payload {} bytes a packet, overlay {}", plan_.payload_bytes, overlay_ ? overlay_->name() : "none");
    log::info("{} on {}", workers_.size() == 1 ? "worker" : fmt::format("{} workers", workers_.size()),
              worker_place_.reason);
    for (const std::string &advice : worker_place_.advice)
        log::warn("{}", advice);
    move_interrupts();
    listener_.open(config_, user_.who);
    publish();
    port_watch_.warn_of_unusable();
    map_fabric();
    if (place_ == daemon_place::process)
        become(user_, config_);
    workers_.start();
}

void daemon::move_interrupts()
{
    for (const auto &[device, numbers, to] : worker_place_.moves) {
        std::vector<std::uint32_t> moved;
        for (const std::uint32_t number : numbers)
            if (const auto refusal = interrupts_.move(number, to))
                log::warn("interrupt {} of {} stays where it is: {}", number, device, *refusal);
            else
                moved.push_back(number);
        if (!moved.empty())
            log::info("interrupts {} of {} are served by {} {} now, of the workers' NUMA node", fmt::join(moved, ", "),
                      device, to.size() == 1 ? "CPU" : "CPUs", kernel::cpu_list_text(to));
    }
}

worker_crew *daemon::make_workers()
{
    traces_.emplace_back(programs_.map_fd("trace_ring"), programs_.map_fd("trace_rows"));
    while (traces_.size() < workers_.size())
        traces_.emplace_back(&traces_.front());
    auto trace = traces_.begin();
    for (unsigned number = 0; number < workers_.size(); ++number)
        workers_.add(
            worker_options_for(config_, rules_, worker_place_, workers_.asker(number)),
            {.sockets = &ports_.sockets(number),
             .engines = ports_.engines(number),
             .paths = &programs_.paths(),
             .qps = &programs_.qps(),
             .overlay = number == 0 ? &programs_.overlay() : &no_overlay_,
             .write_verdict = verdicts_.writer_of(number),
             .on_peer_change =
                 [this, number](const datapath::worker_peer &peer) {
                     peers_.follow(number, peer, [&](const mrc_ip &host, const peer_condition &condition) {
                         control_.note_peer(host, condition);
                     });
                 },
             .on_path_state = [this](const protocol::path_transition &change) { control_.note(change); },
             .on_batch_done = [this] { control_.note_batch(); },
             .on_qp_failed =
                 [this](const datapath::worker_qp &qp) { control_.note_failure(names_of(qp), failure_of(qp)); },
             .row = &programs_.tables().workers[number],
             .trace = &*trace++,
             .number = number,
             .states = &path_states_,
             .lanes = &lanes_,
             .wake_other = [this](unsigned other) { workers_[other].wake(); }});
    return &workers_;
}

// The overlay reaches known peers only, and a fabric may be too large to know all for good.
void daemon::hold_socket_hosts()
{
    for (const socket_host &each : config_.sockets) {
        if (rules_.host_of(each.host) == rules_.self())
            continue;
        if (auto held = peers_.hold(each.host))
            socket_peers_.push_back(std::move(held->hold));
        else
            log::warn("host {} is not reached by adopted sockets: {}", to_text(each.host), held.error().text);
    }
}

control_service::surroundings daemon::control_surroundings()
{
    return {
        .config = config_,
        .rules = rules_,
        .tables = programs_.tables(),
        .workers = workers_,
        .ports = ports_,
        .peers = peers_,
        .log = log_,
        .payload_bytes = plan_.payload_bytes,
        .notify_session = [this](std::uint64_t session,
                                 std::uint64_t subscription) { sessions_.notify_subscription(session, subscription); },
        .notify_ports =
            [this](protocol::plane_index plane, bool usable) {
                log_change_of_port(plane, usable, port_watch_.reason_of(plane));
                notify_of_port(plane, usable);
            },
        .send_reply = [this](std::uint64_t session,
                             std::span<const std::byte> reply) { sessions_.send_reply(session, reply); },
        .settings_changed = [this] { settings_.save_soon(); }};
}

session_resources daemon::resources_for(const daemon_config &config)
{
    return {.config = config,
            .rules = rules_,
            .tables = programs_.tables(),
            .clients = programs_,
            .log = log_,
            .workers = workers_,
            .ports = ports_,
            .peers = peers_,
            .control = control_,
            .adopted = adoptions_,
            .payload_bytes = plan_.payload_bytes,
            .in_program = place_ == daemon_place::program};
}

void daemon::run()
{
    await_signal();
    listener_.start();
    port_watch_.start();
    if (fabric_map_)
        fabric_map_->start();
    if (direct_watch_)
        direct_watch_->look();
    drops_.look();
    take_notes();
    follow_live_calls();
    feed_watchdog();
    log::info("clients: root{}", listener_.group_name().empty() ? "" : " and group " + listener_.group_name());
    manager_.ready(summary());
    context_.run();
    settings_.save();
    log_counters(workers_, ports_);
}

// Of the worker: paths, peers and batches that have changed.
void daemon::take_notes()
{
    notes_readable_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               [this](const boost::system::error_code &error) {
                                   if (error)
                                       return;
                                   control_.take_notes();
                                   held_back_.schedule();
                                   take_notes();
                               });
}

void daemon::follow_live_calls()
{
    for (unsigned worker = 0; worker < workers_.size(); ++worker)
        if (datapath::live_calls *calls = ports_.live_calls(worker))
            recoveries_.emplace_back(context_,
                                     live_call_recovery::surroundings{
                                         .bell_fd = calls->bell_fd(),
                                         .acknowledge = [calls] { calls->acknowledge(); },
                                         .slowest = [calls] { return calls->slowest(); },
                                         .attach_again = [this, worker] { return programs_.attach_push_again(worker); },
                                         .try_one = [calls] { return calls->try_one(); },
                                         .give_back = [calls] { calls->give_back(); }},
                                     dispatcher_lines_);
}

void daemon::announce(const std::vector<port_change> &changes)
{
    for (const port_change &change : changes) {
        log_change_of_port(change.plane, change.up, change.reason);
        notify_of_port(change.plane, change.usable);
    }
    follow_speed();
}

// A link is negotiated anew with its carrier. For queue pairs to come: a window that exists keeps its steps.
void daemon::follow_speed()
{
    const std::uint32_t mbps = port_speed_mbps(config_.ports, config_.transport.port_mbps);
    if (std::exchange(config_.transport.port_mbps, mbps) == mbps || config_.transport.link_gbps)
        return;
    log::info("ports have {} Mbit/s now, the slowest counts; in new sessions", mbps);
    session_config_ = std::make_shared<const daemon_config>(config_);
    peers_.renew_congestion();
}

void daemon::map_fabric()
{
    if (rules_.carrier_kind() == MRC_CARRIER_DIRECT)
        direct_watch_.emplace(
            context_, direct_watch::surroundings{.config = config_,
                                                 .rules = rules_,
                                                 .tables = programs_.tables(),
                                                 .groups = [this] { return peers_.path_rows(); },
                                                 .on_fault =
                                                     [this](const fault_change &change) {
                                                         log_.on_link(event_of(change, config_, rules_), change.at);
                                                         held_back_.schedule();
                                                     }});
    if (loop_cookie_ == 0)
        return;
    if (config_.fabric_map.deny_lossy) {
        lossy_spines_.emplace(context_, config_.host.leaf,
                              lossy_spines::surroundings{
                                  .leave = [this](const std::set<left_path> &left) { peers_.set_left(left); },
                                  .write = [](log_level level, const std::string &line) { log::write(level, line); }});
        lossy_planes_.emplace(
            context_, config_.fabric_map,
            lossy_planes::surroundings{
                .usable = [this] { return ports_.view().up & control_.enabled_planes(); },
                .leave = [this](protocol::plane_index plane, bool left) { control_.leave_plane(plane, left); },
                .write = [](log_level level, const std::string &line) { log::write(level, line); }});
    }
    fabric_map_.emplace(fabric_map::surroundings{
        .config = config_,
        .rules = rules_,
        .tables = programs_.tables(),
        .cookie = loop_cookie_,
        .on_change =
            [this](const link_change &change) {
                if (lossy_planes_)
                    boost::asio::post(context_, [this, change] { lossy_planes_->on_change(change); });
            },
        .on_fault =
            [this](const fault_change &change) {
                boost::asio::post(context_, [this, change] {
                    if (!change.is_renamed)
                        log_.on_link(event_of(change, config_, rules_), change.at);
                    if (lossy_spines_)
                        lossy_spines_->on_fault(change);
                    held_back_.schedule();
                });
            }});
    if (fabric_map_->problem() != 0)
        log::warn("other hosts' reports of the fabric are not received: UDP port {}: {}", report_port,
                  std::strerror(fabric_map_->problem()));
    exchange_reports();
}

// With the hosts that are known: they come and go.
void daemon::exchange_reports()
{
    constexpr std::chrono::seconds interval{1};
    if (!fabric_map_)
        return;
    fabric_map_->know(peers_.hosts());
    report_timer_.expires_after(interval);
    report_timer_.async_wait([this](const boost::system::error_code &error) {
        if (!error)
            exchange_reports();
    });
}

void daemon::log_change_of_port(protocol::plane_index plane, bool usable, mrc_port_reason reason)
{
    for (const port_options &port : config_.ports)
        if (port.plane == plane)
            log_.on_port(port, usable, reason, kernel::monotonic_now());
    held_back_.schedule();
}

void daemon::notify_of_port(protocol::plane_index plane, bool usable)
{
    sessions_.notify({usable ? session::event_kind::port_up : session::event_kind::port_down, plane.value + 1U});
}

std::string daemon::summary() const
{
    const protocol::plane_mask up = ports_.view().up;
    int usable = 0;
    for (const port_options &port : config_.ports)
        usable += up.has(port.plane) ? 1 : 0;
    return fmt::format("instance {}: {} of {} ports usable", config_.daemon.instance, usable, config_.ports.size());
}

void daemon::await_signal()
{
    signals_.async_wait([this](const boost::system::error_code &error, int signal) {
        if (error)
            return;
        on_signal(signal);
        await_signal();
    });
}

void daemon::on_signal(int signal)
{
    if (signal != SIGHUP)
        begin_end(fmt::format("signal {}", signal));
    else if (!ending_)
        reload();
}

// As long as call() returns, both threads work: it is the worker that answers it.
void daemon::feed_watchdog()
{
    const auto interval = manager_.watchdog_interval();
    if (!interval)
        return;
    workers_.call_each([](unsigned, const datapath::worker &) {});
    manager_.alive();
    watchdog_.expires_after(*interval);
    watchdog_.async_wait([this](const boost::system::error_code &error) {
        if (!error)
            feed_watchdog();
    });
}

void daemon::reload()
{
    log::info("signal {}: reading {} again", SIGHUP, config_.origin.file);
    manager_.reloading();
    if (const auto fresh = load_config(config_.origin.file))
        adopt(*fresh);
    else
        log::error("the configuration stays as it is: {}", fresh.error().text());
    manager_.ready(summary());
}

void daemon::adopt(const daemon_config &fresh)
{
    // First, because it alone can fail: a group that does not exist.
    if (fresh.daemon.group != config_.daemon.group)
        if (const auto given = listener_.set_group(fresh); !given) {
            log::error("the configuration stays as it is: {}", given.error());
            return;
        }
    const reload_report report = reload_config(config_, fresh);
    for (const std::string &line : report.changed)
        log::info("{}", line);
    for (const std::string &line : report.needs_restart)
        log::warn("{}", line);
    if (report.changed.empty() && report.needs_restart.empty())
        log::info("nothing has changed");
    log::set_level(config_.daemon.level);
    publish();
    session_config_ = std::make_shared<const daemon_config>(config_);
    if (report.congestion_changed)
        peers_.renew_congestion();
}

void daemon::publish()
{
    for (const std::string &line : names_.publish(config_, rules_))
        log::warn("{}", line);
    if (const std::string line = published_.publish(config_); !line.empty())
        log::warn("{}", line);
}

void daemon::end()
{
    boost::asio::post(context_, [this] { begin_end("the program ends"); });
}

void daemon::begin_end(const std::string &why)
{
    if (ending_) {
        log::info("{} again: ending at once", why);
        context_.stop();
        return;
    }
    ending_ = true;
    log::info("{}: stopping, at most {} ms for what is in flight", why, config_.daemon.drain_ms);
    manager_.stopping("ending");
    listener_.turn_away();
    adoptions_.end_all();
    log::info("{} sessions are open", sessions_.count());
    sessions_.notify({session::event_kind::device_fatal, 0});
    drain_.start(std::chrono::milliseconds{config_.daemon.drain_ms}, [this] { context_.stop(); });
}

} // namespace mrc::service
