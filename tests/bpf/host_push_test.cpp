// SPDX-License-Identifier: Apache-2.0
//
// host_push: every output byte by single runs, and whole bursts of live frames across a veth pair.
#include <linux/bpf.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <iostream>
#include <utility>

#include "host_fixture.h"
#include "private_network.h"

#include "host_push.skel.h"

namespace mrc::test
{
namespace
{

constexpr std::uint32_t path_to_peer = 101;
constexpr std::uint32_t path_without_port = 102;
constexpr std::uint16_t peer_host_usid = 0x8003;
constexpr std::uint16_t port_mtu = 3400;

mrc_port_row usable_port(std::uint32_t ifindex)
{
    mrc_port_row port{};

    port.ifindex = ifindex;
    port.flags = MRC_PORT_USABLE;
    port.mtu = port_mtu;
    std::ranges::copy(port_mac, std::begin(port.mac));
    port.address = to_ip(host_plane_address);
    return port;
}

mrc_path_row path_by_port(std::uint8_t port)
{
    mrc_path_row path{};

    path.carrier = to_ip(ip6("fcbb:bb00:2200:1201:2201:200::"));
    path.host_usid_at = 10;
    path.state = MRC_PATH_GOOD;
    path.plane = 2;
    path.port = port;
    path.next_hop = port;
    return path;
}

// Rows of an mmapable array, as the agent's worker sees them.
template <typename row_type>
class mapped_rows
{
public:
    mapped_rows(const bpf_map *map, std::size_t rows)
        : rows_(static_cast<row_type *>(
              mmap(nullptr, rows * sizeof(row_type), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0))),
          bytes_(rows * sizeof(row_type))
    {
        if (rows_ == MAP_FAILED)
            throw std::system_error(errno, std::generic_category(), bpf_map__name(map));
    }
    mapped_rows(const mapped_rows &) = delete;
    mapped_rows &operator=(const mapped_rows &) = delete;
    ~mapped_rows() { munmap(rows_, bytes_); }

    row_type &operator[](std::size_t row) { return rows_[row]; }

private:
    row_type *rows_;
    std::size_t bytes_;
};

class host_push : public testing::Test
{
protected:
    void SetUp() override
    {
        if (!may_load_bpf())
            GTEST_SKIP() << "needs root to load BPF programs";
        network_ = std::make_unique<private_network>();
        private_network::veth("port0", "leaf0", port_mtu);
        private_network::veth("scratch0", "scratch1", 1500);
        skeleton_ = host_push_bpf__open_and_load();
        ASSERT_NE(skeleton_, nullptr);
        network_->attach_action(receiver_, "leaf0");
        network_->attach_xdp(fd(), "scratch0");
        slots_ = std::make_unique<mapped_rows<mrc_push_slot>>(skeleton_->maps.push_slots, MRC_PUSH_SLOTS);
        ring_ = std::make_unique<mapped_rows<mrc_push_ring>>(skeleton_->maps.push_ring, 1);
        update(skeleton_->maps.ports, host_port, usable_port(private_network::ifindex("port0")));
        update(skeleton_->maps.next_hops, host_port, next_hop_at(gateway_mac));
        update(skeleton_->maps.paths, path_to_peer, path_by_port(host_port));
        update(skeleton_->maps.paths, path_without_port, path_by_port(host_port + 1));
        update(skeleton_->maps.tx_ports, host_port, private_network::ifindex("port0"));
    }

    void TearDown() override
    {
        network_.reset();
        host_push_bpf__destroy(skeleton_);
    }

    [[nodiscard]] int fd() const { return bpf_program__fd(skeleton_->progs.host_push); }
    mrc_push_ring &ring() { return (*ring_)[0]; }

    // Queues one inner packet as the worker does, and returns the frame that must leave for it.
    packet_bytes queue(std::uint32_t length, std::uint32_t path = path_to_peer)
    {
        mrc_push_slot &slot = (*slots_)[std::size_t{ring().producer % MRC_PUSH_SLOTS}];
        const packet_bytes inner = inner_packet(length);

        slot.length = length;
        slot.path = path;
        slot.flow_label = 0x10000 + ring().producer;
        slot.tclass = MRC_TCLASS(MRC_DSCP_TRIMMABLE, MRC_ECN_ECT0);
        slot.hop_limit = 64;
        slot.next_header = IPPROTO_IPV6;
        slot.host_usid = peer_host_usid;
        std::memcpy(slot.inner, inner.data(), std::min(inner.size(), sizeof(slot.inner)));
        packet_bytes expected = packet_builder()
                                    .ethernet({.destination = gateway_mac, .source = port_mac})
                                    .ipv6({.source = host_plane_address,
                                           .destination = ip6("fcbb:bb00:2200:1201:2201:8203::"),
                                           .dscp = MRC_DSCP_TRIMMABLE,
                                           .ecn = MRC_ECN_ECT0,
                                           .flow_label = slot.flow_label})
                                    .bytes(inner)
                                    .build();
        std::atomic_ref(ring().producer).store(ring().producer + 1, std::memory_order_release);
        return expected;
    }

