// SPDX-License-Identifier: Apache-2.0
// The configuration in force, with the origin of each value, in a file beside the socket: `mrcctl config show` reads
// it whether the daemon answers or not.
#pragma once

#include <string>

#include "service/config/config.h"

namespace mrc::service
{

// The file goes with the object.
class published_config
{
public:
    published_config() = default;
    published_config(const published_config &) = delete;
    published_config &operator=(const published_config &) = delete;
    ~published_config();

    // Empty, or what is amiss, for the log.
    [[nodiscard]] std::string publish(daemon_config config);

private:
    std::string path_; // empty: nothing was published yet
};

} // namespace mrc::service
