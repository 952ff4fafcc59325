// SPDX-License-Identifier: Apache-2.0
// Takes planes out of use, and back, as plane_policy says. On the thread of the context.
#pragma once

#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "protocol/types.h"
#include "service/config/config.h"
#include "service/fabric_map/fabric_map.h"
#include "service/fabric_map/plane_policy.h"

namespace mrc::service
{

class lossy_planes
{
public:
    struct surroundings {
        std::function<protocol::plane_mask()> usable; // whatever this object says
        std::function<void(protocol::plane_index, bool left)> leave;
        std::function<void(log_level, const std::string &)> write;
    };
    lossy_planes(boost::asio::io_context &context, const fabric_map_options &options, surroundings around);

    void on_change(const link_change &change);

private:
    void follow();

    surroundings around_;
    plane_policy policy_;
    protocol::plane_mask left_;
    boost::asio::steady_timer timer_;
};

} // namespace mrc::service
