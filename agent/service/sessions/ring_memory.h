// SPDX-License-Identifier: Apache-2.0
// Memory that a client and the worker share, of a size that no client can take away from under the worker.
#pragma once

#include <cstddef>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/unique_fd.h"

namespace mrc::service
{

// No descriptor when there is no memory.
[[nodiscard]] inline kernel::unique_fd sealed_memory(const char *name, std::size_t bytes)
{
    kernel::unique_fd file{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return {};
    return file;
}

[[nodiscard]] inline kernel::mapping map_whole(const kernel::unique_fd &file, std::size_t bytes)
{
    void *at = file ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) : MAP_FAILED;
    return at == MAP_FAILED ? kernel::mapping{} : kernel::mapping{at, bytes};
}

} // namespace mrc::service
