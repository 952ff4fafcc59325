// SPDX-License-Identifier: Apache-2.0
#include "service/sockets/socket_hosts.h"

#include <algorithm>
#include <iterator>

#include <fcntl.h>
#include <fmt/format.h>

#include "kernel/monotonic_clock.h"
#include "kernel/netns_cookie.h"
#include "kernel/startup_error.h"
#include "service/log.h"

namespace mrc::service
{

namespace
{

// Tells our answers from those of ping. The lowest bits change from one question to the next: the overlay chooses a
// path by them, too, so that no single path decides.
constexpr std::uint16_t echo_id = 0x6d00;
constexpr std::uint16_t turn_mask = 0x00ff;

sockaddr_in6 socket_address(const mrc_ip &address)
{
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    std::ranges::copy(address.bytes, std::begin(to.sin6_addr.s6_addr));
    return to;
}

bool is_from(const sockaddr_in6 &from, const mrc_ip &address)
{
    return std::ranges::equal(from.sin6_addr.s6_addr, address.bytes);
}

} // namespace

mrc_sockets_config sockets_config_of(const fabric_rules &rules)
{
    const auto cookie = kernel::own_netns_cookie();
    if (!cookie)
        kernel::fail_startup("cannot tell this network namespace from others, which [[sockets]] needs");
    return {.netns_cookie = *cookie,
            .address = rules.address_of(rules.self()),
            .address4 = rules.address4_of(rules.self()).value_or(mrc_ip{})};
}

socket_hosts::socket_hosts(boost::asio::io_context &context, const daemon_config &config, const fabric_rules &rules,
                           const kernel::socket_programs &programs)
    : programs_{programs}, timer_{context}, readable_{context}
{
    if (echo_.fd() < 0)
        kernel::fail_startup("cannot ask hosts whether they answer, which [[sockets]] needs");
    for (const auto &[address, ordinary] : config.sockets) {
        const auto place = rules.host_of(address);
        if (!place)
            throw kernel::startup_error{"sockets.host: " + rules.refusal_of(address)};
        hosts_.push_back({.address = address,
                          .ordinary = ordinary,
                          .address4 = rules.address4_of(*place).value_or(mrc_ip{}),
                          .own = *place == rules.self(),
                          .state = {}});
        write_rows(hosts_.back());
    }
    readable_.assign(::fcntl(echo_.fd(), F_DUPFD_CLOEXEC, 0));
    hear();
    ask_all();
}

void socket_hosts::write_rows(const host &of) const
{
    const mrc_ordinary_state state = of.own               ? MRC_ORDINARY_OWN
                                     : of.state.answers() ? MRC_ORDINARY_REACHABLE
                                                          : MRC_ORDINARY_SILENT;
    // From the last to the first, which is the one that stays in ordinary_of.
    for (auto ordinary = of.ordinary.rbegin(); ordinary != of.ordinary.rend(); ++ordinary) {
        const mrc_ip &address = is_ipv4(*ordinary) ? of.address4 : of.address;
        const mrc_ordinary_row row{.address = address, .state = state, .reserved = {}};
        if (!programs_.set_ordinary(*ordinary, row) || !programs_.set_ordinary_of(address, *ordinary))
            log::error("cannot note where {} leads: {}", to_text(*ordinary), std::generic_category().message(errno));
    }
}

void socket_hosts::ask_all()
{
    const protocol::instant now = kernel::monotonic_now();
    ++round_;
    for (host &each : hosts_) {
        if (each.own)
            continue;
        echo_.send(socket_address(each.address), static_cast<std::uint16_t>(echo_id | (round_ & turn_mask)));
        if (each.state.on_question(now))
            say(each);
    }
    timer_.expires_after(answering_host::interval);
    timer_.async_wait([this](const boost::system::error_code &error) {
        if (!error)
            ask_all();
    });
}

void socket_hosts::hear()
{
    readable_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code &error) {
                             if (error)
                                 return;
                             echo_.receive([this](const sockaddr_in6 &from, std::uint16_t id) {
                                 const auto known = std::ranges::find_if(hosts_, [&](const host &each) {
                                     return !each.own && is_from(from, each.address);
                                 });
                                 if ((id & ~turn_mask) == echo_id && known != hosts_.end() &&
                                     known->state.on_answer(kernel::monotonic_now()))
                                     say(*known);
                             });
                             hear();
                         });
}

void socket_hosts::say(const host &of) const
{
    write_rows(of);
    if (of.state.answers())
        log::info("host {} answers: adopted sockets go there", to_text(of.address));
    else
        log::warn("host {} does not answer: new connections of adopted sockets stay on the ordinary network",
                  to_text(of.address));
}

} // namespace mrc::service
