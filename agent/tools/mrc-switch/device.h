// SPDX-License-Identifier: Apache-2.0
// A port's device. What the kernel counted as dropped on it: a redirect that fails behind the program's back shows
// here, where the driver counts it; veth counts a full ring of its peer, and nothing at all when the peer takes no
// redirects.
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

// Whether a device in this process's network namespace has generic receive offload, which native XDP turns on.
[[nodiscard]] bool has_receive_offload(const std::string &device);

// While it lives, a device merges no packets and vouches for no checksums, as a switch does not: damage behind it would
// pass unseen from one veth to the next. Throws switch_error.
class without_receive_offload
{
public:
    without_receive_offload(std::string device, bool had_it);
    ~without_receive_offload();
    without_receive_offload(const without_receive_offload &) = delete;
    without_receive_offload &operator=(const without_receive_offload &) = delete;

private:
    std::string device_;
    bool had_it_; // and gets it back
};

} // namespace mrc::lab_switch
