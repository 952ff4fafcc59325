// SPDX-License-Identifier: Apache-2.0
// Interrupts that other CPUs serve than would by themselves (/proc/irq/N/smp_affinity_list).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/cpu_list.h"
#include "kernel/unique_fd.h"

namespace mrc::kernel
{

// When it ends they go back to the CPUs that served them before, unless somebody else has moved them since; the files
// stay open for that, as a process that has given up being root may not open them again.
class moved_interrupts
{
public:
    moved_interrupts() = default;
    moved_interrupts(const moved_interrupts &) = delete;
    moved_interrupts &operator=(const moved_interrupts &) = delete;
    ~moved_interrupts();

    // Nothing: it was moved. Else why not: the kernel decides about it alone, or the caller may not. `root`: of the
    // file systems.
    [[nodiscard]] std::optional<std::string> move(std::uint32_t number, const cpu_list &to,
                                                  const std::string &root = "");

private:
    struct one {
        unique_fd file;
        std::string before;
        std::string since; // as the kernel has it
    };
    std::vector<one> moved_;
};

} // namespace mrc::kernel