    // Differs from packet to packet.
    packet_bytes inner_packet(std::uint32_t length)
    {
        packet_bytes bytes(std::min<std::size_t>(length, MRC_PUSH_SLOT_BYTES));

        for (std::size_t i = 0; i < bytes.size(); i++)
            bytes[i] = static_cast<std::uint8_t>(i * 5 + std::size_t{ring().producer} * 3 + (i >> 8));
        return bytes;
    }

    // One live call. 0, or errno: EINTR says nothing about what left.
    int run_live(std::uint32_t frames, std::uint32_t batch = 64)
    {
        static const packet_bytes blank(MRC_PUSH_BLANK_BYTES);
        LIBBPF_OPTS(bpf_test_run_opts, opts);
        opts.data_in = blank.data();
        opts.data_size_in = static_cast<__u32>(blank.size());
        opts.repeat = static_cast<int>(frames);
        opts.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
        opts.batch_size = batch;
        return -bpf_prog_test_run_opts(fd(), &opts);
    }

    [[nodiscard]] std::int64_t count(mrc_verdict verdict) const
    {
        return verdict_counts(skeleton_->maps.verdicts).of(verdict);
    }

    // A slot that must be consumed, counted and not sent.
    void expect_refused(mrc_verdict verdict, const packet_bytes &blank = packet_bytes(MRC_PUSH_BLANK_BYTES))
    {
        const std::int64_t before = count(verdict);
        const mrc_push_ring ring_before = ring();
        const prog_run_result result = run_prog(fd(), blank);

        EXPECT_EQ(result.error, 0);
        EXPECT_EQ(result.verdict, XDP_DROP);
        EXPECT_EQ(count(verdict) - before, 1) << "verdict " << verdict;
        EXPECT_EQ(ring().consumer, ring_before.consumer + 1);
        EXPECT_EQ(ring().refused, ring_before.refused + 1);
        EXPECT_EQ(ring().sent, ring_before.sent);
    }

    xdp_action receiver_ = XDP_PASS;
    host_push_bpf *skeleton_ = nullptr;
    std::unique_ptr<private_network> network_;
    std::unique_ptr<mapped_rows<mrc_push_slot>> slots_;
    std::unique_ptr<mapped_rows<mrc_push_ring>> ring_;
};

class host_push_direct : public host_push
{
protected:
    static constexpr std::uint32_t direct_path = 103;
    static constexpr std::uint32_t its_next_hop = MRC_NEXT_HOP_ROW(1, 2);
    static constexpr mac_address neighbour_mac{0x02, 0, 0, 0, 0, 0x33};

    void SetUp() override
    {
        host_push::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        mrc_path_row path = path_by_port(host_port);
        path.kind = MRC_CARRIER_DIRECT;
        path.carrier = to_ip(peer_plane_address);
        path.next_hop = its_next_hop;
        update(skeleton_->maps.paths, direct_path, path);
        update(skeleton_->maps.next_hops, its_next_hop, next_hop_at(neighbour_mac));
    }

    // As queue(), of a path without an outer header.
    packet_bytes queue_direct(std::uint32_t length, std::uint8_t next_header = IPPROTO_IPV6)
    {
        const packet_bytes inner = inner_packet(length);
        mrc_push_slot &slot = (*slots_)[std::size_t{ring().producer % MRC_PUSH_SLOTS}];

        queue(length, direct_path);
        slot.next_header = next_header;
        const std::uint16_t type = next_header == IPPROTO_IPIP ? ETH_P_IP : ETH_P_IPV6;
        return packet_builder()
            .ethernet({.destination = neighbour_mac, .source = port_mac, .type = type})
            .bytes(inner)
            .build();
    }
};

class host_push_to_dropping_receiver : public host_push
{
protected:
    host_push_to_dropping_receiver() { receiver_ = XDP_DROP; }

