// SPDX-License-Identifier: Apache-2.0
// The screen of `mrcctl top`: on a terminal each table replaces the last one and keys are read as they come; otherwise
// (a pipe, a file) tables follow each other.
#pragma once

#include <cstddef>
#include <string>

#include <termios.h>

#include "kernel/unique_fd.h"

namespace mrc::ctl
{

class terminal
{
public:
    terminal(); // SIGINT, SIGTERM and SIGHUP end wait() from here on
    terminal(const terminal &) = delete;
    terminal &operator=(const terminal &) = delete;
    ~terminal(); // gives the terminal back as it was

    // Lines on the screen; 0: no limit.
    [[nodiscard]] std::size_t lines() const;
    void show(const std::string &text) const;
    // False when the user has asked to end, by q or a signal.
    [[nodiscard]] bool wait(double seconds) const;

private:
    bool interactive_ = false;
    termios before_{};
    kernel::unique_fd signals_;
};

} // namespace mrc::ctl
