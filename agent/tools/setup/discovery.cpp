// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/discovery.h"

#include <algorithm>

#include <fmt/format.h>
#include <poll.h>

#include "tools/setup/hello_socket.h"

namespace mrc::setup
{

namespace
{

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds interval{200}; // between hellos
constexpr unsigned calm_rounds = 10;               // without news, before what is heard counts as all there is
constexpr unsigned patient_rounds = 50;   // where nobody has said how many hosts there are: who types it is slow
constexpr unsigned last_rounds = 10;      // hellos after the end, for those that have not got there
constexpr std::size_t most_at_once = 256; // datagrams of a port between two looks at the clock

class hello_exchange
{
public:
    hello_exchange(const discovery_wish &wish, const std::function<void(const std::string &)> &say)
        : wish_{wish}, say_{say}
    {
        for (const std::string &port : wish.ports)
            sockets_.emplace_back(port);
        found_.heard.own = wish.own;
        found_.heard.own.ports = static_cast<std::uint8_t>(wish.ports.size());
    }

    discovery run()
    {
        const auto end = clock::now() + wish_.longest;
        while (clock::now() < end && !is_done())
            round();
        for (unsigned left = last_rounds; is_agreed(found_.heard, found_.made) && left > 0; --left)
            round();
        found_.made = make_plan(found_.heard);
        return std::move(found_);
    }

private:
    [[nodiscard]] bool is_done() const
    {
        const std::size_t hosts = found_.heard.hosts.size() + 1;
        const bool all_there = wish_.hosts && hosts >= *wish_.hosts;
        return calm_ >= (all_there ? calm_rounds : patient_rounds) && (all_there || !wish_.hosts) &&
               found_.silent.empty() && is_agreed(found_.heard, found_.made);
    }

    void round()
    {
        ++calm_;
        found_.made = make_plan(found_.heard);
        send();
        const auto next = clock::now() + interval;
        for (auto left = interval; left.count() > 0;
             left = std::chrono::duration_cast<std::chrono::milliseconds>(next - clock::now()))
            receive(left);
    }

    void send()
    {
        hello said = found_.heard.own;
        said.plan = found_.made.digest;
        found_.silent.clear();
        for (std::uint8_t port = 0; port < found_.heard.own.ports; ++port) {
            said.port = port;
            if (const auto error = sockets_[port].send(encode_hello(said)))
                found_.silent.push_back(fmt::format(
                    "{} sends no hellos: {}{}", wish_.ports[port], error.message(),
                    error == std::errc::address_not_available || error == std::errc::network_unreachable
                        ? fmt::format("; it needs a link-local IPv6 address: sysctl net.ipv6.conf.{}.disable_ipv6=0",
                                      wish_.ports[port])
                        : ""));
        }
    }

    void receive(std::chrono::milliseconds longest)
    {
        std::vector<pollfd> awaited;
        awaited.reserve(sockets_.size());
        for (const hello_socket &each : sockets_)
            awaited.push_back({.fd = each.fd(), .events = POLLIN, .revents = 0});
        ::poll(awaited.data(), awaited.size(), static_cast<int>(longest.count()));
        for (std::uint8_t port = 0; port < found_.heard.own.ports; ++port)
            sockets_[port].receive(most_at_once, [&](std::span<const std::byte> datagram) { take(datagram, port); });
    }

    void take(std::span<const std::byte> datagram, std::uint8_t port)
    {
        const auto came = decode_hello(datagram);
        if (!came) {
            ++found_.malformed;
            return;
        }
        const std::size_t links = found_.heard.own.heard.size();
        if (!take_hello(found_.heard, *came, port))
            return;
        calm_ = 0;
        if (links != found_.heard.own.heard.size() && came->host != wish_.own.host)
            say_(fmt::format("heard {} on {}", came->name, wish_.ports[port]));
    }

    const discovery_wish &wish_;
    const std::function<void(const std::string &)> &say_;
    std::vector<hello_socket> sockets_;
    discovery found_;
    unsigned calm_ = 0; // rounds without news
};

} // namespace

discovery discover(const discovery_wish &wish, const std::function<void(const std::string &)> &say)
{
    return hello_exchange{wish, say}.run();
}

} // namespace mrc::setup
