// SPDX-License-Identifier: Apache-2.0
//
// What mrc-switch accepts and how it refuses: configuration, quantities, impairment options, and that its manual page
// names every option and key. Needs neither root nor BPF.
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "tools/mrc-switch/config.h"
#include "tools/mrc-switch/impair.h"
#include "tools/mrc-switch/pins.h"
#include "tools/mrc-switch/quantity.h"

#include "bpf/switch_process.h"

namespace mrc::lab_switch
{
namespace
{

const std::string head = R"(name = "p0t0-0"
usid = "fcbb:bb00:2000::/48"
pin = "/sys/fs/bpf/mrc/lab/p0t0-0"
)";
const std::string port = R"([[port]]
device = "d0"
)";
const std::string route = R"([[route]]
usid = "fcbb:bb00:8000::/48"
port = "d0"
mac = "02:00:00:00:00:0a"
)";

// The complaint about a configuration, or nothing when it is accepted.
std::string complaint(const std::string &text)
{
    try {
        (void)parse_config(text, "s.toml");
    } catch (const switch_config_error &error) {
        return error.what();
    }
    return "";
}

TEST(switch_config_test, reads_a_whole_configuration)
{
    const switch_config config = parse_config(head + "forward = \"kernel\"\nmode = \"generic\"\n" + port +
                                                  "host_facing = true\n[[port]]\ndevice = \"u0\"\n" + route,
                                              "s.toml");

    EXPECT_EQ(config.name, "p0t0-0");
    EXPECT_EQ(config.usid, 0x2000);
    EXPECT_EQ(config.block, (usid_block{.bytes = {0xFC, 0xBB, 0xBB, 0x00}, .length = 4}));
    EXPECT_EQ(config.forward, forwarding::kernel);
    EXPECT_EQ(config.mode, switch_xdp_mode::generic);
    EXPECT_EQ(config.pin, "/sys/fs/bpf/mrc/lab/p0t0-0");
    ASSERT_EQ(config.ports.size(), 2U);
    EXPECT_TRUE(config.ports[0].host_facing);
    EXPECT_EQ(config.ports[1].device, "u0");
    EXPECT_FALSE(config.ports[1].host_facing);
    ASSERT_EQ(config.routes.size(), 1U);
    EXPECT_EQ(config.routes[0].usid, 0x8000);
    EXPECT_EQ(config.routes[0].port, 0U);
    EXPECT_EQ(config.routes[0].mac, (mac_address{0x02, 0, 0, 0, 0, 0x0A}));
}

TEST(switch_config_test, the_block_is_what_the_prefix_leaves_before_the_usid)
{
    const std::string rest = "pin = \"/sys/fs/bpf/mrc/lab/p0t0-0\"\n" + port;
    const switch_config shortest = parse_config("name = \"a\"\nusid = \"fd00:2000::/32\"\n" + rest, "s.toml");
    EXPECT_EQ(shortest.block, (usid_block{.bytes = {0xFD}, .length = 2}));
    EXPECT_EQ(shortest.usid, 0x2000);
    const switch_config longest = parse_config("name = \"a\"\nusid = \"fd00:0:0:1:a01f::/80\"\n" + rest, "s.toml");
    EXPECT_EQ(longest.block, (usid_block{.bytes = {0xFD, 0, 0, 0, 0, 0, 0, 1}, .length = 8}));
    EXPECT_EQ(longest.usid, 0xa01f);
}

TEST(switch_config_test, defaults_are_xdp_and_native)
{
    const switch_config config = parse_config(head + port, "s.toml");

    EXPECT_EQ(config.forward, forwarding::xdp);
    EXPECT_EQ(config.mode, switch_xdp_mode::native);
    EXPECT_TRUE(config.routes.empty());
}

