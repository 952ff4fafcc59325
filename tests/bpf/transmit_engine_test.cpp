// SPDX-License-Identifier: Apache-2.0
//
// The transmit engines under the same tests: what is committed arrives at the far end of a veth pair byte by byte, in
// order, whole bursts of it, and nothing leaves through a port that is out of use. XDP transmit is tested alone, and
// with the AF_XDP rings for small bursts. And AF_XDP receive in front of host_rx.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "codec/outer_header.h"
#include "datapath/af_xdp_transmit.h"
#include "datapath/capture_tap.h"
#include "datapath/mixed_transmit.h"
#include "datapath/xdp_transmit.h"
#include "kernel/host_programs.h"
#include "kernel/monotonic_clock.h"
#include "kernel/probes/af_xdp.h"
#include "kernel/probes/device.h"
#include "kernel/transmit_counter.h"
#include "kernel/umem.h"
#include "kernel/xsk_socket_pair.h"
#include "private_network.h"
#include "prog_run.h"

namespace mrc::test
{
namespace
{

constexpr std::uint32_t plane = 2;
constexpr std::uint32_t path_row = 17;
constexpr std::uint32_t ring_size = 512;
constexpr std::uint16_t peer_host_usid = 0x8003;

mrc_ip address_ending_in(std::uint8_t last)
{
    return {{0xfd, 0x6d, 0x72, 0x63, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}};
}

// One port, on veth port0 whose far end leaf0 passes everything to a capture.
class one_port
{
public:
    explicit one_port(int mtu = 3400, bool multi_buffer = false)
    {
        private_network::veth("port0", "leaf0", mtu);
        network.attach_action(XDP_PASS, "leaf0", multi_buffer);
        kernel::port_attachment port{.device = "port0", .ifindex = static_cast<int>(private_network::ifindex("port0"))};
        port.config.port = plane;
        port.config.fabric = 1;
        port.multi_buffer = multi_buffer;
        kernel::host_programs_options options;
        options.pin_dir = "/sys/fs/bpf/mrc/test-engine-" + std::to_string(::getpid());
        options.scratch_device = "scratch%d";
        options.ports = {port};
        programs = std::make_unique<kernel::host_programs>(std::move(options));
        EXPECT_TRUE(programs->set_transmit_port(plane, port.ifindex));

        memory = std::make_unique<kernel::umem>(4 * ring_size, ring_size);
        socket = std::make_unique<kernel::xsk_socket_pair>(
            *memory,
            kernel::xsk_options{.device = "port0", .queue = 0, .ring_size = ring_size, .multi_buffer = multi_buffer});
        programs->set_socket(plane, 0, 0, socket->fd());
        programs->attach_ports();

        lead(path_row, plane, "port0");
    }

    // Describes the port, and one path that leaves by it.
    void lead(std::uint32_t path_number, std::uint8_t by, const std::string &device) const
    {
        mrc_port_row &row = programs->ports()[by];
        row.ifindex = private_network::ifindex(device);
        row.mtu = static_cast<__u16>(kernel::probes::mtu_of(device));
        std::memset(row.mac, 0x02, sizeof(row.mac));
        mrc_next_hop_row &gateway = programs->next_hops()[by];
        std::memset(gateway.mac, 0x06, sizeof(gateway.mac));
        gateway.resolved = 1;
        row.address = address_ending_in(1);
        row.flags = MRC_PORT_USABLE;
        mrc_path_row &path = programs->paths()[path_number];
        path.carrier = {{0xfc, 0xbb, 0xbb, 0, 0x22, 0, 0x12, 1, 0x22, 1, 0x02, 0}};
        path.host_usid_at = 10;
        path.plane = by;
        path.port = by;
        path.next_hop = by;
        path.state = MRC_PATH_GOOD;
    }

    [[nodiscard]] datapath::link_rows links() const
    {
        return {.paths = programs->paths(), .ports = programs->ports(), .next_hops = programs->next_hops()};
    }

