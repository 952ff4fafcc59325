// SPDX-License-Identifier: Apache-2.0
#include "service/ports/link_monitor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "kernel/netlink.h"
#include "kernel/unique_fd.h"
#include "service/ports/gateway_solicitor.h"
#include "service/ports/neighbours.h"
#include "service/ports/next_hops.h"
#include "service/ports/rtnetlink_records.h"
#include <linux/if.h>
#include <linux/neighbour.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace mrc::service
{

namespace
{

constexpr int dump_attempts = 8;
constexpr itimerspec every_second{.it_interval = {.tv_sec = 1, .tv_nsec = 0}, .it_value = {.tv_sec = 1, .tv_nsec = 0}};
constexpr itimerspec disarmed{};

// The descriptor that a system call returned; it failed: throws.
kernel::unique_fd opened(int fd, const char *what)
{
    if (fd < 0)
        throw std::system_error{errno, std::generic_category(), what};
    return kernel::unique_fd{fd};
}

} // namespace

class link_monitor::implementation
{
public:
    implementation(std::span<const port_options> options, std::span<const host_entry> hosts);

    [[nodiscard]] int fd() const { return epoll_.get(); }
    [[nodiscard]] std::span<const port_condition> ports() const { return statuses_; }
    [[nodiscard]] std::expected<bool, std::error_code> refresh();
    [[nodiscard]] bool on_readable();
    void retry_each_second(bool wanted);

private:
    struct watched_port {
        port_options options;
        std::optional<service::link_record> device;
        next_hops ways;
        std::uint32_t departures = 0;
    };

    void watch(int fd);
    template <class Header>
    [[nodiscard]] std::error_code dump(std::uint16_t type, const Header &header);
    [[nodiscard]] std::error_code dump_links();
    [[nodiscard]] std::error_code dump_neighbours();
    void on_message(const nlmsghdr &message);
    void on_link(const service::link_record &changed);
    void on_link_gone(std::uint32_t ifindex);
    void on_router(std::uint32_t ifindex, const mrc_ip &router);
    [[nodiscard]] bool is_port(std::uint32_t ifindex) const;
    [[nodiscard]] bool take_expiry();
    [[nodiscard]] bool evaluate(bool is_time_to_solicit);
    void run_timer(bool wanted);
    [[nodiscard]] port_condition status_of(const watched_port &port) const;
    void follow_routes();
    [[nodiscard]] bool is_unresolved(const watched_port &port, const port_condition &status) const;
    void solicit(const watched_port &port, const port_condition &status);
    void confirm(const watched_port &port, std::uint32_t ifindex);
    void confirm(std::uint32_t ifindex, const gateway_option &gateway);

    std::vector<watched_port> ports_;
    std::vector<port_condition> statuses_;
    neighbour_table neighbours_;
    bool has_new_device_ = false; // its neighbours were not followed so far
    bool is_incomplete_ = false;  // the last dump failed
    bool wants_retry_ = false;    // retry_each_second
    bool routes_changed_ = true;  // since they were asked for
    kernel::netlink_socket events_{RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_ROUTE};
    kernel::netlink_socket requests_;
    router_call routers_;
    kernel::unique_fd timer_{opened(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd")};
    bool is_timer_armed_ = false;
    kernel::unique_fd epoll_{opened(epoll_create1(EPOLL_CLOEXEC), "epoll")};
};

link_monitor::implementation::implementation(std::span<const port_options> options, std::span<const host_entry> hosts)
    : statuses_(options.size())
{
    for (const auto &port_options : options)
        ports_.push_back({.options = port_options, .device = {}, .ways = {hosts, port_options}});
    watch(events_.fd());
    watch(timer_.get());
    if (routers_.fd() >= 0)
        watch(routers_.fd());
}

void link_monitor::implementation::watch(int fd)
{
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        throw std::system_error{errno, std::generic_category(), "epoll_ctl"};
}

template <class Header>
std::error_code link_monitor::implementation::dump(std::uint16_t type, const Header &header)
{
    std::error_code error;
    for (int attempt = 0; attempt < dump_attempts; attempt++) {
        kernel::netlink_request request{type, NLM_F_DUMP, header};
        error = requests_.call(request, [this](const nlmsghdr &message) { on_message(message); });
        if (error != std::errc::interrupted)
            break;
    }
    return error;
}

std::error_code link_monitor::implementation::dump_links()
{
    for (auto &port : ports_)
        port.device.reset();
    return dump(RTM_GETLINK, ifinfomsg{});
}

std::error_code link_monitor::implementation::dump_neighbours()
{
    neighbours_.clear();
    has_new_device_ = false;
    return dump(RTM_GETNEIGH, ndmsg{});
}

// Notifications that arrive meanwhile are read afterwards: they tell the same or newer.
std::expected<bool, std::error_code> link_monitor::implementation::refresh()
{
    auto error = dump_links();
    if (!error)
        error = dump_neighbours();
    is_incomplete_ = static_cast<bool>(error);
    const bool changed = evaluate(false);
    if (error)
        return std::unexpected{error};
    return changed;
}

bool link_monitor::implementation::on_readable()
{
    const bool is_time = take_expiry();
    routers_.receive([this](std::uint32_t ifindex, const mrc_ip &router) { on_router(ifindex, router); });
    const auto lost = events_.receive_pending([this](const nlmsghdr &message) { on_message(message); });
    if (lost || (is_incomplete_ && is_time))
        is_incomplete_ = static_cast<bool>(dump_links()) || static_cast<bool>(dump_neighbours());
    else if (has_new_device_)
        is_incomplete_ = static_cast<bool>(dump_neighbours());
    const bool changed = evaluate(is_time);
    return changed || (wants_retry_ && is_time);
}

bool link_monitor::implementation::take_expiry()
{
    std::uint64_t expirations = 0;
    return ::read(timer_.get(), &expirations, sizeof expirations) == sizeof expirations;
}

void link_monitor::implementation::on_message(const nlmsghdr &message)
{
    if (message.nlmsg_type == RTM_NEWROUTE || message.nlmsg_type == RTM_DELROUTE) {
        routes_changed_ = true;
    } else if (message.nlmsg_type == RTM_NEWLINK || message.nlmsg_type == RTM_DELLINK) {
        routes_changed_ = true; // those of a link that goes down are not told one by one
        const auto parsed = service::parse_link(message);
        if (parsed && message.nlmsg_type == RTM_NEWLINK)
            on_link(*parsed);
        else if (parsed)
            on_link_gone(parsed->ifindex);
    } else if (message.nlmsg_type == RTM_NEWNEIGH || message.nlmsg_type == RTM_DELNEIGH) {
        const auto parsed = service::parse_neighbour(message);
        if (!parsed || !is_port(parsed->ifindex))
            return;
        if (message.nlmsg_type == RTM_NEWNEIGH)
            neighbours_.update(*parsed);
        else
            neighbours_.remove(parsed->ifindex, parsed->address);
    }
}

void link_monitor::implementation::on_link(const service::link_record &changed)
{
    for (auto &port : ports_) {
        const bool was_it = port.device && port.device->ifindex == changed.ifindex;
        if (port.options.device == changed.name) {
            has_new_device_ = has_new_device_ || !was_it;
            port.device = changed;
        } else if (was_it) {
            port.device.reset();
        }
    }
}

void link_monitor::implementation::on_link_gone(std::uint32_t ifindex)
{
    neighbours_.remove_device(ifindex);
    for (auto &port : ports_) {
        if (!port.device || port.device->ifindex != ifindex)
            continue;
        port.device.reset();
        ++port.departures;
    }
}

// The answer of a router may need no neighbour discovery on our side: the kernel is told to start it.
void link_monitor::implementation::on_router(std::uint32_t ifindex, const mrc_ip &router)
{
    if (is_port(ifindex))
        use_neighbour(requests_, ifindex, router);
}

bool link_monitor::implementation::is_port(std::uint32_t ifindex) const
{
    return std::ranges::any_of(
        ports_, [ifindex](const watched_port &port) { return port.device && port.device->ifindex == ifindex; });
}

// Compares with the last evaluation. The timer runs while a gateway is unresolved or a dump has failed.
bool link_monitor::implementation::evaluate(bool is_time_to_solicit)
{
    follow_routes();
    bool has_changed = false;
    bool needs_timer = is_incomplete_ || wants_retry_;
    for (std::size_t row = 0; row < ports_.size(); row++) {
        const auto status = status_of(ports_[row]);
        const bool is_new = status != statuses_[row];
        const bool lacks_some = is_unresolved(ports_[row], status);
        has_changed = has_changed || is_new;
        needs_timer = needs_timer || lacks_some;
        statuses_[row] = status;
        if (lacks_some && (is_new || is_time_to_solicit))
            solicit(ports_[row], status);
        if (status.is_usable())
            confirm(ports_[row], status.ifindex);
    }
    run_timer(needs_timer);
    return has_changed;
}

void link_monitor::implementation::follow_routes()
{
    if (!std::exchange(routes_changed_, false))
        return;
    for (auto &port : ports_)
        port.ways.follow_routes(requests_, port.device ? port.device->ifindex : 0);
}

bool link_monitor::implementation::is_unresolved(const watched_port &port, const port_condition &status) const
{
    if ((status.flags & MRC_PORT_UP) == 0)
        return false;
    if (!port.ways.any())
        return (status.flags & MRC_PORT_NEIGHBOUR) == 0;
    return std::ranges::any_of(port.ways.neighbours(), [&](const mrc_ip &neighbour) {
        return !neighbours_.gateway_of(status.ifindex, neighbour).mac;
    });
}

void link_monitor::implementation::run_timer(bool wanted)
{
    if (wanted != is_timer_armed_)
        is_timer_armed_ = timerfd_settime(timer_.get(), 0, wanted ? &every_second : &disarmed, nullptr) == 0
                              ? wanted
                              : is_timer_armed_;
}

// No longer wanted: the next evaluation ends the timer, unless somebody else needs it.
void link_monitor::implementation::retry_each_second(bool wanted)
{
    wants_retry_ = wanted;
    if (wanted)
        run_timer(true);
}

port_condition link_monitor::implementation::status_of(const watched_port &port) const
{
    port_condition status;
    status.departures = port.departures;
    if (!port.device)
        return status;
    const auto &device = *port.device;
    status.ifindex = device.ifindex;
    status.mtu = device.mtu;
    status.mac = device.mac;
    status.flags = MRC_PORT_PRESENT;
    if ((device.flags & IFF_UP) != 0 && (device.flags & IFF_LOWER_UP) != 0)
        status.flags |= MRC_PORT_UP;
    const auto gateway = port.ways.any() ? gateway_state{.mac = {}, .stale = {}, .reason = MRC_PORT_NO_NEIGHBOUR}
                                         : neighbours_.gateway_of(device.ifindex, port.options.gateway);
    status.reason = gateway.reason;
    status.next_hops = port.ways.resolve(neighbours_, device.ifindex);
    if (gateway.mac) {
        status.flags |= MRC_PORT_NEIGHBOUR;
        status.gateway_mac = *gateway.mac;
    } else if (std::ranges::any_of(status.next_hops, &std::optional<mac_address>::has_value)) {
        status.flags |= MRC_PORT_NEIGHBOUR;
        status.reason = MRC_PORT_IN_USE;
    }
    if ((device.flags & IFF_UP) == 0)
        status.reason = MRC_PORT_DOWN;
    else if ((status.flags & MRC_PORT_UP) == 0)
        status.reason = MRC_PORT_NO_CARRIER;
    return status;
}

// Failing is no news: what is unresolved stays so, and the timer brings the next attempt.
void link_monitor::implementation::solicit(const watched_port &port, const port_condition &status)
{
    for (const mrc_ip &neighbour : port.ways.neighbours())
        if (!neighbours_.gateway_of(status.ifindex, neighbour).mac)
            use_neighbour(requests_, status.ifindex, neighbour);
    if (port.ways.any())
        return;
    if (const auto *address = std::get_if<mrc_ip>(&port.options.gateway))
        use_neighbour(requests_, status.ifindex, *address);
    else
        routers_.send(status.ifindex);
}

void link_monitor::implementation::confirm(const watched_port &port, std::uint32_t ifindex)
{
    for (const mrc_ip &neighbour : port.ways.neighbours())
        confirm(ifindex, neighbour);
    if (!port.ways.any())
        confirm(ifindex, port.options.gateway);
}

// A stale entry is probed once: frames bypass the kernel's table, so nobody else makes it look.
void link_monitor::implementation::confirm(std::uint32_t ifindex, const gateway_option &gateway)
{
    const auto state = neighbours_.gateway_of(ifindex, gateway);
    if (state.stale && !use_neighbour(requests_, ifindex, *state.stale))
        neighbours_.mark_probed(ifindex, *state.stale);
}

link_monitor::link_monitor(std::span<const port_options> ports, std::span<const host_entry> hosts)
    : implementation_{std::make_unique<implementation>(ports, hosts)}
{
}

link_monitor::~link_monitor() = default;

int link_monitor::fd() const
{
    return implementation_->fd();
}

std::expected<bool, std::error_code> link_monitor::refresh()
{
    return implementation_->refresh();
}

bool link_monitor::on_readable()
{
    return implementation_->on_readable();
}

void link_monitor::retry_each_second(bool wanted)
{
    implementation_->retry_each_second(wanted);
}

std::span<const port_condition> link_monitor::ports() const
{
    return implementation_->ports();
}

} // namespace mrc::service
