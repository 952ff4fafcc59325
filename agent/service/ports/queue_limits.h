// SPDX-License-Identifier: Apache-2.0
// RSS kept to the receive queues of a port that have AF_XDP sockets: an MRC packet on another one would be dropped
// (rx_drop_no_socket). By the NIC's RSS table, or, where it has none that can be set, by fewer channels (ethtool(8), -X
// and -L), as long as the object is there; what was there before stands in a file meanwhile (queue_record.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/privileges.h"
#include "kernel/probes/device.h"
#include "service/config/config.h"
#include "service/ports/queue_record.h"

namespace mrc::service
{

// What a device is asked and told, as kernel/probes/device.h does; tests have devices that no driver at hand has.
class queue_settings
{
public:
    queue_settings() = default;
    queue_settings(const queue_settings &) = delete;
    queue_settings &operator=(const queue_settings &) = delete;
    virtual ~queue_settings() = default;

    [[nodiscard]] virtual int ifindex_of(const std::string &device) const;
    [[nodiscard]] virtual std::uint32_t receive_queues(const std::string &device) const;
    [[nodiscard]] virtual std::vector<std::uint32_t> rss_table(const std::string &device) const;
    [[nodiscard]] virtual bool set_rss_table(const std::string &device, std::span<const std::uint32_t> table);
    [[nodiscard]] virtual std::optional<kernel::probes::channel_counts> channels_of(const std::string &device) const;
    [[nodiscard]] virtual bool set_channels(const std::string &device, const kernel::probes::channel_counts &counts);
};

class queue_limits
{
public:
    // Of all ports whose devices are there, but for those whose `queues` is configured: there, somebody has seen to it,
    // by flow rules for instance. What an mrcd that was killed has left is put back, or taken over where it is what
    // this one would do. Of devices without an XDP program of ours. Throws startup_error.
    queue_limits(const daemon_config &config, const kernel::user_identity &user, queue_settings &of);
    queue_limits(const queue_limits &) = delete;
    queue_limits &operator=(const queue_limits &) = delete;
    // A device that has gone, or that somebody else has set since, stays as it is.
    ~queue_limits();

    // Of a device without an XDP program of ours. Throws startup_error where the driver can do neither.
    void limit(const std::string &device, std::uint32_t queues);

private:
    queue_limits(const std::string &socket, const kernel::user_identity &user, queue_settings &of)
        : record_{socket, user}, settings_{of}
    {
    }
    void take_over(const daemon_config &config);
    [[nodiscard]] bool is_within(const std::string &device, std::uint32_t queues) const;
    [[nodiscard]] bool stands(const queue_change &of) const;
    void undo(const queue_change &of);
    void keep_record() const;

    queue_record record_;
    queue_settings &settings_;
    std::vector<queue_change> changes_; // one of a device
};

} // namespace mrc::service
