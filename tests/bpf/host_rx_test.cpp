// SPDX-License-Identifier: Apache-2.0
//
// host_rx, packet by packet: what is steered to the agent, with every output byte, metadata and rows.
#include <iostream>
#include <random>

#include "host_rx_fixture.h"

namespace mrc::test
{
namespace
{

constexpr std::uint32_t ev_of_peer = 0x0003C0DE; // plane 6 of 4: out of range on purpose where it is used

class host_rx_without_socket : public host_rx
{
protected:
    host_rx_without_socket() { settings_.socket = false; }
};

class host_rx_multi_buffer : public host_rx
{
protected:
    host_rx_multi_buffer() { settings_.multi_buffer = true; }
};

TEST_F(host_rx, steers_data_with_metadata_and_counts_its_path)
{
    const packet_bytes packet = encapsulated({});
    const mrc_rx_meta meta = expect_steered(packet, plain({}));

    EXPECT_EQ(meta.ev, ev_plane2_uplink1);
    EXPECT_EQ(meta.path, row_of(2, 1));
    EXPECT_EQ(meta.qp_row, host_qp_row);
    EXPECT_EQ(meta.kind, MRC_KIND_DATA);
    EXPECT_EQ(meta.flags, MRC_RX_ENCAPSULATED);

    const mrc_signal_row signal = program_->signal(row_of(2, 1));
    EXPECT_EQ(signal.packets, 1U);
    EXPECT_EQ(signal.bytes, packet.size());
    EXPECT_EQ(signal.ce, 0U);
    EXPECT_EQ(signal.trims, 0U);
    EXPECT_EQ(signal.acks, 0U);
    EXPECT_EQ(signal.last_arrival_ns, meta.arrival_ns);
    EXPECT_EQ(program_->port().rx_packets, 1U);
    EXPECT_EQ(program_->port().rx_bytes, packet.size());
}

TEST_F(host_rx, steers_every_kind)
{
    const std::pair<std::uint8_t, mrc_rx_kind> kinds[] = {
        {MRC_OP_WRITE_FIRST, MRC_KIND_DATA},
        {MRC_OP_WRITE_MIDDLE, MRC_KIND_DATA},
        {MRC_OP_WRITE_LAST, MRC_KIND_DATA},
        {MRC_OP_WRITE_LAST_IMM, MRC_KIND_DATA},
        {MRC_OP_WRITE_ONLY, MRC_KIND_DATA},
        {MRC_OP_WRITE_ONLY_IMM, MRC_KIND_DATA},
        {MRC_OP_ACKNOWLEDGE, MRC_KIND_ACK},
        {MRC_OP_SACK, MRC_KIND_SACK},
        {MRC_OP_NACK, MRC_KIND_NACK},
        {MRC_OP_PROBE_REQUEST, MRC_KIND_PROBE},
        {MRC_OP_ENDPOINT_REQUEST, MRC_KIND_ENDPOINT_REQUEST},
        {MRC_OP_ENDPOINT_RESPONSE, MRC_KIND_ENDPOINT_RESPONSE},
    };

    for (const auto &[opcode, kind] : kinds) {
        SCOPED_TRACE(int{opcode});
        const bool endpoint = kind == MRC_KIND_ENDPOINT_REQUEST || kind == MRC_KIND_ENDPOINT_RESPONSE;
        const mrc_packet packet{.bth = {.opcode = opcode, .dqp = endpoint ? MRC_QPN_ENDPOINT : host_qpn}};
        const mrc_rx_meta meta = expect_steered(encapsulated(packet), plain(packet));

        EXPECT_EQ(meta.kind, kind);
        EXPECT_EQ(meta.qp_row, endpoint ? MRC_NO_QP : host_qp_row);
    }
}

TEST_F(host_rx, accepts_both_udp_ports_and_every_address_and_no_encapsulation)
{
    const mrc_packet other_port{.port = MRC_UDP_PORT_SPEC};
    const mrc_packet plane_address{.destination = host_plane_address};

    expect_steered(encapsulated(other_port), plain(other_port));
    expect_steered(encapsulated(plane_address), plain(plane_address));
    const mrc_rx_meta meta = expect_steered(plain({}), plain({}));
    EXPECT_EQ(meta.flags, 0);
    EXPECT_EQ(program_->signal(row_of(2, 1)).bytes, encapsulated({}).size() * 2 + plain({}).size());
}

// Direct mode: each plane has an address of the peer, and one queue pair takes packets from all of them.
TEST_F(host_rx, a_queue_pair_takes_packets_from_all_addresses_that_speak_for_its_peer)
{
    const mrc_packet from_plane{.source = peer_plane_address, .destination = host_plane_address};

    expect(plain(from_plane), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
    update(program_->maps().peers, to_ip(peer_plane_address), remote_peer());
    const mrc_rx_meta meta = expect_steered(plain(from_plane), plain(from_plane));
    EXPECT_EQ(meta.path, row_of(2, 1));
    mrc_peer_row other = remote_peer();
    other.sender = peer_sender + 1;
    update(program_->maps().peers, to_ip(peer_plane_address), other);
    expect(plain(from_plane), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
}

// A peer's T0 by four uplinks a plane, of a fabric with more: their rows say which.
TEST_F(host_rx, a_path_is_known_by_its_row_or_not_at_all)
{
    mrc_peer_row peer = remote_peer();
    peer.uplinks = 4;
    peer.chosen = 1;
    update(program_->maps().peers, to_ip(peer_address), peer);
    const std::uint32_t row = group_base + 2 * peer.uplinks + 1;
    mrc_path_row path{};
    path.state = MRC_PATH_GOOD;
    path.uplink = 129;
    update(program_->maps().paths, row, path);
    const auto arrives_by = [&](std::uint32_t uplink) {
        const mrc_packet packet{.ev = mrc_ev_make(2, uplink, 5)};
        return expect_steered(encapsulated(packet), plain(packet)).path;
    };
    EXPECT_EQ(arrives_by(129), row);
    EXPECT_EQ(arrives_by(1), 0U) << "its row is another's";
    EXPECT_EQ(arrives_by(5), 0U);
    EXPECT_EQ(arrives_by(130), 0U) << "the next row is nobody's";
    EXPECT_EQ(program_->signal(row).packets, 1U);
    EXPECT_EQ(program_->signal(0).packets, 3U);
}

TEST_F(host_rx, a_queue_pair_that_is_not_connected_takes_packets_from_nobody)
{
    mrc_qp_row qp{};
    qp.qpn = host_qpn;
    update(program_->maps().qps, host_qp_row, qp);
    expect(plain({}), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
    expect(plain({.source = ip6("fd6d:7263::9:9")}), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
}

TEST_F(host_rx, steers_to_the_socket_that_the_worker_of_the_queue_pair_has)
{
    constexpr std::uint32_t worker = 3;
    mrc_qp_row qp{};
    qp.qpn = host_qpn;
    qp.sender = peer_sender;
    qp.worker = worker;
    update(program_->maps().qps, host_qp_row, qp);
    expect(encapsulated({}), MRC_RX_DROP_NO_SOCKET, XDP_DROP);

    const int socket = ::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    const int ring_size = 8;
    ASSERT_EQ(setsockopt(socket, SOL_XDP, XDP_RX_RING, &ring_size, sizeof ring_size), 0);
    update(program_->maps().xsks, MRC_SOCKET_ROW(host_port, 0U, worker), socket);
    expect_steered(encapsulated({}), plain({}));

    const std::uint32_t first = MRC_SOCKET_ROW(host_port, 0U, 0U);
    ASSERT_EQ(bpf_map__delete_elem(program_->maps().xsks, &first, sizeof first, 0), 0);
    expect_steered(encapsulated({}), plain({}));
    const mrc_packet of_hosts{.bth = {.opcode = MRC_OP_ENDPOINT_RESPONSE, .dqp = MRC_QPN_ENDPOINT}};
    expect(encapsulated(of_hosts), MRC_RX_DROP_NO_SOCKET, XDP_DROP); // these are the first worker's

    qp.worker = MRC_MAX_WORKERS; // would be the next queue's
    update(program_->maps().qps, host_qp_row, qp);
    expect(encapsulated({}), MRC_RX_DROP_NO_SOCKET, XDP_DROP);
    close(socket);
}

// Which has the number of the worker in its low bits, but for what the first one asks alone.
TEST_F(host_rx, steers_a_response_to_the_worker_that_has_asked)
{
    const auto response = [](std::uint16_t id) {
        return encapsulated(
            mrc_packet{.bth = {.opcode = MRC_OP_ENDPOINT_RESPONSE, .dqp = MRC_QPN_ENDPOINT, .psn = id}});
    };
    constexpr std::uint16_t heartbeat = 0x8002;
    constexpr std::uint16_t port_status = 0x4002;
    constexpr std::uint16_t batch = 0xE002;
    for (const std::uint16_t id : {heartbeat, port_status, batch})
        expect(response(id), MRC_RX_STEERED, XDP_REDIRECT); // a host with one worker

    settings_.workers = 3;
    SetUp();
    expect(response(heartbeat), MRC_RX_DROP_NO_SOCKET, XDP_DROP);
    expect(response(port_status), MRC_RX_STEERED, XDP_REDIRECT);
    expect(response(batch), MRC_RX_STEERED, XDP_REDIRECT);
    const int socket = ::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    const int ring_size = 8;
    ASSERT_EQ(setsockopt(socket, SOL_XDP, XDP_RX_RING, &ring_size, sizeof ring_size), 0);
    update(program_->maps().xsks, MRC_SOCKET_ROW(host_port, 0U, 2U), socket);
    expect(response(heartbeat), MRC_RX_STEERED, XDP_REDIRECT);
    close(socket);
}

TEST_F(host_rx, steers_inner_ipv4_whose_ev_is_the_source_port)
{
    mrc_qp_row qp{};
    qp.qpn = host_qpn;
    qp.peer = to_ip(peer_address4);
    qp.sender = peer_sender4;
    update(program_->maps().qps, host_qp_row, qp);
    const auto layers = [](packet_builder builder) {
        builder.ipv4({.source = peer_address4, .destination = host_address4})
            .udp({.source = static_cast<std::uint16_t>(mrc_ev_make(3, 1, 5))})
            .bth({.dqp = host_qpn});
        append_body(builder, {.bth = {.dqp = host_qpn}});
        return builder.build();
    };
    const mrc_rx_meta meta = expect_steered(
        layers(packet_builder().ethernet().ipv6({.destination = host_usid, .next_header = IPPROTO_IPIP})),
        layers(packet_builder().ethernet({.type = ETH_P_IP})));

    EXPECT_EQ(meta.ev, mrc_ev_make(3, 1, 5));
    EXPECT_EQ(meta.path, row_of(3, 1));
}

TEST_F(host_rx, unknown_paths_are_row_zero)
{
    const mrc_packet packet{.ev = ev_of_peer};
    const mrc_packet uplink_out_of_range{.ev = mrc_ev_make(1, 2, 0)};

    EXPECT_EQ(expect_steered(encapsulated(packet), plain(packet)).path, 0U);
    EXPECT_EQ(expect_steered(encapsulated(uplink_out_of_range), plain(uplink_out_of_range)).path, 0U);
    EXPECT_EQ(program_->signal(0).packets, 2U);
}

TEST_F(host_rx, marks_congestion_of_either_header)
{
    mrc_packet outer_ce;
    outer_ce.outer.ecn = MRC_ECN_CE;
    mrc_packet inner_ce;
    inner_ce.inner_ecn = MRC_ECN_CE;

    EXPECT_EQ(expect_steered(encapsulated(outer_ce), plain(outer_ce)).flags, MRC_RX_ENCAPSULATED | MRC_RX_CE);
    EXPECT_EQ(expect_steered(encapsulated(inner_ce), plain(inner_ce)).flags, MRC_RX_ENCAPSULATED | MRC_RX_CE);
    EXPECT_EQ(program_->signal(row_of(2, 1)).ce, 2U);
}

TEST_F(host_rx, marks_trimmed_packets_and_asks_only_for_what_a_nack_needs)
{
    mrc_packet outer_trimmed;
    outer_trimmed.outer.dscp = MRC_DSCP_TRIMMED;
    mrc_packet outer_last_hop;
    outer_last_hop.outer.dscp = MRC_DSCP_TRIMMED_LASTHOP;
    mrc_packet inner_trimmed;
    inner_trimmed.inner_dscp = MRC_DSCP_TRIMMED;
    const std::size_t shortest = 14 + 40 + 8 + 12 + 4 + 4;

    for (const mrc_packet &packet : {outer_trimmed, outer_last_hop, inner_trimmed}) {
        packet_bytes with_outer = encapsulated(packet);
        packet_bytes inner = plain(packet);
        with_outer.resize(shortest + 40);
        inner.resize(shortest);
        const bool last_hop = packet.outer.dscp == MRC_DSCP_TRIMMED_LASTHOP;
        EXPECT_EQ(expect_steered(with_outer, inner).flags,
                  MRC_RX_ENCAPSULATED | MRC_RX_TRIMMED | (last_hop ? MRC_RX_LAST_HOP : 0));
        with_outer.pop_back();
        expect(with_outer, MRC_RX_DROP_BAD_MRC, XDP_DROP);
    }
    EXPECT_EQ(program_->signal(row_of(2, 1)).trims, 3U);

    mrc_packet trimmed_control{.bth = {.opcode = MRC_OP_SACK, .dqp = host_qpn}};
    trimmed_control.outer.dscp = MRC_DSCP_TRIMMED;
    expect(encapsulated(trimmed_control), MRC_RX_DROP_BAD_MRC, XDP_DROP);
}

// The verdict at every length of a data packet says how far parsing came.
TEST_F(host_rx, truncated_at_every_length)
{
    const packet_bytes whole = encapsulated({.payload = 8});
    const std::size_t opcode_present = 14 + 40 + 40 + 8 + 1;
    const std::size_t headers_present = 14 + 40 + 40 + 8 + 12 + 4 + 4 + 16 + 4;

    for (std::size_t length = 14; length <= whole.size(); length++) {
        SCOPED_TRACE(length);
        const packet_bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
        if (length < 54)
            expect_untouched(cut, MRC_RX_PASS_MALFORMED);
        else if (length < 94)
            expect(cut, MRC_RX_DROP_INNER, XDP_DROP);
        else if (length < opcode_present)
            expect(cut, MRC_RX_PASS_POPPED, XDP_PASS);
        else if (length < headers_present)
            expect(cut, MRC_RX_DROP_BAD_MRC, XDP_DROP);
        else
            expect(cut, MRC_RX_STEERED, XDP_REDIRECT);
    }
}

TEST_F(host_rx, control_packets_cut_by_one_byte_are_dropped)
{
    for (const std::uint8_t opcode : {MRC_OP_ACKNOWLEDGE, MRC_OP_SACK, MRC_OP_NACK, MRC_OP_PROBE_REQUEST,
                                      MRC_OP_ENDPOINT_REQUEST, MRC_OP_ENDPOINT_RESPONSE}) {
        SCOPED_TRACE(int{opcode});
        const bool endpoint = opcode == MRC_OP_ENDPOINT_REQUEST || opcode == MRC_OP_ENDPOINT_RESPONSE;
        packet_bytes packet = encapsulated({.bth = {.opcode = opcode, .dqp = endpoint ? MRC_QPN_ENDPOINT : host_qpn}});
        packet.pop_back();
        expect(packet, MRC_RX_DROP_BAD_MRC, XDP_DROP);
    }
}

TEST_F(host_rx, drops_what_no_qp_or_peer_of_ours_sent)
{
    mrc_packet unknown_peer{.source = ip6("fd6d:7263::9:9")};
    expect(encapsulated(unknown_peer), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
    // Same row, other number: all 24 bits count.
    expect(encapsulated({.bth = {.dqp = host_qpn + MRC_MAX_QPS}}), MRC_RX_DROP_UNKNOWN_QP, XDP_DROP);
    expect(encapsulated({.bth = {.dqp = 0}}), MRC_RX_DROP_UNKNOWN_QP, XDP_DROP);
    expect(encapsulated({.bth = {.dqp = MRC_QPN_MASK}}), MRC_RX_DROP_UNKNOWN_QP, XDP_DROP);
    unknown_peer.bth = {.opcode = MRC_OP_ENDPOINT_REQUEST, .dqp = MRC_QPN_ENDPOINT};
    expect(encapsulated(unknown_peer), MRC_RX_DROP_UNKNOWN_PEER, XDP_DROP);
    expect(encapsulated({.bth = {.opcode = MRC_OP_ENDPOINT_REQUEST, .dqp = host_qpn}}), MRC_RX_DROP_BAD_MRC, XDP_DROP);
    expect(encapsulated({.bth = {.opcode = 0xC0, .dqp = host_qpn}}), MRC_RX_DROP_BAD_MRC, XDP_DROP);
    EXPECT_EQ(program_->signal(row_of(2, 1)).packets, 0U);
}

TEST_F(host_rx_without_socket, counts_the_missing_socket)
{
    expect(encapsulated({}), MRC_RX_DROP_NO_SOCKET, XDP_DROP);
}

std::uint16_t ticks_ago(std::uint64_t ns)
{
    const auto ticks = static_cast<std::uint16_t>((monotonic_ns() - ns) >> MRC_TS_TICK_SHIFT);
    return ticks == 0 ? std::uint16_t{1} : ticks; // 0: no time stamp
}

packet_bytes sack(std::uint32_t reflected_ev, std::uint16_t flags, std::uint16_t timestamp)
{
    mrc_seth seth{};
    seth.flags = htons(flags);
    seth.entropy = htonl(reflected_ev);
    mrc_cc_state cc{};
    cc.tx_timestamp = htons(timestamp);
    return packet_builder()
        .ethernet()
        .ipv6({.source = peer_plane_address, .destination = host_usid})
        .ipv6({.source = peer_address, .destination = host_address, .next_header = IPPROTO_UDP, .flow_label = 5})
        .udp({.source = static_cast<std::uint16_t>(ev_plane2_uplink1)})
        .bth({.opcode = MRC_OP_SACK, .dqp = host_qpn})
        .object(seth)
        .object(cc)
        .be32(0)
        .build();
}

packet_bytes nack(std::uint32_t reflected_ev, std::uint8_t reason, std::uint16_t timestamp)
{
    mrc_neth neth{};
    neth.reason = reason;
    neth.entropy = htonl(reflected_ev);
    neth.tx_timestamp = htons(timestamp);
    return packet_builder()
        .ethernet()
        .ipv6({.source = peer_plane_address, .destination = host_usid})
        .ipv6({.source = peer_address, .destination = host_address, .next_header = IPPROTO_UDP, .flow_label = 5})
        .udp({.source = static_cast<std::uint16_t>(ev_plane2_uplink1)})
        .bth({.opcode = MRC_OP_NACK, .dqp = host_qpn})
        .object(neth)
        .be32(0)
        .build();
}

// What the program must have made of a time stamp, however long the machine took: 16 bits of 128 ns.
std::uint32_t round_trip_ns(std::uint64_t arrived_ns, std::uint16_t timestamp)
{
    return static_cast<std::uint32_t>(static_cast<std::uint16_t>((arrived_ns >> MRC_TS_TICK_SHIFT) - timestamp))
           << MRC_TS_TICK_SHIFT;
}

TEST_F(host_rx, acknowledgements_feed_the_row_of_the_reflected_ev)
{
    const std::uint32_t row = row_of(0, 1);
    const std::uint16_t first_stamp = ticks_ago(100'000);
    const std::uint64_t started = monotonic_ns();
    expect(sack(mrc_ev_make(0, 1, 77), 0, first_stamp), MRC_RX_STEERED, XDP_REDIRECT);

    mrc_signal_row signal = program_->signal(row);
    EXPECT_EQ(signal.acks, 1U);
    EXPECT_EQ(signal.packets, 0U);
    EXPECT_EQ(signal.ce_echoes, 0U);
    EXPECT_GE(signal.last_ack_ns, started);
    EXPECT_LE(signal.last_ack_ns, monotonic_ns());
    EXPECT_EQ(signal.rtt_ns, round_trip_ns(signal.last_ack_ns, first_stamp));
    EXPECT_EQ(signal.rtt_min_ns, signal.rtt_ns);
    EXPECT_EQ(signal.rtt_smoothed_ns, signal.rtt_ns);
    EXPECT_EQ(program_->signal(row_of(2, 1)).packets, 1U);

    const mrc_signal_row first = signal;
    const std::uint16_t second_stamp = ticks_ago(2'000'000);
    expect(sack(mrc_ev_make(0, 1, 78), MRC_SACK_M_SKIP_ONCE << MRC_SETH_M_SHIFT, second_stamp), MRC_RX_STEERED,
           XDP_REDIRECT);
    signal = program_->signal(row);
    EXPECT_EQ(signal.rtt_ns, round_trip_ns(signal.last_ack_ns, second_stamp));
    EXPECT_EQ(signal.rtt_min_ns, std::min(first.rtt_ns, signal.rtt_ns));
    EXPECT_EQ(signal.rtt_smoothed_ns, first.rtt_ns - (first.rtt_ns >> 3) + (signal.rtt_ns >> 3));

    const mrc_signal_row second = signal;
    expect(nack(mrc_ev_make(0, 1, 79), MRC_NACK_TRIMMED, 0), MRC_RX_STEERED, XDP_REDIRECT);
    expect(nack(mrc_ev_make(0, 1, 80), MRC_NACK_NO_BITMAP, 0), MRC_RX_STEERED, XDP_REDIRECT);
    signal = program_->signal(row);
    EXPECT_EQ(signal.acks, 4U);
    EXPECT_EQ(signal.ce_echoes, 1U);
    EXPECT_EQ(signal.trim_echoes, 1U);
    EXPECT_EQ(signal.rtt_ns, second.rtt_ns) << "without a time stamp there is no round trip";
    EXPECT_GE(signal.last_ack_ns, second.last_ack_ns);
}

// 16 bits of 128 ns: a delay of 8.39 ms looks like none. Periods are ended by moving their beginning back.
TEST_F(host_rx, the_least_round_trip_recovers_from_a_delay_that_wraps)
{
    constexpr std::uint32_t wrapped_ns = 128; // what such a delay leaves
    const std::uint32_t row = row_of(0, 1);
    const auto acknowledge = [&] {
        expect(sack(mrc_ev_make(0, 1, 77), 0, ticks_ago(3'000'000)), MRC_RX_STEERED, XDP_REDIRECT);
        return program_->signal(row).rtt_ns;
    };
    const auto change = [&](auto how) {
        mrc_signal_row signal = program_->signal(row);
        how(signal);
        update(program_->maps().signals, row, signal);
    };
    const auto end_period = [](mrc_signal_row &signal) { signal.rtt_period_ns -= MRC_RTT_PERIOD_NS; };

    (void)acknowledge();
    change([](mrc_signal_row &signal) { signal.rtt_min_ns = signal.rtt_period_min_ns = wrapped_ns; });
    change(end_period);
    const std::uint32_t usual = acknowledge();
    EXPECT_EQ(program_->signal(row).rtt_min_ns, wrapped_ns) << "of the period before";
    change(end_period);
    const std::uint32_t next = acknowledge();
    EXPECT_EQ(program_->signal(row).rtt_min_ns, std::min(usual, next)) << "of this period and the one before";
    change(end_period);
    const std::uint32_t last = acknowledge();
    EXPECT_EQ(program_->signal(row).rtt_min_ns, std::min(next, last));
}

TEST_F(host_rx, jumbo_frames_pass_through_whole)
{
    const mrc_packet packet{.payload = 3072};

    expect_steered(encapsulated(packet), plain(packet));
}

TEST_F(host_rx_multi_buffer, takes_frames_of_several_buffers)
{
    const mrc_packet packet{.payload = 4096};
    const mrc_packet largest{.payload = 8192};

    expect_steered(encapsulated(packet), plain(packet));
    expect_steered(encapsulated(largest), plain(largest));
    expect_steered(encapsulated({}), plain({}));
}

// Any byte changed anywhere: one verdict each, never an abort, and no packet that is not the peer's gets through.
TEST_F(host_rx, hostile_packets_end_in_one_verdict)
{
    constexpr int packets = 20'000;
    constexpr unsigned seed = 1;
    std::mt19937 random(seed);
    const verdict_counts counts = program_->verdicts();
    const std::int64_t before = counts.total();

    for (int i = 0; i < packets; i++) {
        packet_bytes packet = random() % 2 ? encapsulated({}) : sack(ev_plane2_uplink1, 0, 1);
        for (std::uint32_t changes = random() % 4; changes > 0; changes--)
            packet[random() % packet.size()] = static_cast<std::uint8_t>(random());
        if (random() % 2)
            packet.resize(14 + random() % (packet.size() - 13));
        const prog_run_result result = run_prog(program_->fd(), packet);
        ASSERT_EQ(result.error, 0);
        ASSERT_TRUE(result.verdict == XDP_DROP || result.verdict == XDP_PASS || result.verdict == XDP_REDIRECT)
            << "seed " << seed << ", packet " << i << ": " << hex(packet);
    }
    EXPECT_EQ(counts.total() - before, packets);
}

TEST_F(host_rx, cost)
{
    const packet_bytes small = encapsulated({});
    const packet_bytes large = encapsulated({.payload = 3072});
    const packet_bytes ack = sack(mrc_ev_make(0, 1, 77), 0, 1);
    const packet_bytes foreign = ipv6_ping(packet_builder().ethernet(), 0);

    std::cout << "host_rx: data " << timed_ns_per_run(program_->fd(), small) << " ns, data of 3072 bytes "
              << timed_ns_per_run(program_->fd(), large) << " ns, SACK " << timed_ns_per_run(program_->fd(), ack)
              << " ns, foreign " << timed_ns_per_run(program_->fd(), foreign) << " ns\n";
}

} // namespace
} // namespace mrc::test
