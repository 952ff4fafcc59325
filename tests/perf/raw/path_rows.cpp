// SPDX-License-Identifier: Apache-2.0
#include "raw/path_rows.h"

#include <algorithm>
#include <iterator>

#include <bpf/libbpf.h>

#include "kernel/probes/device.h"

namespace mrc::raw
{

path_rows::path_rows(const bpf_map *ports, const bpf_map *next_hops, const bpf_map *paths)
    : ports_{bpf_map__fd(ports), MRC_MAX_PORTS, "ports"},
      next_hops_{bpf_map__fd(next_hops), MRC_MAX_NEXT_HOPS, "next_hops"},
      paths_{bpf_map__fd(paths), MRC_USUAL_PATHS, "paths"}
{
}

void path_rows::describe(const path &to, std::uint32_t row)
{
    mrc_port_row &port = ports_[row];
    port.ifindex = static_cast<std::uint32_t>(kernel::probes::ifindex_of(to.device));
    port.mtu = static_cast<std::uint16_t>(kernel::probes::mtu_of(to.device));
    std::ranges::copy(kernel::probes::mac_address_of(to.device), std::begin(port.mac));
    port.address = near_address;
    port.flags = MRC_PORT_USABLE;
    mrc_next_hop_row &next_hop = next_hops_[row];
    std::ranges::fill(next_hop.mac, std::uint8_t{0xFF});
    next_hop.resolved = 1;
    mrc_path_row &leading = paths_[row];
    leading.carrier = to.carrier;
    leading.host_usid_at = static_cast<std::uint8_t>(to.host_usid_at);
    leading.port = static_cast<std::uint8_t>(row);
    leading.next_hop = static_cast<std::uint16_t>(row);
    leading.state = MRC_PATH_GOOD;
}

} // namespace mrc::raw