    private_network network;
    std::unique_ptr<kernel::host_programs> programs;
    std::unique_ptr<kernel::umem> memory;
    std::unique_ptr<kernel::xsk_socket_pair> socket;
};

class engine_test : public testing::Test
{
protected:
    void use(const std::string &name, int mtu = 3400, std::uint32_t longest_packet = 3364 - MRC_OUTER_BYTES)
    {
        port = std::make_unique<one_port>(mtu, longest_packet > kernel::umem::frame_bytes - MRC_OUTER_BYTES);
        far_end = std::make_unique<capture>("leaf0");
        std::vector<kernel::xsk_socket_pair *> sockets(MRC_MAX_PORTS);
        sockets[plane] = port->socket.get();
        if (name != "af_xdp")
            frames = std::make_unique<datapath::xdp_transmit>(
                datapath::xdp_transmit_options{.program_fd = port->programs->push_program_fd(0),
                                               .slots_fd = port->programs->map_fd("push_slots"),
                                               .ring_fd = port->programs->map_fd("push_ring")});
        copies.emplace(port->programs->map_fd("capture_ring"), port->programs->map_fd("capture_slots"));
        if (name != "xdp")
            rings = std::make_unique<datapath::af_xdp_transmit>(*port->memory, sockets, port->links(), longest_packet,
                                                                &*copies);
        if (name == "mixed") {
            std::array<datapath::port_costs, MRC_MAX_PORTS> costs{};
            costs.fill(datapath::rings_up_to(small_burst));
            mixed = std::make_unique<datapath::mixed_transmit>(*frames, *rings, port->links(), costs, slow);
            engine = mixed.get();
        } else {
            engine = frames ? static_cast<datapath::transmit_engine *>(frames.get()) : rings.get();
        }
    }

