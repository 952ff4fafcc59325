// SPDX-License-Identifier: Apache-2.0
// Takes spines out of use toward leaves, and back, as spine_policy says. On the thread of the context.
#pragma once

#include <functional>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "service/config/config.h"
#include "service/fabric_map/spine_policy.h"

namespace mrc::service
{

class lossy_spines
{
public:
    struct surroundings {
        std::function<void(const std::set<left_path> &)> leave; // these, and no others
        std::function<void(log_level, const std::string &)> write;
    };
    lossy_spines(boost::asio::io_context &context, std::uint32_t own_leaf, surroundings around);

    void on_fault(const fault_change &change);

private:
    void follow();

    surroundings around_;
    spine_policy policy_;
    std::set<left_path> left_;
    boost::asio::steady_timer timer_;
};

} // namespace mrc::service
