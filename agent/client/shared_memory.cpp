// SPDX-License-Identifier: Apache-2.0
#include "client/shared_memory.h"

#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>

#include <fcntl.h>
#include <sys/stat.h>

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

// A line of /proc/self/maps (proc_pid_maps(5)).
struct mapped_range {
    unsigned long from = 0;
    unsigned long to = 0;
    char mode[5] = {};
    unsigned long offset = 0;
    unsigned long inode = 0;
};

// Whether all of a range is mapped, and `allowed(mapped_range)` wherever it is; nullopt: that cannot be found out.
template <typename Allowed>
std::optional<bool> is_all_mapped(const void *address, std::uint64_t bytes, Allowed allowed)
{
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> maps{std::fopen("/proc/self/maps", "re"), &std::fclose};
    if (!maps)
        return std::nullopt;
    std::uintptr_t next = number_of(address); // everything before it is
    const std::uintptr_t end = next + bytes;
    char line[512];
    while (next < end && std::fgets(line, sizeof(line), maps.get()) != nullptr) {
        mapped_range found;
        if (std::sscanf(line, "%lx-%lx %4s %lx %*s %lu", &found.from, &found.to, found.mode, &found.offset,
                        &found.inode) != 5 ||
            found.to <= next)
            continue;
        if (found.from > next || !allowed(found))
            return false;
        next = found.to;
    }
    return next >= end;
}

// The allocation that a range is in, and where.
std::optional<shared_range> allocated_range(const void *address, std::uint64_t bytes)
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

} // namespace

std::optional<shared_range> shared_range_at(const void *address, std::uint64_t bytes)
{
    const std::optional<shared_range> range = allocated_range(address, bytes);
    if (!range)
        return std::nullopt;
    struct stat file{};
    const bool is_there =
        ::fstat(range->file, &file) == 0 &&
        is_all_mapped(address, bytes, [&](const mapped_range &mapped) {
            return mapped.inode == file.st_ino && mapped.offset - range->offset == mapped.from - number_of(address);
        }).value_or(true);
    return is_there ? range : std::nullopt;
}

bool is_accessible(const void *address, std::uint64_t bytes, bool writable)
{
    return is_all_mapped(address, bytes,
                         [writable](const mapped_range &mapped) {
                             return mapped.mode[0] == 'r' && (!writable || mapped.mode[1] == 'w');
                         })
        .value_or(true); // else the daemon's copies will tell
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
    made.memory.wish_huge_pages();
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
