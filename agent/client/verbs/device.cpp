// SPDX-License-Identifier: Apache-2.0
#include "client/verbs/device.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "client/api/objects.h"
#include "client/boundary.h"
#include "client/verbs/objects.h"
#include "client/verbs/queues.h"

namespace mrc::client
{

namespace
{

ibv_async_event of_port(const host_event &happened)
{
    ibv_async_event event{};
    event.element.port_num = happened.port;
    switch (happened.what) {
    case host_event::kind::port_up:
        event.event_type = IBV_EVENT_PORT_ACTIVE;
        break;
    case host_event::kind::port_down:
        event.event_type = IBV_EVENT_PORT_ERR;
        break;
    case host_event::kind::daemon_gone:
        event.event_type = IBV_EVENT_DEVICE_FATAL;
        break;
    }
    return event;
}

} // namespace

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

mrc_context *device::queues(ibv_context *verbs)
{
    const std::scoped_lock lock{mutex_};
    if (queues_ == nullptr) {
        mrc_context *made = mrc_create_context(verbs, nullptr);
        if (made == nullptr)
            return nullptr;
        ::fcntl(made->events.end.get(), F_SETFL, O_NONBLOCK); // next_event() asks several
        events_.add_source(made->events.end.get());
        queues_ = made;
    }
    return queues_;
}

result<void> device::close_queues()
{
    const std::scoped_lock lock{mutex_};
    if (queues_ == nullptr)
        return {};
    if (queues_->children != 0)
        return refused(EBUSY, "queues of the device are left");
    events_.remove_source(queues_->events.end.get());
    (void)mrc_destroy_context(std::exchange(queues_, nullptr)); // nothing is left
    return {};
}

result<ibv_async_event> device::next_event()
{
    for (;;) {
        if (const auto event = events_.next())
            return of_port(*event);
        {
            const std::scoped_lock lock{mutex_};
            if (queues_ != nullptr) {
                if (const auto event = verbs::next_event(queues_))
                    return *event;
                if (queues_->gone_reported)
                    events_.remove_source(queues_->events.end.get()); // which would be readable for ever
            }
        }
        if (auto ready = events_.wait(); !ready)
            return std::unexpected{ready.error()};
    }
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
