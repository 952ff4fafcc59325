// SPDX-License-Identifier: Apache-2.0
// Looks at the rows of direct paths for a direct_judge, shows its faults in `fabric_faults` and tells of what changes.
// It sends nothing: paths that carry no data are asked by probes anyway. On the thread of the context.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "kernel/host_tables.h"
#include "service/config/config.h"
#include "service/fabric_map/direct_judge.h"
#include "service/fabric_map/fault_board.h"
#include "service/fabric_rules.h"

namespace mrc::service
{

class direct_watch
{
public:
    struct surroundings {
        const daemon_config &config;
        const fabric_rules &rules;                            // borrowed
        const kernel::host_tables &tables;                    // borrowed
        std::function<std::vector<path_group_rows>()> groups; // that there are
        std::function<void(const fault_change &)> on_fault;
    };
    direct_watch(boost::asio::io_context &context, surroundings around);

    void look();

private:
    [[nodiscard]] std::map<direct_way, way_look> looks() const;
    void add_path(way_look &to, std::uint32_t row) const;
    void show() const;

    surroundings around_;
    direct_judge judge_;
    boost::asio::steady_timer timer_;
    protocol::instant looked_ = protocol::instant::min();
};

} // namespace mrc::service
