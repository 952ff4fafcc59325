// SPDX-License-Identifier: Apache-2.0
// The program that switches of one lab share (bpf/switch_entry.bpf.c): the first one loads and pins it, the last one
// removes the pins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "kernel/unique_fd.h"

namespace mrc::lab_switch
{

class shared_entry
{
public:
    // `directory`: its own on a BPF file system, the same for all that share; the one above it exists. Throws
    // switch_error.
    explicit shared_entry(std::filesystem::path directory);
    // What was added calls nothing any more.
    ~shared_entry();
    shared_entry(const shared_entry &) = delete;
    shared_entry &operator=(const shared_entry &) = delete;

    [[nodiscard]] int program_fd() const { return program_.get(); }
    // The port's frames are `program`'s from now on. False when it cannot be: the port then needs that program itself.
    [[nodiscard]] bool add(std::uint32_t ifindex, int program_fd);

private:
    [[nodiscard]] kernel::unique_fd hold_folder_above() const;
    void load_and_pin();

    std::filesystem::path directory_;
    kernel::unique_fd shared_; // lock: somebody uses the pins
    kernel::unique_fd program_;
    kernel::unique_fd switches_;
    std::vector<std::uint32_t> added_;
};

} // namespace mrc::lab_switch
