// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/device.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mrc/control.h"
#include "tools/mrcctl/daemon_sockets.h"
#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

constexpr std::uint32_t patience_ms = 10'000; // with a daemon that hangs: more than one that starves takes

bool has_mrc(ibv_context *verbs)
{
    mrc_device_attr attributes{};
    int supported = 0;
    return ::mrc_query_device(verbs, &attributes, &supported) == 0 && supported != 0;
}

device_list_handle list_devices(int &count)
{
    device_list_handle list{::ibv_get_device_list(&count)};
    if (!list && errno == ENETDOWN)
        throw ctl_error{::mrc_failure_text()};
    return list;
}

verbs_handle open_device(const std::string &name)
{
    int count = 0;
    const device_list_handle list = list_devices(count);
    verbs_handle found;
    const std::string missing{::mrc_failure_text()}; // why one is not in the list
    std::string refusal;                             // by a daemon, as of one client too many
    for (int i = 0; list && i < count; ++i) {
        verbs_handle opened{::ibv_open_device(list.get()[i])};
        if (const std::string_view why{::mrc_failure_text()}; !opened && !why.empty())
            refusal = fmt::format("cannot open device '{}': {}", ::ibv_get_device_name(list.get()[i]), why);
        if (!opened || !has_mrc(opened.get()))
            continue;
        if (found)
            throw ctl_error{fmt::format("several instances; name one with --instance or MRC_INSTANCE: {}",
                                        fmt::join(running_instances(), ", "))};
        found = std::move(opened);
    }
    if (!found && !refusal.empty())
        throw ctl_error{refusal};
    if (!found)
        refuse_silent(name, missing);
    return found;
}

// How libmrc is told which daemon is meant.
void name_instance(const std::string &given)
{
    if (!given.empty())
        ::setenv("MRC_INSTANCE", given.c_str(), 1);
}

verbs_handle open_instance(const std::string &given)
{
    name_instance(given);
    const char *environment = std::getenv("MRC_INSTANCE");
    const std::string name = environment == nullptr ? "" : environment;
    refuse_stopped(name);
    return open_device(name);
}

} // namespace

controller_device::controller_device(const std::string &instance)
    : verbs_{open_instance(instance)}, mrc_{::mrc_create_context(verbs_.get(), nullptr)}
{
    if (!mrc_ || ::mrc_ctl_set_patience(mrc_.get(), patience_ms) != 0)
        fail_call("use the MRC device");
}

void refuse_waiting(const std::string &instance)
{
    name_instance(instance);
    int count = 0;
    (void)list_devices(count);
}

std::string why_it_failed(int code)
{
    const std::string_view failure = ::mrc_failure_text();
    const std::string why{failure.empty() ? std::string_view{std::strerror(code)} : failure};
    return code == EPERM ? fmt::format("{}; allowed is who has it, such as root", why) : why;
}

void fail_call(const std::string &what)
{
    throw ctl_error{fmt::format("cannot {}: {}", what, why_it_failed(errno))};
}

} // namespace mrc::ctl
