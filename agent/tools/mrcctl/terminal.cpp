// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/terminal.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ranges>

#define NCURSES_NOMACROS // they have the names of everything
#include <curses.h>
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
    const int key = ::wgetch(stdscr);
    if (key == ERR) // it was readable
        return {.why = wake::reason::end};
    return {.why = wake::reason::key, .key = key < 128 ? static_cast<char>(key) : '\0'};
}

// Another size of the terminal.
void follow_size()
{
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        return;
    ::resizeterm(size.ws_row, size.ws_col);
    ::clearok(stdscr, TRUE);
}

wake signal_in(int signals)
{
    signalfd_siginfo info{};
    const bool is_size =
        ::read(signals, &info, sizeof(info)) == ssize_t{sizeof(info)} && info.ssi_signo == unsigned{SIGWINCH};
    if (is_size)
        follow_size();
    return {.why = is_size ? wake::reason::resized : wake::reason::end};
}

} // namespace

terminal::terminal() : signals_{signals_to_wait_for()}
{
    if (!signals_)
        throw ctl_error{"the kernel has no signalfd"};
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
        return;
    screen_ = ::newterm(nullptr, stdout, stdin); // null: a terminal that terminfo does not know
    if (screen_ == nullptr)
        return;
    ::cbreak();
    ::noecho();
    ::nodelay(stdscr, TRUE);
    ::curs_set(0); // where the terminal can
}

terminal::~terminal()
{
    if (screen_ == nullptr)
        return;
    ::endwin();
    ::delscreen(screen_);
}

std::size_t terminal::lines() const
{
    return screen_ == nullptr ? 0 : static_cast<std::size_t>(getmaxy(stdscr));
}

void terminal::show(const std::string &text) const
{
    if (screen_ == nullptr) {
        write_out(text);
        return;
    }
    ::werase(stdscr);
    int line = 0;
    for (const auto part : std::views::split(text, '\n')) {
        if (line >= getmaxy(stdscr))
            break;
        std::string words{part.begin(), part.end()};
        words.resize(std::min(words.size(), static_cast<std::size_t>(getmaxx(stdscr))));
        ::mvwaddstr(stdscr, line++, 0, words.c_str());
    }
    ::wrefresh(stdscr);
}

wake terminal::wait(double seconds) const
{
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{seconds});
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now()).count();
        pollfd set[] = {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                        {.fd = is_interactive() ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
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
