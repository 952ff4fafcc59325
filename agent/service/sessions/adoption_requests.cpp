// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/adoption_requests.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "kernel/netns_cookie.h"
#include "service/log.h"
#include "service/sessions/client_process.h"

namespace mrc::service
{

namespace
{

session::adoption_reply reply_of(const adoption &from)
{
    session::adoption_reply to{};
    to.number = from.number;
    to.flags = (from.binds ? session::adoption_binds : 0) | (from.session != 0 ? session::adoption_ends_with_me : 0);
    to.uid = from.uid;
    to.pid = static_cast<std::uint32_t>(from.pid);
    to.cgroup = from.cgroup;
    to.netns_cookie = kernel::own_netns_cookie().value_or(0);
    to.connections = from.counted.connections;
    to.datagrams = from.counted.datagrams;
    to.binds = from.counted.binds;
    to.silent = from.counted.silent;
    to.bound = from.counted.bound;
    from.path.copy(to.path, sizeof(to.path) - 1);
    return to;
}

} // namespace

answer adopt_cgroup(session_state &state, const session::adopt_request &wish, int cgroup, int socket,
                    const asking_user &who)
{
    constexpr std::uint32_t known = session::adoption_binds | session::adoption_ends_with_me;
    if ((wish.flags & ~known) != 0)
        return refuse(EINVAL, fmt::format("flags {:#x} of an adoption, allowed are {:#x}", wish.flags, known));
    adoption wanted;
    wanted.pid = process_behind(socket);
    wanted.session = (wish.flags & session::adoption_ends_with_me) != 0 ? state.number : 0;
    wanted.binds = (wish.flags & session::adoption_binds) != 0;
    const auto added = state.shared.adopted.add(std::move(wanted), cgroup, who);
    if (!added)
        return refuse(added.error().code, added.error().text);
    const auto &all = state.shared.adopted.look();
    const auto made = std::ranges::find(all, *added, &adoption::number);
    if (made == all.end())
        return refuse(ENOENT, "the cgroup has gone meanwhile");
    answer result;
    result.reply.adoption = reply_of(*made);
    log::debug("user {} has adopted {}", who.uid, result.reply.adoption.path);
    return result;
}

answer list_adopted(session_state &state, std::uint32_t position)
{
    const auto &all = state.shared.adopted.look();
    if (position >= all.size())
        return refuse(ENOENT, fmt::format("{} cgroups are adopted", all.size()));
    answer result;
    result.reply.adoption = reply_of(all[position]);
    return result;
}

answer undo_adoption(session_state &state, std::uint32_t number, const asking_user &who)
{
    const auto undone = state.shared.adopted.undo(number, who);
    return undone ? answer{} : refuse(undone.error().code, undone.error().text);
}

} // namespace mrc::service
