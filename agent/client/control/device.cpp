// SPDX-License-Identifier: Apache-2.0
// mrc_ctl.h: the device and its ports.
#include <cerrno>

#include "client/boundary.h"
#include "client/control/requests.h"
#include "client/export.h"
#include "client/verbs/device.h"

using namespace mrc::client;
using mrc::session::control_kind;

namespace
{

const char **algorithms()
{
    static const char *names[] = {mrc::session::nscc_algorithm, nullptr};
    return names;
}

mrc_ctl_device_attr attributes_of(const mrc::session::control_device &from)
{
    return {.mrc_ctl_protocol_version = from.version,
            .ev = {.ev_max_fmt_profiles = from.max_fmt_profiles,
                   .ev_max_profiles = from.max_profiles,
                   .ev_max_count = from.max_count,
                   .ev_free_count = from.free_count,
                   .ev_max_count_profile = from.max_count_profile,
                   .ev_count_align = from.count_align,
                   .ev_max_width = from.max_width,
                   .ev_fmt_mode_mask = from.fmt_mode_mask,
                   .ev_mode_mask = from.mode_mask,
                   .ev_op_max_entries = from.op_max_entries},
            .cc = {.cc_max_profiles = from.cc_max_profiles, .algorithms = algorithms()},
            .phy_port_mask = from.phy_port_mask,
            .opt_attr = from.options};
}

result<void> queried(const device &here, mrc_ctl_device_attr &attributes)
{
    if (auto mine = here.check_owner(); !mine)
        return mine;
    const auto daemon = std::dynamic_pointer_cast<daemon_session>(here.daemon());
    if (!daemon)
        return refused(EOPNOTSUPP, "the device has no daemon");
    const auto answer = ask(*daemon, control_request_of(mrc::session::control_kind::query_device, 0, 0));
    if (!answer)
        return std::unexpected{answer.error()};
    if (auto done = outcome_of(*answer); !done)
        return done;
    attributes = attributes_of(answer->reply.device);
    return {};
}

result<void> port_asked(mrc::session::control_kind kind, mrc_context *context, std::uint8_t port,
                        mrc_ctl_port_attr *attr, int mask)
{
    if (auto right = check_context(context); !right)
        return right;
    if (attr == nullptr && mask != 0)
        return refused(EINVAL, "no attributes");
    auto request = control_request_of(kind, port, static_cast<std::uint32_t>(mask));
    if (kind == control_kind::modify_port && (mask & MRC_CTL_PORT_ADMIN_STATE) != 0)
        request.port.enabled = static_cast<std::uint32_t>(attr->port_admin_state);
    const auto answer = ask(*context->daemon, request);
    if (!answer)
        return std::unexpected{answer.error()};
    if (auto done = outcome_of(*answer); !done)
        return done;
    if (kind == control_kind::query_port && (mask & MRC_CTL_PORT_ADMIN_STATE) != 0)
        attr->port_admin_state =
            answer->reply.port.enabled != 0 ? MRC_CTL_PORT_ADMIN_ENABLED : MRC_CTL_PORT_ADMIN_DISABLED;
    return {};
}

} // namespace

extern "C" MRC_EXPORT int mrc_ctl_query_device_ex(ibv_context *context, mrc_context *mcontext,
                                                  mrc_ctl_device_attr *ctl_attr, int *supported)
{
    return minus_one_of([&]() -> result<void> {
        if (context == nullptr || ctl_attr == nullptr || supported == nullptr)
            return refused(EINVAL, "null pointer");
        *supported = 0;
        const device *here = device_of(context);
        if (here == nullptr)
            return {}; // a real RDMA device, which has no MRC context to be given either
        if (mcontext == nullptr)
            return refused(EINVAL, "null pointer");
        if (auto done = queried(*here, *ctl_attr); !done)
            return done;
        *supported = 1;
        return {};
    });
}

extern "C" MRC_EXPORT int mrc_ctl_query_device(ibv_context *context, mrc_ctl_device_attr *ctl_attr)
{
    return minus_one_of([&]() -> result<void> {
        if (context == nullptr || ctl_attr == nullptr)
            return refused(EINVAL, "null pointer");
        const device *here = device_of(context);
        return here != nullptr ? queried(*here, *ctl_attr) : refused(EOPNOTSUPP, "not an MRC device");
    });
}

extern "C" MRC_EXPORT int mrc_ctl_query_port(mrc_context *context, uint8_t port_num, mrc_ctl_port_attr *attr,
                                             int attr_mask)
{
    return minus_one_of(
        [&] { return port_asked(mrc::session::control_kind::query_port, context, port_num, attr, attr_mask); });
}

extern "C" MRC_EXPORT int mrc_ctl_modify_port(mrc_context *context, uint8_t port_num, mrc_ctl_port_attr *attr,
                                              int attr_mask)
{
    return minus_one_of(
        [&] { return port_asked(mrc::session::control_kind::modify_port, context, port_num, attr, attr_mask); });
}
