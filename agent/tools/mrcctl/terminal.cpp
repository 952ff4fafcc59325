// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/terminal.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

constexpr const char *enter_screen = "\x1b[?1049h\x1b[?25l"; // alternate screen, no cursor
constexpr const char *leave_screen = "\x1b[?25h\x1b[?1049l";
constexpr const char *home = "\x1b[H";
constexpr const char *clear_line_end = "\x1b[K";
constexpr const char *clear_below = "\x1b[J";

kernel::unique_fd signals_to_wait_for()
{
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH})
        ::sigaddset(&set, number);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    return kernel::unique_fd{::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
}

void write_out(const std::string &text)
{
    fmt::print("{}", text);
    if (std::fflush(stdout) != 0)
        throw ctl_error{"cannot write to standard output"};
}

wake key_pressed()
{
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) <= 0)
        return {.why = wake::reason::end};
    return {.why = wake::reason::key, .key = key};
}

wake signal_in(int signals)
{
    signalfd_siginfo info{};
    const bool is_size =
        ::read(signals, &info, sizeof(info)) == ssize_t{sizeof(info)} && info.ssi_signo == unsigned{SIGWINCH};
    return {.why = is_size ? wake::reason::resized : wake::reason::end};
}

} // namespace

terminal::terminal() : signals_{signals_to_wait_for()}
{
    if (!signals_)
        throw ctl_error{"the kernel has no signalfd"};
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0 || ::tcgetattr(STDIN_FILENO, &before_) != 0)
        return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    interactive_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    if (interactive_)
        write_out(enter_screen);
}

terminal::~terminal()
{
    if (!interactive_)
        return;
    std::fputs(leave_screen, stdout);
    std::fflush(stdout);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

std::size_t terminal::lines() const
{
    winsize size{};
    if (!interactive_ || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
        return 0;
    return size.ws_row - 1U; // the last line's end would scroll the first one away
}

void terminal::show(const std::string &text) const
{
    if (!interactive_) {
        write_out(text);
        return;
    }
    std::string screen = home;
    std::size_t left = lines() == 0 ? std::numeric_limits<std::size_t>::max() : lines();
    for (const char c : text) {
        if (left == 0)
            break;
        left -= c == '\n' ? 1 : 0;
        c == '\n' ? screen.append(clear_line_end).push_back(c) : screen.push_back(c);
    }
    write_out(screen + clear_below);
}

wake terminal::wait(double seconds) const
{
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{seconds});
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now()).count();
        pollfd set[] = {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                        {.fd = interactive_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
        const int ready = ::poll(set, std::size(set), left > 0 ? static_cast<int>(left) : 0);
        if (ready < 0 && errno != EINTR)
            throw ctl_error{"cannot wait for the terminal"};
        if (ready == 0)
            return {};
        if (ready > 0)
            return set[0].revents != 0 ? signal_in(signals_.get()) : key_pressed();
    }
}

} // namespace mrc::ctl
