// SPDX-License-Identifier: Apache-2.0
#include "service/daemon.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include <boost/asio/post.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <spdlog/spdlog.h>

#include "kernel/map_names.h"
#include "kernel/monotonic_clock.h"
#include "kernel/startup_error.h"
#include "service/address.h"
#include "service/ports/port_speed.h"
#include "service/predecessor.h"

namespace mrc::service
{

namespace
{

constexpr unsigned int common_prefix = 128;
constexpr unsigned int outer_header = 40;
// A user's connections that are no clients: they ask for the host's description, or have not said hello yet.
constexpr std::uint32_t connections_beside_clients = 64;
constexpr unsigned int mapped_bits = 96; // in front of an IPv4 address in an mrc_ip

std::string_view port_reason(const mrc_port_row &row)
{
    return kernel::port_reason_names[row.reason];
}

std::string remedy_for(const port_options &port, mrc_port_reason reason)
{
    switch (reason) {
    case MRC_PORT_DOWN:
        return fmt::format("ip link set dev {} up", port.device);
    case MRC_PORT_NO_CARRIER:
        return "the cable, or the leaf's end of it";
    case MRC_PORT_NO_NEIGHBOUR:
        return "nothing has answered there so far; a leaf that answers no neighbour discovery is named by its MAC "
               "address, [[port]] gateway";
    case MRC_PORT_SEVERAL_NEIGHBOURS:
        return "[[port]] gateway names the leaf among them";
    case MRC_PORT_SMALL_MTU:
        return fmt::format("ip link set dev {} mtu, as the other ports have it", port.device);
    default:
        return "it is used when it is ready";
    }
}

void write_line(log_level level, const std::string &line)
{
    if (level == log_level::debug)
        spdlog::debug(line);
    else
        spdlog::info(line);
}

kernel::host_programs_options programs_for(const daemon_config &config, const fabric_rules &rules,
                                           const link_monitor &links, const port_plan &plan, const host_modes &modes,
                                           const kernel::user_identity &user)
{
    std::vector<kernel::port_attachment> ports = attachments(config, rules, links, plan);
    for (std::size_t i = 0; i < ports.size(); ++i)
        ports[i].config.agent_answers = modes.ports[i].agent_answers ? 1 : 0;
    return {.pin_dir = config.daemon.pin_dir,
            .user = user,
            .scratch_device = "mrcpush%d",
            .overlay_dscp = config.wire.dscp.no_trim,
            .mrc_from_sockets = config.transmit.mrc_from_sockets,
            .ports = std::move(ports)};
}

daemon_config with_port_speed(daemon_config config)
{
    config.transport.port_mbps = port_speed_mbps(config.ports, config.transport.port_mbps);
    return config;
}

daemon_user required_user(const daemon_config &config)
{
    auto user = user_for(config);
    if (!user)
        throw kernel::startup_error{user.error()};
    return *std::move(user);
}

port_plan plan_for(const daemon_config &config, link_monitor &links)
{
    session_listener::refuse_if_running(config);
    require_ports(config, links);
    await_free_ports(config, links);
    return plan_ports(config, links);
}

std::array<std::uint8_t, 64> code_points_for(const dscp_options &configured)
{
    auto points = datapath::default_code_points();
    points[MRC_DSCP_CONTROL] = configured.control;
    points[MRC_DSCP_TRIMMABLE] = configured.trimmable;
    points[MRC_DSCP_TRIMMABLE_RETX] = configured.retx;
    points[MRC_DSCP_NO_TRIM] = configured.no_trim;
    return points;
}

datapath::worker_options worker_options_for(const daemon_config &config, const fabric_rules &rules)
{
    const bool few_cores = std::thread::hardware_concurrency() < 4;
    const std::size_t burst = config.transmit.burst;
    return {.marks = {.address = rules.address_of(rules.self()),
                      .address4 = rules.address4_of(rules.self()).value_or(mrc_ip{}),
                      .udp_port = config.wire.udp_port,
                      .code_points = code_points_for(config.wire.dscp)},
            .turns = {.packets = 4 * burst, .burst = burst},
            .spin = std::chrono::microseconds{config.transmit.spin_us.value_or(few_cores ? 0 : 20)},
            .backlog_mark = std::chrono::microseconds{config.transport.backlog_mark_us}};
}

// 0 where the kernel has no such device: IPv4 is not built in.
int return_path_filter(const std::string &device)
{
    int mode = 0;
    std::ifstream{"/proc/sys/net/ipv4/conf/" + device + "/rp_filter"} >> mode;
    return mode;
}

// The way back to a sender is the overlay, not the port that its packets arrive on.
void warn_of_return_path_filters(const std::vector<port_options> &ports)
{
    const int everywhere = return_path_filter("all");
    for (const port_options &port : ports)
        if (everywhere != 0 || return_path_filter(port.device) != 0)
            spdlog::warn("the kernel drops IPv4 of ordinary sockets on port {}: net.ipv4.conf.{}.rp_filter must be 0",
                         port.device, everywhere != 0 ? "all" : port.device);
}

} // namespace

daemon::connection::connection(boost::asio::io_context &context, const session_resources &shared,
                               kernel::unique_fd socket, std::shared_ptr<const daemon_config> opened_with,
                               std::shared_ptr<user_account> account, holding place)
    : config{std::move(opened_with)}, readable{context, socket.get()},
      session{shared, std::move(socket), std::move(account), std::move(place)}
{
}

daemon::daemon(daemon_config config)
    : config_{with_port_speed(std::move(config))}, session_config_{std::make_shared<const daemon_config>(config_)},
      user_{required_user(config_)}, rules_{config_}, log_{rules_.planes(), write_line}, links_{config_.ports},
      plan_{plan_for(config_, links_)}, modes_{choose_modes(config_, links_, plan_)},
      programs_{programs_for(config_, rules_, links_, plan_, modes_, user_.who)},
      ports_{config_, rules_, programs_, plan_, modes_, links_},
      peers_{config_, rules_, programs_.tables(), programs_, worker_, local_, plan_.payload_bytes},
      worker_{worker_options_for(config_, rules_),
              {.sockets = &ports_.sockets(),
               .engines = ports_.engines(),
               .paths = &programs_.paths(),
               .qps = &programs_.qps(),
               .overlay = &programs_.overlay(),
               .write_verdict = datapath::per_cpu_writer(programs_.map_fd("verdicts")),
               .on_peer_change =
                   [this](const datapath::worker_peer &peer) {
                       peers_.follow_ports(peer);
                       control_.note_peer(peer.address, condition_of(peer));
                   },
               .on_path_state = [this](const protocol::path_transition &change) { control_.note(change); },
               .on_batch_done = [this] { control_.note_batch(); }}},
      control_{control_surroundings()},
      link_watch_{links_.fd(),
                  [this] {
                      if (links_.on_readable())
                          boost::asio::post(context_, [this, changes = follow_links()] { announce_changes(changes); });
                  }},
      signals_{context_, SIGTERM, SIGINT, SIGHUP},
      notes_readable_{context_, ::fcntl(control_.notes_fd(), F_DUPFD_CLOEXEC, 0)},
      listener_{context_, [this](kernel::unique_fd client) { open_session(std::move(client)); }},
      manager_{manager_environment::of_process()}, watchdog_{context_}, drain_{context_}, held_back_{context_},
      settings_due_{context_}
{
    ::signal(SIGPIPE, SIG_IGN); // a client may close its end of a pipe
    restore_settings();
    create_overlay();
    peers_.add_all_if_small();
    announce_changes(follow_links());
    attach_ports();
    listener_.open(config_, user_.who);
    warn_of_unusable_ports();
    give_up_privileges();
    worker_.start();
}

daemon::~daemon()
{
    for (const auto &entry : connections_)
        entry->readable.release(); // owned by the session
    connections_.clear();
}

control_service::surroundings daemon::control_surroundings()
{
    return {.config = config_,
            .rules = rules_,
            .worker = worker_,
            .ports = ports_,
            .peers = peers_,
            .local = local_,
            .log = log_,
            .payload_bytes = plan_.payload_bytes,
            .notify_session =
                [this](std::uint64_t session, std::uint64_t subscription) {
                    for (const auto &client : connections_)
                        if (client->session.number() == session)
                            client->session.notify_subscription(subscription);
                },
            .notify_ports =
                [this](protocol::plane_index plane, bool usable) {
                    log_change_of_port(plane, usable, port_reason(programs_.ports()[plane.value]));
                    notify_of_port(plane, usable);
                },
            .send_reply =
                [this](std::uint64_t session, std::span<const std::byte> reply) {
                    for (const auto &client : connections_)
                        if (client->session.number() == session)
                            client->session.send_reply(reply);
                },
            .settings_changed = [this] { save_settings_soon(); }};
}

session_resources daemon::shared()
{
    return {.config = *session_config_,
            .rules = rules_,
            .tables = programs_.tables(),
            .worker = worker_,
            .ports = ports_,
            .peers = peers_,
            .control = control_,
            .payload_bytes = plan_.payload_bytes};
}

// What is done from here on needs one capability: the kernel's neighbour table is written, when a gateway is to be
// found or confirmed, with CAP_NET_ADMIN only (link_monitor). Live frames, maps, AF_XDP and raw sockets, all of them
// open, need none.
void daemon::give_up_privileges()
{
    if (user_.is_lacking)
        spdlog::warn(
            "the daemon stays user root: this system has no user mrc (systemd-sysusers makes it), and [daemon] "
            "user names no other");
    kernel::give_up_privileges(user_.who, kernel::capability_set{1} << CAP_NET_ADMIN);
    spdlog::info("running as user {} with CAP_NET_ADMIN and no other capability", user_.who.name);
    if (::access(config_.origin.file.c_str(), R_OK) != 0)
        spdlog::warn("user {} cannot read {} ({}): SIGHUP will change nothing", user_.who.name, config_.origin.file,
                     std::generic_category().message(errno));
}

void daemon::attach_ports()
{
    std::vector<kernel::probes::xdp_attachment> held;
    held.reserve(modes_.ports.size());
    for (port_modes &port : modes_.ports)
        held.push_back(std::move(port.attachment));
    const std::vector<std::string> modes = programs_.attach_ports(std::move(held));
    for (std::size_t i = 0; i < config_.ports.size(); ++i) {
        const std::string &reason = modes_.ports[i].transmit.reason;
        spdlog::info("port {} (plane {}): XDP {}, {}{}{}", config_.ports[i].device, config_.ports[i].plane.value,
                     modes[i], ports_.describe(config_.ports[i]), reason.empty() ? "" : "; " + reason,
                     modes_.ports[i].agent_answers ? "; mrcd answers EV probes, for the driver loses XDP_TX" : "");
    }
    if (!modes_.single_buffer.empty())
        spdlog::warn("packets longer than one buffer are not received, port {}", modes_.single_buffer);
    if (modes_.force_copy && modes_.some_zero_copy)
        spdlog::warn("not all ports have AF_XDP zero copy, so none uses it");
    spdlog::info("payload {} bytes a packet, overlay {}", plan_.payload_bytes, overlay_->name());
}

void daemon::log_counters()
{
    worker_.call([this] {
        const datapath::worker_counters &counters = worker_.counters();
        spdlog::info("received {} packets, accepted {}", counters.received, counters.drops[MRC_AGENT_ACCEPTED]);
        for (unsigned verdict = MRC_AGENT_ACCEPTED + 1; verdict < MRC_VERDICT_COUNT; ++verdict)
            if (counters.drops[verdict] != 0)
                spdlog::info("{}: {}", kernel::verdict_names[verdict], counters.drops[verdict]);
    });
    if (const std::uint64_t drops = ports_.socket_drops(); drops != 0)
        spdlog::info("dropped for lack of room in AF_XDP rings: {}", drops);
}

// Ordinary sockets reach the fabric through this device: host_tx on its egress picks a path and redirects to the port.
void daemon::create_overlay()
{
    overlay_ = std::make_unique<kernel::tap_device>(
        kernel::tap_options{.name = "mrcnet%d", .segmentation_offload = true, .up = false});
    overlay_->set_no_arp();
    overlay_->set_mtu(smallest_mtu(links_) - outer_header);
    if (const auto address4 = rules_.address4_of(rules_.self()))
        overlay_->set_ipv4_address(*address4);
    overlay_->bring_up();
    overlay_->add_address(rules_.address_of(rules_.self()), common_prefix);
    for (std::uint8_t plane = 0; plane < rules_.planes(); ++plane)
        overlay_->add_address(rules_.address_of(rules_.self(), protocol::plane_index{plane}), common_prefix);
    overlay_->add_route(config_.fabric.address_prefix.address, config_.fabric.address_prefix.length);
    if (const auto &prefix = config_.fabric.ipv4_prefix) {
        overlay_->add_ipv4_route(prefix->address, prefix->length - mapped_bits);
        warn_of_return_path_filters(config_.ports);
    }
    programs_.attach_overlay(overlay_->ifindex());
}

void daemon::open_session(kernel::unique_fd socket)
{
    ucred who{};
    socklen_t size = sizeof(who);
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        return;
    auto account = accounts_.of(who.uid);
    const std::uint32_t most = session_config_->limits.clients + connections_beside_clients;
    auto place = holding::take(account, resource::connections, 1, most);
    if (!place) {
        if (account->is_first_refusal())
            spdlog::warn("user {}: {} connections are open, {} more than limits.clients; more are closed", who.uid,
                         most, connections_beside_clients);
        return;
    }
    connections_.push_back(std::make_unique<connection>(context_, shared(), std::move(socket), session_config_,
                                                        std::move(account), std::move(*place)));
    spdlog::debug("session {}: opened by process {} of user {}", connections_.back()->session.number(), who.pid,
                  who.uid);
    serve_next(std::prev(connections_.end()));
}

// What one client's request throws (out of memory, say) ends that client's session only.
bool daemon::serves(connection &client)
{
    try {
        return client.session.serve();
    } catch (const std::exception &error) {
        spdlog::error("a session ends: {}", error.what());
        return false;
    }
}

void daemon::serve_next(std::list<std::unique_ptr<connection>>::iterator at)
{
    (*at)->readable.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               [this, at](const boost::system::error_code &error) {
                                   if (!error && serves(**at)) {
                                       serve_next(at);
                                       return;
                                   }
                                   spdlog::debug("session {}: closed", (*at)->session.number());
                                   (*at)->readable.release(); // the session closes it
                                   connections_.erase(at);
                                   listener_.resume();
                               });
}

