// SPDX-License-Identifier: Apache-2.0
#include "service/sockets/adoptions.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace mrc::service
{

namespace
{

constexpr std::size_t most_adoptions = 256; // each holds a dozen descriptors

std::unexpected<session::refusal> refuse_by(int code, std::string text)
{
    return std::unexpected{session::refusal{code, std::move(text)}};
}

std::string path_of(int descriptor)
{
    std::error_code error;
    const auto path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), error);
    return error ? std::string{"?"} : path.string();
}

} // namespace

session::outcome<std::uint32_t> adoptions::add(adoption wish, int cgroup, const asking_user &who)
{
    if (programs_ == nullptr)
        return refuse_by(EOPNOTSUPP, "mrcd knows no ordinary addresses: [[sockets]] in its configuration has them");
    if (ended_)
        return refuse_by(ESHUTDOWN, "mrcd is ending");
    struct statfs system{};
    struct stat about{};
    if (::fstatfs(cgroup, &system) != 0 || ::fstat(cgroup, &about) != 0 || system.f_type != CGROUP2_SUPER_MAGIC ||
        !S_ISDIR(about.st_mode))
        return refuse_by(EINVAL, "it is no folder of a cgroup v2, which alone can be adopted");
    if (!who.is_operator && (who.uid == 0 || about.st_uid != who.uid))
        return refuse_by(EPERM, fmt::format("it is user {}'s; allowed are those of user {}, and any with CAP_NET_ADMIN",
                                            about.st_uid, who.uid));
    forget_ended();
    wish.cgroup = about.st_ino;
    const auto known = std::ranges::find(all_, wish.cgroup, &adoption::cgroup);
    if (known != all_.end())
        return refuse_by(EEXIST, fmt::format("it is adopted already, by {}", known->number));
    if (all_.size() == most_adoptions)
        return refuse_by(ENOSPC, fmt::format("{} cgroups are adopted, more are not allowed", most_adoptions));
    auto links = programs_->attach(cgroup);
    if (!links)
        return refuse_by(links.error().value(), "cannot attach to the cgroup: " + links.error().message());
    // It may have counted for an earlier adoption.
    mrc_adopted_row row{};
    row.flags = wish.binds ? std::uint32_t{MRC_ADOPTED_BINDS} : 0;
    if (!programs_->set_adopted(wish.cgroup, row))
        return refuse_by(errno, fmt::format("cannot count for the cgroup: {}", std::generic_category().message(errno)));
    wish.links = *std::move(links);
    wish.path = path_of(cgroup);
    wish.uid = who.uid;
    wish.number = ++last_number_;
    all_.push_back(std::move(wish));
    return last_number_;
}

session::outcome<> adoptions::undo(std::uint32_t number, const asking_user &who)
{
    forget_ended();
    const auto known = std::ranges::find(all_, number, &adoption::number);
    if (known == all_.end())
        return refuse_by(ENOENT, fmt::format("nothing is adopted by number {}", number));
    if (!who.is_operator && known->uid != who.uid)
        return refuse_by(EPERM,
                         fmt::format("user {} has adopted it; allowed is this user, or CAP_NET_ADMIN", known->uid));
    all_.erase(known);
    return {};
}

void adoptions::end_session(std::uint32_t session)
{
    std::erase_if(all_, [&](const adoption &each) { return each.session == session; });
}

void adoptions::end_all()
{
    ended_ = true;
    all_.clear();
}

void adoptions::forget_ended()
{
    std::erase_if(all_, [](const adoption &each) { return !kernel::socket_programs::is_attached(each.links.front()); });
}

const std::vector<adoption> &adoptions::look()
{
    forget_ended();
    for (adoption &each : all_)
        each.counted = programs_->adopted(each.cgroup).value_or(each.counted);
    return all_;
}

} // namespace mrc::service
