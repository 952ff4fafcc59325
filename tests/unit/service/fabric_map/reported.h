// SPDX-License-Identifier: Apache-2.0
// Reports of several hosts, by what their loops find: two leaves of two hosts, one plane of two spines, all good at
// first.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "service/fabric_map/fault_merge.h"

namespace mrc::service::test
{

inline constexpr protocol::plane_index plane_0{0};
inline constexpr host_place h00{.leaf = 0, .downlink = 0};
inline constexpr host_place h01{.leaf = 0, .downlink = 1};
inline constexpr host_place h10{.leaf = 1, .downlink = 0};
inline constexpr host_place h11{.leaf = 1, .downlink = 1};

class reported
{
public:
    explicit reported(std::uint32_t leaves = 2, std::uint32_t hosts = 2, std::uint32_t spines = 2)
    {
        for (host_place host{}; host.leaf < leaves; ++host.leaf)
            for (host.downlink = 0; host.downlink < hosts; ++host.downlink) {
                reported_plane plane{.leaf = MRC_LINK_GOOD, .spines = spines, .good = {}};
                for (std::uint32_t spine = 0; spine < spines; ++spine)
                    plane.good[spine] = true;
                of_[host].planes[0] = plane;
            }
    }

    // The host finds it at fault, its way to the leaf where no spine is named.
    reported &accuse(host_place host, std::optional<std::uint32_t> spine, mrc_link_state state = MRC_LINK_DEAD,
                     mrc_link_direction direction = MRC_DIRECTION_UNKNOWN)
    {
        unsure(host, spine);
        of_[host].faults.push_back(
            {.plane = plane_0, .spine = spine, .state = state, .direction = direction, .loops = 100, .lost = 10});
        if (!spine)
            of_[host].planes[0]->leaf = state;
        return *this;
    }
    // It finds it neither good nor at fault.
    reported &unsure(host_place host, std::optional<std::uint32_t> spine)
    {
        reported_plane &plane = *of_[host].planes[0];
        if (spine)
            plane.good[*spine] = false;
        else
            plane.leaf = MRC_LINK_UNKNOWN;
        return *this;
    }
    // As from hosts whose way to the leaf is dead: nothing behind it can be seen.
    reported &see_nothing_behind(host_place host)
    {
        of_[host].planes[0]->good.reset();
        return *this;
    }
    reported &leave(host_place host)
    {
        of_.erase(host);
        return *this;
    }

    [[nodiscard]] std::vector<host_report> all() const
    {
        std::vector<host_report> reports;
        for (const auto &[host, report] : of_)
            reports.push_back({.host = host, .report = &report});
        return reports;
    }

private:
    std::map<host_place, link_report> of_;
};

} // namespace mrc::service::test
