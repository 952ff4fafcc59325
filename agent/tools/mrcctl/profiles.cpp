// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/profiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

std::vector<std::uint64_t> profile_ids(const controller_device &device, mrc_ctl_profile_list list,
                                       std::string_view name)
{
    std::vector<std::uint64_t> ids;
    int count = 0;
    // There may be more when it is asked for the second time.
    while (::mrc_ctl_list_profiles(device.mrc(), list, ids.data(), &count) != 0) {
        if (errno != E2BIG || static_cast<std::size_t>(count) <= ids.size())
            fail_call(fmt::format("list the {}s", name));
        ids.resize(static_cast<std::size_t>(count));
    }
    ids.resize(static_cast<std::size_t>(count));
    return ids;
}

void refuse_unknown(const controller_device &device, mrc_ctl_profile_list list, std::string_view name, std::uint64_t id)
{
    const std::vector<std::uint64_t> ids = profile_ids(device, list, name);
    throw ctl_error{
        fmt::format("there is no {} {}; there {}: {}", name, id, ids.size() == 1 ? "is" : "are", fmt::join(ids, ", "))};
}

void refuse_known(std::string_view name, std::string_view command, std::uint64_t id)
{
    throw ctl_error{fmt::format("there is {} {} already; `mrcctl {} delete {}` forgets it, any other number makes one "
                                "more",
                                name, id, command, id)};
}

} // namespace mrc::ctl