TEST(switch_config_test, a_refusal_names_file_line_key_what_was_found_and_what_is_allowed)
{
    std::string too_many_ports;
    for (int number = 0; number <= MRC_SW_MAX_PORTS; ++number)
        too_many_ports += "[[port]]\ndevice = \"d" + std::to_string(number) + "\"\n";
    const struct {
        std::string text;
        std::string begins;
        std::string allows;
    } cases[] = {
        {head + "forward = \"xpd\"\n" + port, "s.toml:4:11: forward: found \"xpd\", allowed is ",
         R"("xdp" or "kernel")"},
        {head + "mode = 3\n" + port, "s.toml:4:8: mode: found 3, allowed is ", R"("native" or "generic")"},
        {head + "forwards = 1\n" + port, "s.toml:4:1: forwards: unknown key; ", R"(closest known one is "forward")"},
        {head + port + "speed = 1\n", "s.toml:6:1: port[0].speed: unknown key; known are ", "device, host_facing"},
        {head + port + "host_facing = \"yes\"\n", "s.toml:6:15: port[0].host_facing: found \"yes\", allowed is ",
         "true or false"},
        {head + port + port, "s.toml:7:1: port[1].device: found \"d0\", allowed is ", "once per file"},
        {head + "[[port]]\ndevice = \"a-name-that-is-too-long\"\n", "s.toml:5:10: port[0].device: found ",
         "1 to 15 characters"},
        {head, "s.toml: port: missing; ", "required is one [[port]] per port"},
        {head + "port = 4\n", "s.toml:4:1: port: found 4, allowed is ", "[[port]]"},
        {head + too_many_ports, "s.toml:4:3: port: found 65, allowed are ", "at most 64"},
        {port, "s.toml: name: missing; required is ", "the switch's name"},
        {"name = \"a\"\nusid = \"fcbb:bb00::/40\"\n", "s.toml:2:8: usid: found \"fcbb:bb00::/40\", allowed is ",
         "a block of 16, 32, 48 or 64 bits"},
        {"name = \"a\"\nusid = \"fcbb:bb00::/48\"\n", "s.toml:2:8: usid: found ", "not 0"},
        {"name = \"a\"\nusid = \"fcbb:bb00:1:2::/48\"\n", "s.toml:2:8: usid: found ",
         "a block of 16, 32, 48 or 64 bits"},
        {"name = \"a\"\nusid = \"fcbb:bb00:1::/48\"\npin = \"x\"\n" + port, "s.toml:3:7: pin: found \"x\", allowed is ",
         "an absolute path"},
        {head + port + "[[route]]\nusid = \"fcbb:bb00:1::/48\"\nport = \"d9\"\nmac = \"02:00:00:00:00:00\"\n",
         "s.toml:8:1: route[0].port: found \"d9\"", "a [[port]]'s device: d0"},
        {head + port + "[[route]]\nusid = \"fcbb:bb00:1::/48\"\nport = \"d0\"\nmac = \"01:00:00:00:00:00\"\n",
         "s.toml:9:7: route[0].mac: found \"01:00:00:00:00:00\", allowed is ", "unicast"},
        {head + port + "[[route]]\nusid = \"fcbb:bb00:1::/48\"\nport = \"d0\"\nmac = \"02:00:00:00:00:0\"x\n",
         "s.toml:9:", "TOML"},
        {head + port + "[[route]]\nusid = \"fcbb:bb01:1::/48\"\nport = \"d0\"\nmac = \"02:00:00:00:00:00\"\n",
         "s.toml:7:1: route[0].usid: found another uSID block", "one block"},
        {head + port + route + route, "s.toml:11:1: route[1].usid: found uSID 8000 a second time", "one route a uSID"},
        {head + port + "[[route]]\nusid = \"fcbb:bb00:2000::/48\"\nport = \"d0\"\nmac = \"02:00:00:00:00:00\"\n",
         "s.toml:7:1: route[0].usid: found uSID 2000", "none for the own"},
        {"name = \n", "s.toml:1:", "TOML"},
    };

    for (const auto &[text, begins, allows] : cases) {
        const std::string found = complaint(text);
        EXPECT_TRUE(found.starts_with(begins)) << found << "\n  expected: " << begins;
        EXPECT_NE(found.find(allows), std::string::npos) << found << "\n  expected: " << allows;
    }
}

