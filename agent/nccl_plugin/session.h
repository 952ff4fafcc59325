// SPDX-License-Identifier: Apache-2.0
// This host's mrcd as all connections of the process use it. When it ends they fail; what is made later has a new one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "messaging/fabric_endpoint.h"
#include "messaging/gid_text.h"

namespace mrc::nccl_plugin
{

struct session {
    messaging::fabric_endpoint endpoint;
    std::atomic<bool> lost{false}; // its mrcd has ended

    session(); // throws messaging_failure
};

// The session that the process has, or a new one. Throws messaging_failure.
[[nodiscard]] std::shared_ptr<session> live_session();

// What NCCL's init() makes: it keeps the session between connections.
class net_context
{
public:
    net_context() : held_{live_session()} {}
    [[nodiscard]] std::shared_ptr<session> live();

private:
    std::mutex mutex_;
    std::shared_ptr<session> held_;
};

struct device_description {
    std::string name; // "mrc0"
    messaging::gid_bytes gid{};
    std::uint64_t guid = 0;
    int speed_mbps = 0; // of all ports together
    int max_connections = 0;
};

// Asks mrcd. Throws messaging_failure.
[[nodiscard]] device_description describe_device();

} // namespace mrc::nccl_plugin
