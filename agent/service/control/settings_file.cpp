// SPDX-License-Identifier: Apache-2.0
#include "service/control/settings_file.h"

#include <array>
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "kernel/unique_fd.h"
#include "kernel/whole_file.h"

namespace mrc::service::control
{

namespace
{

std::unexpected<std::error_code> last_error()
{
    return std::unexpected{std::error_code{errno, std::generic_category()}};
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
    // Nothing in it is secret, and a daemon that starts as root reads what mrc wrote.
    if (const auto error = kernel::write_scratch(scratch, text))
        return std::unexpected{error};
    if (::rename(scratch.c_str(), path_.c_str()) != 0)
        return last_error();
    if (const auto error = kernel::sync_folder_of(path_))
        return std::unexpected{error};
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