    // Nanoseconds per frame of `calls` calls with `burst` slots each, which are filled once and sent again and again.
    std::int64_t ns_per_frame(std::uint32_t calls, std::uint32_t burst)
    {
        const auto start = std::chrono::steady_clock::now();

        for (std::uint32_t call = 0; call < calls; call++) {
            ring().producer += burst;
            EXPECT_EQ(run_live(burst), 0);
        }
        const auto took = std::chrono::steady_clock::now() - start;
        const auto frames = std::max(std::int64_t{calls} * burst, std::int64_t{1});
        return std::chrono::duration_cast<std::chrono::nanoseconds>(took).count() / frames;
    }
};

TEST_F(host_push, writes_every_byte_of_the_slots_packet)
{
    for (const std::uint32_t length : {20U, 82U, 1000U, 3072U + 92U, MRC_PUSH_FRAME_MAX - MRC_OUTER_BYTES + 0U}) {
        SCOPED_TRACE(length);
        const packet_bytes expected = queue(length);
        const prog_run_result result = run_prog(fd(), packet_bytes(MRC_PUSH_BLANK_BYTES, 0xEE));

        EXPECT_EQ(result.verdict, XDP_REDIRECT);
        EXPECT_TRUE(same_bytes(expected, result.packet));
    }
    EXPECT_EQ(ring().consumer, 5U);
    EXPECT_EQ(ring().sent, 5U);
    EXPECT_EQ(ring().refused, 0U);
    EXPECT_EQ(count(MRC_PUSH_SENT), 5);
}

TEST_F(host_push, copies_what_leaves_for_a_capture_that_lasts)
{
    constexpr std::uint32_t length = sizeof(ipv6hdr) + sizeof(udphdr) + sizeof(mrc_bth) + 100;
    const packet_bytes unseen = queue(length);
    run_prog(fd(), packet_bytes(MRC_PUSH_BLANK_BYTES));
    mrc_capture_ring wanted{};
    wanted.lease_ns = ~0ULL;
    wanted.planes = 0xFF;
    wanted.snap_bytes = MRC_CAPTURE_SNAP_MAX;
    update(skeleton_->maps.capture_ring, std::uint32_t{0}, wanted);
    const packet_bytes seen = queue(length);
    run_prog(fd(), packet_bytes(MRC_PUSH_BLANK_BYTES));
    run_prog(fd(), packet_bytes(MRC_PUSH_BLANK_BYTES)); // nothing to send

    const auto after = lookup<mrc_capture_ring>(skeleton_->maps.capture_ring, std::uint32_t{0});
    EXPECT_EQ(after.producer, 1U);
    const auto copy = lookup<mrc_capture_slot>(skeleton_->maps.capture_slots, std::uint32_t{0});
    EXPECT_EQ(copy.number, 1U);
    EXPECT_EQ(copy.point, MRC_CAPTURE_PUSHED);
    EXPECT_EQ(copy.verdict, MRC_PUSH_SENT);
    EXPECT_EQ(copy.port, host_port);
    EXPECT_TRUE(same_bytes(seen, std::span(copy.bytes).first(copy.captured)));
    const std::span<const std::uint8_t> bth = std::span(copy.bytes).subspan(MRC_OUTER_BYTES + 40 + 8);
    wanted.qpn = 1;
    wanted.peer_qpn = mrc_get24(bth.data() + offsetof(mrc_bth, dqp)) + 1;
    update(skeleton_->maps.capture_ring, std::uint32_t{0}, wanted);
    queue(length);
    run_prog(fd(), packet_bytes(MRC_PUSH_BLANK_BYTES));
    EXPECT_EQ(lookup<mrc_capture_ring>(skeleton_->maps.capture_ring, std::uint32_t{0}).producer, 0U)
        << "a packet to another queue pair";
}

TEST_F(host_push_direct, a_packet_goes_to_the_paths_next_hop_as_it_is)
{
    for (const std::uint32_t length : {68U, 1000U, 3072U + 92U, std::uint32_t{port_mtu} - 60U}) {
        SCOPED_TRACE(length);
        const packet_bytes expected = queue_direct(length);
        const prog_run_result result = run_prog(fd(), packet_bytes(MRC_PUSH_BLANK_BYTES, 0xEE));

        EXPECT_EQ(result.verdict, XDP_REDIRECT);
        EXPECT_TRUE(same_bytes(expected, result.packet));
    }
    const packet_bytes ipv4 = queue_direct(500, IPPROTO_IPIP);
    EXPECT_TRUE(same_bytes(ipv4, run_prog(fd(), packet_bytes(MRC_PUSH_BLANK_BYTES)).packet));
    EXPECT_EQ(lookup<mrc_path_row>(skeleton_->maps.paths, direct_path).tx_bytes,
              68U + 1000U + 3164U + 3340U + 500U + 5U * ETH_HLEN);
}

TEST_F(host_push_direct, without_a_next_hop_nothing_leaves)
{
    update(skeleton_->maps.next_hops, its_next_hop, mrc_next_hop_row{});
    queue_direct(100);
    expect_refused(MRC_PUSH_NO_PORT);
    const std::uint32_t drops_row = host_port * MRC_DROP_VERDICTS + MRC_PUSH_NO_PORT;
    EXPECT_EQ(lookup<mrc_drop_row>(skeleton_->maps.drops, drops_row).packets, 1U) << "which the port's drops have";
    update(skeleton_->maps.next_hops, its_next_hop, next_hop_at(neighbour_mac));
    const packet_bytes expected = queue_direct(100);
    EXPECT_TRUE(same_bytes(expected, run_prog(fd(), packet_bytes(MRC_PUSH_BLANK_BYTES)).packet));
}

TEST_F(host_push, counts_path_and_port)
{
    const std::size_t bytes = queue(1000).size() + queue(500).size();
    run_prog(fd(), packet_bytes(MRC_PUSH_BLANK_BYTES));
    run_prog(fd(), packet_bytes(MRC_PUSH_BLANK_BYTES));

    const auto path = lookup<mrc_path_row>(skeleton_->maps.paths, path_to_peer);
    const auto port = lookup<mrc_port_row>(skeleton_->maps.ports, host_port);
    EXPECT_EQ(path.tx_packets, 2U);
    EXPECT_EQ(path.tx_bytes, bytes);
    EXPECT_EQ(port.tx_packets, 2U);
    EXPECT_EQ(port.tx_bytes, bytes);
    EXPECT_EQ(port.last_tx_ns, ring().last_send_ns);
    EXPECT_NE(port.last_tx_ns, 0U);
}

TEST_F(host_push, empty_ring_drops_the_blank_frame)
{
    const prog_run_result result = run_prog(fd(), packet_bytes(MRC_PUSH_BLANK_BYTES));

    EXPECT_EQ(result.verdict, XDP_DROP);
    EXPECT_EQ(count(MRC_PUSH_EMPTY), 1);
    EXPECT_EQ(ring().consumer, 0U);
    EXPECT_EQ(ring().refused, 0U);
}

TEST_F(host_push, bad_slots_are_consumed_and_counted)
{
    for (const std::uint32_t length : {0U, 19U, 4077U, 65536U, 0x80000000U, 0xFFFFFFFFU}) {
        SCOPED_TRACE(length);
        queue(length);
        expect_refused(MRC_PUSH_BAD_SLOT);
    }
    for (const std::uint32_t path : {0U, path_to_peer - 1, MRC_USUAL_PATHS + 0U, 0xFFFFFFFFU}) {
        SCOPED_TRACE(path);
        queue(100, path);
        expect_refused(MRC_PUSH_BAD_SLOT);
    }
    queue(port_mtu - 40 + 1);
    expect_refused(MRC_PUSH_BAD_SLOT);
}

// Longer than any page has room for beside the kernel's own, though the port would take it.
TEST_F(host_push, a_packet_that_no_frame_holds_is_refused)
{
    mrc_port_row port = usable_port(private_network::ifindex("port0"));
    port.mtu = 9000;
    update(skeleton_->maps.ports, host_port, port);
    queue(MRC_PUSH_SLOT_BYTES - 20);
    expect_refused(MRC_PUSH_STORE);
}

TEST_F(host_push, a_longer_blank_is_cut)
{
    const packet_bytes expected = queue(100);
    const prog_run_result result = run_prog(fd(), packet_bytes(MRC_PUSH_FRAME_MAX, 0xEE));

    EXPECT_EQ(result.verdict, XDP_REDIRECT);
    EXPECT_TRUE(same_bytes(expected, result.packet));
}

TEST_F(host_push, unusable_ports_are_refused)
{
    queue(100, path_without_port);
    expect_refused(MRC_PUSH_NO_PORT);
    for (const std::uint32_t missing : {MRC_PORT_PRESENT, MRC_PORT_UP, MRC_PORT_NEIGHBOUR}) {
        mrc_port_row port = usable_port(private_network::ifindex("port0"));
        port.flags &= ~missing;
        update(skeleton_->maps.ports, host_port, port);
        queue(100);
        expect_refused(MRC_PUSH_NO_PORT);
    }
    update(skeleton_->maps.ports, host_port, usable_port(1));
    ASSERT_EQ(bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.tx_ports), &host_port), 0);
    queue(100);
    expect_refused(MRC_PUSH_NO_PORT);
}

