// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/client_process.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <sys/socket.h>

namespace mrc::service
{

pid_t process_behind(int socket)
{
    ucred who{};
    socklen_t size = sizeof(who);
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? who.pid : 0;
}

std::string command_of(pid_t process)
{
    std::ifstream file{fmt::format("/proc/{}/comm", process)};
    return printable_command({std::istreambuf_iterator<char>{file}, {}});
}

std::string printable_command(std::string comm)
{
    if (comm.ends_with('\n'))
        comm.pop_back();
    std::ranges::replace_if(comm, [](char c) { return c < ' ' || c > '~'; }, '?');
    return comm;
}

} // namespace mrc::service
