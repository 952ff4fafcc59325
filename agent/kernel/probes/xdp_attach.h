// SPDX-License-Identifier: Apache-2.0
// Whether a device takes an XDP program, in the driver (native) or in the kernel's stack (generic): by attaching one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/probes/attempt.h"
#include "kernel/unique_fd.h"

namespace mrc::kernel
{

enum class xdp_mode : std::uint8_t { automatic, native, generic };

} // namespace mrc::kernel

namespace mrc::kernel::probes
{

// A program on a device. The link ends with this object, or with the process.
struct xdp_attachment {
    unique_fd link; // empty: not attached, the attempts tell why
    bool native = false;
    attempt native_attempt = untried("not asked for");
    attempt generic_attempt = untried("not asked for");

    [[nodiscard]] bool attached() const { return static_cast<bool>(link); }
    [[nodiscard]] const attempt &last() const { return generic_attempt.refused() ? generic_attempt : native_attempt; }
};

// `automatic`: native, and generic where the driver refuses.
[[nodiscard]] xdp_attachment attach_xdp(int program_fd, int ifindex, xdp_mode mode);

struct xdp_support {
    attempt native;
    attempt generic;
};
// Attaches a program that lets every packet pass, in each mode, and takes it off again.
[[nodiscard]] xdp_support try_xdp(int ifindex, bool multi_buffer);

struct xdp_holder {
    std::string program; // name; empty: unknown
    std::uint32_t program_id = 0;
    bool native = false;
    std::vector<std::uint32_t> links; // ids of BPF links that hold it; empty: it was attached by netlink

    // "native program 'host_rx'".
    [[nodiscard]] std::string text() const;
};
// Who has the device; none: no program is attached. Several links where the same program sits on devices of the same
// index in several network namespaces.
[[nodiscard]] std::optional<xdp_holder> find_xdp_holder(int ifindex);

} // namespace mrc::kernel::probes
