// SPDX-License-Identifier: Apache-2.0
// Configuration and MTUs → payload, buffers and engine, or why mrcd does not run.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "service/ports/port_modes.h"
#include "service/ports/port_plan.h"

namespace mrc::service
{
namespace
{

constexpr mtu_range usual{.smallest = 3400, .largest = 3400};
constexpr mtu_range jumbo{.smallest = 9000, .largest = 9000};

struct wish {
    engine_kind engine = engine_kind::automatic;
    std::optional<std::uint32_t> payload = std::nullopt;
    payload_sizes peers = payload_sizes::any;

    [[nodiscard]] daemon_config config() const
    {
        daemon_config made;
        made.transmit.engine = engine;
        made.transmit.payload = payload;
        made.peers.payload = peers;
        return made;
    }
};

TEST(bond_refusal, bonds_and_their_members_are_refused_with_the_reason)
{
    EXPECT_EQ(bond_refusal("eth0", "mlx5_core", false), "");
    EXPECT_EQ(bond_refusal("eth0.7", "802.1Q VLAN Support", false), "");
    for (const char *driver : {"bonding", "team"})
        EXPECT_TRUE(bond_refusal("bond0", driver, false)
                        .starts_with("port device 'bond0' is a bond, in which a hash chooses the cable"))
            << driver;
    EXPECT_TRUE(bond_refusal("eth0", "ixgbe", true).starts_with("port device 'eth0' is in a bond, which takes"));
}

daemon_config with_ports(std::uint8_t count)
{
    daemon_config config;
    for (std::uint8_t port = 0; port < count; ++port) {
        port_options &made = config.ports.emplace_back();
        made.device = "eth" + std::to_string(port);
        made.plane = protocol::plane_index{port};
    }
    config.fabric.mode = fabric_mode::direct;
    return config;
}

TEST(mtu_advice, ports_that_keep_packets_small_are_named_with_the_command)
{
    daemon_config config = with_ports(4);
    EXPECT_TRUE(mtu_advice(config, std::vector<std::uint32_t>{1500, 1500, 0, 1500}).empty()) << "all alike";
    EXPECT_TRUE(mtu_advice(config, std::vector<std::uint32_t>{0, 0, 0, 0}).empty());
    EXPECT_TRUE(mtu_advice(config, std::vector<std::uint32_t>{3400, 9000, 3400, 9000}).empty())
        << "packets are no larger by that";
    const auto lines = mtu_advice(config, std::vector<std::uint32_t>{3400, 1500, 0, 2000});
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0],
              "port eth1 (plane 1): its MTU is 1500, that of others 3400: all packets have 1408 bytes instead "
              "of 3072; ip link set dev eth1 mtu 3400, if its network carries that");
    EXPECT_TRUE(lines[1].starts_with("port eth3 (plane 3): its MTU is 2000"));
    config.transmit.payload = 1024;
    EXPECT_TRUE(mtu_advice(config, std::vector<std::uint32_t>{3400, 1500, 0, 2000}).empty()) << "somebody chose it";
}

TEST(joining_offloads, are_named_as_ethtool_switches_them_off)
{
    EXPECT_EQ(joining_offloads({.generic_receive = true}), "") << "the kernel's own comes after XDP";
    EXPECT_EQ(joining_offloads({.large_receive = true}), "lro off");
    EXPECT_EQ(joining_offloads({.hardware_generic_receive = true}), "rx-gro-hw off");
    EXPECT_EQ(joining_offloads({.large_receive = true, .hardware_generic_receive = true}), "lro off rx-gro-hw off");
}

