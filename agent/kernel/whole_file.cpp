// SPDX-License-Identifier: Apache-2.0
#include "kernel/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/unique_fd.h"

namespace mrc::kernel
{

namespace
{

constexpr mode_t readable_by_all = 0644;

std::unexpected<std::error_code> last_error()
{
    return std::unexpected{std::error_code{errno, std::generic_category()}};
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

// Without it a crash of the machine may leave the folder with the old name, which is right, or with neither, which is
// not.
bool sync_folder(const std::string &path)
{
    const std::filesystem::path folder = std::filesystem::path{path}.parent_path();
    const unique_fd fd{::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    return fd && ::fsync(fd.get()) == 0;
}

// `give_name` gives the scratch file its name: 0, or -1 with errno.
template <typename Name>
std::expected<void, std::error_code> write_whole(const std::string &path, const std::string &scratch,
                                                 std::string_view text, Name give_name)
{
    // What a writer that was killed has left may be another user's.
    if (::unlink(scratch.c_str()) != 0 && errno != ENOENT)
        return last_error();
    const unique_fd fd{::open(scratch.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, readable_by_all)};
    if (!fd)
        return last_error();
    if (!write_all(fd.get(), text) || ::fchmod(fd.get(), readable_by_all) != 0 || ::fsync(fd.get()) != 0 ||
        give_name(scratch.c_str(), path.c_str()) != 0) {
        const auto error = last_error();
        ::unlink(scratch.c_str());
        return error;
    }
    // Not of every folder: some may be written and not read, and not every file system knows how.
    if (!sync_folder(path) && errno != EACCES && errno != EINVAL)
        return last_error();
    return {};
}

} // namespace

std::expected<void, std::error_code> replace_file(const std::string &path, const std::string &scratch,
                                                  std::string_view text)
{
    return write_whole(path, scratch, text, ::rename);
}

std::expected<void, std::error_code> create_file(const std::string &path, const std::string &scratch,
                                                 std::string_view text)
{
    return write_whole(path, scratch, text, [](const char *from, const char *to) {
        if (::link(from, to) != 0) // where rename() would take the place of what is there
            return -1;
        ::unlink(from);
        return 0;
    });
}

} // namespace mrc::kernel
