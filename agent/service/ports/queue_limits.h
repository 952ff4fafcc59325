// SPDX-License-Identifier: Apache-2.0
// RSS kept to the receive queues of a port that have AF_XDP sockets: an MRC packet on another one would be dropped
// (rx_drop_no_socket). By the NIC's RSS table, or, where it has none that can be set, by fewer channels (ethtool(8), -X
// and -L), as long as the object is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/probes/device.h"
#include "service/config/config.h"

namespace mrc::service
{

class queue_limits
{
public:
    // Of all ports whose devices are there, but for those whose `queues` is configured: there, somebody has seen to it,
    // by flow rules for instance. Throws startup_error.
    explicit queue_limits(const daemon_config &config);
    queue_limits(const queue_limits &) = delete;
    queue_limits &operator=(const queue_limits &) = delete;
    // A device that has gone, or that somebody else has set since, stays as it is.
    ~queue_limits();

    // Of a device without an XDP program of ours. Throws startup_error where the driver can do neither.
    void limit(const std::string &device, std::uint32_t queues);

private:
    struct change {
        std::string device;
        int ifindex = 0;
        std::vector<std::uint32_t> table_before; // empty: the channels were changed
        std::vector<std::uint32_t> table_set;
        kernel::probes::channel_counts channels_before{};
        kernel::probes::channel_counts channels_set{};
    };
    static void undo(const change &of);

    std::vector<change> changes_;
};

} // namespace mrc::service
