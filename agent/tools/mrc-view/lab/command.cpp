// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/lab/command.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/unique_fd.h"
#include "tools/mrc-view/own_folder.h"
#include "tools/mrcctl/argument_list.h"

namespace mrc::view
{

namespace
{

namespace asio = boost::asio;

// Where the program's standard output or standard error goes: it never has to wait for a reader.
kernel::unique_fd memory_file()
{
    return kernel::unique_fd{::memfd_create("mrc-lab", MFD_CLOEXEC)};
}

std::string text_of_file(const kernel::unique_fd &file)
{
    std::string text;
    std::array<char, 4096> piece{};
    ::lseek(file.get(), 0, SEEK_SET);
    for (ssize_t got = 0; (got = ::read(file.get(), piece.data(), piece.size())) > 0;)
        text.append(piece.data(), static_cast<std::size_t>(got));
    return text;
}

pid_t start(const std::filesystem::path &program, const std::vector<std::string> &arguments,
            const kernel::unique_fd &output, const kernel::unique_fd &complaints)
{
    std::vector<std::string> command{program.string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, complaints.get(), STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1); // connections are not its business
    pid_t child = 0;
    const int error =
        ::posix_spawnp(&child, command.front().c_str(), &actions, nullptr, ctl::argument_list(command).data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    errno = error;
    return error == 0 ? child : -1;
}

int status_of(pid_t child)
{
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

std::string last_line(std::string text)
{
    text.erase(text.find_last_not_of('\n') + 1);
    const std::size_t begin = text.rfind('\n');
    return begin == std::string::npos ? text : text.substr(begin + 1);
}

} // namespace

std::filesystem::path find_mrc_lab()
{
    for (const char *place : {"../../scripts/mrc-lab", "../bin/mrc-lab"})
        if (const auto path = own_folder() / place; ::access(path.c_str(), X_OK) == 0)
            return path.lexically_normal();
    return "mrc-lab";
}

asio::awaitable<lab_outcome> run_lab(std::filesystem::path program, std::vector<std::string> arguments,
                                     std::chrono::seconds within)
{
    using namespace asio::experimental::awaitable_operators;
    const kernel::unique_fd output = memory_file();
    const kernel::unique_fd complaints = memory_file();
    const pid_t child = start(program, arguments, output, complaints);
    if (child < 0)
        co_return lab_outcome{.problem = fmt::format("cannot run '{}': {}", program.string(), std::strerror(errno))};
    const auto executor = co_await asio::this_coro::executor;
    asio::posix::stream_descriptor ended{executor, static_cast<int>(::syscall(SYS_pidfd_open, child, 0U))};
    asio::steady_timer timer{executor, within};
    const auto first = co_await (ended.async_wait(asio::posix::descriptor_base::wait_read, asio::use_awaitable) ||
                                 timer.async_wait(asio::use_awaitable));
    const bool late = first.index() == 1;
    if (late)
        ::kill(child, SIGKILL);
    const int status = status_of(child);
    if (late)
        co_return lab_outcome{.problem = fmt::format("'{}' took longer than {} s", program.string(), within.count())};
    lab_outcome outcome{.done = WIFEXITED(status) && WEXITSTATUS(status) == 0, .output = text_of_file(output)};
    if (!outcome.done)
        outcome.problem = last_line(text_of_file(complaints));
    if (!outcome.done && outcome.problem.empty())
        outcome.problem = fmt::format("'{}' failed", program.string());
    co_return outcome;
}

} // namespace mrc::view