TEST(switch_config_test, a_file_that_is_not_there_is_named)
{
    EXPECT_THROW((void)read_config("/nonexistent/s.toml"), switch_config_error);
}

TEST(switch_quantity_test, reads_what_people_write)
{
    EXPECT_EQ(parse_probability("0"), 0U);
    EXPECT_EQ(parse_probability("100%"), MRC_SW_ALWAYS);
    EXPECT_EQ(parse_probability("1"), MRC_SW_ALWAYS);
    EXPECT_EQ(parse_probability("50%"), parse_probability("0.5"));
    EXPECT_EQ(parse_probability("1%"), 42949673U);
    EXPECT_EQ(parse_rate("10Gbit"), 10e9);
    EXPECT_EQ(parse_rate("2.5mbit"), 2.5e6);
    EXPECT_EQ(parse_duration_ns("100us"), 100e3);
    EXPECT_EQ(parse_bytes("64K", 0), 65536);
    EXPECT_EQ(parse_bytes("20%", 1000), 200);
    EXPECT_EQ(parse_switch("on"), true);
    EXPECT_EQ(parse_switch("off"), false);
}

TEST(switch_quantity_test, refuses_the_rest)
{
    for (const char *text : {"", "x", "-1", "101%", "1.01", "1%%", "1 %", "nan", "inf", "1e400"})
        EXPECT_EQ(parse_probability(text), std::nullopt) << text;
    for (const char *text : {"", "Gbit", "10Gbyte", "-1Gbit"})
        EXPECT_EQ(parse_rate(text), std::nullopt) << text;
    EXPECT_EQ(parse_duration_ns("1s"), std::nullopt);
    EXPECT_EQ(parse_bytes("1G", 0), std::nullopt);
    EXPECT_EQ(parse_switch("yes"), std::nullopt);
}

// The complaint about impairment options of a port, or nothing.
std::string refusal(const impair_request &request)
{
    try {
        (void)changed_row({}, {}, request);
    } catch (const switch_error &error) {
        return error.what();
    }
    return "";
}

impair_request with_rate(const std::string &rate)
{
    impair_request request;

    request.rate = rate;
    return request;
}

TEST(switch_impair_test, a_rate_makes_thresholds_from_the_bdp)
{
    impair_request request = with_rate("10Gbit");
    mrc_sw_port_row host{};

    host.flags = MRC_SW_PORT_HOST_FACING;
    request.trim = "on";
    const mrc_sw_impair_row uplink = changed_row({}, {}, request);
    EXPECT_EQ(uplink.rate, 10ULL * (1 << MRC_SW_RATE_SHIFT) / 8);
    EXPECT_EQ(uplink.bdp_bytes, 125000U); // 10 Gbit/s times 100 us
    EXPECT_EQ(uplink.ecn_min_bytes, 25000U);
    EXPECT_EQ(uplink.ecn_max_bytes, 100000U);
    EXPECT_EQ(uplink.trim_bytes, 125000U);
    EXPECT_EQ(uplink.drop_bytes, 625000U);
    EXPECT_EQ(uplink.priority_bytes, 125000U);
    EXPECT_EQ(uplink.flags, static_cast<__u32>(MRC_SW_ECN | MRC_SW_TRIM));
    EXPECT_EQ(changed_row({}, host, request).trim_bytes, 187500U);
    request.rtt = "1ms";
    EXPECT_EQ(changed_row({}, {}, request).bdp_bytes, 1250000U);
    EXPECT_EQ(changed_row({}, {}, with_rate("1Mbit")).bdp_bytes, 32768U)
        << "two frames fit under the marking threshold";
}

TEST(switch_impair_test, options_that_are_not_given_keep_their_value)
{
    impair_request loss;
    impair_request clear;
    mrc_sw_impair_row row = changed_row({}, {}, with_rate("1Gbit"));

    loss.loss = "1%";
    clear.clear = true;
    row = changed_row(row, {}, loss);
    EXPECT_NE(row.loss, 0U);
    EXPECT_NE(row.rate, 0U);
    EXPECT_EQ(changed_row(row, {}, with_rate("off")).rate, 0U);
    EXPECT_EQ(changed_row(row, {}, with_rate("off")).loss, row.loss);
    EXPECT_EQ(changed_row(row, {}, clear).loss, 0U);
}

