// SPDX-License-Identifier: Apache-2.0
// The daemon from READY to its end: signals, reload, the service manager's watchdog, drain.
#include <csignal>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "service/config/reload.h"
#include "service/daemon.h"
#include "service/log_level.h"

namespace mrc::service
{

using namespace std::chrono_literals;

namespace
{

// Longer than the worker's reports to the `qps` rows are apart (10 ms), and than a host needs to answer a packet.
constexpr auto drain_interval = 50ms;

} // namespace

void daemon::run()
{
    await_signal();
    listener_.start();
    link_watch_.start();
    watch_paths();
    feed_watchdog();
    spdlog::info("clients: root{}", listener_.group_name().empty() ? "" : " and group " + listener_.group_name());
    manager_.ready(summary());
    context_.run();
    save_settings();
    log_counters();
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
        begin_end(signal);
    else if (!ending_)
        reload();
}

// As long as call() returns, both threads work: it is the worker that answers it.
void daemon::feed_watchdog()
{
    const auto interval = manager_.watchdog_interval();
    if (!interval)
        return;
    worker_.call([] {});
    manager_.alive();
    watchdog_.expires_after(*interval);
    watchdog_.async_wait([this](const boost::system::error_code &error) {
        if (!error)
            feed_watchdog();
    });
}

void daemon::reload()
{
    spdlog::info("signal {}: reading {} again", SIGHUP, config_.origin.file);
    manager_.reloading();
    if (const auto fresh = load_config(config_.origin.file))
        adopt(*fresh);
    else
        spdlog::error("the configuration stays as it is: {}", fresh.error().text());
    manager_.ready(summary());
}

void daemon::adopt(const daemon_config &fresh)
{
    // First, because it alone can fail: a group that does not exist.
    if (fresh.daemon.group != config_.daemon.group)
        if (const auto given = listener_.set_group(fresh); !given) {
            spdlog::error("the configuration stays as it is: {}", given.error());
            return;
        }
    const reload_report report = reload_config(config_, fresh);
    for (const std::string &line : report.changed)
        spdlog::info("{}", line);
    for (const std::string &line : report.needs_restart)
        spdlog::warn("{}", line);
    if (report.changed.empty() && report.needs_restart.empty())
        spdlog::info("nothing has changed");
    set_log_level(config_.daemon.level);
    session_config_ = std::make_shared<const daemon_config>(config_);
    if (report.congestion_changed)
        peers_.renew_congestion();
}

void daemon::begin_end(int signal)
{
    if (ending_) {
        spdlog::info("signal {} again: ending at once", signal);
        context_.stop();
        return;
    }
    ending_ = true;
    spdlog::info("signal {}: stopping, at most {} ms for what is in flight", signal, config_.daemon.drain_ms);
    manager_.stopping("ending");
    listener_.turn_away();
    notify_clients_of_end();
    drain_until_ = boost::asio::steady_timer::clock_type::now() + std::chrono::milliseconds{config_.daemon.drain_ms};
    const auto traffic = traffic_in_flight();
    if (traffic)
        drain(*traffic);
    else
        context_.stop();
}

void daemon::notify_clients_of_end()
{
    spdlog::info("{} sessions are open", connections_.size());
    for (const auto &client : connections_)
        client->session.notify({session::event_kind::device_fatal, 0});
}

// Until nothing is in flight and nothing has moved for an interval: what peers send counts as well.
void daemon::drain(std::uint64_t traffic_before)
{
    drain_.expires_after(std::min<boost::asio::steady_timer::duration>(
        drain_interval, drain_until_ - boost::asio::steady_timer::clock_type::now()));
    drain_.async_wait([this, traffic_before](const boost::system::error_code &) {
        const auto traffic = traffic_in_flight();
        const bool late = boost::asio::steady_timer::clock_type::now() >= drain_until_;
        if (!traffic || *traffic == traffic_before || late) {
            spdlog::info("{}", late ? "time is over: what is in flight is lost" : "nothing is in flight");
            context_.stop();
            return;
        }
        drain(*traffic);
    });
}

// Packets of all queue pairs so far, a changing number while bytes are in flight; nothing when there are none.
std::optional<std::uint64_t> daemon::traffic_in_flight()
{
    std::optional<std::uint64_t> packets;
    worker_.call([&] {
        for (std::size_t row = 0; row < programs_.qps().size(); ++row) {
            const mrc_qp_row &qp = programs_.qps()[row];
            if (qp.qpn == 0)
                continue;
            packets = packets.value_or(0) + qp.rx_packets + qp.tx_packets + qp.retransmits;
            if (qp.inflight_bytes > 0)
                *packets += worker_.counters().loops; // not twice the same
        }
    });
    return packets;
}

} // namespace mrc::service
