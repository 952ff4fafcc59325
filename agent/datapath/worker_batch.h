// SPDX-License-Identifier: Apache-2.0
// A controller's batch of endpoint requests: made by the service thread, used by the worker until it is finished or
// taken back.
#pragma once

#include <atomic>
#include <vector>

#include "mrc/abi/ip.h"
#include "protocol/paths/endpoint_batches.h"

namespace mrc::datapath
{

struct worker_batch : protocol::endpoint_batch {
    struct destination {
        mrc_ip address{}; // the common one, or the IPv4 address
        std::uint16_t host_usid = 0;
    };
    std::vector<destination> destinations; // of the requests
    std::atomic<bool> done = false;        // the worker has let go of it
};

} // namespace mrc::datapath
