// SPDX-License-Identifier: Apache-2.0
#include "service/first_port.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "kernel/startup_error.h"
#include "service/daemon_user.h"
#include "service/log.h"
#include "service/ports/link_monitor.h"
#include "service/ports/own_addresses.h"
#include "service/ports/port_plan.h"
#include "service/service_manager.h"
#include "service/sessions/session_listener.h"
#include "service/worker_place.h"
#include "session/fd_passing.h"
#include "session/session_protocol.h"

namespace mrc::service
{

namespace
{

// Ports of one NIC come one after the other, are named anew and get their MTU.
constexpr std::chrono::seconds quiet{1};

// Empty: nothing.
std::string awaited_by(const daemon_config &config, const link_monitor &links)
{
    if (std::ranges::none_of(links.ports(), &port_condition::is_present)) {
        std::vector<std::string_view> devices(config.ports.size());
        std::ranges::transform(config.ports, devices.begin(), &port_options::device);
        return fmt::format("{} {} not there", fmt::join(devices, ", "), devices.size() == 1 ? "is" : "are");
    }
    if (config.fabric.mode != fabric_mode::direct)
        return {};
    const auto addresses = read_device_addresses();
    return addresses ? find_missing_address(config, *addresses) : addresses.error().message();
}

void read_links(link_monitor &links)
{
    if (const auto read = links.refresh(); !read)
        throw kernel::startup_error{"cannot read the state of the ports: " + read.error().message()};
}

// As long as the process is root, its files are: it empties the folder that it has made.
kernel::user_identity present_user()
{
    return {.name = {}, .uid = ::geteuid(), .gid = ::getegid(), .groups = {}};
}

class wait
{
public:
    wait(const daemon_config &config, link_monitor &links, std::string awaited)
        : config_{config}, links_{links}, awaited_{std::move(awaited)},
          readable_{context_, ::fcntl(links.fd(), F_DUPFD_CLOEXEC, 0)}, signals_{context_}, quiet_{context_},
          watchdog_{context_}, listener_{context_, [this](const kernel::unique_fd &client) { turn_away(client); }},
          manager_{manager_environment::of_process()}
    {
        for (const int signal : {SIGTERM, SIGINT, SIGHUP})
            signals_.add(signal);
        listener_.open(config_, present_user());
        listener_.start();
    }

    first_port_outcome run()
    {
        await_signal();
        await_change();
        if (has_port())
            look_later();
        feed_watchdog();
        tell();
        context_.run();
        return outcome_;
    }

private:
    [[nodiscard]] bool has_port() const { return std::ranges::any_of(links_.ports(), &port_condition::is_present); }

    [[nodiscard]] std::string in_words() const { return "waiting for a port: " + awaited_; }

    void tell() const
    {
        log::warn("{}", in_words());
        manager_.ready(fmt::format("instance {}: {}", config_.daemon.instance, in_words()));
    }

    // Whatever it asks. It may have gone.
    void turn_away(const kernel::unique_fd &client) const
    {
        session::session_reply reply;
        reply.error = ENETDOWN;
        ("mrcd is " + in_words()).copy(reply.text, sizeof(reply.text) - 1);
        (void)session::send_packet(client.get(), &reply, sizeof(reply), {});
    }

    void end(first_port_outcome outcome)
    {
        outcome_ = outcome;
        context_.stop();
    }

    void await_signal()
    {
        signals_.async_wait([this](const boost::system::error_code &error, int signal) {
            if (error)
                return;
            log::info("signal {}: no port has come", signal);
            end(signal == SIGHUP ? first_port_outcome::is_to_read : first_port_outcome::is_to_end);
        });
    }

    void await_change()
    {
        readable_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             [this](const boost::system::error_code &error) {
                                 if (error)
                                     return;
                                 if (links_.on_readable() && has_port())
                                     look_later();
                                 await_change();
                             });
    }

    // Addresses come without a change of the link.
    void look_later()
    {
        quiet_.expires_after(quiet);
        quiet_.async_wait([this](const boost::system::error_code &error) {
            if (!error)
                look();
        });
    }

    void look()
    {
        std::string still = awaited_by(config_, links_);
        if (still.empty()) {
            end(first_port_outcome::has_come);
            return;
        }
        if (std::exchange(awaited_, std::move(still)) != awaited_)
            tell();
        if (has_port())
            look_later();
    }

    void feed_watchdog()
    {
        const auto interval = manager_.watchdog_interval();
        if (!interval)
            return;
        manager_.alive();
        watchdog_.expires_after(*interval);
        watchdog_.async_wait([this](const boost::system::error_code &error) {
            if (!error)
                feed_watchdog();
        });
    }

    const daemon_config &config_;
    link_monitor &links_;
    std::string awaited_;
    first_port_outcome outcome_ = first_port_outcome::is_to_end;
    boost::asio::io_context context_;
    boost::asio::posix::stream_descriptor readable_; // links_
    boost::asio::signal_set signals_;
    boost::asio::steady_timer quiet_;
    boost::asio::steady_timer watchdog_;
    session_listener listener_;
    service_manager manager_;
};

} // namespace

first_port_outcome await_first_port(const daemon_config &config)
{
    link_monitor links{config.ports, listed_hosts(config)};
    read_links(links);
    std::string awaited = awaited_by(config, links);
    if (awaited.empty())
        return first_port_outcome::was_there;
    // What no port would mend.
    if (const auto user = user_for(config); !user)
        throw kernel::startup_error{user.error()};
    (void)place_worker(config.worker, find_host_cpus(config.ports));
    session_listener::refuse_if_running(config);
    return wait{config, links, std::move(awaited)}.run();
}

} // namespace mrc::service
