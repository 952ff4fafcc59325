// SPDX-License-Identifier: Apache-2.0
#include "messaging/open_device.h"

#include <algorithm>
#include <cerrno>

#include "messaging/failure.h"
#include "messaging/verbs_queue.h"
#include "mrc/control.h"

namespace mrc::messaging
{

namespace
{

std::string reason_for_none()
{
    if (const std::string why{::mrc_failure_text()}; !why.empty())
        return why;
    if (errno == EACCES)
        return "mrcd runs on this host, but not for this user: be in the group mrc";
    return "no mrcd answers on this host; is it running, and MRC_INSTANCE its name?";
}

bool has_mrc(ibv_context *device)
{
    mrc_device_attr attributes{};
    int supported = 0;
    return ::mrc_query_device(device, &attributes, &supported) == 0 && supported != 0;
}

} // namespace

opened_device open_device()
{
    int count = 0;
    const owned_device_list list{verbs().get_device_list(&count)};
    if (!list)
        throw messaging_failure{reason_for_none()};
    opened_device found;
    for (int i = 0; i < count; ++i) {
        owned_verbs opened{verbs().open_device(list.get()[i])};
        if (!opened || !has_mrc(opened.get()))
            continue;
        const std::string name{verbs().get_device_name(list.get()[i])};
        if (found.verbs)
            throw messaging_failure{"several mrcd run on this host (devices " + found.text + " and " + name +
                                    "): choose one by its name in MRC_INSTANCE"};
        found.verbs = std::move(opened);
        found.text = name;
    }
    if (!found.verbs)
        throw messaging_failure{reason_for_none()};
    found.pd.reset(verbs().alloc_pd(found.verbs.get()));
    found.context.reset(::mrc_create_context(found.verbs.get(), nullptr));
    ibv_gid gid{};
    if (!found.pd || !found.context || verbs().query_gid(found.verbs.get(), 1, primary_gid, &gid) != 0)
        throw messaging_failure{"cannot use the device " + found.text + ": " + failure_reason()};
    std::ranges::copy(gid.raw, found.gid.begin());
    found.text += " (" + gid_text(found.gid) + ")";
    return found;
}

} // namespace mrc::messaging
