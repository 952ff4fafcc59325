// SPDX-License-Identifier: Apache-2.0
#include "kernel/trusted_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "kernel/startup_error.h"

namespace mrc::kernel
{

namespace
{

constexpr mode_t folder_mode = 0755;

std::optional<folder_problem> problem_of(const std::string &name, const struct stat &about, uid_t user)
{
    if (about.st_uid != 0 && about.st_uid != user)
        return folder_problem{.what = "'" + name + "' belongs to user " + std::to_string(about.st_uid) +
                                      ", who could exchange what is below",
                              .remedy = "chown -h root " + name};
    if (S_ISLNK(about.st_mode) || (about.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (about.st_mode & S_ISVTX) != 0)
        return std::nullopt;
    return folder_problem{.what = "'" + name + "' may be written by others than its owner",
                          .remedy = "chmod go-w " + name};
}

folder_problem unreadable(const std::filesystem::path &name, int error)
{
    return {.what = "'" + name.string() + "': " + std::strerror(error), .remedy = "ls -ld " + name.string()};
}

} // namespace

std::optional<folder_problem> find_folder_problem(const std::string &folder, uid_t user)
{
    std::filesystem::path at;
    for (const std::filesystem::path &name : std::filesystem::path{folder}.lexically_normal()) {
        at /= name;
        struct stat about{};
        if (::lstat(at.c_str(), &about) != 0)
            return errno == ENOENT ? std::nullopt : std::optional{unreadable(at, errno)};
        if (auto problem = problem_of(at.string(), about, user))
            return problem;
        if (!S_ISLNK(about.st_mode))
            continue;
        std::error_code error;
        at = std::filesystem::canonical(at, error);
        if (error)
            return unreadable(at, error.value());
        if (auto problem = find_folder_problem(at.string(), user))
            return problem;
    }
    return std::nullopt;
}

std::expected<bool, std::error_code> claim_folder(const std::string &folder, uid_t user)
{
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::path{folder}.lexically_normal();
    std::filesystem::create_directories(whole.parent_path(), error);
    if (::mkdir(whole.c_str(), folder_mode) == 0)
        return true;
    struct stat about{};
    if (errno != EEXIST || ::lstat(whole.c_str(), &about) != 0)
        return std::unexpected{std::error_code{errno, std::generic_category()}};
    if (about.st_uid != user || !S_ISDIR(about.st_mode))
        return false;
    if (user != ::geteuid() && ::lchown(whole.c_str(), ::geteuid(), ::getegid()) != 0)
        return std::unexpected{std::error_code{errno, std::generic_category()}};
    return true;
}

void give_folder(const std::string &folder, const user_identity &to)
{
    if (to.uid != ::geteuid() && ::lchown(folder.c_str(), to.uid, to.gid) != 0)
        fail_startup("cannot give '" + folder + "' to user '" + to.name + "' (CAP_CHOWN is needed)");
}

} // namespace mrc::kernel
