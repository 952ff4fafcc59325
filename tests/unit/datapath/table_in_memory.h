// SPDX-License-Identifier: Apache-2.0
// The rows of a BPF array map without a kernel's map behind them.
#pragma once

#include <cstddef>

#include <sys/mman.h>
#include <unistd.h>

#include "kernel/mapped_array.h"
#include "kernel/startup_error.h"
#include "kernel/unique_fd.h"

namespace mrc::test
{

// All zero. Throws startup_error.
template <typename Row>
[[nodiscard]] kernel::mapped_array<Row> table_in_memory(std::size_t rows)
{
    const kernel::unique_fd file{::memfd_create("table", MFD_CLOEXEC)};
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(rows * sizeof(Row))) != 0)
        kernel::fail_startup("cannot make a table in memory");
    return {file.get(), rows, "table"};
}

} // namespace mrc::test
