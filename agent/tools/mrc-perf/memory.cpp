// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "mrc/memory.h"
#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

namespace
{

void free_shared(void *memory)
{
    (void)::mrc_free_shared(memory);
}

std::unique_ptr<std::byte, void (*)(void *)> allocate(memory_kind kind, std::uint64_t bytes)
{
    if (kind == memory_kind::shared)
        return {static_cast<std::byte *>(::mrc_alloc_shared(bytes)), &free_shared};
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return {static_cast<std::byte *>(std::aligned_alloc(page, (bytes + page - 1) / page * page)), &std::free};
}

} // namespace

registered_memory::registered_memory(const mrc_device &on, memory_kind kind, std::uint64_t bytes, std::byte content)
    : memory_{allocate(kind, bytes)}, length_{bytes}
{
    if (!memory_)
        throw perf_error{fmt::format("cannot allocate {} bytes: {}", bytes, std::strerror(errno))};
    std::ranges::fill(this->bytes(), content);
    region_.reset(::ibv_reg_mr(on.pd(), memory_.get(), length_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
    if (!region_)
        throw perf_error{fmt::format("cannot register {} bytes: {}", bytes, std::strerror(errno))};
}

} // namespace mrc::perf