    // Commits one inner packet of `bytes` and returns the frame that must arrive.
    packet_bytes commit(std::uint16_t bytes, std::uint32_t number, std::uint32_t path = path_row)
    {
        EXPECT_TRUE(engine->ready());
        const std::span<std::byte> inner = engine->reserve(path);
        EXPECT_GE(inner.size(), bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            inner[i] = static_cast<std::byte>(i * 7 + number);
        packet_bytes expected(codec::outer_header_bytes + bytes);
        codec::outer_header outer{.source = address_ending_in(1),
                                  .carrier = {{0xfc, 0xbb, 0xbb, 0, 0x22, 0, 0x12, 1, 0x22, 1, 0x82, 3}},
                                  .traffic_class = MRC_TCLASS(MRC_DSCP_TRIMMABLE, MRC_ECN_ECT0),
                                  .flow_label = 0x12345,
                                  .payload_length = bytes};
        std::ranges::fill(outer.source_mac, std::uint8_t{0x02});
        std::ranges::fill(outer.destination_mac, std::uint8_t{0x06});
        auto *out = reinterpret_cast<std::byte *>(expected.data());
        codec::write_outer(std::span<std::byte, codec::outer_header_bytes>{out, codec::outer_header_bytes}, outer);
        std::ranges::copy(inner.first(bytes), out + codec::outer_header_bytes);
        engine->commit({.path = path,
                        .host_usid = peer_host_usid,
                        .flow_label = 0x12345,
                        .tclass = MRC_TCLASS(MRC_DSCP_TRIMMABLE, MRC_ECN_ECT0),
                        .next_header = 41,
                        .bytes = bytes});
        return expected;
    }

    // Commits a burst, sends it and compares what arrives.
    void send_burst(std::uint32_t packets)
    {
        std::vector<packet_bytes> expected;
        expected.reserve(packets);
        for (std::uint32_t i = 0; i < packets; ++i)
            expected.push_back(commit(1000, ++numbered));
        engine->flush();
        EXPECT_EQ(engine->queued(), 0U);
        for (std::uint32_t i = 0; i < packets; ++i)
            ASSERT_EQ(far_end->next(), expected[i]) << "packet " << i << " of " << packets;
    }

    static constexpr std::uint32_t small_burst = 8; // goes by the rings
    std::unique_ptr<one_port> port;
    std::unique_ptr<capture> far_end;
    std::optional<datapath::capture_tap> copies;
    std::unique_ptr<datapath::xdp_transmit> frames;
    std::unique_ptr<datapath::af_xdp_transmit> rings;
    datapath::slow_devices slow; // of the mixed one
    std::unique_ptr<datapath::mixed_transmit> mixed;
    datapath::transmit_engine *engine = nullptr; // one of them
    std::uint32_t numbered = 0;                  // packets so far
};

class transmit_engines : public engine_test, public testing::WithParamInterface<const char *>
{
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root to load BPF programs";
        use(GetParam());
    }
};

TEST_P(transmit_engines, packets_arrive_byte_by_byte)
{
    for (const std::uint16_t bytes : std::initializer_list<std::uint16_t>{60, 61, 200, 1440, 3072, 3164}) {
        const packet_bytes expected = commit(bytes, ++numbered);
        engine->flush();
        EXPECT_EQ(far_end->next(), expected) << bytes << " bytes";
    }
    EXPECT_EQ(engine->counters().sent, numbered);
    EXPECT_EQ(engine->counters().refused, 0U);
    EXPECT_EQ(port->programs->ports()[plane].tx_packets, numbered);
    EXPECT_EQ(port->programs->paths()[path_row].tx_packets, numbered);
}

TEST_P(transmit_engines, the_outer_source_is_the_paths)
{
    constexpr std::uint32_t other_row = 24;
    constexpr std::size_t at = 14 + 8 + MRC_SOURCE_AT; // of the frame
    mrc_path_row &other = port->programs->paths()[other_row];
    other = port->programs->paths()[path_row];
    other.source = 200;
    packet_bytes marked = commit(200, ++numbered, other_row);
    const packet_bytes plain = commit(200, ++numbered);
    engine->flush();
    marked[at] = 200;
    EXPECT_EQ(far_end->next(), marked);
    EXPECT_EQ(plain[at], 0);
    EXPECT_EQ(far_end->next(), plain);
}

// Either kind of path writes the headers that it needs, whichever engine sends and whatever was sent before.
TEST_P(transmit_engines, a_direct_path_has_an_ethernet_header_only)
{
    constexpr std::uint32_t direct_row = 23;
    mrc_path_row &path = port->programs->paths()[direct_row];
    path = port->programs->paths()[path_row];
    path.kind = MRC_CARRIER_DIRECT;
    path.carrier = address_ending_in(2);
    path.tx_packets = path.tx_bytes = 0;
    for (std::uint32_t i = 0; i < 2 * small_burst; ++i) {
        const packet_bytes with_outer = commit(1000, ++numbered, i % 2 == 0 ? direct_row : path_row);
        engine->flush();
        packet_bytes expected = with_outer;
        if (i % 2 == 0)
            expected.erase(expected.begin() + MRC_ETHERNET_BYTES, expected.begin() + MRC_OUTER_BYTES);
        ASSERT_EQ(far_end->next(), expected) << i;
    }
    EXPECT_EQ(path.tx_packets, small_burst);
    EXPECT_EQ(path.tx_bytes, small_burst * (1000U + MRC_ETHERNET_BYTES));
}

TEST_P(transmit_engines, bursts_arrive_whole_and_in_order)
{
    constexpr std::uint32_t bursts = 20;
    constexpr std::uint32_t burst = 96; // more than one call takes
    for (std::uint32_t round = 0; round < bursts; ++round) {
        std::vector<packet_bytes> expected;
        expected.reserve(burst);
        for (std::uint32_t i = 0; i < burst; ++i)
            expected.push_back(commit(1000, round * burst + i));
        for (std::uint32_t i = 0; i < burst; ++i) {
            engine->flush(); // AF_XDP in copy mode sends 32 frames a call
            ASSERT_EQ(far_end->next(), expected[i]) << "burst " << round << ", packet " << i;
        }
    }
    EXPECT_TRUE(far_end->empty());
    EXPECT_EQ(engine->queued(), 0U);
    EXPECT_EQ(engine->counters().sent, bursts * burst);
}

TEST_P(transmit_engines, what_leaves_is_copied_while_a_capture_lasts)
{
    const kernel::mapped_array<mrc_capture_ring> ring{port->programs->map_fd("capture_ring"), 1, "capture_ring"};
    const kernel::mapped_array<mrc_capture_slot> slots{port->programs->map_fd("capture_slots"), MRC_CAPTURE_SLOTS,
                                                       "capture_slots"};
    send_burst(1);
    EXPECT_EQ(ring[0].producer, 0U) << "nobody captures";
    ring[0].snap_bytes = 500;
    ring[0].planes = 1U << plane;
    ring[0].lease_ns = UINT64_MAX;
    const packet_bytes expected = commit(1000, ++numbered);
    engine->flush();
    EXPECT_EQ(far_end->next(), expected);

    EXPECT_EQ(ring[0].producer, 1U);
    EXPECT_EQ(slots[0].number, 1U);
    EXPECT_EQ(slots[0].point, frames && !rings ? MRC_CAPTURE_PUSHED : MRC_CAPTURE_AF_XDP);
    EXPECT_EQ(slots[0].verdict, MRC_PUSH_SENT);
    EXPECT_EQ(slots[0].port, plane);
    EXPECT_EQ(slots[0].length, expected.size());
    EXPECT_EQ(slots[0].captured, 500);
    EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + 500, slots[0].bytes));
}

