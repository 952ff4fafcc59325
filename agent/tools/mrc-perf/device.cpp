// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/device.h"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>

#include "mrc/control.h"
#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

namespace
{

bool has_mrc(ibv_context *verbs)
{
    mrc_device_attr attributes{};
    int supported = 0;
    return ::mrc_query_device(verbs, &attributes, &supported) == 0 && supported != 0;
}

verbs_handle open_device(const std::string &name)
{
    int count = 0;
    const device_list_handle list{::ibv_get_device_list(&count)};
    if (!list && errno == EACCES)
        throw perf_error{"mrcd runs on this host, but not for this user (Permission denied): be in the group of its "
                         "socket, /run/mrc/INSTANCE/mrcd.sock"};
    if (!list && errno == ENETDOWN) // it has no port yet
        throw perf_error{::mrc_failure_text()};
    verbs_handle found;
    std::string names;
    std::string refusal; // by a daemon, as of one client too many
    for (int i = 0; list && i < count; ++i) {
        const std::string here{::ibv_get_device_name(list.get()[i])};
        if (!name.empty() && here != name)
            continue;
        verbs_handle opened{::ibv_open_device(list.get()[i])};
        if (const std::string_view why{::mrc_failure_text()}; !opened && !why.empty())
            refusal = fmt::format("cannot open device '{}': {}", here, why);
        if (!opened || !has_mrc(opened.get()))
            continue;
        names += (names.empty() ? "" : ", ") + here;
        if (found)
            throw perf_error{fmt::format("several mrcd run on this host (devices {}, …): choose one by -d, or by its "
                                         "name in MRC_INSTANCE",
                                         names)};
        found = std::move(opened);
    }
    if (!found && !refusal.empty())
        throw perf_error{refusal};
    if (!found)
        throw perf_error{name.empty() ? "no mrcd answers on this host; is it running, and MRC_INSTANCE its name?"
                                      : fmt::format("there is no MRC device '{}'", name)};
    return found;
}

} // namespace

mrc_device::mrc_device(const std::string &name)
    : verbs_{open_device(name)}, pd_{::ibv_alloc_pd(verbs_.get())}, mrc_{::mrc_create_context(verbs_.get(), nullptr)}
{
    if (!pd_ || !mrc_)
        throw perf_error{fmt::format("cannot use the MRC device: {}", std::strerror(errno))};
    ::fcntl(event_fd(), F_SETFL, ::fcntl(event_fd(), F_GETFL) | O_NONBLOCK);
}

ibv_gid mrc_device::gid(int index) const
{
    ibv_gid found{};
    if (::ibv_query_gid(verbs_.get(), 1, index, &found) != 0)
        throw perf_error{fmt::format("the MRC device has no GID table: {}", std::strerror(errno))};
    return found;
}

int mrc_device::most_completions() const
{
    ibv_device_attr attributes{};
    if (::ibv_query_device(verbs_.get(), &attributes) != 0)
        throw perf_error{fmt::format("the MRC device does not report its limits: {}", std::strerror(errno))};
    return attributes.max_cqe;
}

bool mrc_device::gone()
{
    ibv_async_event event{};
    while (!gone_ && ::ibv_get_async_event(verbs_.get(), &event) == 0) {
        gone_ = event.event_type == IBV_EVENT_DEVICE_FATAL;
        ::ibv_ack_async_event(&event);
    }
    return gone_;
}

} // namespace mrc::perf
