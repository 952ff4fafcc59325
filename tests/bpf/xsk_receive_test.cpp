// SPDX-License-Identifier: Apache-2.0
//
// AF_XDP receive on a veth: how much memory a socket holds, and what the worker tells senders when it is too little.
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sys/eventfd.h>

#include "datapath/worker.h"
#include "kernel/probes/tiny_programs.h"
#include "kernel/umem.h"
#include "kernel/xsk_socket_pair.h"
#include "private_network.h"
#include "protocol/congestion/fixed_window.h"
#include "unit/datapath/table_in_memory.h"

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

// From the far end of port0's wire.
void send_to_port(const kernel::unique_fd &wire, std::uint32_t packets)
{
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = static_cast<int>(private_network::ifindex("leaf0"));
    const packet_bytes bytes(100, 0x55);
    for (std::uint32_t i = 0; i < packets; ++i)
        ASSERT_EQ(::sendto(wire.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr *>(&to), sizeof(to)),
                  static_cast<ssize_t>(bytes.size()));
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
        memory = std::make_unique<kernel::umem>(memory_frames, ring_size);
        sockets.push_back(std::make_unique<kernel::xsk_socket_pair>(
            *memory, kernel::xsk_options{.device = "port0", .ring_size = ring_size, .receive_frames = share}));
        const kernel::unique_fd rows{
            bpf_map_create(BPF_MAP_TYPE_XSKMAP, "sockets", sizeof(int), sizeof(int), 1, nullptr)};
        const int row = 0;
        const int fd = sockets[0]->fd();
        ASSERT_EQ(bpf_map_update_elem(rows.get(), &row, &fd, BPF_ANY), 0);
        const kernel::unique_fd program = kernel::probes::load_xdp_redirect(rows.get());
        network->attach_xdp(program.get(), "port0");
        wire = kernel::unique_fd{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)};
    }

    void send(std::uint32_t packets) const { send_to_port(wire, packets); }
    [[nodiscard]] std::uint64_t dropped() const
    {
        const auto drops = sockets[0]->drops();
        return drops.receive_dropped + drops.receive_ring_full;
    }

    std::unique_ptr<private_network> network;
    std::unique_ptr<kernel::umem> memory;
    std::vector<std::unique_ptr<kernel::xsk_socket_pair>> sockets;
    kernel::unique_fd wire;
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

// Its device goes while it holds frames to receive into and to send; another device takes its place.
TEST_F(xsk_receive_test, a_device_that_goes_takes_no_memory_along)
{
    private_network::veth("anchor", "anchored", 1500);
    sockets.clear();
    ASSERT_EQ(memory->free_frames(), memory_frames);
    memory.reset(); // the first socket's queue is its until then
    kernel::umem shared{memory_frames, ring_size};
    const kernel::xsk_socket_pair anchor{shared, shared.registration(),
                                         kernel::xsk_options{.device = "anchor", .force_copy = true}};
    for (int replaced = 0; replaced < 3; ++replaced) {
        kernel::xsk_socket_pair socket{
            shared, shared.registration(),
            kernel::xsk_options{
                .device = "port0", .ring_size = ring_size, .receive_frames = share, .force_copy = true}};
        EXPECT_EQ(shared.free_frames(), memory_frames) << "before it begins";
        socket.begin();
        EXPECT_EQ(shared.free_frames(), memory_frames - share);
        ASSERT_TRUE(socket.transmit(shared.allocate(), 100));
        private_network::ip("link del port0");
        private_network::veth("port0", "leaf0", 1500);
    }
    EXPECT_EQ(shared.free_frames(), memory_frames);
}

// Sends each packet to one of the rows 0 and 1, by chance. Empty on failure.
kernel::unique_fd load_choice(int sockets)
{
    const bpf_insn program[] = {
        {.code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = BPF_FUNC_get_prandom_u32},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 0, .off = 0, .imm = 0},
        {.code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = 2, .src_reg = 0, .off = 0, .imm = 1},
        {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .off = 0, .imm = sockets},
        {.code = 0, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .src_reg = 0, .off = 0, .imm = XDP_DROP},
        {.code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = BPF_FUNC_redirect_map},
        {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
    LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_XDP);
    return kernel::unique_fd{
        bpf_prog_load(BPF_PROG_TYPE_XDP, "choice", "Dual BSD/GPL", program, std::size(program), &options)};
}

