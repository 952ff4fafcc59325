// SPDX-License-Identifier: Apache-2.0
//
// AF_XDP receive on a veth: how much memory a socket holds.
#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/probes/tiny_programs.h"
#include "datapath/umem.h"
#include "datapath/xsk_socket_pair.h"
#include "private_network.h"

namespace mrc::test
{
namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t ring_size = 512;
constexpr std::uint32_t memory_frames = 4 * ring_size;
constexpr std::uint32_t share = 64;

template <typename Condition>
[[nodiscard]] bool until(Condition done)
{
    const auto deadline = std::chrono::steady_clock::now() + 5s;
    while (!done())
        if (std::chrono::steady_clock::now() > deadline)
            return false;
    return true;
}

// One socket on veth port0, which gets everything that leaf0 sends.
class xsk_receive_test : public testing::Test
{
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root to load BPF programs";
        network = std::make_unique<private_network>();
        private_network::veth("port0", "leaf0", 1500);
        memory = std::make_unique<datapath::umem>(memory_frames, ring_size);
        sockets.push_back(std::make_unique<datapath::xsk_socket_pair>(
            *memory, datapath::xsk_options{.device = "port0", .ring_size = ring_size, .receive_frames = share}));
        const datapath::unique_fd rows{
            bpf_map_create(BPF_MAP_TYPE_XSKMAP, "sockets", sizeof(int), sizeof(int), 1, nullptr)};
        const int row = 0;
        const int fd = sockets[0]->fd();
        ASSERT_EQ(bpf_map_update_elem(rows.get(), &row, &fd, BPF_ANY), 0);
        const datapath::unique_fd program = datapath::probes::load_xdp_redirect(rows.get());
        network->attach_xdp(program.get(), "port0");
        wire = datapath::unique_fd{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)};
    }

    void send(std::uint32_t packets) const
    {
        sockaddr_ll to{};
        to.sll_family = AF_PACKET;
        to.sll_ifindex = static_cast<int>(private_network::ifindex("leaf0"));
        const frame bytes(100, 0x55);
        for (std::uint32_t i = 0; i < packets; ++i)
            ASSERT_EQ(
                ::sendto(wire.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr *>(&to), sizeof(to)),
                static_cast<ssize_t>(bytes.size()));
    }
    [[nodiscard]] std::uint64_t dropped() const
    {
        const auto drops = sockets[0]->drops();
        return drops.receive_dropped + drops.receive_ring_full;
    }

    std::unique_ptr<private_network> network;
    std::unique_ptr<datapath::umem> memory;
    std::vector<std::unique_ptr<datapath::xsk_socket_pair>> sockets;
    datapath::unique_fd wire;
};

TEST_F(xsk_receive_test, a_socket_holds_no_more_than_its_share_of_the_memory)
{
    for (std::uint64_t round = 1; round <= 3; ++round) {
        EXPECT_EQ(memory->free_frames(), memory_frames - share);
        send(2 * share);
        ASSERT_TRUE(until([&] { return dropped() == round * share; })) << dropped() << " in round " << round;
        EXPECT_EQ(sockets[0]->receive(2 * share, [](const std::byte *, std::uint32_t) {}), share);
    }
    EXPECT_EQ(memory->free_frames(), memory_frames - share);
}

} // namespace
} // namespace mrc::test
