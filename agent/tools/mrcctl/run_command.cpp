// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/run_command.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/netns_cookie.h"
#include "tools/mrcctl/argument_list.h"
#include "tools/mrcctl/cgroups.h"
#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

constexpr int cannot_run_status = 126; // as shells have it
constexpr int not_found_status = 127;
constexpr int signal_status = 128;

// A terminal sends these two to the command as well.
constexpr std::array of_terminal{SIGINT, SIGQUIT};
constexpr std::array passed_on{SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

volatile sig_atomic_t running = 0; // for the handler; 0: none yet

void pass_on(int signal)
{
    if (running > 0)
        ::kill(running, signal);
}

// Their handlers do nothing before there is a command: mrcctl goes on to start it, or has failed.
void take_signals(const sigset_t &held)
{
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    for (const int signal : of_terminal)
        ::sigaction(signal, &ignore, nullptr);
    struct sigaction handler{};
    handler.sa_handler = pass_on;
    handler.sa_flags = SA_RESTART;
    for (const int signal : passed_on)
        ::sigaction(signal, &handler, nullptr);
    ::sigprocmask(SIG_UNBLOCK, &held, nullptr);
}

[[noreturn]] void become(const command_cgroup &cgroup, const std::vector<std::string> &command, const sigset_t &before)
{
    const std::vector<char *> arguments = argument_list(command);
    if (!cgroup.enter()) {
        fmt::print(stderr, "mrcctl: cannot enter cgroup '{}': {}\n", cgroup.folder().string(), std::strerror(errno));
        ::_exit(cannot_run_status);
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::execvp(arguments.front(), arguments.data());
    const int error = errno;
    fmt::print(stderr, "mrcctl: cannot run '{}': {}\n", command.front(), std::strerror(error));
    ::_exit(error == ENOENT ? not_found_status : cannot_run_status);
}

// Tells, once, of the daemon's end meanwhile.
int await_end(pid_t child, const adoption_line &daemon)
{
    const kernel::unique_fd process{static_cast<int>(::syscall(SYS_pidfd_open, child, 0U))};
    std::array<pollfd, 2> awaited{pollfd{.fd = process.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = daemon.fd(), .events = POLLRDHUP, .revents = 0}};
    while (::poll(awaited.data(), awaited.size(), -1) < 0 || awaited[0].revents == 0)
        if (awaited[1].revents != 0) {
            fmt::print(stderr, "mrcctl: mrcd has gone: new connections stay on the ordinary network\n");
            awaited[1] = {.fd = -1, .events = 0, .revents = 0};
        }
    running = 0; // its number may be another's once it has been waited for
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFSIGNALED(status) ? signal_status + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace

int run_command(const adoption_line &daemon, const std::vector<std::string> &command, bool binds)
{
    const command_cgroup cgroup;
    const session::adoption_reply adopted =
        daemon.adopt(cgroup.folder(), session::adoption_ends_with_me | (binds ? session::adoption_binds : 0));
    if (adopted.netns_cookie != kernel::own_netns_cookie())
        throw ctl_error{fmt::format("instance '{}' serves another network namespace than this one; allowed is that of "
                                    "mrcd",
                                    daemon.instance())};
    sigset_t held;
    sigset_t before;
    sigemptyset(&held);
    for (const int signal : passed_on)
        sigaddset(&held, signal);
    ::sigprocmask(SIG_BLOCK, &held, &before); // until there is somebody to pass them on to
    const pid_t child = ::fork();
    if (child < 0)
        throw ctl_error{fmt::format("cannot start a process: {}", std::strerror(errno))};
    if (child == 0)
        become(cgroup, command, before);
    running = child;
    take_signals(held);
    return await_end(child, daemon);
}

} // namespace mrc::ctl