TEST(switch_impair_test, ecn_thresholds_are_bytes_or_shares_of_the_bdp)
{
    impair_request request = with_rate("10Gbit");

    request.ecn_threshold = "10%,40K";
    EXPECT_EQ(changed_row({}, {}, request).ecn_min_bytes, 12500U);
    EXPECT_EQ(changed_row({}, {}, request).ecn_max_bytes, 40960U);
    request.ecn_threshold = "20%";
    EXPECT_EQ(changed_row({}, {}, request).ecn_max_bytes, 25000U);
    request.ecn_threshold = "off";
    EXPECT_EQ(changed_row({}, {}, request).flags, 0U);
}

TEST(switch_impair_test, a_refusal_names_the_option_and_what_is_allowed)
{
    impair_request loss;
    impair_request threshold;
    impair_request trim;
    impair_request rtt;
    impair_request crossed = with_rate("1Gbit");

    loss.loss = "150%";
    threshold.ecn_threshold = "20%";
    trim.trim = "on";
    rtt.rtt = "1ms";
    crossed.ecn_threshold = "80%,20%";
    EXPECT_EQ(refusal(loss), "--loss: found \"150%\"; allowed: 0% to 100%, or a share from 0 to 1");
    EXPECT_NE(refusal(threshold).find("give --rate too"), std::string::npos);
    EXPECT_NE(refusal(trim).find("give --rate too"), std::string::npos);
    EXPECT_NE(refusal(rtt).find("together with --rate"), std::string::npos);
    EXPECT_NE(refusal(crossed).find("MIN not above MAX"), std::string::npos);
    EXPECT_NE(refusal(with_rate("10")).find("10kbit to 1000Gbit"), std::string::npos);
}

TEST(switch_impair_test, kernel_forwarding_refuses_what_needs_an_egress_program)
{
    impair_request loss;
    mrc_sw_info kernel{};

    kernel.flags = MRC_SW_INFO_KERNEL;
    loss.loss = "1%";
    EXPECT_NO_THROW(check_forwarding(kernel, loss));
    EXPECT_NO_THROW(check_forwarding({}, with_rate("1Gbit")));
    EXPECT_THROW(check_forwarding(kernel, with_rate("1Gbit")), switch_error);
}

TEST(switch_manual_test, names_every_option_and_key)
{
    std::ifstream file{std::string{MRC_SOURCE_DIR} + "/docs/mrc-switch.1"};
    std::ostringstream text;
    text << file.rdbuf();
    std::string manual = text.str();
    // roff writes a hyphen as \-.
    for (std::size_t at = 0; (at = manual.find("\\-", at)) != std::string::npos;)
        manual.erase(at, 1);

    std::istringstream help{test::run_command(test::switch_binary + " run --help").output +
                            test::run_command(test::switch_binary + " impair --help").output +
                            test::run_command(test::switch_binary + " show --help").output};
    int options = 0;
    for (std::string word; help >> word;) {
        if (!word.starts_with("--") || word == "--help")
            continue;
        options++;
        EXPECT_NE(manual.find(word), std::string::npos) << "docs/mrc-switch.1 lacks " << word;
    }
    EXPECT_GE(options, 14);
    const std::string known = complaint(head + "zzz = 1\n" + port) + complaint(head + port + "zzz = 1\n") +
                              complaint(head + port + route + "zzz = 1\n");
    for (const char *key :
         {"name", "usid", "forward", "mode", "pin", "port", "route", "device", "host_facing", "mac"}) {
        EXPECT_NE(known.find(key), std::string::npos) << key;
        EXPECT_NE(manual.find(std::string{".B "} + key), std::string::npos) << "docs/mrc-switch.1 lacks " << key;
    }
}

} // namespace
} // namespace mrc::lab_switch
