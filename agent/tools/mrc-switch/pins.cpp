// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-switch/pins.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <bpf/bpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>

namespace mrc::lab_switch
{
namespace
{

void require_bpf_file_system(const std::filesystem::path &path)
{
    std::filesystem::path existing = path;
    struct statfs info{};

    while (!std::filesystem::exists(existing) && existing != existing.root_path())
        existing = existing.parent_path();
    if (statfs(existing.c_str(), &info) != 0)
        throw switch_error{fmt::format("{}: {}", existing.string(), std::strerror(errno))};
    if (static_cast<unsigned long>(info.f_type) != BPF_FS_MAGIC)
        throw switch_error{fmt::format("pin {}: {} is not on a BPF file system (mount -t bpf bpf /sys/fs/bpf; in a "
                                       "network namespace use nsenter --net, ip netns exec hides it)",
                                       path.string(), existing.string())};
}

} // namespace

pin_directory::pin_directory(std::filesystem::path path) : path_{std::move(path)}
{
    std::error_code error;

    require_bpf_file_system(path_);
    std::filesystem::create_directories(path_, error);
    if (error)
        throw switch_error{fmt::format("pin {}: {}", path_.string(), error.message())};
    lock_.reset(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock_ || flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
        throw switch_error{
            fmt::format("pin {}: {}", path_.string(),
                        errno == EWOULDBLOCK ? "another mrc-switch runs with this directory" : std::strerror(errno))};
}

pin_directory::~pin_directory()
{
    std::error_code ignored;

    for (const auto &file : pinned_)
        std::filesystem::remove(file, ignored);
    std::filesystem::remove(path_, ignored);
}

void pin_directory::pin(int map_fd, const char *name)
{
    const std::filesystem::path file = path_ / name;
    std::error_code ignored;

    // The lock is ours: what stands here was left by a process that was killed.
    std::filesystem::remove(file, ignored);
    if (const int error = bpf_obj_pin(map_fd, file.c_str()); error != 0)
        throw switch_error{fmt::format("pin {}: {}", file.string(), std::strerror(-error))};
    pinned_.push_back(file);
}

kernel::unique_fd open_pinned(const std::filesystem::path &directory, const char *name)
{
    const std::filesystem::path file = directory / name;
    const int fd = bpf_obj_get(file.c_str());

    if (fd < 0)
        throw switch_error{
            fmt::format("{}: {} (is mrc-switch running with this pin directory?)", file.string(), std::strerror(-fd))};
    return kernel::unique_fd{fd};
}

} // namespace mrc::lab_switch