TEST(xdp_mode, is_generic_where_the_driver_has_no_metadata)
{
    struct row {
        const char *driver;
        attach_mode configured;
        kernel::xdp_mode chosen;
    };
    const row table[] = {
        {"mlx5_core", attach_mode::automatic, kernel::xdp_mode::automatic},
        {"", attach_mode::automatic, kernel::xdp_mode::automatic},
        {"ena", attach_mode::automatic, kernel::xdp_mode::automatic},
        {"gve", attach_mode::automatic, kernel::xdp_mode::generic},
        {"hv_netvsc", attach_mode::automatic, kernel::xdp_mode::automatic},
        {"gve", attach_mode::native, kernel::xdp_mode::native},
        {"mlx5_core", attach_mode::generic, kernel::xdp_mode::generic},
    };
    for (const row &entry : table)
        EXPECT_EQ(xdp_mode_of(entry.configured, entry.driver), entry.chosen) << entry.driver;
}

TEST(make_plan, chooses_payload_buffers_and_engine)
{
    using enum engine_kind;
    struct row {
        wish wanted;
        mtu_range mtus;
        std::uint32_t payload;
        bool multi_buffer;
        engine_kind engine;
    };
    const row table[] = {
        {{}, usual, 3072, false, automatic},
        {{}, {.smallest = 1500, .largest = 9000}, 1344, true, automatic},
        {{}, jumbo, 3072, true, automatic},
        {{.engine = xdp, .payload = 3072}, jumbo, 3072, true, xdp},
        {{.payload = 4096}, jumbo, 4096, true, af_xdp},
        {{.engine = af_xdp, .payload = 4096}, jumbo, 4096, true, af_xdp},
        {{.peers = payload_sizes::verbs}, usual, 2048, false, automatic},
        {{.peers = payload_sizes::verbs}, jumbo, 2048, true, automatic},
        {{.payload = 1024, .peers = payload_sizes::verbs}, jumbo, 1024, true, automatic},
    };
    for (const row &entry : table) {
        const auto plan = make_plan(entry.wanted.config(), entry.mtus);
        ASSERT_TRUE(plan) << plan.error();
        EXPECT_EQ(plan->payload_bytes, entry.payload);
        EXPECT_EQ(plan->multi_buffer, entry.multi_buffer);
        EXPECT_EQ(plan->engine, entry.engine);
    }
}

TEST(make_plan, says_why_mrcd_does_not_run)
{
    struct row {
        wish wanted;
        mtu_range mtus;
        std::string words;
    };
    const row table[] = {
        {{}, {.smallest = 300, .largest = 3400}, "the ports' smallest MTU is 300"},
        {{.payload = 3072}, {.smallest = 1500, .largest = 3400}, "carries at most 1344"},
        {{.engine = engine_kind::xdp, .payload = 4096}, jumbo, "the engine 'xdp' sends at most 3072"},
        {{.payload = 768, .peers = payload_sizes::verbs}, usual, "'verbs' allows 256"},
    };
    for (const row &entry : table) {
        const auto plan = make_plan(entry.wanted.config(), entry.mtus);
        ASSERT_FALSE(plan);
        EXPECT_NE(plan.error().find(entry.words), std::string::npos) << plan.error();
    }
}

TEST(buffers_refusal, concerns_packets_that_need_several_buffers_only)
{
    port_trials refused;
    refused.single_buffer = "'eth0': Invalid argument";
    const port_plan small{.payload_bytes = 3072, .multi_buffer = true};
    const port_plan large{.payload_bytes = 4096, .multi_buffer = true};
    EXPECT_EQ(buffers_refusal(small, refused), "");
    EXPECT_EQ(buffers_refusal(large, {}), "");
    EXPECT_NE(buffers_refusal(large, refused).find("4096"), std::string::npos);
    EXPECT_NE(buffers_refusal(large, refused).find("'eth0': Invalid argument"), std::string::npos);
}

TEST(mtus_of, leaves_out_ports_that_are_missing)
{
    const std::vector<port_condition> ports{
        {}, {.ifindex = 4, .mtu = 9000, .next_hops = {}}, {.ifindex = 7, .mtu = 1500, .next_hops = {}}, {}};
    const mtu_range range = mtus_of(ports);
    EXPECT_EQ(range.smallest, 1500U);
    EXPECT_EQ(range.largest, 9000U);
    EXPECT_EQ(mtus_of({}).largest, 0U);
}

} // namespace
} // namespace mrc::service
