// SPDX-License-Identifier: Apache-2.0
#include "service/control/peer_capability.h"

#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/control/peer_process.h"

namespace mrc::service::control
{

namespace
{

std::unexpected<session::refusal> not_permitted(std::string text)
{
    return std::unexpected{session::refusal{EPERM, std::move(text)}};
}

bool is_alive(int pidfd)
{
    pollfd state{.fd = pidfd, .events = POLLIN, .revents = 0};
    return ::poll(&state, 1, 0) == 0;
}

std::string text_of(const std::string &path)
{
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

// By the map of user ids, as the namespace itself (/proc/<pid>/ns/user) takes ptrace rights that the daemon lacks.
bool same_user_namespace(pid_t pid)
{
    const std::string own = text_of("/proc/self/uid_map");
    return !own.empty() && own == text_of(fmt::format("/proc/{}/uid_map", pid));
}

bool started_after(std::uint64_t ticks, std::uint64_t connected_at)
{
    const auto rate = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    return ticks == 0 || ticks * (1'000'000'000 / rate) > connected_at;
}

} // namespace

bool has_net_admin(const std::string &status)
{
    constexpr std::string_view key = "\nCapEff:\t";
    const auto at = status.find(key);
    if (at == std::string::npos)
        return false;
    std::uint64_t set = 0;
    const char *const from = status.data() + at + key.size();
    const auto [end, error] = std::from_chars(from, status.data() + status.size(), set, 16);
    return error == std::errc{} && end != from && (set >> CAP_NET_ADMIN & 1U) != 0;
}

std::uint64_t start_ticks(const std::string &stat)
{
    // The name, in parentheses, may contain anything, so fields are counted from the last parenthesis: the state is 3.
    constexpr unsigned start_time_field = 22;
    auto at = stat.rfind(')');
    for (unsigned field = 2; field < start_time_field && at != std::string::npos; ++field)
        at = stat.find(' ', at + 1);
    if (at == std::string::npos)
        return 0;
    std::uint64_t ticks = 0;
    std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), ticks);
    return ticks;
}

session::outcome<> check_net_admin(int socket, std::uint64_t connected_at)
{
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
        return not_permitted("the caller's process is unknown");
    const peer_process process = process_of_peer(socket);
    if (!process.pidfd)
        return not_permitted(fmt::format("process {} has gone", peer.pid));
    const std::string status = text_of(fmt::format("/proc/{}/status", peer.pid));
    const std::uint64_t ticks = start_ticks(text_of(fmt::format("/proc/{}/stat", peer.pid)));
    const bool ours = same_user_namespace(peer.pid);
    if (!is_alive(process.pidfd.get()))
        return not_permitted(fmt::format("process {} has gone", peer.pid));
    if (!process.is_certain && connected_at != 0 && started_after(ticks, connected_at))
        return not_permitted(fmt::format("process {} is not the one that connected", peer.pid));
    if (!ours)
        return not_permitted(fmt::format("process {} is in another user namespace", peer.pid));
    if (!has_net_admin(status))
        return not_permitted(fmt::format("process {} lacks CAP_NET_ADMIN", peer.pid));
    return {};
}

} // namespace mrc::service::control
