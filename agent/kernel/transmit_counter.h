// SPDX-License-Identifier: Apache-2.0
// How many packets a device has sent, read as often as needed: by procfs, which takes no lock that others hold for
// long, as netlink's would, and shows the network namespace that it was opened in, as sysfs does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/unique_fd.h"

namespace mrc::kernel
{

class transmit_counter
{
public:
    // Of the device of this name in the calling thread's network namespace, which may come and go.
    explicit transmit_counter(std::string device);

    // Nothing: no such device now, or the table cannot be read.
    [[nodiscard]] std::optional<std::uint64_t> read();

private:
    std::string device_;
    unique_fd table_;
    std::string text_;
};

} // namespace mrc::kernel
