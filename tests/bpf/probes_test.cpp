// SPDX-License-Identifier: Apache-2.0
// The probes that mrcd and mrc-doctor share, on veth pairs that have and have not what is tried.
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>

#include "kernel/probes/af_xdp.h"
#include "kernel/probes/bpf_objects.h"
#include "kernel/probes/device.h"
#include "kernel/probes/host_clock.h"
#include "kernel/probes/live_frames.h"
#include "kernel/probes/overlay.h"
#include "kernel/probes/port.h"
#include "kernel/probes/tiny_programs.h"
#include "private_network.h"

namespace mrc::test
{
namespace
{

using namespace kernel::probes;
using kernel::xdp_mode;

class probes_test : public testing::Test
{
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root to load BPF programs";
        network.emplace();
        private_network::veth("port0", "leaf0", 3400);
    }

    static int port() { return ifindex_of("port0"); }
    static bool is_free() { return !find_xdp_holder(port()).has_value(); }
    static std::string holder_text()
    {
        const auto holder = find_xdp_holder(port());
        return holder ? holder->text() : "";
    }

    std::optional<private_network> network;
};

TEST_F(probes_test, both_xdp_modes_are_tried_and_taken_off)
{
    const xdp_support found = try_xdp(port(), false);
    EXPECT_TRUE(found.native.worked()) << found.native.text();
    EXPECT_TRUE(found.generic.worked()) << found.generic.text();
    EXPECT_TRUE(is_free());
}

TEST_F(probes_test, a_refusal_carries_the_kernels_message)
{
    private_network::ip("link set port0 mtu 9000");
    private_network::ip("link set leaf0 mtu 9000");
    const xdp_support one_buffer = try_xdp(port(), false);
    EXPECT_TRUE(one_buffer.native.refused());
    EXPECT_NE(one_buffer.native.text().find("MTU"), std::string::npos) << one_buffer.native.text();
    EXPECT_TRUE(one_buffer.generic.worked());
    EXPECT_TRUE(try_xdp(port(), true).native.worked());
    EXPECT_TRUE(is_free());
}

TEST_F(probes_test, a_port_in_use_is_named_and_left_alone)
{
    network->attach_action(XDP_PASS, "port0");
    EXPECT_EQ(holder_text(), "native program 'action'");
    const xdp_support found = try_xdp(port(), false);
    EXPECT_EQ(found.native.error, EBUSY);
    EXPECT_EQ(holder_text(), "native program 'action'");
}

TEST_F(probes_test, a_holder_is_reported_with_its_link)
{
    const kernel::unique_fd program = load_xdp_action(XDP_PASS, false);
    const xdp_attachment by_link = attach_xdp(program.get(), port(), xdp_mode::native);
    const auto linked = find_xdp_holder(port());
    ASSERT_TRUE(linked);
    ASSERT_EQ(linked->links.size(), 1U);
    const kernel::unique_fd link{bpf_link_get_fd_by_id(linked->links.front())};
    EXPECT_EQ(bpf_link_detach(link.get()), 0);
    EXPECT_TRUE(is_free());

    ASSERT_EQ(bpf_xdp_attach(port(), program.get(), XDP_FLAGS_SKB_MODE, nullptr), 0);
    const auto without = find_xdp_holder(port());
    ASSERT_TRUE(without);
    EXPECT_FALSE(without->native);
    EXPECT_TRUE(without->links.empty());
    EXPECT_EQ(bpf_xdp_detach(port(), XDP_FLAGS_SKB_MODE, nullptr), 0);
}

TEST_F(probes_test, automatic_falls_back_to_generic)
{
    private_network::ip("link set port0 mtu 9000");
    private_network::ip("link set leaf0 mtu 9000");
    const kernel::unique_fd program = load_xdp_action(XDP_PASS, false);
    const xdp_attachment automatic = attach_xdp(program.get(), port(), xdp_mode::automatic);
    EXPECT_TRUE(automatic.attached());
    EXPECT_FALSE(automatic.native);
    EXPECT_FALSE(attach_xdp(program.get(), ifindex_of("leaf0"), xdp_mode::native).attached());
}

TEST_F(probes_test, redirect_is_taken_by_a_veth_whose_peer_has_xdp_only)
{
    ASSERT_EQ(std::system("ethtool -K leaf0 gro off"), 0); // NOLINT(concurrency-mt-unsafe): tests have one thread
    live_frames frames{true};
    ASSERT_TRUE(frames.possible().worked()) << frames.possible().text();
    EXPECT_TRUE(frames.redirect_into("port0").refused());
    network->attach_action(XDP_PASS, "leaf0");
    const attempt taken = frames.redirect_into("port0");
    EXPECT_TRUE(taken.worked()) << taken.text();
    private_network::ip("link set leaf0 down");
    // A worker of the kernel's takes note, soon, that port0 has lost its carrier.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    attempt down = frames.redirect_into("port0");
    while (down.result != attempt::outcome::untried && std::chrono::steady_clock::now() < deadline)
        down = frames.redirect_into("port0");
    EXPECT_EQ(down.result, attempt::outcome::untried) << down.text();
}

TEST_F(probes_test, live_frames_that_do_not_fit_a_page_are_refused)
{
    EXPECT_TRUE(live_frames{true}.possible().worked());
    live_frames long_ones{true, 4000}; // 96 bytes are left for what the kernel keeps beside a frame
    EXPECT_TRUE(long_ones.possible().refused());
    EXPECT_NE(long_ones.possible().text().find("4000 bytes"), std::string::npos) << long_ones.possible().text();
    EXPECT_EQ(long_ones.redirect_into("port0").text(), long_ones.possible().text());
}

TEST_F(probes_test, live_frames_cost_less_with_the_program_attached)
{
    network->attach_action(XDP_DROP, "leaf0");
    live_frames attached{true};
    live_frames unattached{false};
    const auto with = attached.cost_ns("port0", 50);
    const auto without = unattached.cost_ns("port0", 50);
    ASSERT_TRUE(with && without);
    EXPECT_GT(*with, 0);
    EXPECT_LT(*with, *without);
}

TEST_F(probes_test, af_xdp_on_a_queue)
{
    const af_xdp_support found = try_af_xdp_queue(port(), 0);
    EXPECT_TRUE(found.copy.worked()) << found.copy.text();
    EXPECT_EQ(found.copy.detail, "copy");
    EXPECT_TRUE(found.zero_copy.refused()); // no veth has it
    EXPECT_TRUE(try_af_xdp({.ifindex = port(), .queue = 99}).refused());
}

TEST_F(probes_test, a_port_keeps_its_program_until_it_is_let_go)
{
    network->attach_action(XDP_PASS, "leaf0");
    live_frames frames{true};
    {
        const port_abilities found = try_port({.device = "port0", .ifindex = port()}, &frames);
        EXPECT_TRUE(found.attachment.attached());
        EXPECT_TRUE(found.attachment.native);
        EXPECT_TRUE(found.af_xdp.worked()) << found.af_xdp.text();
        EXPECT_FALSE(found.zero_copy);
        EXPECT_TRUE(found.redirect.worked()) << found.redirect.text();
        const kernel::unique_fd next = load_xdp_action(XDP_DROP, false);
        EXPECT_EQ(bpf_link_update(found.attachment.link.get(), next.get(), nullptr), 0);
        EXPECT_FALSE(is_free());
    }
    EXPECT_TRUE(is_free());
}

TEST_F(probes_test, mrc_s_own_maps_and_programs)
{
    for (const auto &[name, result] : try_map_types())
        EXPECT_TRUE(result.worked()) << name << ": " << result.text();
    EXPECT_GE(try_map_types().size(), 5U);
    for (const auto &[name, result] : try_programs())
        EXPECT_TRUE(result.worked()) << name << ": " << result.text();
    EXPECT_EQ(try_programs().size(), 3U);
}

TEST_F(probes_test, the_overlay_leaves_no_device)
{
    const overlay_support found = try_overlay();
    EXPECT_TRUE(found.tap.worked()) << found.tap.text();
    EXPECT_TRUE(found.egress_program.worked()) << found.egress_program.text();
    EXPECT_EQ(ifindex_of("mrcprobe0"), 0);
}

TEST_F(probes_test, devices_of_this_namespace_are_described)
{
    private_network::ip(
        "link add wide numrxqueues 4 numtxqueues 4 type veth peer name far numrxqueues 4 numtxqueues 4");
    EXPECT_EQ(receive_queues("wide"), 4U);
    EXPECT_EQ(receive_queues("port0"), 1U);
    EXPECT_EQ(mtu_of("port0"), 3400U);
    EXPECT_EQ(driver_of("port0"), "veth");
    EXPECT_TRUE(is_running("port0"));
    EXPECT_FALSE(is_running("wide"));
    EXPECT_TRUE(offloads_of("port0").transmit_checksum);
    EXPECT_FALSE(has_feature("port0", "rx-gro-hw"));
    EXPECT_FALSE(has_feature("port0", "no-such-feature"));
    EXPECT_FALSE(has_feature("no-such-device", "rx-gro"));
    for (const std::string state : {"off", "on"}) {
        ASSERT_EQ(std::system(("ethtool -K port0 gro " + state).c_str()), 0); // NOLINT(cert-env33-c): our own words
        EXPECT_EQ(has_feature("port0", "rx-gro"), state == "on");
    }
    EXPECT_TRUE(transmitted_packets("port0").has_value());
    EXPECT_FALSE(transmitted_packets("absent").has_value());
    EXPECT_EQ(ifindex_of("absent"), 0);
}

TEST_F(probes_test, the_clock_moves)
{
    const clock_figures clock = read_clock();
    EXPECT_GE(clock.step_ns, 1);
    EXPECT_LT(clock.step_ns, 1e6);
    EXPECT_GT(clock.cost_ns, 0);
}

} // namespace
} // namespace mrc::test
