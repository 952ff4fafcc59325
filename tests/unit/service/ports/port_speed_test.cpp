// SPDX-License-Identifier: Apache-2.0
#include "service/ports/port_speed.h"

#include <map>

#include <gtest/gtest.h>

#include "service/config/profiles.h"

namespace mrc::service
{
namespace
{

std::uint32_t speed_of(const std::map<std::string, std::optional<std::uint32_t>> &devices, std::uint32_t otherwise)
{
    std::vector<port_options> ports;
    for (const auto &[device, speed] : devices)
        ports.push_back({.device = device, .plane = {}, .gateway = {}, .queues = {}});
    return port_speed_mbps(ports, otherwise, [&](const std::string &device) { return devices.at(device); });
}

TEST(port_speed, the_slowest_port_counts)
{
    EXPECT_EQ(speed_of({{"p0", 400'000}, {"p1", 100'000}, {"p2", 200'000}}, 10'000), 100'000U);
}

TEST(port_speed, ports_that_tell_nothing_are_passed_over)
{
    EXPECT_EQ(speed_of({{"p0", std::nullopt}, {"p1", 25'000}}, 10'000), 25'000U);
    EXPECT_EQ(speed_of({{"p0", std::nullopt}, {"p1", std::nullopt}}, 10'000), 10'000U);
    EXPECT_EQ(speed_of({}, 2'500), 2'500U);
}

TEST(port_speed, devices_that_are_none_have_none)
{
    EXPECT_FALSE(kernel::probes::link_speed_mbps("no-such-device"));
    EXPECT_FALSE(kernel::probes::link_speed_mbps("lo")) << "nothing is negotiated there";
}

TEST(port_speed, congestion_control_takes_it_unless_the_configuration_says_otherwise)
{
    daemon_config config;
    config.fabric.planes = 4;
    config.transport.port_mbps = 2'500;
    EXPECT_EQ(nscc_link_of(config, 1024).bits_per_second, 10'000'000'000U);
    config.transport.link_gbps = 100;
    EXPECT_EQ(nscc_link_of(config, 1024).bits_per_second, 400'000'000'000U);
}

} // namespace
} // namespace mrc::service