TEST_P(transmit_engines, nothing_leaves_through_a_port_out_of_use)
{
    port->programs->ports()[plane].flags = MRC_PORT_PRESENT | MRC_PORT_UP; // no neighbour
    commit(100, 1);
    engine->flush();
    EXPECT_TRUE(far_end->empty());
    EXPECT_EQ(engine->counters().sent, 0U);
    EXPECT_EQ(engine->counters().refused, 1U);

    port->programs->ports()[plane].flags = MRC_PORT_USABLE;
    const packet_bytes expected = commit(100, 2);
    engine->flush();
    EXPECT_EQ(far_end->next(), expected);
}

TEST_P(transmit_engines, frames_are_given_back)
{
    const std::size_t before = port->memory->free_frames();
    for (std::uint32_t i = 0; i < 4 * ring_size; ++i) {
        commit(500, i);
        engine->flush();
        ASSERT_FALSE(far_end->next().empty());
    }
    engine->flush();
    // AF_XDP keeps one frame in hand for the next packet.
    EXPECT_GE(port->memory->free_frames() + 1, before);
}

INSTANTIATE_TEST_SUITE_P(engines, transmit_engines, testing::Values("xdp", "mixed", "af_xdp"),
                         [](const auto &engine) { return std::string{engine.param}; });

class mixed_engine : public engine_test
{
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root to load BPF programs";
        use("mixed");
    }
};

TEST_F(mixed_engine, small_bursts_leave_by_the_rings_and_others_by_live_frames)
{
    send_burst(1);
    send_burst(small_burst);
    EXPECT_EQ(rings->counters().sent, 1 + small_burst);
    EXPECT_EQ(frames->counters().sent, 0U);
    send_burst(small_burst + 1);
    EXPECT_EQ(rings->counters().sent, 1 + small_burst);
    EXPECT_EQ(frames->counters().sent, small_burst + 1);
    send_burst(1);
    EXPECT_EQ(rings->counters().sent, 2 + small_burst);
    EXPECT_EQ(engine->counters().sent, 3 + 2 * small_burst);
    EXPECT_EQ(engine->counters().refused, 0U);
    EXPECT_EQ(port->programs->ports()[plane].tx_packets, 3 + 2 * small_burst);
}

TEST_F(mixed_engine, bursts_of_all_sizes_arrive_in_order)
{
    for (std::uint32_t packets = 1; packets <= 200; packets += packets < 16 ? 1 : 23)
        send_burst(packets);
    for (std::uint32_t i = 0; i < 2 * MRC_PUSH_SLOTS; ++i) // the slots wrap
        send_burst(1 + i % 12);
}

// The kernel takes as many as its ring has room for; the rest waits for the next flush, and nothing is lost or twice.
TEST_F(mixed_engine, everything_leaves_by_the_rings_while_calls_have_to_wait)
{
    frames->calls().give_up();
    ASSERT_FALSE(frames->calls().in_use());
    for (const std::uint32_t packets : {1U, 64U, 30U})
        send_burst(packets);
    EXPECT_EQ(frames->counters().sent, 0U);
    (void)frames->calls().try_one(); // finds nothing to send, however long that takes
    EXPECT_EQ(frames->counters().sent + frames->counters().refused, 0U);

    std::vector<packet_bytes> expected;
    while (expected.size() < 700 && engine->ready()) // more than the socket may hold
        expected.push_back(commit(200, ++numbered));
    ASSERT_EQ(expected.size(), 700U);
    std::size_t arrived = 0;
    for (int flushes = 0; arrived < expected.size() && flushes < 1000; ++flushes) {
        engine->flush();
        for (; arrived < expected.size() - engine->queued(); ++arrived)
            ASSERT_EQ(far_end->next(), expected[arrived]) << "packet " << arrived;
        if (flushes == 0)
            frames->calls().give_back(); // in the middle: what has begun by the rings ends by them
    }
    EXPECT_EQ(engine->queued(), 0U);
    EXPECT_TRUE(far_end->empty());
    EXPECT_EQ(frames->counters().sent, 0U);
    send_burst(64);
    EXPECT_EQ(frames->counters().sent, 64U);
}

