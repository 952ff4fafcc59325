// SPDX-License-Identifier: Apache-2.0
// What mrc-doctor says of a port for what is known of its driver.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tools/mrc-doctor/settings.h"

namespace mrc::doctor
{
namespace
{

struct driver_case {
    std::string driver;
    std::uint32_t mtu = 3046;
    bool several_buffers = false;
    std::uint32_t cpus = 1; // a device that does not exist has one queue
    service::attach_mode mode = service::attach_mode::automatic;
    service::engine_kind engine = service::engine_kind::automatic;

    [[nodiscard]] std::optional<finding> examined() const
    {
        service::daemon_config config;
        config.transmit.engine = engine;
        service::port_options port;
        port.mode = mode;
        return examine_driver(
            {.config = config, .port = port, .device = "none0", .mtu = mtu, .driver = driver, .findings = {}},
            several_buffers, cpus);
    }
};

void expect(const driver_case &of, state result, const std::string &cost, const std::string &remedy)
{
    const finding found = of.examined().value();
    EXPECT_EQ(found.result, result) << of.driver;
    EXPECT_NE(found.cost.find(cost), std::string::npos) << found.cost;
    EXPECT_EQ(found.remedy, remedy);
}

TEST(driver, that_takes_the_mtu_works)
{
    expect({.driver = "ice"}, state::works, "", "");
    expect({.driver = "ice", .mtu = 9000, .several_buffers = true}, state::works, "", "");
    EXPECT_NE(driver_case{.driver = "ice"}.examined()->found.find("MTU of 3046 in one buffer, several buffers, room"),
              std::string::npos);
}

TEST(driver, that_refuses_the_mtu_names_the_largest)
{
    expect({.driver = "ice", .mtu = 3200}, state::slower, "MTU of 3200", "ip link set dev none0 mtu 3046");
    expect({.driver = "ixgbe", .mtu = 9000, .several_buffers = true}, state::slower, "MTU of 9000",
           "ip link set dev none0 mtu 3050");
}

TEST(driver, without_headroom_may_lose_all_where_it_is_forced)
{
    expect({.driver = "gve", .mtu = 1500}, state::slower, "generic XDP", "");
    expect({.driver = "gve", .mtu = 1500, .mode = service::attach_mode::native}, state::broken,
           "every MRC packet is dropped", "# in mrcd's configuration, [[port]]: mode = \"auto\" for none0");
}

TEST(driver, that_sends_by_the_cpus_own_queue_needs_one_for_each)
{
    using enum service::engine_kind;
    expect({.driver = "i40e", .cpus = 8, .engine = xdp}, state::slower, "1 queues, 8 CPUs",
           "ethtool -L none0 combined 8");
    expect({.driver = "i40e", .cpus = 8}, state::works, "", "");
    expect({.driver = "i40e", .cpus = 8, .engine = af_xdp}, state::works, "", "");
    expect({.driver = "ice", .cpus = 8, .engine = xdp}, state::works, "", "");
}

TEST(driver, that_nothing_is_known_of_has_no_row)
{
    EXPECT_FALSE(driver_case{.driver = "atlantic"}.examined());
    EXPECT_FALSE(driver_case{.driver = ""}.examined());
}

} // namespace
} // namespace mrc::doctor
