// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/ordinary_hosts.h"

#include <filesystem>
#include <map>
#include <string>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "kernel/map_names.h"
#include "mrc/abi/maps.h"
#include "service/address.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/process.h"

namespace mrc::ctl
{

namespace
{

constexpr const char *map_name = "ordinary";

} // namespace

boost::json::array ordinary_hosts_of(const host_maps &maps)
{
    const instance &of = maps.of();
    if (!look_at_daemon(maps.host()).alive)
        throw ctl_error{fmt::format("mrcd of instance '{}' is dead: nothing is mapped", of.name)};
    std::error_code error;
    if (!std::filesystem::exists(of.pins / map_name, error))
        return {};
    std::map<std::string, mrc_ordinary_row> sorted;
    for (const auto &[key, row] : read_hash<mrc_ip, mrc_ordinary_row>(of, map_name, MRC_MAX_ORDINARY))
        sorted.emplace(service::to_text(key), row);
    boost::json::array rows;
    for (const auto &[address, found] : sorted)
        rows.push_back(boost::json::object{{"address", address},
                                           {"mrc_address", service::to_text(found.address)},
                                           {"state", std::string{found.state < kernel::ordinary_state_names.size()
                                                                     ? kernel::ordinary_state_names[found.state]
                                                                     : "unknown"}}});
    return rows;
}

} // namespace mrc::ctl
