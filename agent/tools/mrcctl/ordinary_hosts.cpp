// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/ordinary_hosts.h"

#include <filesystem>
#include <map>
#include <string>

#include <boost/json/object.hpp>
#include <bpf/bpf.h>
#include <fmt/format.h>

#include "kernel/map_names.h"
#include "mrc/abi/maps.h"
#include "service/address.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/process.h"

namespace mrc::ctl
{

boost::json::array ordinary_hosts_of(const host_maps &maps)
{
    const instance &of = maps.of();
    if (!look_at_daemon(maps.host()).alive)
        throw ctl_error{fmt::format("mrcd of instance '{}' is dead: nothing is mapped", of.name)};
    map_shape shape{
        .name = "ordinary", .key_size = sizeof(mrc_ip), .row_size = sizeof(mrc_ordinary_row), .rows = MRC_MAX_ORDINARY};
    std::error_code error;
    if (!std::filesystem::exists(of.pins / shape.name, error))
        return {};
    const kernel::unique_fd map = open_map(of, shape);
    std::map<std::string, mrc_ordinary_row> sorted;
    mrc_ip key{};
    mrc_ordinary_row row{};
    for (const mrc_ip *before = nullptr; bpf_map_get_next_key(map.get(), before, &key) == 0; before = &key)
        if (bpf_map_lookup_elem(map.get(), &key, &row) == 0)
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