// A device that seems to send as many packets as `device_sent` says.
class mixed_engine_on_a_slow_device : public engine_test
{
protected:
    static constexpr std::uint32_t bound = 100;
    static constexpr std::uint32_t burst = 50;

    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root to load BPF programs";
        slow[plane] =
            datapath::slow_device{.frames = bound, .sent = [this] { return counter ? counter->read() : device_sent; }};
        use("mixed");
    }
    [[nodiscard]] std::uint64_t held() const { return port->programs->ports()[plane].tx_held; }

    std::optional<std::uint64_t> device_sent = 7;
    std::optional<kernel::transmit_counter> counter; // instead of that
};

TEST_F(mixed_engine_on_a_slow_device, gets_no_more_live_frames_than_its_bound)
{
    send_burst(burst);
    send_burst(burst);
    EXPECT_EQ(frames->counters().sent, 2 * burst);
    EXPECT_EQ(held(), 0U);
    send_burst(burst); // arrives as well, by the rings
    EXPECT_EQ(frames->counters().sent, 2 * burst);
    EXPECT_EQ(rings->counters().sent, burst);
    EXPECT_EQ(held(), burst);
    send_burst(small_burst); // goes by the rings anyhow
    EXPECT_EQ(held(), burst);
}

TEST_F(mixed_engine_on_a_slow_device, gets_live_frames_again_when_it_has_sent_them)
{
    for (int bursts = 0; bursts < 3; ++bursts)
        send_burst(burst);
    ASSERT_EQ(held(), burst);
    *device_sent += std::uint64_t{3} * burst;
    const protocol::instant since = kernel::monotonic_now();
    while (kernel::monotonic_now() - since < datapath::frames_in_flight::between_looks)
        ;
    send_burst(burst);
    EXPECT_EQ(frames->counters().sent, 3 * burst);
    EXPECT_EQ(held(), burst);
}

TEST_F(mixed_engine_on_a_slow_device, that_does_not_tell_gets_none)
{
    device_sent.reset();
    send_burst(burst);
    EXPECT_EQ(frames->counters().sent, 0U);
    EXPECT_EQ(held(), burst);
}

// The counter that mrcd reads, of a device that gives frames back at once: nothing is ever held.
TEST_F(mixed_engine_on_a_slow_device, whose_counter_is_the_kernels)
{
    counter.emplace("port0");
    const auto before = kernel::probes::transmitted_packets("port0");
    ASSERT_TRUE(before);
    for (int bursts = 0; bursts < 40; ++bursts)
        send_burst(burst);
    EXPECT_EQ(frames->counters().sent, 40 * burst);
    EXPECT_EQ(held(), 0U);
    EXPECT_GE(kernel::probes::transmitted_packets("port0"), *before + std::uint64_t{40} * burst);
    EXPECT_FALSE(kernel::transmit_counter{"port"}.read());
    EXPECT_FALSE(kernel::transmit_counter{"port00"}.read());
}

// Whether the kernel has AF_XDP sockets for packets of several buffers at all.
kernel::probes::attempt try_several_buffers()
{
    const private_network network;
    private_network::veth("port0", "leaf0", 3400);
    return kernel::probes::try_af_xdp(
        {.ifindex = static_cast<int>(private_network::ifindex("port0")), .queue = 0, .multi_buffer = true});
}

TEST_F(engine_test, packets_longer_than_a_frame_leave_in_several_buffers)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to load BPF programs";
    if (const auto several = try_several_buffers(); several.error == EINVAL) // of the flag; other refusals fail below
        GTEST_SKIP() << "this kernel has no AF_XDP for packets of several buffers: " << several.text();
    use("af_xdp", 9000, 8400);
    for (const std::uint16_t bytes :
         std::initializer_list<std::uint16_t>{100, 4041, 4042, 4043, 4096, 4188, 4228, 8137, 8138, 8139, 8400}) {
        const packet_bytes expected = commit(bytes, ++numbered);
        engine->flush();
        EXPECT_EQ(far_end->next(), expected) << bytes << " bytes";
    }
    for (std::uint32_t i = 0; i < 200; ++i) {
        const packet_bytes expected = commit(4188, ++numbered);
        engine->flush();
        ASSERT_EQ(far_end->next(), expected) << "packet " << i;
    }
    EXPECT_EQ(engine->counters().sent, numbered);
}

