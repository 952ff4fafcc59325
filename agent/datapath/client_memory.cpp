// SPDX-License-Identifier: Apache-2.0
#include "datapath/client_memory.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "kernel/sigbus_guard.h"

namespace mrc::datapath
{

namespace
{

// Pages of the file, which are what its mappings are made of.
std::uint64_t page_bytes(int fd)
{
    struct statfs system{};
    if (::fstatfs(fd, &system) == 0 && system.f_type == HUGETLBFS_MAGIC)
        return static_cast<std::uint64_t>(system.f_bsize);
    return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Only memfds have seals. To be asked before anything else: a client's own file system may never answer.
bool cannot_shrink(int fd)
{
    const int seals = ::fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

// Why a range cannot be mapped; empty when it can.
std::string why_unfit(int fd, std::uint64_t offset, std::uint64_t bytes)
{
    struct stat status{};
    if (::fstat(fd, &status) != 0)
        return "memory cannot be examined";
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (bytes == 0 || offset > size || bytes > size - offset)
        return "range is outside the memfd of " + std::to_string(size) + " bytes";
    // What the worker writes to a hole becomes memory of this process, not of the client. Pages that are swapped out
    // are data; of huge pages, which come from a pool of their own, the kernel tells no holes.
    const off_t hole = ::lseek(fd, static_cast<off_t>(offset), SEEK_HOLE);
    if (hole >= 0 && static_cast<std::uint64_t>(hole) < offset + bytes)
        return "the memfd has a hole at byte " + std::to_string(hole) + ": write to all of it first";
    return {};
}

} // namespace

client_memory::client_memory(kernel::mapping pages, std::uint64_t bytes, std::uint64_t lead)
    : how_{std::move(pages)}, lead_{lead}, bytes_{bytes}
{
    kernel::install_sigbus_guard();
}

client_memory::client_memory(std::shared_ptr<const kernel::process_memory> process, std::uint64_t address,
                             std::uint64_t bytes)
    : how_{process_range{.process = std::move(process), .address = address}}, bytes_{bytes}
{
}

bool client_memory::copy_in(std::uint64_t offset, std::span<const std::byte> from) noexcept
{
    if (broken_)
        return false;
    if (const auto *shared = std::get_if<kernel::mapping>(&how_))
        return settle(kernel::guarded_write(shared->bytes(), lead_ + offset, from));
    if (const auto *own = std::get_if<own_range>(&how_)) {
        std::memcpy(own->begin + offset, from.data(), from.size());
        return true;
    }
    const auto *range = std::get_if<process_range>(&how_);
    return settle(range->process->write(range->address + offset, from));
}

bool client_memory::copy_out(std::uint64_t offset, std::span<std::byte> to) noexcept
{
    if (broken_)
        return false;
    if (const auto *shared = std::get_if<kernel::mapping>(&how_))
        return settle(kernel::guarded_read(shared->bytes(), lead_ + offset, to));
    if (const auto *own = std::get_if<own_range>(&how_)) {
        std::memcpy(to.data(), own->begin + offset, to.size());
        return true;
    }
    const auto *range = std::get_if<process_range>(&how_);
    return settle(range->process->read(range->address + offset, to));
}

bool client_memory::copy_out(std::uint64_t offset, std::span<std::byte> to, std::uint64_t followed_by,
                             read_ahead &ahead) noexcept
{
    const process_range *range = process();
    if (broken_ || range == nullptr)
        return copy_out(offset, to);
    return settle(ahead.read(*range->process, range->address + offset, to, followed_by));
}

bool client_memory::settle(bool copied) noexcept
{
    broken_ = !copied;
    return copied;
}

std::expected<client_memory, kernel::memory_error> map_shared(const kernel::unique_fd &file, std::uint64_t offset,
                                                              std::uint64_t bytes)
{
    if (!cannot_shrink(file.get()))
        return std::unexpected{
            kernel::memory_error{.code = EINVAL, .text = "memory must be a memfd sealed with F_SEAL_SHRINK"}};
    if (std::string problem = why_unfit(file.get(), offset, bytes); !problem.empty())
        return std::unexpected{kernel::memory_error{.code = EINVAL, .text = std::move(problem)}};
    // Whole pages, because a kernel::mapping of huge pages is not unmapped by fewer.
    const std::uint64_t page = page_bytes(file.get());
    const std::uint64_t lead = offset % page;
    const std::uint64_t whole = (lead + bytes + page - 1) / page * page;
    void *address =
        ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), static_cast<off_t>(offset - lead));
    if (address == MAP_FAILED) {
        const int error = errno;
        return std::unexpected{kernel::memory_error{
            .code = error, .text = "memory cannot be mapped: " + std::string{std::strerror(error)}}};
    }
    // Pages stay in memory from the worker's first touch on, without being touched here, where all clients would wait.
    // Within RLIMIT_MEMLOCK; beyond it the worker may wait for the swap device, as it does for a process's memory.
    [[maybe_unused]] const int locked = ::mlock2(address, whole, MLOCK_ONFAULT);
    kernel::mapping mapped{address, whole};
    mapped.wish_huge_pages(); // a page that the client has in one piece is mapped in one piece here
    return client_memory{std::move(mapped), bytes, lead};
}

} // namespace mrc::datapath