// Two threads' sockets on the one queue of port0, each with a list of its own, of `keep` frames of one memory.
class shared_queue_test : public testing::Test
{
protected:
    static constexpr std::uint32_t frames = 8 * ring_size;
    static constexpr std::size_t keep = 64;
    static constexpr std::uint32_t transmit_frames = 128;
    static constexpr std::uint32_t received_at_once = 2 * ring_size;

    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root to load BPF programs";
        network = std::make_unique<private_network>();
        private_network::veth("port0", "leaf0", 1500);
        private_network::veth("port1", "leaf1", 1500);
        mine = std::make_unique<kernel::umem>(frames, ring_size);
        others = std::make_unique<kernel::umem>(*mine, keep);
        // The memory's first socket is another port's, as that of most ports: the kernel joins by queue.
        other_port = std::make_unique<kernel::xsk_socket_pair>(
            *mine, kernel::xsk_options{.device = "port1", .ring_size = ring_size, .receive_frames = share});
        first = std::make_unique<kernel::xsk_socket_pair>(*mine, mine->registration(), options());
        second = std::make_unique<kernel::xsk_socket_pair>(*others, *first, options());
        first->begin();
        second->begin();
        const kernel::unique_fd rows{
            bpf_map_create(BPF_MAP_TYPE_XSKMAP, "sockets", sizeof(int), sizeof(int), 2, nullptr)};
        for (int row = 0; row < 2; ++row) {
            const int fd = (row == 0 ? first : second)->fd();
            ASSERT_EQ(bpf_map_update_elem(rows.get(), &row, &fd, BPF_ANY), 0);
        }
        const kernel::unique_fd program = load_choice(rows.get());
        ASSERT_TRUE(program) << std::strerror(errno);
        network->attach_xdp(program.get(), "port0");
        wire = kernel::unique_fd{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)};
    }

    static kernel::xsk_options options()
    {
        return {.device = "port0",
                .ring_size = ring_size,
                .transmit_frames = transmit_frames,
                .receive_frames = received_at_once};
    }
    void send(std::uint32_t packets) const { send_to_port(wire, packets); }
    [[nodiscard]] static std::uint64_t dropped(const kernel::xsk_socket_pair &socket)
    {
        const auto drops = socket.drops();
        return drops.receive_dropped + drops.receive_ring_full;
    }
    // Of both lists, and of neither.
    [[nodiscard]] std::size_t free_frames() { return mine->free_of(frames) + others->free_frames(); }
    void end_sockets()
    {
        second.reset();
        first.reset();
        other_port.reset();
    }

    std::unique_ptr<private_network> network;
    std::unique_ptr<kernel::umem> mine;
    std::unique_ptr<kernel::umem> others;
    std::unique_ptr<kernel::xsk_socket_pair> other_port;
    std::unique_ptr<kernel::xsk_socket_pair> first;
    std::unique_ptr<kernel::xsk_socket_pair> second;
    kernel::unique_fd wire;
};

TEST_F(shared_queue_test, each_thread_receives_what_the_program_gives_it)
{
    std::uint32_t received[2] = {};
    constexpr std::uint32_t packets = ring_size;
    send(packets);
    ASSERT_TRUE(until([&] {
        received[0] += first->receive(64, [](const std::byte *, std::uint32_t) {});
        received[1] += second->receive(64, [](const std::byte *, std::uint32_t) {});
        return received[0] + received[1] == packets;
    })) << received[0]
        << " and " << received[1];
    EXPECT_GT(received[0], packets / 4);
    EXPECT_GT(received[1], packets / 4);
    EXPECT_EQ(dropped(*first) + dropped(*second), 0U);
}

