// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/adoption_line.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "session/fd_passing.h"
#include "tools/mrcctl/cgroups.h"
#include "tools/mrcctl/daemon_sockets.h"
#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

constexpr timeval patience{.tv_sec = 3, .tv_usec = 0}; // of a daemon that is stopped

// Empty with errno set when nobody answers there.
kernel::unique_fd connected(const std::string &name)
{
    const std::string path = socket_of(name);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.find('/') != std::string::npos || path.size() >= sizeof(address.sun_path)) {
        errno = EINVAL;
        return {};
    }
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    kernel::unique_fd socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    if (!socket)
        return {};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
        ::setsockopt(socket.get(), SOL_SOCKET, option, &patience, sizeof(patience));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0)
        socket.reset();
    return socket;
}

std::string wanted_name(const std::string &given)
{
    const char *environment = std::getenv("MRC_INSTANCE");
    return !given.empty() || environment == nullptr ? given : environment;
}

struct open_line {
    std::string name;
    kernel::unique_fd socket;
};

open_line open_named(const std::string &name)
{
    kernel::unique_fd socket = connected(name);
    if (!socket)
        refuse_silent(name, fmt::format("instance {}: {}", name, std::strerror(errno)));
    return {.name = name, .socket = std::move(socket)};
}

open_line open_only()
{
    open_line found;
    int error = ENOENT;
    for (const std::string &name : running_instances()) {
        kernel::unique_fd socket = connected(name);
        if (!socket) {
            error = errno;
            continue;
        }
        if (found.socket)
            throw ctl_error{"several instances; name one with --instance or MRC_INSTANCE: " + instances_in_words()};
        found = {.name = name, .socket = std::move(socket)};
    }
    if (!found.socket)
        refuse_silent("", std::strerror(error));
    return found;
}

} // namespace

adoption_line::adoption_line(const std::string &instance)
{
    const std::string name = wanted_name(instance);
    refuse_stopped(name);
    open_line line = name.empty() ? open_only() : open_named(name);
    name_ = std::move(line.name);
    socket_ = std::move(line.socket);
}

session::session_reply adoption_line::ask(const session::session_request &request, std::optional<int> descriptor) const
{
    const int passed = descriptor.value_or(-1);
    session::session_reply reply;
    const bool sent = session::send_packet(socket_.get(), &request, sizeof(request), {&passed, descriptor ? 1U : 0U});
    const auto received = sent ? session::receive_packet(socket_.get(), &reply, sizeof(reply), {}) : std::nullopt;
    if (!received || received->bytes != sizeof(reply))
        throw ctl_error{fmt::format("mrcd does not answer as instance '{}'{}", name_,
                                    received ? ": it closed the connection" : "")};
    reply.text[sizeof(reply.text) - 1] = '\0';
    reply.adoption.path[sizeof(reply.adoption.path) - 1] = '\0';
    return reply;
}

session::adoption_reply adoption_line::adopt(const std::filesystem::path &cgroup, std::uint32_t flags) const
{
    session::session_request request;
    request.kind = session::request_kind::adopt_cgroup;
    request.adopt = {.flags = flags};
    const session::session_reply reply = ask(request, open_cgroup(cgroup).get());
    if (reply.error != 0)
        throw ctl_error{fmt::format("cannot adopt '{}': {}", cgroup.string(), reply.text)};
    return reply.adoption;
}

std::vector<session::adoption_reply> adoption_line::list() const
{
    std::vector<session::adoption_reply> all;
    for (;;) {
        session::session_request request;
        request.kind = session::request_kind::list_adopted;
        request.number = static_cast<std::uint32_t>(all.size());
        const session::session_reply reply = ask(request);
        if (reply.error == ENOENT)
            return all;
        if (reply.error != 0)
            throw ctl_error{fmt::format("cannot list what is adopted: {}", reply.text)};
        all.push_back(reply.adoption);
    }
}

void adoption_line::undo(std::uint32_t number) const
{
    session::session_request request;
    request.kind = session::request_kind::undo_adoption;
    request.number = number;
    if (const session::session_reply reply = ask(request); reply.error != 0)
        throw ctl_error{fmt::format("cannot undo {}: {}", number, reply.text)};
}

} // namespace mrc::ctl
