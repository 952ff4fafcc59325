// SPDX-License-Identifier: Apache-2.0
#include "kernel/process_memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace mrc::kernel
{

namespace
{

// The path by which the kernel knows an open file; empty when it cannot be told.
std::string path_of(int fd)
{
    std::array<char, 256> path{};
    const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
    return length < 0 ? std::string{} : std::string{path.data(), static_cast<std::size_t>(length)};
}

// ".../<number>/mem". What stands before the number depends on where the client's namespace has procfs, and
// /proc/thread-self/mem leads to task/<number>/mem. Within procfs only memory has such a name.
bool names_memory(std::string_view path)
{
    constexpr std::string_view name = "/mem";
    if (!path.ends_with(name))
        return false;
    path.remove_suffix(name.size());
    const std::size_t slash = path.rfind('/');
    const std::string_view number = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
    return !number.empty() && std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::string> why_unfit(int fd)
{
    // By its name first, which takes nobody's answer: a client's own file system may give none.
    if (const std::string path = path_of(fd); !names_memory(path))
        return "the descriptor of the process's memory must be its /proc/self/mem, not " + path;
    struct statfs system{};
    if (::fstatfs(fd, &system) != 0 || system.f_type != PROC_SUPER_MAGIC)
        return "the descriptor of the process's memory must be its /proc/self/mem";
    if ((::fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH)) != O_RDWR)
        return "/proc/self/mem must be opened O_RDWR";
    return std::nullopt;
}

struct page_parts {
    std::array<iovec, 2> pieces{};
    int count = 1;
};

// The kernel copies up to a page at a time, each piece of a vector for itself, wherever it begins. What fits into one
// such step is not cut.
page_parts at_pages(std::uint64_t address, std::byte *bytes, std::size_t size)
{
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t head = (page - address % page) % page;
    if (head == 0 || size <= page)
        return {.pieces = {iovec{bytes, size}}};
    return {.pieces = {iovec{bytes, head}, iovec{bytes + head, size - head}}, .count = 2};
}

std::size_t copied(ssize_t answer)
{
    return answer < 0 ? 0 : static_cast<std::size_t>(answer);
}

} // namespace

std::expected<std::shared_ptr<const process_memory>, memory_error> process_memory::adopt(unique_fd &&file)
{
    if (auto problem = why_unfit(file.get()))
        return std::unexpected{memory_error{.code = EINVAL, .text = std::move(*problem)}};
    return std::shared_ptr<const process_memory>{new process_memory{std::move(file)}};
}

// The kernel stops at the first page that it cannot reach and tells how far it came; a process that has ended reads as
// an empty file. Neither is worth a second try: what was registered is not there.
std::size_t process_memory::write_some(std::uint64_t address, std::span<const std::byte> bytes) const noexcept
{
    // The parameter of pwritev has no const, and pwritev changes nothing.
    const auto parts = at_pages(address, const_cast<std::byte *>(bytes.data()), bytes.size());
    return copied(::pwritev(file_.get(), parts.pieces.data(), parts.count, static_cast<off_t>(address)));
}

std::size_t process_memory::read_some(std::uint64_t address, std::span<std::byte> bytes) const noexcept
{
    const auto parts = at_pages(address, bytes.data(), bytes.size());
    return copied(::preadv(file_.get(), parts.pieces.data(), parts.count, static_cast<off_t>(address)));
}

} // namespace mrc::kernel