TEST_F(shared_queue_test, who_takes_a_frame_back_tells_who_has_sent_it)
{
    const auto transmit = [](kernel::umem &memory, kernel::xsk_socket_pair &by) {
        kernel::frame frame = memory.allocate();
        ASSERT_TRUE(frame);
        ASSERT_TRUE(by.transmit(std::move(frame), 100));
        by.flush();
    };
    for (std::uint32_t sent = 0; sent < 3 * transmit_frames; ++sent) {
        transmit(*others, *second);
        transmit(*mine, *first);
        ASSERT_TRUE(until([&] { // takes the other's, too
            first->reap();
            return first->has_room(transmit_frames);
        }));
        ASSERT_TRUE(until([&] {
            second->reap();
            return second->has_room(transmit_frames);
        }));
    }
    end_sockets();
    EXPECT_EQ(free_frames(), frames);
}

// Frames go from one list to the other by the kernel's rings, all the time and in both directions.
TEST_F(shared_queue_test, two_threads_at_once_lose_no_frame)
{
    constexpr std::uint64_t packets = 20'000;
    constexpr std::uint32_t burst = 100;
    std::atomic<std::uint64_t> received = 0;
    std::atomic<std::uint64_t> sent = 0;
    std::atomic<bool> enough = false;
    const auto work = [&](kernel::umem &memory, kernel::xsk_socket_pair &socket) {
        while (!enough) {
            received += socket.receive(64, [](const std::byte *, std::uint32_t) {});
            for (int i = 0; i < 4 && socket.has_room(1); ++i)
                if (kernel::frame frame = memory.allocate(); frame && socket.transmit(std::move(frame), 100))
                    ++sent;
            socket.flush();
            socket.reap();
        }
    };
    std::thread one{[&] { work(*mine, *first); }};
    std::thread other{[&] { work(*others, *second); }};
    for (std::uint64_t i = 0; i < packets && !HasFailure(); i += burst) {
        send(burst); // no more than there is room for
        EXPECT_TRUE(until([&] { return received == i + burst; }))
            << i << " sent before, " << received << " received, " << dropped(*first) + dropped(*second) << " dropped";
    }
    enough = true;
    one.join();
    other.join();
    EXPECT_GT(sent, 0U);
    for (kernel::xsk_socket_pair *socket : {first.get(), second.get()})
        EXPECT_TRUE(until([&] {
            first->reap();
            second->reap();
            return socket->has_room(transmit_frames);
        }));
    end_sockets();
    EXPECT_EQ(free_frames(), frames);
}

// The queue is another's again only when both have gone, in whichever order.
TEST_F(shared_queue_test, its_first_socket_may_go_first)
{
    first.reset();
    send(64);
    std::uint32_t received = 0;
    EXPECT_TRUE(until([&] { return (received += second->receive(64, [](const std::byte *, std::uint32_t) {})) > 8; }));
    end_sockets();
    EXPECT_EQ(free_frames(), frames);
}

class any_memory final : public protocol::memory_sink
{
public:
    std::expected<void, protocol::write_refusal> write(std::uint32_t, std::uint64_t,
                                                       std::span<const std::byte>) override
    {
        return {};
    }
};

kernel::mapping shared_page(std::size_t bytes)
{
    return {::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), bytes};
}

protocol::path_group_config one_path()
{
    protocol::path_group_config config;
    config.base = protocol::path_index{1};
    return config;
}

// A worker without engines, whose queue pairs the test speaks to behind its back: it finds them idle.
class overloaded_worker : public xsk_receive_test
{
protected:
    void SetUp() override
    {
        xsk_receive_test::SetUp();
        if (IsSkipped())
            return;
        worker = std::make_unique<datapath::worker>(
            datapath::worker_options{},
            datapath::worker::resources{.sockets = &sockets,
                                        .engines = std::vector<datapath::transmit_engine *>(MRC_MAX_PORTS),
                                        .paths = &paths,
                                        .qps = &qps,
                                        .overlay = &overlay,
                                        .write_verdict = [](std::uint32_t, std::uint64_t) { return false; },
                                        .on_peer_change = {},
                                        .on_path_state = {},
                                        .on_batch_done = {}});
        auto made = std::make_unique<datapath::worker_client>();
        client = made.get();
        client->bell_memory = shared_page(sizeof(session::bell_page));
        client->doorbell = kernel::unique_fd{::eventfd(0, EFD_CLOEXEC)};
        client->by_bell.resize(session::bell_page::queue_pairs);
        worker->add_client(std::move(made));
    }
    void TearDown() override { worker.reset(); }