void daemon::watch_paths()
{
    notes_readable_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               [this](const boost::system::error_code &error) {
                                   if (error)
                                       return;
                                   control_.take_notes();
                                   log_held_back_lines();
                                   watch_paths();
                               });
}

void daemon::notify_of_port(protocol::plane_index plane, bool usable)
{
    for (const auto &client : connections_)
        client->session.notify(
            {usable ? session::event_kind::port_up : session::event_kind::port_down, plane.value + 1U});
}

// At the start, then on the thread of the links.
std::vector<daemon::port_change> daemon::follow_links()
{
    const protocol::plane_mask before = ports_.view().up;
    const protocol::plane_mask now = ports_.update(links_);
    protocol::plane_mask usable;
    worker_.call([&] {
        local_.up = now;
        usable = local_.usable();
    });
    std::vector<port_change> changes;
    for (const port_options &port : config_.ports)
        if (before.has(port.plane) != now.has(port.plane))
            changes.push_back({.plane = port.plane,
                               .up = now.has(port.plane),
                               .usable = usable.has(port.plane),
                               .reason = port_reason(programs_.ports()[port.plane.value])});
    return changes;
}

void daemon::announce_changes(const std::vector<port_change> &changes)
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
    spdlog::info("ports have {} Mbit/s now, the slowest counts; in new sessions", mbps);
    session_config_ = std::make_shared<const daemon_config>(config_);
    peers_.renew_congestion();
}

void daemon::log_change_of_port(protocol::plane_index plane, bool usable, std::string_view reason)
{
    for (const port_options &port : config_.ports)
        if (port.plane == plane)
            log_.on_port(port, usable, reason, kernel::monotonic_now());
    log_held_back_lines();
}

void daemon::warn_of_unusable_ports()
{
    for (const port_options &port : config_.ports) {
        const mrc_port_row &row = programs_.ports()[port.plane.value];
        if (!local_.up.has(port.plane))
            spdlog::warn("port {} (plane {}): out of use, {}: {}", port.device, port.plane.value, port_reason(row),
                         remedy_for(port, static_cast<mrc_port_reason>(row.reason)));
    }
}

// Arms the timer for lines that are held back now.
void daemon::log_held_back_lines()
{
    const protocol::instant due = log_.next_deadline();
    if (due == protocol::never)
        return;
    held_back_.expires_after(due - kernel::monotonic_now());
    held_back_.async_wait([this](const boost::system::error_code &error) {
        if (error)
            return;
        log_.on_deadline(kernel::monotonic_now());
        log_held_back_lines();
    });
}

} // namespace mrc::service
