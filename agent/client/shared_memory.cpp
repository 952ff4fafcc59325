// SPDX-License-Identifier: Apache-2.0
#include "client/shared_memory.h"

#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>

#include <fcntl.h>

#include "client/export.h"
#include "kernel/unique_fd.h"
#include "mrc/memory.h"

namespace mrc::client
{

namespace
{

struct allocation {
    mrc::kernel::unique_fd file;
    mrc::kernel::mapping memory;
};

std::mutex registry_lock;
std::map<std::uintptr_t, allocation> &registry() // by address
{
    static auto *all = new std::map<std::uintptr_t, allocation>; // outlives all static objects
    return *all;
}

std::uintptr_t number_of(const void *address)
{
    return reinterpret_cast<std::uintptr_t>(address);
}

} // namespace

std::optional<shared_range> shared_range_at(const void *address, std::uint64_t bytes)
{
    const std::scoped_lock lock{registry_lock};
    auto at = registry().upper_bound(number_of(address));
    if (at == registry().begin())
        return std::nullopt;
    --at;
    const std::uint64_t offset = number_of(address) - at->first;
    const std::size_t size = at->second.memory.size();
    if (offset > size || bytes > size - offset)
        return std::nullopt;
    return shared_range{.file = at->second.file.get(), .offset = offset};
}

bool is_accessible(const void *address, std::uint64_t bytes, bool writable)
{
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> maps{std::fopen("/proc/self/maps", "re"), &std::fclose};
    if (!maps)
        return true;                          // the daemon's copies will tell
    std::uintptr_t next = number_of(address); // everything before it is accessible
    const std::uintptr_t end = next + bytes;
    char line[512];
    while (next < end && std::fgets(line, sizeof(line), maps.get()) != nullptr) {
        unsigned long from = 0;
        unsigned long to = 0;
        char mode[5] = {};
        if (std::sscanf(line, "%lx-%lx %4s", &from, &to, mode) != 3 || to <= next)
            continue;
        if (from > next || mode[0] != 'r' || (writable && mode[1] != 'w'))
            return false;
        next = to;
    }
    return next >= end;
}

int bring_in(const void *address, std::uint64_t bytes, bool writable)
{
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t from = number_of(address) / page * page;
    const std::uintptr_t to = (number_of(address) + bytes + page - 1) / page * page;
    // madvise takes where a range begins as a pointer that may write.
    auto *begin = reinterpret_cast<void *>(from);
    if (::madvise(begin, to - from, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0 || errno == EINVAL)
        return 0;
    return errno == ENOMEM ? ENOMEM : EFAULT;
}

} // namespace mrc::client

using mrc::client::allocation;

extern "C" MRC_EXPORT void *mrc_alloc_shared(size_t bytes)
{
    allocation made;
    made.file = mrc::kernel::unique_fd{::memfd_create("mrc-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (bytes == 0) {
        errno = EINVAL;
        return nullptr;
    }
    if (!made.file || ::ftruncate(made.file.get(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(made.file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        return nullptr;
    void *at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.file.get(), 0);
    if (at == MAP_FAILED)
        return nullptr;
    made.memory = mrc::kernel::mapping{at, bytes};
    try {
        const std::scoped_lock lock{mrc::client::registry_lock};
        mrc::client::registry().emplace(mrc::client::number_of(at), std::move(made));
    } catch (const std::bad_alloc &) {
        errno = ENOMEM;
        return nullptr;
    }
    return at;
}

extern "C" MRC_EXPORT int mrc_free_shared(void *memory)
{
    const std::scoped_lock lock{mrc::client::registry_lock};
    if (memory != nullptr && mrc::client::registry().erase(mrc::client::number_of(memory)) == 0) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}
