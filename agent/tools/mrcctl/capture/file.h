// SPDX-License-Identifier: Apache-2.0
// The file, or standard output, that a capture goes to: an interface for each port and point that packets are of.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernel/unique_fd.h"
#include "mrc/abi/maps.h"
#include "tools/mrcctl/capture/pcapng.h"
#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

// Of the packets copied at this point, an enum mrc_capture_point.
[[nodiscard]] packet_direction direction_of(std::uint8_t point);

class capture_file
{
public:
    // "-": standard output, which must be no terminal. A file is emptied, or made, and then only its owner may read it.
    // `maps`, borrowed, names the ports. Throws ctl_error.
    capture_file(const std::string &name, const host_maps &maps, std::uint32_t snap_bytes);

    // `to_real_ns`: what makes a time of CLOCK_MONOTONIC one since 1970.
    void add(const mrc_capture_slot &slot, std::uint64_t to_real_ns);
    // Writes what was added. Throws ctl_error.
    void flush();
    [[nodiscard]] std::uint64_t packets() const { return packets_; }

private:
    [[nodiscard]] std::uint32_t interface_of(std::uint8_t port, std::uint8_t point);

    std::string name_;
    const host_maps &maps_;
    std::uint32_t snap_bytes_;
    kernel::unique_fd own_;
    int fd_ = -1;
    std::string buffer_;
    std::array<std::array<std::uint32_t, MRC_CAPTURE_POINT_COUNT>, MRC_MAX_PORTS> interfaces_{}; // their numbers
    std::uint32_t described_ = 0;
    std::uint64_t packets_ = 0;
};

} // namespace mrc::ctl
