// SPDX-License-Identifier: Apache-2.0
// The directory of a switch's pinned maps: made, locked, emptied of what a killed predecessor left, and removed.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernel/unique_fd.h"

namespace mrc::lab_switch
{

// One line that says what failed and, where there is one, what to do about it.
struct switch_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class pin_directory
{
public:
    // Throws switch_error when it is not on a BPF file system, or another mrc-switch holds it.
    explicit pin_directory(std::filesystem::path path);
    ~pin_directory();
    pin_directory(const pin_directory &) = delete;
    pin_directory &operator=(const pin_directory &) = delete;

    void pin(int map_fd, const char *name);

private:
    std::filesystem::path path_;
    kernel::unique_fd lock_;
    std::vector<std::filesystem::path> pinned_;
};

// A pinned map of a running switch; throws switch_error.
[[nodiscard]] kernel::unique_fd open_pinned(const std::filesystem::path &directory, const char *name);

} // namespace mrc::lab_switch