TEST_F(host_push, live_frames_arrive_byte_for_byte_in_order)
{
    const capture arrivals("leaf0");
    std::vector<packet_bytes> expected;

    // Sizes grow and shrink, so that a frame too short from an earlier run would be seen; the ring wraps.
    for (std::uint32_t round = 0; round < 24; round++) {
        for (std::uint32_t i = 0; i < 64; i++)
            expected.push_back(queue(60 + (i * 977 + round * 131) % 3250));
        ASSERT_EQ(run_live(64), 0);
    }
    for (std::size_t i = 0; i < expected.size(); i++) {
        SCOPED_TRACE(i);
        ASSERT_TRUE(same_bytes(expected[i], arrivals.next()));
    }
    EXPECT_TRUE(arrivals.empty());
    EXPECT_EQ(ring().consumer, expected.size());
    EXPECT_EQ(ring().sent, expected.size());
}

TEST_F(host_push, a_call_longer_than_the_queue_sends_each_slot_once)
{
    const capture arrivals("leaf0");
    const packet_bytes first = queue(100);
    const packet_bytes second = queue(200);

    ASSERT_EQ(run_live(64), 0);
    EXPECT_TRUE(same_bytes(first, arrivals.next()));
    EXPECT_TRUE(same_bytes(second, arrivals.next()));
    EXPECT_TRUE(arrivals.empty());
    EXPECT_EQ(count(MRC_PUSH_EMPTY), 62);
}

