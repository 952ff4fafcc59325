// SPDX-License-Identifier: Apache-2.0
#include "client/shared_memory.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "client/export.h"
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
struct maps_line {
    unsigned long from = 0;
    unsigned long to = 0;
    char mode[5] = {};
    unsigned long offset = 0;
    unsigned major = 0;
    unsigned minor = 0;
    unsigned long inode = 0;
    char name[8] = {}; // its beginning
};

bool parse(const char *text, maps_line &line)
{
    // Anonymous memory has no name.
    return std::sscanf(text, "%lx-%lx %4s %lx %x:%x %lu %7s", &line.from, &line.to, line.mode, &line.offset,
                       &line.major, &line.minor, &line.inode, line.name) >= 7;
}

file_identity identity_of(const struct stat &status)
{
    return {.device = status.st_dev, .inode = status.st_ino};
}

std::optional<file_identity> identity_of(int fd)
{
    struct stat status{};
    if (::fstat(fd, &status) != 0)
        return std::nullopt;
    return identity_of(status);
}

// A descriptor of the program's for that file, by which the daemon may write, too, and of which it need not fear that
// its pages go. Duplicated before it is looked at: the program may close its own meanwhile.
kernel::unique_fd sealed_memfd(const file_identity &wanted)
{
    const std::unique_ptr<DIR, int (*)(DIR *)> all{::opendir("/proc/self/fd"), &::closedir};
    if (!all)
        return {};
    while (const dirent *entry = ::readdir(all.get())) {
        int number = -1;
        const std::string_view name = entry->d_name;
        if (std::from_chars(name.data(), name.data() + name.size(), number).ec != std::errc{} ||
            identity_of(number) != wanted)
            continue;
        kernel::unique_fd file{::fcntl(number, F_DUPFD_CLOEXEC, 0)};
        const int seals = ::fcntl(file.get(), F_GET_SEALS);
        if (file && identity_of(file.get()) == wanted && seals >= 0 &&
            (seals & (F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE)) == F_SEAL_SHRINK &&
            (::fcntl(file.get(), F_GETFL) & O_ACCMODE) == O_RDWR)
            return file;
    }
    return {};
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
    return shared_range{.file = at->second.file.get(), .offset = offset, .own = {}};
}

} // namespace

std::optional<mapped_range> mapped_at(const void *address, std::uint64_t bytes)
{
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> maps{std::fopen("/proc/self/maps", "re"), &std::fclose};
    if (!maps)
        return std::nullopt;
    const std::uintptr_t begin = number_of(address);
    const std::uintptr_t end = begin + bytes;
    std::uintptr_t next = begin; // everything before it is as `found` says
    mapped_range found{.readable = true, .writable = true, .file = {}, .offset = 0, .is_memfd = false};
    char text[512];
    while (next < end && std::fgets(text, sizeof(text), maps.get()) != nullptr) {
        maps_line line;
        if (!parse(text, line) || line.to <= next)
            continue;
        if (line.from > next)
            break;
        found.readable = found.readable && line.mode[0] == 'r';
        found.writable = found.writable && line.mode[1] == 'w';
        const file_identity file{.device = ::makedev(line.major, line.minor), .inode = line.inode};
        const std::uint64_t offset = line.offset + (begin - line.from); // modulo 2^64
        const bool is_shared = line.mode[3] == 's' && line.inode != 0;
        if (next == begin && is_shared) {
            found.file = file;
            found.offset = offset;
            found.is_memfd = std::string_view{line.name}.starts_with("/memfd:");
        } else if (!is_shared || found.file != file || found.offset != offset) {
            found.file.reset();
        }
        next = line.to;
    }
    return next < end ? mapped_range{} : found;
}

std::optional<shared_range> shared_range_at(const void *address, std::uint64_t bytes,
                                            const std::optional<mapped_range> &mapped)
{
    std::optional<shared_range> range = allocated_range(address, bytes);
    if (range && (!mapped || (mapped->file == identity_of(range->file) && mapped->offset == range->offset)))
        return range;
    if (!mapped || !mapped->file || !mapped->is_memfd || !mapped->writable)
        return std::nullopt;
    kernel::unique_fd own = sealed_memfd(*mapped->file);
    if (!own)
        return std::nullopt;
    const int file = own.get();
    return shared_range{.file = file, .offset = mapped->offset, .own = std::move(own)};
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