// A port whose packets are held for ever behind its far end, by a token bucket that hardly fills; unlike at a link that
// is down, nothing but missing completions tells of it.
class engine_beside_a_stuck_port : public engine_test
{
protected:
    static constexpr std::uint8_t stuck_plane = plane + 1;
    static constexpr std::uint32_t stuck_row = path_row + 1;
    static constexpr std::uint32_t stuck_frames = 64;

    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root to load BPF programs";
        use("af_xdp");
        private_network::veth("port1", "leaf1", 3400);
        private_network::veth("held0", "held1", 3400);
        tc("qdisc add dev held0 root tbf rate 8bit burst 4k limit 1m");
        tc("qdisc add dev leaf1 clsact");
        tc("filter add dev leaf1 ingress protocol all u32 match u32 0 0 action mirred egress redirect dev held0");
        port->lead(stuck_row, stuck_plane, "port1");
        stuck = std::make_unique<kernel::xsk_socket_pair>(
            *port->memory,
            kernel::xsk_options{.device = "port1", .ring_size = ring_size, .transmit_frames = stuck_frames});
        std::vector<kernel::xsk_socket_pair *> sockets(MRC_MAX_PORTS);
        sockets[plane] = port->socket.get();
        sockets[stuck_plane] = stuck.get();
        rings = std::make_unique<datapath::af_xdp_transmit>(*port->memory, sockets, port->links());
        engine = rings.get();
    }
    void TearDown() override
    {
        rings.reset();
        stuck.reset();
    }

    static void tc(const std::string &arguments)
    {
        // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
        ASSERT_EQ(std::system(("tc " + arguments).c_str()), 0) << arguments;
    }

    // Commits packets for the stuck port, whenever the engine is ready, until `done`.
    template <typename Condition>
    [[nodiscard]] bool feed(Condition done)
    {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
        while (!done() && std::chrono::steady_clock::now() < deadline) {
            if (engine->ready())
                commit(500, 1, stuck_row);
            engine->flush();
        }
        return done();
    }

    std::unique_ptr<kernel::xsk_socket_pair> stuck;
};

TEST_F(engine_beside_a_stuck_port, the_other_ports_go_on)
{
    ASSERT_TRUE(feed([&] { return engine->counters().refused != 0; }))
        << "the engine waits for the stuck port for ever";
    const std::uint64_t held = engine->counters().sent;
    EXPECT_GE(held, stuck_frames); // what the token bucket lets pass comes on top
    EXPECT_LT(held, 2 * stuck_frames);
    constexpr std::uint64_t beside = std::uint64_t{2} * ring_size;
    for (std::uint32_t i = 0; i < beside; ++i) {
        const packet_bytes expected = commit(500, i);
        engine->flush();
        ASSERT_EQ(far_end->next(), expected) << "packet " << i;
    }
    EXPECT_EQ(engine->counters().sent, held + beside);

    tc("qdisc del dev held0 root"); // drops what it holds
    EXPECT_TRUE(feed([&] { return engine->counters().sent > held + beside; })) << "it never sends again";
}

TEST(host_programs, leave_nothing_pinned_or_attached)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to load BPF programs";
    one_port port;
    const std::string pins = "/sys/fs/bpf/mrc/test-engine-" + std::to_string(::getpid());
    EXPECT_EQ(::access((pins + "/paths").c_str(), F_OK), 0);
    port.programs.reset();
    EXPECT_NE(::access(pins.c_str(), F_OK), 0);
    EXPECT_NE(std::system("ip link show port0 | grep -q xdp"), 0); // NOLINT(concurrency-mt-unsafe): one thread
    EXPECT_NE(std::system("ip link show scratch0 2>/dev/null | grep -q scratch0"), 0); // NOLINT(concurrency-mt-unsafe)
}

} // namespace
} // namespace mrc::test
