// SPDX-License-Identifier: Apache-2.0
// Cgroups whose ordinary sockets go to MRC addresses (bpf/host_sockets.bpf.c), as long as the daemon holds the links:
//
// ended by                          because
// `mrcctl adopt undo`, the end of   the adoption is dropped here, and its links with it
// the session that `run` has open
// the end of the cgroup             the kernel detaches; the adoption is dropped at the next look
// the daemon's, however it ends     nothing else holds the links
//
// For the service thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "kernel/socket_programs.h"
#include "kernel/unique_fd.h"
#include "session/values.h"

namespace mrc::service
{

// Who asks, and may.
struct asking_user {
    uid_t uid = 0;
    bool is_operator = false; // CAP_NET_ADMIN in our user namespace: any cgroup, and what others have adopted
};

struct adoption {
    std::uint32_t number = 0; // 1…, as long as the daemon runs
    std::uint64_t cgroup = 0; // its id
    std::string path;         // of its directory, as it was then
    uid_t uid = 0;            // who asked
    pid_t pid = 0;
    std::uint32_t session = 0; // it ends with this one; 0: with none
    bool binds = false;
    mrc_adopted_row counted{}; // as of the last look
    std::vector<kernel::unique_fd> links;
};

class adoptions
{
public:
    // Null: nothing can be adopted. Borrowed.
    explicit adoptions(const kernel::socket_programs *programs) : programs_{programs} {}

    // `wish` says who, and what for; the descriptor is that of the cgroup's directory. Users may adopt cgroups that
    // are theirs: what runs there they have started. EOPNOTSUPP, EINVAL, EPERM, EEXIST, ENOSPC, ESHUTDOWN,
    // and what attaching fails by.
    [[nodiscard]] session::outcome<std::uint32_t> add(adoption wish, int cgroup, const asking_user &who);
    [[nodiscard]] session::outcome<> undo(std::uint32_t number, const asking_user &who);
    void end_session(std::uint32_t session);
    // The daemon ends: nothing is adopted any more.
    void end_all();

    // Those that are in force, with their counters as they are now.
    [[nodiscard]] const std::vector<adoption> &look();

private:
    void forget_ended();

    const kernel::socket_programs *programs_;
    std::vector<adoption> all_;
    std::uint32_t last_number_ = 0;
    bool ended_ = false;
};

} // namespace mrc::service
