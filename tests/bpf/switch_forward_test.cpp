// SPDX-License-Identifier: Apache-2.0
//
// mrc-switch end to end: a switch of two ports in a namespace of its own, frames sent into one veth and captured at the
// far end of the other, in native and in generic mode, by its own program on the ports and by one that switches share.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "mrc/abi/maps.h"

#include "packet_builder.h"
#include "private_network.h"
#include "prog_run.h"
#include "switch_process.h"

namespace mrc::test
{
namespace
{

constexpr int mtu = 3400;
const mac_address spine_mac{0x02, 0, 0, 0, 0, 0x0B};

packet_bytes packet(const std::string &destination, const ethernet_layer &ethernet, std::uint8_t hop_limit,
                    std::size_t bytes, std::uint8_t dscp = MRC_DSCP_TRIMMABLE)
{
    return packet_builder()
        .ethernet(ethernet)
        .ipv6({.source = ip6("fd6d:7263:0:1::0:1"),
               .destination = ip6(destination),
               .hop_limit = hop_limit,
               .dscp = dscp,
               .ecn = MRC_ECN_ECT0})
        .ipv6({.destination = ip6("fd6d:7263::1:1"), .next_header = IPPROTO_UDP})
        .udp({.source = 0xC0DE})
        .fill_to(bytes)
        .build();
}

class switch_forward_test : public testing::TestWithParam<const char *>
{
protected:
    void SetUp() override
    {
        if (!may_load_bpf())
            GTEST_SKIP() << "needs root: namespaces and BPF programs";
        network_ = std::make_unique<private_network>();
        for (const char *number : {"0", "1"}) {
            private_network::veth("d" + std::string(number), "p" + std::string(number), mtu);
            network_->attach_action(XDP_PASS, "p" + std::string(number));
        }
        private_network::ip("link set d1 address 02:00:00:00:01:01");
        write_config();
    }
    void TearDown() override
    {
        switch_.reset();
        std::error_code ignored;
        std::filesystem::remove(config_, ignored);
        std::filesystem::remove(directory_, ignored);
    }

    [[nodiscard]] static bool shares() { return std::string(GetParam()).ends_with("_shared"); }
    [[nodiscard]] static std::string mode()
    {
        const std::string name = GetParam();
        return name.substr(0, name.find('_'));
    }

    void write_config()
    {
        std::ofstream{config_}
            << "name = \"leaf\"\nusid = \"fcbb:bb00:2000::/48\"\nforward = \"xdp\"\nmode = \"" << mode()
            << "\"\npin = \"" << pin_ << "\"\n"
            << (shares() ? "share = \"" + directory_ + "/entry\"\n" : "")
            << "[[port]]\ndevice = \"d0\"\nhost_facing = true\n[[port]]\ndevice = \"d1\"\n"
            << "[[route]]\nusid = \"fcbb:bb00:8000::/48\"\nport = \"d0\"\nmac = \"02:00:00:00:00:0a\"\n"
            << "[[route]]\nusid = \"fcbb:bb00:1000::/48\"\nport = \"d1\"\nmac = \"02:00:00:00:00:0b\"\n";
    }

    void start()
    {
        switch_ = std::make_unique<switch_process>(config_);
        ASSERT_EQ(switch_->first_line(), "READY leaf");
    }

    void impair(const std::string &arguments) const
    {
        const auto result = run_command(switch_binary + " impair --pin " + pin_ + " " + arguments);
        ASSERT_EQ(result.status, 0) << result.output;
    }

    // Looks at the verdicts until one has reached `count`; each look is a process, so no time is spent spinning.
    [[nodiscard]] bool wait_for_verdict(const std::string &verdict, int count) const
    {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        const std::string wanted = '"' + verdict + "\":" + std::to_string(count) + ',';

        while (std::chrono::steady_clock::now() < deadline) {
            if (run_command(switch_binary + " show --json --pin " + pin_).output.find(wanted) != std::string::npos)
                return true;
        }
        return false;
    }

    static void send(const std::string &device, const packet_bytes &bytes)
    {
        const int socket = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
        sockaddr_ll address{};

        address.sll_family = AF_PACKET;
        address.sll_ifindex = static_cast<int>(private_network::ifindex(device));
        const ssize_t sent = sendto(socket, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr *>(&address),
                                    sizeof(address));
        close(socket);
        ASSERT_EQ(sent, static_cast<ssize_t>(bytes.size()));
    }

