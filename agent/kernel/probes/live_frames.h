// SPDX-License-Identifier: Apache-2.0
// Live frames: BPF_PROG_TEST_RUN that sends what its program redirects. Whether the kernel has them, which devices take
// what is redirected to them, and what a packet costs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernel/probes/attempt.h"
#include "kernel/probes/send_cost.h"
#include "kernel/tap_device.h"
#include "kernel/unique_fd.h"
#include "mrc/abi/maps.h"

namespace mrc::kernel::probes
{

// A frame that goes nowhere: a switch that has learnt the device's address sends nothing back to where it came from,
// and no host takes it.
[[nodiscard]] std::array<std::byte, 60> frame_to_itself(const std::string &device);

class live_frames
{
public:
    // `attached`: the program also sits on a TAP of its own, in the network namespace of the caller. Without, the
    // kernel rebuilds its XDP dispatcher in every call. `longest`: of the frames that will be sent; how many bytes fit
    // beside the kernel's own depends on its configuration.
    explicit live_frames(bool attached, std::uint32_t longest = MRC_PUSH_FRAME_MAX);

    // Whether the kernel ran one frame of the longest.
    [[nodiscard]] const attempt &possible() const { return possible_; }
    // Sends frames to the device, addressed to itself and of the EtherType for local experiments, and looks whether its
    // transmit counter moves by half as many at least: the kernel tells no caller that a redirect failed. A driver that
    // takes redirects only with an XDP program on the device must have one.
    [[nodiscard]] attempt redirect_into(const std::string &device);
    // Nanoseconds per frame of calls of 64 frames that are redirected to the device, the median of calls during about
    // `budget_ms`. None when a call fails.
    [[nodiscard]] std::optional<double> cost_ns(const std::string &device, int budget_ms);
    // By the fastest of a few short and a few long calls that are redirected to the device. None when a call fails.
    [[nodiscard]] std::optional<send_cost> cost(const std::string &device);

private:
    void attach();
    [[nodiscard]] int point_to(const std::string &device);
    [[nodiscard]] int send(const std::string &device, std::uint32_t frames);
    [[nodiscard]] int run(std::span<const std::byte> bytes, std::uint32_t frames);

    std::unique_ptr<tap_device> tap_;
    unique_fd target_; // devmap of one row
    unique_fd program_;
    unique_fd link_;
    attempt possible_;
};

} // namespace mrc::kernel::probes
