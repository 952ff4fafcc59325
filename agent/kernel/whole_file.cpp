// SPDX-License-Identifier: Apache-2.0
#include "kernel/whole_file.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "kernel/unique_fd.h"

namespace mrc::kernel
{

namespace
{

constexpr mode_t file_mode = 0644;

std::error_code last_error()
{
    return {errno, std::generic_category()};
}

bool write_all(int fd, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR)
            return false;
        text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    return true;
}

} // namespace

std::error_code write_scratch(const std::string &path, std::string_view text)
{
    // What a program that was killed has left may be another user's.
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        return last_error();
    const unique_fd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode)};
    if (!fd || !write_all(fd.get(), text) || ::fsync(fd.get()) != 0)
        return last_error();
    return {};
}

std::error_code sync_folder_of(const std::string &path)
{
    const std::filesystem::path folder = std::filesystem::path{path}.parent_path();
    const unique_fd fd{::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!fd || ::fsync(fd.get()) != 0)
        return last_error();
    return {};
}

} // namespace mrc::kernel