    static packet_bytes to_spine(std::size_t bytes, std::uint8_t dscp = MRC_DSCP_TRIMMABLE)
    {
        return packet("fcbb:bb00:2000:1000:2001:8000::", {}, 64, bytes, dscp);
    }
    static packet_bytes at_spine(std::size_t bytes, std::uint8_t dscp = MRC_DSCP_TRIMMABLE)
    {
        return packet("fcbb:bb00:1000:2001:8000::", {.destination = spine_mac, .source = {0x02, 0, 0, 0, 1, 0x01}}, 63,
                      bytes, dscp);
    }

    std::string directory_ = "/sys/fs/bpf/mrc/switch-test-" + std::to_string(getpid());
    std::string pin_ = directory_ + "/leaf";
    std::string config_ = "/tmp/switch-test-" + std::to_string(getpid()) + ".toml";
    std::unique_ptr<private_network> network_;
    std::unique_ptr<switch_process> switch_;
};

class switches_that_share : public switch_forward_test
{
};

TEST_P(switch_forward_test, frames_cross_byte_for_byte)
{
    start();
    const capture spine{"p1"};
    for (const std::size_t bytes : {200U, 1514U, 3414U}) {
        send("p0", to_spine(bytes));
        EXPECT_TRUE(same_bytes(at_spine(bytes), spine.next()));
    }
    EXPECT_TRUE(spine.empty());
}

TEST_P(switch_forward_test, a_duplicated_frame_arrives_twice)
{
    start();
    const capture spine{"p1"};
    impair("--port d1 --duplicate 100%");
    for (const std::size_t bytes : {200U, 3414U}) {
        send("p0", to_spine(bytes));
        EXPECT_TRUE(same_bytes(at_spine(bytes), spine.next()));
        EXPECT_TRUE(same_bytes(at_spine(bytes), spine.next()));
    }
    EXPECT_TRUE(spine.empty());
}

TEST_P(switch_forward_test, a_blackhole_swallows_until_it_is_cleared)
{
    start();
    const capture spine{"p1"};
    impair("--port d1 --blackhole on");
    send("p0", to_spine(300));
    ASSERT_TRUE(wait_for_verdict("impair_blackhole", 1));
    impair("--port d1 --clear");
    send("p0", to_spine(400));
    EXPECT_TRUE(same_bytes(at_spine(400), spine.next()));
    EXPECT_TRUE(spine.empty());
}

TEST_P(switch_forward_test, an_overfull_queue_trims_to_the_headers)
{
    constexpr int packets = 20; // 68 KB into a queue whose BDP is 32 KB and that drains 1,250 bytes a second
    start();
    const capture spine{"p1"};
    impair("--port d1 --rate 10kbit --trim on --ecn-threshold off");
    for (int i = 0; i < packets; i++)
        send("p0", to_spine(3414));
    packet_bytes last;
    for (int i = 0; i < packets; i++)
        last = spine.next();
    packet_bytes expected = at_spine(3414, MRC_DSCP_TRIMMED);
    expected.resize(MRC_TRIM_FRAME);
    expected[18] = 0;
    expected[19] = MRC_TRIM_FRAME - MRC_OUTER_BYTES;
    EXPECT_TRUE(same_bytes(expected, last));
}

TEST_P(switch_forward_test, show_reports_what_crossed)
{
    start();
    const capture spine{"p1"};
    impair("--port d1 --loss 1%");
    impair("--port d1 --loss 0%");
    send("p0", to_spine(500));
    ASSERT_FALSE(spine.next().empty());
    const auto text = run_command(switch_binary + " show --pin " + pin_);
    const auto json = run_command(switch_binary + " show --json --pin " + pin_);
    EXPECT_EQ(text.status, 0);
    EXPECT_NE(text.output.find("forwarded"), std::string::npos) << text.output;
    EXPECT_NE(json.output.find(R"("forwarded":1,)"), std::string::npos) << json.output;
    EXPECT_NE(json.output.find(R"("tx_packets":1,"tx_bytes":500)"), std::string::npos) << json.output;
    EXPECT_NE(json.output.find(R"("mode":")" + mode()), std::string::npos) << json.output;
}

TEST_P(switch_forward_test, the_end_leaves_nothing_behind)
{
    start();
    EXPECT_TRUE(std::filesystem::exists(pin_ + "/sw_impair"));
    EXPECT_EQ(switch_->end(SIGTERM), 0);
    EXPECT_FALSE(std::filesystem::exists(pin_));
    EXPECT_FALSE(std::filesystem::exists(directory_ + "/entry"));
    EXPECT_EQ(run_command("ip link show d0").output.find("xdp"), std::string::npos);
}

// One of two ports, another of one.
TEST_P(switches_that_share, have_one_program_on_their_ports)
{
    private_network::veth("d2", "p2", mtu);
    network_->attach_action(XDP_PASS, "p2");
    start();
    const std::string other = config_ + ".other";
    std::ofstream{other} << "name = \"other\"\nusid = \"fcbb:bb00:2001::/48\"\nmode = \"" << mode() << "\"\npin = \""
                         << directory_ << "/other\"\nshare = \"" << directory_ << "/entry\"\n"
                         << "[[port]]\ndevice = \"d2\"\n"
                         << "[[route]]\nusid = \"fcbb:bb00:1000::/48\"\nport = \"d2\"\nmac = \"02:00:00:00:00:0b\"\n";
    {
        switch_process beside{other};
        ASSERT_EQ(beside.first_line(), "READY other");
        const auto program_on = [](const std::string &device) {
            const std::string shown = run_command("ip -details link show " + device).output;
            const std::size_t at = shown.find("prog/xdp id ");
            return at == std::string::npos ? device : shown.substr(at, shown.find(' ', at + 12) - at);
        };
        EXPECT_EQ(program_on("d0"), program_on("d2"));
        const capture spine{"p1"};
        send("p0", to_spine(200));
        EXPECT_TRUE(same_bytes(at_spine(200), spine.next()));
        const capture back{"p2"};
        send("p2", packet("fcbb:bb00:2001:1000:2000:8000::", {}, 64, 200));
        EXPECT_FALSE(back.next().empty());
    }
    EXPECT_TRUE(std::filesystem::exists(directory_ + "/entry/switch_entry"));
    std::filesystem::remove(other);
    const capture spine{"p1"};
    send("p0", to_spine(300));
    EXPECT_TRUE(same_bytes(at_spine(300), spine.next()));
}

TEST_P(switch_forward_test, a_killed_switch_is_replaced_by_the_next_run)
{
    start();
    EXPECT_EQ(switch_->end(SIGKILL), SIGKILL);
    EXPECT_TRUE(std::filesystem::exists(pin_ + "/sw_impair"));
    EXPECT_EQ(run_command("ip link show d0").output.find("xdp"), std::string::npos);
    start();
    const capture spine{"p1"};
    send("p0", to_spine(200));
    EXPECT_TRUE(same_bytes(at_spine(200), spine.next()));
}

TEST_P(switch_forward_test, a_second_switch_on_the_same_pins_is_refused)
{
    start();
    const auto second = run_command(switch_binary + " run --config " + config_);
    EXPECT_NE(second.status, 0);
    EXPECT_NE(second.output.find("another mrc-switch runs"), std::string::npos) << second.output;
    EXPECT_TRUE(std::filesystem::exists(pin_ + "/sw_impair"));
}

TEST_P(switch_forward_test, a_port_that_is_taken_is_named_and_nothing_stays)
{
    network_->attach_action(XDP_PASS, "d1");
    const auto refused = run_command(switch_binary + " run --config " + config_);
    EXPECT_NE(refused.status, 0);
    EXPECT_NE(refused.output.find("port d1: "), std::string::npos) << refused.output;
    EXPECT_FALSE(std::filesystem::exists(pin_));
    EXPECT_EQ(run_command("ip link show d0").output.find("xdp"), std::string::npos);
}

TEST_P(switch_forward_test, a_missing_port_is_named_and_nothing_stays)
{
    private_network::ip("link delete d1");
    const auto refused = run_command(switch_binary + " run --config " + config_);
    EXPECT_NE(refused.status, 0);
    EXPECT_NE(refused.output.find("port d1: no such device"), std::string::npos) << refused.output;
    EXPECT_FALSE(std::filesystem::exists(pin_));
}

INSTANTIATE_TEST_SUITE_P(modes, switch_forward_test,
                         testing::Values("native", "generic", "native_shared", "generic_shared"),
                         [](const auto &instance) { return std::string(instance.param); });
INSTANTIATE_TEST_SUITE_P(modes, switches_that_share, testing::Values("native_shared", "generic_shared"),
                         [](const auto &instance) { return std::string(instance.param); });

} // namespace
} // namespace mrc::test
