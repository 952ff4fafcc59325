// SPDX-License-Identifier: Apache-2.0
//
// The most receive queues that mrcd serves, on veths: what their sockets take, and that each of them receives.
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "packet_builder.h"
#include "private_network.h"
#include "service/ports/port_sockets.h"

namespace mrc::test
{
namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t ports = MRC_MAX_PORTS;
constexpr std::uint32_t queues = MRC_MAX_QUEUES;
constexpr std::uint32_t ethernet_bytes = 14;

std::string port_name(std::uint32_t port)
{
    return "port" + std::to_string(port);
}

std::string far_name(std::uint32_t port)
{
    return "far" + std::to_string(port);
}

void make_ports()
{
    const std::string many = " numrxqueues " + std::to_string(queues) + " numtxqueues " + std::to_string(queues);
    std::string commands;
    for (std::uint32_t port = 0; port < ports; ++port) {
        commands += "link add " + port_name(port) + many + " type veth peer name " + far_name(port) + many + "\n";
        for (const std::string &device : {port_name(port), far_name(port)})
            commands += "link set " + device + " addrgenmode none\nlink set " + device + " up\n";
    }
    private_network::ip(commands);
}

// Gives each packet to the socket of its receive queue.
kernel::unique_fd load_steering(int sockets)
{
    const bpf_insn program[] = {
        {.code = BPF_LDX | BPF_MEM | BPF_W,
         .dst_reg = 2,
         .src_reg = 1,
         .off = offsetof(xdp_md, rx_queue_index),
         .imm = 0},
        {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .off = 0, .imm = sockets},
        {.code = 0, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .src_reg = 0, .off = 0, .imm = XDP_DROP},
        {.code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = BPF_FUNC_redirect_map},
        {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
    };
    return kernel::unique_fd{bpf_prog_load(BPF_PROG_TYPE_XDP, "steering", "GPL", program, std::size(program), nullptr)};
}

// A UDP packet of a flow of its own: the kernel chooses the sending queue by its hash, and a veth the receiving one by
// that.
packet_bytes packet_of_flow(std::uint16_t flow)
{
    packet_bytes bytes(100, 0);
    bytes[12] = 0x08; // IPv4
    std::uint8_t *ip = bytes.data() + ethernet_bytes;
    ip[0] = 0x45;
    ip[3] = static_cast<std::uint8_t>(bytes.size() - ethernet_bytes);
    ip[8] = 64;
    ip[9] = 17;
    ip[12] = ip[16] = 10;
    ip[20] = static_cast<std::uint8_t>(flow >> 8U);
    ip[21] = static_cast<std::uint8_t>(flow);
    return bytes;
}

TEST(port_sockets, the_most_queues_that_are_served_receive_all)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to load BPF programs";
    private_network network;
    make_ports();
    std::vector<kernel::unique_fd> kept;
    service::port_sockets sockets{service::packet_memory_for(std::vector(ports, queues), 1), "", false};
    for (std::uint32_t port = 0; port < ports; ++port) {
        sockets.bind(port, {.device = port_name(port), .queues = queues, .force_copy = true});
        kernel::unique_fd rows{
            bpf_map_create(BPF_MAP_TYPE_XSKMAP, "sockets", sizeof(int), sizeof(int), queues, nullptr)};
        for (std::uint32_t queue = 0; queue < queues; ++queue) {
            const int fd = sockets.all(0)[port * queues + queue]->fd();
            ASSERT_EQ(bpf_map_update_elem(rows.get(), &queue, &fd, BPF_ANY), 0);
        }
        const kernel::unique_fd program = load_steering(rows.get());
        ASSERT_TRUE(program);
        network.attach_xdp(program.get(), port_name(port));
        kept.push_back(std::move(rows));
    }
    const kernel::unique_fd wire{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)};
    std::vector<std::uint64_t> received(sockets.all(0).size());
    const auto silent = [&] { return std::ranges::count(received, 0U); };
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    for (std::uint16_t flow = 1; silent() != 0 && std::chrono::steady_clock::now() < deadline; ++flow) {
        const packet_bytes bytes = packet_of_flow(flow);
        for (std::uint32_t port = 0; port < ports; ++port) {
            sockaddr_ll to{};
            to.sll_family = AF_PACKET;
            to.sll_protocol = htons(ETH_P_IP);
            to.sll_ifindex = static_cast<int>(private_network::ifindex(far_name(port)));
            ASSERT_EQ(
                ::sendto(wire.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr *>(&to), sizeof(to)),
                static_cast<ssize_t>(bytes.size()));
        }
        for (std::size_t socket = 0; socket < received.size(); ++socket)
            received[socket] += sockets.all(0)[socket]->receive(64, [](const std::byte *, std::uint32_t) {});
    }
    EXPECT_EQ(silent(), 0) << "of " << received.size() << " sockets";
    // All frames but those to send are with the kernel, which has its share of each queue.
    EXPECT_EQ(sockets.memory(0).free_frames(), 8U * 1024);
}

TEST(packet_memory, has_as_many_frames_for_many_queues_as_for_few)
{
    const auto of = [](std::vector<std::uint32_t> queues_of_ports) {
        return service::packet_memory_for(queues_of_ports, 1);
    };
    EXPECT_EQ(of({1}).receive_frames, 4096U);
    EXPECT_EQ(of({1}).bytes(), 18U << 20U);
    EXPECT_EQ(of({1, 1, 1, 1}).bytes(), 72U << 20U);
    EXPECT_EQ(of({16}).receive_frames, 2048U);
    EXPECT_EQ(of(std::vector(ports, 1U)).bytes(), 144U << 20U);
    for (const std::uint32_t each : {2U, 4U, 8U, 16U}) {
        const service::packet_memory many = of(std::vector(ports, each));
        EXPECT_EQ(many.receive_frames, 4096U / each) << each;
        EXPECT_EQ(many.bytes(), 160U << 20U) << each; // docs/nics.md
    }
    const service::packet_memory of_two = service::packet_memory_for(std::vector(2, 1U), 2);
    EXPECT_EQ(of_two.receive_frames, 3U * 2048) << "a worker that reads nothing holds one ring";
    EXPECT_EQ(of_two.bytes(), 2 * 28U << 20U);
}

} // namespace
} // namespace mrc::test
