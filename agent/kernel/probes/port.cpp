// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/port.h"

#include <cerrno>

#include "kernel/probes/af_xdp.h"
#include "kernel/probes/device.h"
#include "kernel/probes/tiny_programs.h"

namespace mrc::kernel::probes
{

namespace
{

void try_sockets(const port_wish &wish, port_abilities &found)
{
    bool zero_copy = true;
    for (std::uint32_t queue = 0; queue < wish.queues; ++queue) {
        found.af_xdp = try_af_xdp({.ifindex = wish.ifindex, .queue = queue, .multi_buffer = wish.multi_buffer});
        if (!found.af_xdp.worked())
            return;
        zero_copy = zero_copy && found.af_xdp.detail == "zero copy";
    }
    // With generic XDP the kernel would bind zero copy, too, and then copy what the driver has put into the socket's
    // memory.
    found.zero_copy = zero_copy && found.attachment.native;
}

} // namespace

port_abilities try_port(const port_wish &wish, live_frames *frames)
{
    port_abilities found;
    found.driver = driver_of(wish.device);
    const unique_fd program = load_xdp_action(XDP_PASS, wish.multi_buffer);
    if (!program) {
        found.attachment.native_attempt = refused(errno, "cannot load an XDP program");
        return found;
    }
    found.attachment = attach_xdp(program.get(), wish.ifindex, wish.mode);
    if (!found.attachment.attached())
        return found;
    try_sockets(wish, found);
    if (frames == nullptr || !wish.redirect) {
        found.redirect = untried("not asked for");
        return found;
    }
    found.redirect = frames->redirect_into(wish.device);
    if (found.redirect.worked())
        found.redirect_cost = frames->cost(wish.device);
    return found;
}

} // namespace mrc::kernel::probes
