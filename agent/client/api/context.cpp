// SPDX-License-Identifier: Apache-2.0
// mrc.h: contexts and their asynchronous events.
#include <cerrno>
#include <cstddef>

#include <pthread.h>
#include <unistd.h>

#include "client/api/objects.h"
#include "client/boundary.h"
#include "client/export.h"

using namespace mrc::client;
using mrc::session::event_kind;

namespace
{

// API 1.0.1 has put the state behind an EV event. The caller tells its version of mrc.h only: that of mrc_ctl.h is the
// same.
std::size_t ev_event_bytes(const mrc_context_attr *attr)
{
    const std::uint32_t version = attr != nullptr ? attr->mrc_api_version_used : 0;
    return version == 0 || version >= MRC_API_VER(1, 0, 1) ? sizeof(mrc_ctl_ev_event)
                                                           : offsetof(mrc_ctl_ev_event, state);
}

result<mrc_context *> created(ibv_context *verbs, const mrc_context_attr *attr)
{
    if (verbs == nullptr)
        return refused(EINVAL, "no device");
    device *here = device_of(verbs);
    if (here == nullptr)
        return refused(EOPNOTSUPP, "not an MRC device");
    if (attr != nullptr && (attr->mrc_api_version_used > MRC_API_CURRENT_VERSION ||
                            attr->mrc_vendor_api_version_used > MRC_VENDOR_API_CURRENT_VERSION))
        return refused(EPROTO, "the caller's API is newer than this library's");
    if (auto mine = here->check_owner(); !mine)
        return std::unexpected{mine.error()};
    auto daemon = std::dynamic_pointer_cast<daemon_session>(here->daemon());
    if (!daemon)
        return refused(EOPNOTSUPP, "the device has no daemon");
    if (daemon->gone())
        return refused(ECONNREFUSED, "mrcd has gone");
    auto events = daemon->open_events();
    if (!events)
        return std::unexpected{events.error()};
    auto context = std::make_unique<mrc_context>();
    context->daemon = std::move(daemon);
    context->verbs = verbs;
    context->owner = ::getpid();
    context->events = std::move(*events);
    context->ev_event_bytes = ev_event_bytes(attr);
    return context.release();
}

result<void> destroyed(mrc_context *context)
{
    if (context == nullptr)
        return refused(EINVAL, "no context");
    if (context->children != 0)
        return refused(EBUSY, "objects of the context are left");
    if (check_owner(context)) // a child only forgets it
        (void)context->daemon->act(mrc::session::request_kind::close_events, context->events.number);
    delete context;
    return {};
}

ibv_event_type type_of(mrc::session::event_kind kind)
{
    switch (kind) {
    case event_kind::qp_fatal:
        return IBV_EVENT_QP_FATAL;
    case event_kind::qp_access_error:
        return IBV_EVENT_QP_ACCESS_ERR;
    case event_kind::qp_request_error:
        return IBV_EVENT_QP_REQ_ERR;
    case event_kind::qp_drained:
        return IBV_EVENT_SQ_DRAINED;
    case event_kind::cq_overrun:
        return IBV_EVENT_CQ_ERR;
    case event_kind::port_up:
        return IBV_EVENT_PORT_ACTIVE;
    case event_kind::port_down:
        return IBV_EVENT_PORT_ERR;
    case event_kind::device_fatal:
        break;
    }
    return IBV_EVENT_DEVICE_FATAL;
}

// False: about an object that is no more.
bool translate(mrc_context &context, const mrc::session::event_record &record, mrc_async_event &event)
{
    const std::scoped_lock lock{context.lock};
    event = {};
    event.event_type = type_of(record.kind);
    switch (record.kind) {
    case mrc::session::event_kind::qp_fatal:
    case mrc::session::event_kind::qp_access_error:
    case mrc::session::event_kind::qp_request_error:
    case mrc::session::event_kind::qp_drained: {
        const auto at = context.qps.find(record.number);
        if (at == context.qps.end())
            return false;
        ++at->second->async_given;
        event.element.qp = at->second;
        return true;
    }
    case mrc::session::event_kind::cq_overrun: {
        const auto at = context.cqs.find(record.number);
        if (at == context.cqs.end())
            return false;
        ++at->second->async_given;
        event.element.cq = at->second;
        return true;
    }
    case mrc::session::event_kind::port_up:
    case mrc::session::event_kind::port_down:
        event.element.port_num = static_cast<int>(record.number);
        return true;
    case mrc::session::event_kind::device_fatal:
        context.gone_reported = true;
        return true;
    }
    return false;
}

result<void> next_event(mrc_context *context, mrc_async_event *event)
{
    if (context == nullptr || event == nullptr)
        return refused(EINVAL, "no context, or no place for the event");
    if (auto mine = check_owner(context); !mine)
        return mine;
    for (;;) {
        mrc::session::event_record record;
        const ssize_t got = ::read(context->events.end.get(), &record, sizeof(record));
        if (got < 0)
            return refused(errno, "reading events");
        if (got == 0) { // the daemon has closed its end
            if (context->gone_reported)
                return refused(EIO, "mrcd has gone");
            record = {mrc::session::event_kind::device_fatal, 0};
        }
        if (translate(*context, record, *event))
            return {};
    }
}

} // namespace

constinit std::atomic<std::uint32_t> mrc::client::forks_before = 0;

namespace
{

[[maybe_unused]] const int counts_forks = ::pthread_atfork(nullptr, nullptr, [] { ++forks_before; });

} // namespace

result<void> mrc::client::check_owner(const mrc_context *context)
{
    if (context->owner != ::getpid())
        return refused(EPERM, "the object belongs to the parent process");
    return {};
}

extern "C" MRC_EXPORT mrc_context *mrc_create_context(ibv_context *vcontext, mrc_context_attr *context_attr)
{
    return value_or_errno<mrc_context *>(nullptr, [&] { return created(vcontext, context_attr); });
}

extern "C" MRC_EXPORT int mrc_destroy_context(mrc_context *mrc_ctx)
{
    return minus_one_of([&] { return destroyed(mrc_ctx); });
}

extern "C" MRC_EXPORT int mrc_get_async_event(mrc_context *mrc_ctx, mrc_async_event *event)
{
    return minus_one_of([&] { return next_event(mrc_ctx, event); });
}

extern "C" MRC_EXPORT void mrc_ack_async_event(mrc_async_event *event)
{
    if (event == nullptr)
        return;
    mrc_context *context = nullptr;
    unsigned int *acked = nullptr;
    switch (event->event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_SQ_DRAINED:
        context = event->element.qp->context;
        acked = &event->element.qp->async_acked;
        break;
    case IBV_EVENT_CQ_ERR:
        context = event->element.cq->context;
        acked = &event->element.cq->async_acked;
        break;
    default:
        return;
    }
    const std::scoped_lock lock{context->lock};
    ++*acked;
    context->acknowledged.notify_all();
}
