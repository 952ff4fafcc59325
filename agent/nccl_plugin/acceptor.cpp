// SPDX-License-Identifier: Apache-2.0
#include "nccl_plugin/acceptor.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>

#include <netinet/in.h>

#include "messaging/failure.h"
#include "messaging/interfaces.h"
#include "nccl_plugin/log.h"

namespace mrc::nccl_plugin
{

namespace
{

constexpr std::size_t most_guests = 32; // the oldest without a greeting leaves for a new one
constexpr int backlog = 128;

std::string setting(const char *name)
{
    const char *value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

messaging::socket_address own_address()
{
    const std::string names = setting("NCCL_SOCKET_IFNAME");
    const auto chosen =
        messaging::choose_interface(messaging::running_interfaces(), names, setting("NCCL_SOCKET_FAMILY"));
    if (!chosen)
        throw messaging::messaging_failure{
            names.empty() ? "no network interface has an address to exchange addresses by"
                          : "no network interface with an address is named by NCCL_SOCKET_IFNAME=" + names};
    return chosen->address;
}

token_bytes new_token()
{
    token_bytes made{};
    std::random_device source;
    for (std::uint8_t &byte : made)
        byte = static_cast<std::uint8_t>(source());
    return made;
}

} // namespace

acceptor::acceptor(std::shared_ptr<session> at, const messaging::gid_bytes &gid) : session_{std::move(at)}
{
    handle_ = {.listener = own_address(), .token = new_token(), .gid = gid, .attempt = 0};
    fd_ = kernel::unique_fd{::socket(handle_.listener.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    sockaddr_storage address{};
    socklen_t length = handle_.listener.store(address);
    auto *any = reinterpret_cast<sockaddr *>(&address);
    // Of a port whose link has just come back the kernel first asks whether anybody else has the address (RFC 4862).
    const int yes = 1;
    (void)::setsockopt(fd_.get(), IPPROTO_IPV6, IPV6_FREEBIND, &yes, sizeof(yes));
    if (!fd_ || ::bind(fd_.get(), any, length) != 0 || ::listen(fd_.get(), backlog) != 0 ||
        ::getsockname(fd_.get(), any, &length) != 0)
        throw messaging::messaging_failure{"cannot listen on " + handle_.listener.text() + ": " + std::strerror(errno)};
    if (const auto bound = messaging::socket_address::from(any))
        handle_.listener.port = bound->port;
}

void acceptor::welcome()
{
    for (;;) {
        kernel::unique_fd fd{::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
        if (!fd)
            return;
        if (guests_.size() == most_guests) {
            const auto oldest = std::ranges::find(guests_, stage::greeting, &guest::at);
            if (oldest == guests_.end())
                return;
            guests_.erase(oldest);
        }
        guests_.emplace_back().socket = messaging::exchange_socket{std::move(fd)};
    }
}

result acceptor::accept(std::unique_ptr<receiver> &accepted)
{
    welcome();
    for (auto at = guests_.begin(); at != guests_.end();) {
        result outcome = result::success;
        if (is_turned_away(*at, outcome)) {
            at = guests_.erase(at);
            if (outcome != result::success)
                return outcome;
            continue;
        }
        if (at->at == stage::establishing && at->connection->established()) {
            accepted = std::move(at->connection);
            guests_.erase(at);
            return result::success;
        }
        ++at;
    }
    return result::success;
}

// An outcome other than success: it was no stranger.
bool acceptor::is_turned_away(guest &one, result &outcome)
{
    if (one.at == stage::greeting) {
        const messaging::exchange_step step = one.socket.receive(greeting::encoded_bytes);
        if (step == messaging::exchange_step::waits)
            return false;
        const auto theirs =
            step == messaging::exchange_step::done
                ? greeting::decode(one.socket.received().first<greeting::encoded_bytes>(), handle_.token)
                : std::optional<greeting>{};
        if (!theirs) {
            inform(handle_.listener.text() + ": somebody who is no sender of NCCL was turned away");
            return true;
        }
        outcome = set_up(one, *theirs);
        if (outcome != result::success)
            return true;
        one.at = stage::answering;
    }
    if (one.at == stage::answering) {
        const messaging::exchange_step step = one.socket.send();
        if (step == messaging::exchange_step::waits)
            return false;
        if (step == messaging::exchange_step::failed) {
            warn(handle_.listener.text() + ": a connection that began was not completed: " + one.socket.why());
            outcome = result::remote_error;
            return true;
        }
        one.connection->watch(std::move(one.socket));
        one.at = stage::establishing;
    }
    outcome = one.connection->health();
    return outcome != result::success;
}

result acceptor::set_up(guest &one, const greeting &theirs)
{
    if (!theirs.address) {
        warn(handle_.listener.text() + ": a sender could not set up its end; its own log says why");
        return result::remote_error;
    }
    try {
        one.connection = std::make_unique<receiver>(session_);
    } catch (const messaging::messaging_failure &failure) {
        warn(failure.what());
        one.socket.queue(greeting{.token = handle_.token, .address = {}}.encode());
        (void)one.socket.send(); // fits into an empty buffer
        return result::system_error;
    }
    one.socket.queue(greeting{.token = handle_.token, .address = one.connection->address()}.encode());
    if (!one.connection->connect(*theirs.address))
        return one.connection->health();
    return result::success;
}

} // namespace mrc::nccl_plugin
