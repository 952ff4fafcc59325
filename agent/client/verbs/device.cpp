// SPDX-License-Identifier: Apache-2.0
#include "client/verbs/device.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <unistd.h>

#include "client/boundary.h"
#include "client/verbs/objects.h"

namespace mrc::client
{

device::device(ibv_device *identity, std::shared_ptr<daemon_channel> daemon, const host_description &host)
    : identity_{identity}, daemon_{std::move(daemon)}, owner_{::getpid()}, events_{daemon_, host.ports}
{
}

result<void> device::check_owner() const
{
    if (::getpid() != owner_)
        return refused(EPERM, "this object belongs to the process that this one was forked from");
    return {};
}

result<host_description> device::describe() const
{
    if (auto owner = check_owner(); !owner)
        return std::unexpected{owner.error()};
    return daemon_->describe();
}

device *device_of(const ibv_context *context)
{
    if (context == nullptr || !is_virtual(context->device))
        return nullptr;
    const auto *bytes = reinterpret_cast<const char *>(context) - offsetof(virtual_context, verbs.context);
    return reinterpret_cast<const virtual_context *>(bytes)->owner;
}

device *device_of(const ibv_pd *pd)
{
    return pd == nullptr ? nullptr : device_of(pd->context);
}

device *device_of(const ibv_mr *mr)
{
    return mr == nullptr ? nullptr : device_of(mr->context);
}

std::uint32_t pd_number(const ibv_pd *pd)
{
    return device_of(pd) == nullptr ? 0 : pd->handle;
}

ibv_gid to_gid(const mrc_ip &address)
{
    ibv_gid gid;
    std::memcpy(gid.raw, address.bytes, sizeof(gid.raw));
    return gid;
}

mrc_ip to_address(const ibv_gid &gid)
{
    mrc_ip address;
    std::memcpy(address.bytes, gid.raw, sizeof(address.bytes));
    return address;
}

ibv_mtu mtu_not_above(std::uint32_t bytes)
{
    if (bytes >= 4096)
        return IBV_MTU_4096;
    if (bytes >= 2048)
        return IBV_MTU_2048;
    if (bytes >= 1024)
        return IBV_MTU_1024;
    return bytes >= 512 ? IBV_MTU_512 : IBV_MTU_256;
}

} // namespace mrc::client