// A signal ends the call between two batches. Whatever it returns, running again sends the rest and nothing twice.
TEST_F(host_push, interrupted_calls_resume_at_the_consumer)
{
    struct sigaction quiet{};
    quiet.sa_handler = [](int) {};
    struct sigaction before{};
    sigaction(SIGUSR1, &quiet, &before);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    timer_t timer{};
    ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    const capture arrivals("leaf0");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    bool cut_in_the_middle = false;

    for (long delay_ns = 20'000; !cut_in_the_middle && std::chrono::steady_clock::now() < deadline;
         delay_ns = delay_ns % 500'000 + 7'000) {
        const std::uint32_t start = ring().consumer;
        std::vector<packet_bytes> expected;
        expected.reserve(128);
        for (std::uint32_t i = 0; i < 128; i++)
            expected.push_back(queue(200));
        const itimerspec once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = delay_ns}};
        timer_settime(timer, 0, &once, nullptr);
        for (int error = EINTR; ring().consumer != ring().producer;) {
            error = run_live(ring().producer - ring().consumer, 4);
            ASSERT_TRUE(error == 0 || error == EINTR);
            const std::uint32_t done = ring().consumer - start;
            cut_in_the_middle |= error == EINTR && done > 0 && done < 128;
        }
        for (const packet_bytes &each : expected)
            ASSERT_TRUE(same_bytes(each, arrivals.next()));
        ASSERT_TRUE(arrivals.empty());
    }
    EXPECT_TRUE(cut_in_the_middle) << "no call was interrupted between its first and last frame";
    timer_delete(timer);
    sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(host_push_to_dropping_receiver, cost)
{
    constexpr std::uint32_t calls = 1000;
    constexpr std::uint32_t burst = 64;

    for (const std::uint32_t length : {128U, 3164U}) {
        ring().producer = ring().consumer;
        for (std::uint32_t i = 0; i < MRC_PUSH_SLOTS; i++)
            queue(length);
        ring().producer = ring().consumer;
        const std::uint64_t sent_before = ring().sent;
        const std::int64_t whole = ns_per_frame(calls, burst);
        const run_time time(fd());
        ns_per_frame(calls, burst);
        EXPECT_EQ(ring().sent - sent_before, std::uint64_t{2} * calls * burst);
        std::cout << "host_push: " << length + MRC_OUTER_BYTES << "-byte frames, " << burst
                  << " a call, into a veth whose peer drops: " << whole << " ns per frame, of it " << time.ns_per_run()
                  << " ns the program\n";
    }
}

} // namespace
} // namespace mrc::test
