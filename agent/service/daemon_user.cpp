// SPDX-License-Identifier: Apache-2.0
#include "service/daemon_user.h"
#include "service/log.h"

#include <cerrno>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <unistd.h>

namespace mrc::service
{

namespace
{

constexpr const char *usual_user = "mrc";

std::vector<gid_t> groups_of(const passwd &entry)
{
    std::vector<gid_t> groups(16);
    int count = static_cast<int>(groups.size());
    while (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0)
        groups.resize(static_cast<std::size_t>(count));
    groups.resize(static_cast<std::size_t>(count));
    return groups;
}

std::optional<kernel::user_identity> find_user(const std::string &name)
{
    std::vector<char> room(1024);
    passwd entry{};
    passwd *found = nullptr;
    int error = 0;
    while ((error = ::getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found)) == ERANGE)
        room.resize(room.size() * 2);
    if (error != 0 || found == nullptr)
        return std::nullopt;
    return kernel::user_identity{.name = name, .uid = entry.pw_uid, .gid = entry.pw_gid, .groups = groups_of(entry)};
}

daemon_user whoever_started_it(bool is_lacking)
{
    return {.who = {.name = ::geteuid() == 0 ? "root" : fmt::format("{}", ::geteuid()),
                    .uid = ::geteuid(),
                    .gid = ::getegid(),
                    .groups = {}},
            .is_lacking = is_lacking};
}

} // namespace

std::expected<daemon_user, std::string> user_for(const daemon_config &config)
{
    const bool by_root = ::geteuid() == 0;
    if (!config.daemon.user && !by_root)
        return whoever_started_it(false);
    if (auto found = find_user(config.daemon.user.value_or(usual_user)))
        return daemon_user{.who = std::move(*found)};
    if (!config.daemon.user)
        return whoever_started_it(true);
    return std::unexpected{
        config.origin
            .error_at("daemon.user",
                      fmt::format("found \"{}\", which is no user of this system; allowed is an existing "
                                  "user, or \"auto\"",
                                  *config.daemon.user))
            .text()};
}

void become(const daemon_user &user, const daemon_config &config)
{
    if (user.is_lacking)
        log::warn("the daemon stays user root: this system has no user mrc (systemd-sysusers makes it), and [daemon] "
                  "user names no other");
    kernel::give_up_privileges(user.who,
                               kernel::capability_set{1} << CAP_NET_ADMIN | kernel::capability_set{1} << CAP_NET_RAW);
    log::info("running as user {} with CAP_NET_ADMIN, CAP_NET_RAW and no other capability", user.who.name);
    if (::access(config.origin.file.c_str(), R_OK) != 0)
        log::warn("user {} cannot read {} ({}): SIGHUP will change nothing", user.who.name, config.origin.file,
                  std::generic_category().message(errno));
}

} // namespace mrc::service
