// SPDX-License-Identifier: Apache-2.0
#include "service/predecessor.h"

#include <cerrno>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/probes/xdp_attach.h"
#include "kernel/unique_fd.h"
#include "service/log.h"

namespace mrc::service
{

namespace
{

constexpr std::chrono::milliseconds look_interval{5};

} // namespace

bool await_end_of_listener(int connected)
{
    ucred listener{};
    socklen_t size = sizeof(listener);
    if (::getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &listener, &size) != 0 || listener.pid <= 0)
        return false;
    const kernel::unique_fd process{static_cast<int>(::syscall(SYS_pidfd_open, listener.pid, 0U))};
    if (!process)
        return errno == ESRCH;
    log::info("process {} serves this instance: waiting at most {} ms for its end", listener.pid,
              predecessor_patience.count());
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    return ::poll(&ended, 1, static_cast<int>(predecessor_patience.count())) == 1;
}

void await_free_ports(const daemon_config &config, const link_monitor &links)
{
    const auto deadline = std::chrono::steady_clock::now() + predecessor_patience;
    for (std::size_t i = 0; i < config.ports.size(); ++i) {
        if (!links.ports()[i].is_present())
            continue;
        const auto ifindex = static_cast<int>(links.ports()[i].ifindex);
        auto holder = kernel::probes::find_xdp_holder(ifindex);
        if (!holder || std::chrono::steady_clock::now() >= deadline)
            continue;
        log::info("port {}: waiting for {} to go, at most {} ms", config.ports[i].device, holder->text(),
                  predecessor_patience.count());
        while (holder && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(look_interval); // the kernel tells nobody when a link is gone
            holder = kernel::probes::find_xdp_holder(ifindex);
        }
    }
}

} // namespace mrc::service
