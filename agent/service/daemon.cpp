// SPDX-License-Identifier: Apache-2.0
#include "service/daemon.h"

#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "datapath/startup_error.h"
#include "service/address.h"

namespace mrc::service
{

namespace
{

constexpr unsigned int common_prefix = 128;
constexpr unsigned int outer_header = 40;

struct named_verdict {
    mrc_verdict verdict;
    const char *name;
};
constexpr named_verdict agent_drops[] = {
    {MRC_AGENT_DROP_NO_METADATA, "no_metadata"}, {MRC_AGENT_DROP_TRUNCATED, "truncated"},
    {MRC_AGENT_DROP_BAD_LENGTH, "bad_length"},   {MRC_AGENT_DROP_BAD_ICRC, "bad_icrc"},
    {MRC_AGENT_DROP_BAD_OPCODE, "bad_opcode"},   {MRC_AGENT_DROP_UNKNOWN_QP, "unknown_qp"},
    {MRC_AGENT_DROP_WRONG_PEER, "wrong_peer"},   {MRC_AGENT_DROP_WRONG_STATE, "wrong_state"},
};

datapath::host_programs_options programs_for(const daemon_config &config, const fabric &rules,
                                             const link_monitor &links, const port_plan &plan)
{
    return {.pin_dir = config.daemon.pin_dir,
            .scratch_device = "mrcpush%d",
            .overlay_dscp = config.wire.dscp.no_trim,
            .ports = attachments(config, rules, links, plan)};
}

sockaddr_un socket_address(const std::string &path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path))
        datapath::fail_startup("socket path '" + path + "'", ENAMETOOLONG);
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return address;
}

datapath::unique_fd session_socket()
{
    datapath::unique_fd socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!socket)
        datapath::fail_startup("cannot open the session socket");
    return socket;
}

// Before anything of the instance is touched: its pins and socket may belong to a daemon that lives.
void refuse_if_running(const daemon_config &config)
{
    const sockaddr_un address = socket_address(config.daemon.socket);
    const datapath::unique_fd probe = session_socket();
    const bool stale = ::connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0 &&
                       (errno == ECONNREFUSED || errno == ENOENT);
    if (!stale)
        throw datapath::startup_error{"instance '" + config.daemon.instance + "' is running already on '" +
                                      config.daemon.socket + "'"};
}

port_plan plan_for(const daemon_config &config, link_monitor &links)
{
    refuse_if_running(config);
    require_ports(config, links);
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

datapath::worker_options worker_options_for(const daemon_config &config, const fabric &rules)
{
    const bool few_cores = std::thread::hardware_concurrency() < 4;
    return {.address = rules.address_of(rules.self()),
            .udp_port = config.wire.udp_port,
            .burst = config.transmit.burst,
            .code_points = code_points_for(config.wire.dscp),
            .spin = std::chrono::microseconds{config.transmit.spin_us.value_or(few_cores ? 0 : 20)}};
}

} // namespace

daemon::connection::connection(boost::asio::io_context &context, const session_resources &shared,
                               datapath::unique_fd socket)
    : readable{context, socket.get()}, session{shared, std::move(socket)}
{
}

daemon::daemon(daemon_config config)
    : config_{std::move(config)}, rules_{config_}, links_{config_.ports}, plan_{plan_for(config_, links_)},
      programs_{programs_for(config_, rules_, links_, plan_)}, ports_{config_, rules_, programs_, plan_, links_},
      peers_{config_, rules_, programs_, worker_, usable_}, worker_{worker_options_for(config_, rules_),
                                                                    {.sockets = &ports_.sockets(),
                                                                     .engines = ports_.engines(),
                                                                     .paths = &programs_.paths(),
                                                                     .qps = &programs_.qps(),
                                                                     .overlay = &programs_.overlay()}},
      signals_{context_, SIGTERM, SIGINT}, links_readable_{context_, ::fcntl(links_.fd(), F_DUPFD_CLOEXEC, 0)},
      acceptor_{context_}
{
    create_overlay();
    peers_.add_all_if_small();
    worker_.start();
    apply_links();
    log_ports(programs_.attach_ports());
    listen();
}

daemon::~daemon()
{
    for (const auto &entry : connections_)
        entry->readable.release(); // owned by the session
    connections_.clear();
    worker_.stop();
    std::error_code ignored;
    std::filesystem::remove(config_.daemon.socket, ignored);
    std::filesystem::remove(std::filesystem::path{config_.daemon.socket}.parent_path(), ignored); // only when empty
}

