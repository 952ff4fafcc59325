// SPDX-License-Identifier: Apache-2.0
#include "kernel/privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/startup_error.h"

namespace mrc::kernel
{

namespace
{

__user_cap_header_struct own_capabilities()
{
    return {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
}

void become(const user_identity &who)
{
    const std::string what = "cannot become user '" + who.name + "' (CAP_SETUID and CAP_SETGID are needed)";
    if (::setgroups(who.groups.size(), who.groups.data()) != 0 || ::setresgid(who.gid, who.gid, who.gid) != 0 ||
        ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || ::setresuid(who.uid, who.uid, who.uid) != 0)
        fail_startup(what);
    // A change of user forbids core dumps, which are as much needed as before. It also forbids tracing, but so do the
    // capabilities that are kept: a process of this user that lacks them may not trace one that has them.
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

void keep_only(capability_set keep)
{
    __user_cap_header_struct header = own_capabilities();
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
    if (::syscall(SYS_capget, &header, sets) != 0)
        fail_startup("cannot read the capabilities");
    for (unsigned word = 0; word < _LINUX_CAPABILITY_U32S_3; ++word) {
        const auto kept = static_cast<std::uint32_t>(keep >> 32 * word) & sets[word].permitted;
        sets[word] = {.effective = kept, .permitted = kept, .inheritable = 0};
    }
    if (::syscall(SYS_capset, &header, sets) != 0) // ambient ones go with the inheritable ones
        fail_startup("cannot give up capabilities");
}

} // namespace

void give_up_privileges(const user_identity &who, capability_set keep)
{
    if (who.uid != ::geteuid())
        become(who);
    keep_only(keep);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        fail_startup("cannot give up new privileges");
}

} // namespace mrc::kernel
