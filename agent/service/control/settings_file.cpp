// SPDX-License-Identifier: Apache-2.0
#include "service/control/settings_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "kernel/unique_fd.h"

namespace mrc::service::control
{

namespace
{

constexpr mode_t file_mode = 0644; // nothing in it is secret, and a daemon that starts as root reads what mrc wrote

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
    const kernel::unique_fd folder{
        ::open(std::filesystem::path{path}.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    return folder && ::fsync(folder.get()) == 0;
}

} // namespace

std::expected<std::optional<std::string>, std::error_code> settings_file::read()
{
    const kernel::unique_fd fd{::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
    if (!fd && errno == ENOENT)
        return std::nullopt;
    if (!fd)
        return last_error();
    std::string text;
    std::array<char, 16384> piece{};
    for (;;) {
        const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
        if (got < 0 && errno != EINTR)
            return last_error();
        if (got == 0)
            return last_ = text;
        text.append(piece.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
    }
}

std::expected<void, std::error_code> settings_file::write(std::string_view text)
{
    if (text == last_)
        return {};
    const std::string scratch = path_ + ".new";
    // What a daemon that was killed has left may be another user's.
    if (::unlink(scratch.c_str()) != 0 && errno != ENOENT)
        return last_error();
    const kernel::unique_fd fd{::open(scratch.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode)};
    if (!fd || !write_all(fd.get(), text) || ::fsync(fd.get()) != 0 || ::rename(scratch.c_str(), path_.c_str()) != 0 ||
        !sync_folder(path_))
        return last_error();
    last_ = text;
    return {};
}

std::expected<void, std::error_code> settings_file::set_aside()
{
    if (::rename(path_.c_str(), refused_path().c_str()) != 0)
        return last_error();
    last_.clear();
    return {};
}

} // namespace mrc::service::control