session_resources daemon::shared()
{
    return {.config = config_,
            .rules = rules_,
            .programs = programs_,
            .worker = worker_,
            .ports = ports_,
            .peers = peers_,
            .payload_bytes = plan_.payload_bytes};
}

void daemon::log_ports(const std::vector<std::string> &modes) const
{
    for (std::size_t i = 0; i < config_.ports.size(); ++i)
        spdlog::info("port {} (plane {}): XDP {}, {}", config_.ports[i].device, config_.ports[i].plane.value, modes[i],
                     ports_.describe(config_.ports[i]));
    spdlog::info("payload {} bytes a packet, overlay {}", plan_.payload_bytes, overlay_->name());
}

void daemon::log_counters()
{
    worker_.call([this] {
        const datapath::worker_counters &counters = worker_.counters();
        spdlog::info("received {} packets, accepted {}", counters.received, counters.drops[MRC_AGENT_ACCEPTED]);
        for (const auto &[verdict, name] : agent_drops)
            if (counters.drops[verdict] != 0)
                spdlog::info("dropped {}: {}", name, counters.drops[verdict]);
    });
    if (const std::uint64_t drops = ports_.socket_drops(); drops != 0)
        spdlog::info("dropped for lack of room in AF_XDP rings: {}", drops);
}

// Ordinary sockets reach the fabric through this device: host_tx on its egress picks a path and redirects to the port.
void daemon::create_overlay()
{
    overlay_ = std::make_unique<datapath::tap_device>(
        datapath::tap_options{.name = "mrcnet%d", .segmentation_offload = true, .up = false});
    overlay_->set_no_arp();
    overlay_->set_mtu(smallest_mtu(links_) - outer_header);
    overlay_->bring_up();
    overlay_->add_address(rules_.address_of(rules_.self()), common_prefix);
    for (std::uint8_t plane = 0; plane < rules_.planes(); ++plane)
        overlay_->add_address(rules_.address_of(rules_.self(), protocol::plane{plane}), common_prefix);
    overlay_->add_route(config_.fabric.address_prefix.address, config_.fabric.address_prefix.length);
    programs_.attach_overlay(overlay_->ifindex());
}

void daemon::listen()
{
    const std::filesystem::path path{config_.daemon.socket};
    const sockaddr_un address = socket_address(path);
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    std::filesystem::remove(path, error); // left by a daemon that was killed
    datapath::unique_fd socket = session_socket();
    if (::bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0 ||
        ::chmod(path.c_str(), 0660) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
        datapath::fail_startup("cannot listen on '" + path.string() + "'");
    acceptor_.assign(socket.release());
}

void daemon::run()
{
    signals_.async_wait([this](const boost::system::error_code &error, int signal) {
        if (error)
            return;
        spdlog::info("signal {}: stopping", signal);
        context_.stop();
    });
    accept_next();
    watch_links();
    context_.run();
    log_counters();
}

void daemon::accept_next()
{
    acceptor_.async_wait(
        boost::asio::posix::stream_descriptor::wait_read, [this](const boost::system::error_code &error) {
            if (error)
                return;
            datapath::unique_fd client{
                ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
            if (client) {
                connections_.push_back(std::make_unique<connection>(context_, shared(), std::move(client)));
                serve_next(std::prev(connections_.end()));
            }
            accept_next();
        });
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
                                   (*at)->readable.release(); // the session closes it
                                   connections_.erase(at);
                               });
}

void daemon::watch_links()
{
    links_readable_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               [this](const boost::system::error_code &error) {
                                   if (error)
                                       return;
                                   if (links_.on_readable())
                                       apply_links();
                                   watch_links();
                               });
}

void daemon::apply_links()
{
    const protocol::plane_mask before = usable_;
    const protocol::plane_mask now = ports_.update(links_);
    worker_.call([&] { usable_ = now; });
    for (std::size_t i = 0; i < config_.ports.size(); ++i) {
        const protocol::plane plane = config_.ports[i].plane;
        if (before.has(plane) != now.has(plane))
            spdlog::info("port {} (plane {}): {}", config_.ports[i].device, plane.value,
                         now.has(plane) ? "usable" : "out of use, " + std::string{links_.ports()[i].reason});
    }
}

} // namespace mrc::service
