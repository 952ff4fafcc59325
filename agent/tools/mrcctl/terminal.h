// SPDX-License-Identifier: Apache-2.0
// The screen of `mrcctl top`, by ncurses: on a terminal each table replaces the last one and keys are read as they
// come; otherwise (a pipe, a file, a terminal that terminfo does not know) tables follow each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernel/unique_fd.h"

struct screen;

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

    [[nodiscard]] bool is_interactive() const { return screen_ != nullptr; }
    // Lines on the screen; 0: no limit.
    [[nodiscard]] std::size_t lines() const;
    // As much of it as the screen has room for.
    void show(const std::string &text) const;
    [[nodiscard]] wake wait(double seconds) const;

private:
    screen *screen_ = nullptr; // a SCREEN of ncurses
    kernel::unique_fd signals_;
};

} // namespace mrc::ctl
