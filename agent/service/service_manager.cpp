// SPDX-License-Identifier: Apache-2.0
#include "service/service_manager.h"

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace mrc::service
{

namespace
{

std::optional<std::uint64_t> number_in(const char *text)
{
    if (text == nullptr)
        return std::nullopt;
    std::uint64_t number = 0;
    const char *end = text + std::strlen(text);
    const auto read = std::from_chars(text, end, number);
    return read.ec == std::errc{} && read.ptr == end ? std::optional{number} : std::nullopt;
}

// The variables are inherited: a watchdog of another process is not ours to feed.
std::optional<std::chrono::microseconds> interval_in(const manager_environment &given)
{
    const auto microseconds = number_in(given.watchdog_usec);
    const bool other =
        given.watchdog_pid != nullptr && number_in(given.watchdog_pid) != static_cast<std::uint64_t>(::getpid());
    if (!microseconds || *microseconds == 0 || other)
        return std::nullopt;
    return std::chrono::microseconds{*microseconds / 2};
}

std::uint64_t monotonic_usec()
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

} // namespace

manager_environment manager_environment::of_process()
{
    return {.notify_socket = std::getenv("NOTIFY_SOCKET"),
            .watchdog_usec = std::getenv("WATCHDOG_USEC"),
            .watchdog_pid = std::getenv("WATCHDOG_PID")};
}

service_manager::service_manager(const manager_environment &given)
{
    const std::string_view name = given.notify_socket != nullptr ? given.notify_socket : "";
    if (name.size() < 2 || name.size() > sizeof(sockaddr_un::sun_path) || (name.front() != '/' && name.front() != '@'))
        return;
    socket_ = kernel::unique_fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    address_ = name;
    if (name.front() == '@')
        address_.front() = '\0';
    watchdog_ = interval_in(given);
}

void service_manager::ready(std::string_view status) const
{
    send(fmt::format("READY=1\nSTATUS={}", status));
}

void service_manager::status(std::string_view status) const
{
    send(fmt::format("STATUS={}", status));
}

void service_manager::reloading() const
{
    send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", monotonic_usec()));
}

void service_manager::stopping(std::string_view status) const
{
    send(fmt::format("STOPPING=1\nSTATUS={}", status));
}

void service_manager::alive() const
{
    send("WATCHDOG=1");
}

// Nobody is there to be told when it fails: the manager's own time-outs see to it.
void service_manager::send(const std::string &lines) const
{
    if (!socket_)
        return;
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    address_.copy(to.sun_path, sizeof(to.sun_path));
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    [[maybe_unused]] const ssize_t sent = ::sendto(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL,
                                                   reinterpret_cast<const sockaddr *>(&to), length);
}

} // namespace mrc::service
