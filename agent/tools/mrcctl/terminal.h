// SPDX-License-Identifier: Apache-2.0
// The screen of `mrcctl top`: on a terminal each table replaces the last one and keys are read as they come; otherwise
// (a pipe, a file) tables follow each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <termios.h>

#include "kernel/unique_fd.h"

namespace mrc::ctl
{

// Why a wait has ended.
struct wake {
    enum class reason : std::uint8_t { time, key, resized, end }; // end: a signal, or the terminal is gone
    reason why = reason::time;
    char key = 0;
};

class terminal
{
public:
    terminal(); // SIGINT, SIGTERM and SIGHUP end wait() from here on
    terminal(const terminal &) = delete;
    terminal &operator=(const terminal &) = delete;
    ~terminal(); // gives the terminal back as it was

    [[nodiscard]] bool is_interactive() const { return interactive_; }
    // Lines on the screen; 0: no limit.
    [[nodiscard]] std::size_t lines() const;
    // As much of it as the screen has lines for.
    void show(const std::string &text) const;
    [[nodiscard]] wake wait(double seconds) const;

private:
    bool interactive_ = false;
    termios before_{};
    kernel::unique_fd signals_;
};

} // namespace mrc::ctl
