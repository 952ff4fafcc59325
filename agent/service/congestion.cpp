// SPDX-License-Identifier: Apache-2.0
#include "service/congestion.h"

#include "protocol/congestion/fixed_window.h"
#include "protocol/congestion/nscc.h"
#include "protocol/packet_number.h"

namespace mrc::service
{

namespace
{

// Between two hosts that share their cores with applications, until it is measured.
constexpr std::uint32_t unmeasured_rtt_us = 200;

// The PSN window alone bounds what is in flight.
constexpr std::uint64_t unbounded = std::uint64_t{1} << 40;

} // namespace

std::unique_ptr<protocol::congestion_control> make_congestion_control(const transport_options &options,
                                                                      std::uint32_t payload_bytes, unsigned planes)
{
    const std::uint32_t packet = protocol::nominal_bytes(payload_bytes);
    // A software fabric's rings hold 256 packets a port (veth): by default no more than half of that is in flight on a
    // plane.
    if (options.congestion == congestion_algorithm::none)
        return std::make_unique<protocol::fixed_window>(unbounded);
    const std::uint64_t automatic = std::uint64_t{128} * packet * planes;
    const std::uint64_t window = options.window_bytes ? *options.window_bytes : automatic;
    if (options.congestion == congestion_algorithm::fixed)
        return std::make_unique<protocol::fixed_window>(window);

    protocol::nscc_link link{.bits_per_second = options.port_bits_per_second() * planes,
                             .base_rtt = std::chrono::microseconds{options.base_rtt_us.value_or(unmeasured_rtt_us)},
                             .mtu = packet,
                             .trimming = options.trim_nack,
                             .target_delay = std::chrono::microseconds{options.target_delay_us.value_or(0)},
                             .software = true};
    if (!options.base_rtt_us)
        return std::make_unique<protocol::nscc>(link, window);
    link.base_rtt_floor = link.base_rtt;
    protocol::nscc_config config = protocol::derive_nscc(link);
    config.max_cwnd = window;
    return std::make_unique<protocol::nscc>(config);
}

std::unique_ptr<protocol::congestion_control> make_congestion_control(const control::cc_profile &profile,
                                                                      protocol::nscc_link link)
{
    if (!profile.nscc || !profile.config)
        return std::make_unique<protocol::fixed_window>(unbounded);
    link.base_rtt_floor = protocol::duration{profile.config->base_rtt}; // as with transport.base_rtt_us
    return std::make_unique<protocol::nscc>(control::to_nscc_config(*profile.config, link));
}

} // namespace mrc::service
