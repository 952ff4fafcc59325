// SPDX-License-Identifier: Apache-2.0
#include "service/worker_setup.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "kernel/probes/cpus.h"

namespace mrc::service
{

namespace
{

constexpr unsigned cpus_of_a_worker = 8;
constexpr std::uint32_t usual_spin_us = 20;

// In equal parts, of as many CPUs as there are workers, or more.
kernel::cpu_list cpus_of(const worker_place &place, protocol::asker which)
{
    if (place.cpus.size() < which.of)
        return place.cpus;
    const auto begin = place.cpus.begin();
    const std::size_t count = place.cpus.size();
    return {begin + static_cast<std::ptrdiff_t>(count * which.number / which.of),
            begin + static_cast<std::ptrdiff_t>(count * (which.number + 1) / which.of)};
}

std::array<std::uint8_t, 64> code_points_for(const dscp_options &configured)
{
    auto points = datapath::default_code_points();
    points[MRC_DSCP_CONTROL] = configured.control;
    points[MRC_DSCP_TRIMMABLE] = configured.trimmable;
    points[MRC_DSCP_TRIMMABLE_RETX] = configured.retx;
    points[MRC_DSCP_NO_TRIM] = configured.no_trim;
    return points;
}

} // namespace

unsigned workers_of(const daemon_config &config)
{
    return workers_of(config, kernel::probes::usual_cpus().size());
}

unsigned workers_of(const daemon_config &config, std::size_t cpus)
{
    const std::size_t usual = std::clamp<std::size_t>(cpus / cpus_of_a_worker, 1, MRC_MAX_WORKERS);
    return config.worker.workers.value_or(static_cast<unsigned>(usual));
}

datapath::worker_options worker_options_for(const daemon_config &config, const fabric_rules &rules,
                                            const worker_place &place, protocol::asker which)
{
    const std::size_t burst = config.transmit.burst;
    datapath::own_addresses own{.common = rules.address_of(rules.self()),
                                .common4 = rules.address4_of(rules.self()).value_or(mrc_ip{}),
                                .planes = {}};
    for (std::uint8_t plane = 0; plane < rules.planes(); ++plane)
        own.planes[plane] = rules.address_of(rules.self(), protocol::plane_index{plane}).value_or(mrc_ip{});
    return {
        .cpus = cpus_of(place, which),
        .marks = {.source = own, .udp_port = config.wire.udp_port, .code_points = code_points_for(config.wire.dscp)},
        .turns = {.packets = 4 * burst, .burst = burst},
        .spin = std::chrono::microseconds{config.transmit.spin_us.value_or(usual_spin_us)},
        .backlog_mark = std::chrono::microseconds{config.transport.backlog_mark_us}};
}

} // namespace mrc::service
