// SPDX-License-Identifier: Apache-2.0
// What the kernel counted as dropped on a port. A redirect that fails behind the program's back shows here, where the
// driver counts it; veth counts a full ring of its peer, and nothing at all when the peer takes no redirects.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <sys/types.h>

namespace mrc::lab_switch
{

using device_counters = std::map<std::string, std::uint64_t>;

// rx_dropped and tx_dropped, and every driver counter that is not zero and names a drop or an error. `owner` is a
// process in the device's network namespace; empty when that process or the device is gone.
[[nodiscard]] device_counters read_drops(pid_t owner, const std::string &device);

} // namespace mrc::lab_switch
