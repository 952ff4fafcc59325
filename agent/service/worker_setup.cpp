// SPDX-License-Identifier: Apache-2.0
#include "service/worker_setup.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mrc::service
{

namespace
{

constexpr unsigned enough_cores = 4;
constexpr std::uint32_t usual_spin_us = 20;

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

datapath::worker_options worker_options_for(const daemon_config &config, const fabric_rules &rules, unsigned cores,
                                            const worker_place &place)
{
    const std::size_t burst = config.transmit.burst;
    datapath::own_addresses own{.common = rules.address_of(rules.self()),
                                .common4 = rules.address4_of(rules.self()).value_or(mrc_ip{}),
                                .planes = {}};
    for (std::uint8_t plane = 0; plane < rules.planes(); ++plane)
        own.planes[plane] = rules.address_of(rules.self(), protocol::plane_index{plane}).value_or(mrc_ip{});
    return {
        .cpus = place.cpus,
        .marks = {.source = own, .udp_port = config.wire.udp_port, .code_points = code_points_for(config.wire.dscp)},
        .turns = {.packets = 4 * burst, .burst = burst},
        .spin = std::chrono::microseconds{config.transmit.spin_us.value_or(cores < enough_cores ? 0 : usual_spin_us)},
        .backlog_mark = std::chrono::microseconds{config.transport.backlog_mark_us}};
}

} // namespace mrc::service
