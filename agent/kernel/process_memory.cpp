// SPDX-License-Identifier: Apache-2.0
#include "kernel/process_memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

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

} // namespace

std::expected<std::shared_ptr<const process_memory>, memory_error> process_memory::adopt(unique_fd &&file)
{
    if (auto problem = why_unfit(file.get()))
        return std::unexpected{memory_error{.code = EINVAL, .text = std::move(*problem)}};
    return std::shared_ptr<const process_memory>{new process_memory{std::move(file)}};
}

// The kernel stops at the first page that it cannot reach and tells how far it came; a process that has ended reads as
// an empty file. Neither is worth a second try: what was registered is not there.
bool process_memory::write(std::uint64_t address, std::span<const std::byte> bytes) const noexcept
{
    return ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(address)) == std::ssize(bytes);
}

bool process_memory::read(std::uint64_t address, std::span<std::byte> bytes) const noexcept
{
    return ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(address)) == std::ssize(bytes);
}

} // namespace mrc::kernel