    protocol::queue_pair &add_qp(std::uint32_t number)
    {
        auto qp = std::make_unique<datapath::worker_qp>();
        qp->number = protocol::qpn{number};
        qp->client = client;
        qp->bell = number;
        qp->peer.paths = &group;
        qp->peer.ports = &ports;
        qp->peer.planes = &planes;
        qp->congestion = &window;
        protocol::qp_config config;
        config.local = qp->number;
        config.peer = protocol::qpn{number};
        qp->protocol = std::make_unique<protocol::queue_pair>(config, protocol::qp_surroundings{group, sink, window});
        qp->sends = rings.sends(ring_memory.get());
        qp->receives = rings.receives(ring_memory.get());
        qp->send_completions = &completions;
        qp->receive_completions = &completions;
        protocol::queue_pair &core = *qp->protocol;
        worker->add_qp(std::move(qp));
        return core;
    }

    // What the queue pair's answer to a packet asks of the sender.
    unsigned penalty_of(protocol::queue_pair &qp)
    {
        protocol::data_packet data;
        data.sequence = protocol::psn{0}; // the same again is acknowledged again
        data.ack_request = true;
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        const protocol::instant at{std::chrono::duration_cast<protocol::duration>(now)};
        qp.on_packet(data, {}, {.entropy = {}, .path = protocol::path_index{1}, .at = at}, at);
        unsigned penalty = 999;
        while (const auto answer = qp.next_packet(at))
            if (const auto *sack = std::get_if<protocol::sack_packet>(&answer->content))
                penalty = sack->rcv_cwnd_penalty;
        return penalty;
    }
    [[nodiscard]] bool until_penalty(protocol::queue_pair &qp, unsigned penalty)
    {
        return until([&] {
            worker->round();
            return penalty_of(qp) == penalty;
        });
    }

    kernel::mapped_array<mrc_path_row> paths = table_in_memory<mrc_path_row>(MRC_USUAL_PATHS);
    kernel::mapped_array<mrc_qp_row> qps = table_in_memory<mrc_qp_row>(MRC_MAX_QPS);
    kernel::mapped_array<mrc_overlay_row> overlay = table_in_memory<mrc_overlay_row>(MRC_MAX_GROUPS);
    protocol::local_ports local{protocol::plane_mask{1}};
    protocol::path_group group{one_path(), local};
    protocol::port_status ports{{}, group};
    protocol::peer_planes planes{{}, group};
    protocol::fixed_window window{1 << 20};
    any_memory sink;
    session::queue_pair_layout rings{.send_capacity = 16, .receive_capacity = 16};
    kernel::mapping ring_memory = shared_page(rings.bytes());
    datapath::completion_ring completions{0, shared_page(session::completion_layout{16}.bytes()), 16, nullptr, nullptr};
    datapath::worker_client *client = nullptr;
    std::unique_ptr<datapath::worker> worker;
};

TEST_F(overloaded_worker, idle_queue_pairs_know_of_it_and_of_its_end)
{
    worker->add_peer({.address = {}, .paths = &group, .ports = &ports, .planes = &planes});
    protocol::queue_pair &idle = add_qp(16);
    EXPECT_TRUE(until_penalty(idle, 0));
    send(2 * share);
    EXPECT_TRUE(until_penalty(idle, 2));
    EXPECT_EQ(penalty_of(add_qp(17)), 2U) << "made meanwhile";
    EXPECT_TRUE(until_penalty(idle, 0));
}

} // namespace
} // namespace mrc::test
