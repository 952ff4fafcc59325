// SPDX-License-Identifier: Apache-2.0
//
// host_rx, packet by packet: verdict, every output byte, metadata, rows.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <random>
#include <utility>

#include "host_fixture.h"

#include "host_rx.skel.h"

namespace mrc::test
{
namespace
{

constexpr std::uint32_t ev_of_peer = 0x0003C0DE; // plane 6 of 4: out of range on purpose where it is used
constexpr std::uint32_t ev_plane2_uplink1 = 2U | 1U << 3 | 0x0005A000U;
constexpr std::size_t meta_bytes = sizeof(mrc_rx_meta);

std::uint64_t monotonic_ns()
{
    timespec now{};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

struct rx_settings {
    bool fabric = true;
    bool multi_buffer = false;
    bool socket = true;
};

// One loaded instance of host_rx for port 2, with one QP, one peer, and a socket on queue 0.
class rx_program
{
public:
    explicit rx_program(const rx_settings &settings) : skeleton_(host_rx_bpf__open())
    {
        mrc_rx_config &config = skeleton_->rodata->config;

        config.port = host_port;
        config.fabric = settings.fabric;
        config.usid = to_ip(host_usid);
        config.addresses[0] = to_ip(host_address);
        config.addresses[1] = to_ip(host_plane_address);
        config.addresses[2] = to_ip(host_address4);
        config.address_count = 3;
        if (settings.multi_buffer)
            bpf_program__set_flags(skeleton_->progs.host_rx, BPF_F_XDP_HAS_FRAGS);
        loaded_ = host_rx_bpf__load(skeleton_) == 0;
        if (loaded_)
            fill_maps(settings.socket);
    }
    rx_program(const rx_program &) = delete;
    rx_program &operator=(const rx_program &) = delete;
    ~rx_program()
    {
        if (socket_ >= 0)
            close(socket_);
        host_rx_bpf__destroy(skeleton_);
    }

    [[nodiscard]] bool loaded() const { return loaded_; }
    [[nodiscard]] int fd() const { return bpf_program__fd(skeleton_->progs.host_rx); }
    [[nodiscard]] auto &maps() const { return skeleton_->maps; }
    [[nodiscard]] verdict_counts verdicts() const { return verdict_counts(skeleton_->maps.verdicts); }
    [[nodiscard]] mrc_signal signal(std::uint32_t row) const { return lookup<mrc_signal>(maps().signals, row); }
    [[nodiscard]] mrc_port port() const { return lookup<mrc_port>(maps().ports, host_port); }

private:
    void fill_maps(bool with_socket)
    {
        mrc_qp qp{};

        qp.qpn = host_qpn;
        qp.peer = to_ip(peer_address);
        update(maps().qps, host_qp_row, qp);
        update(maps().peers, to_ip(peer_address), remote_peer());
        update(maps().peers, to_ip(peer_address4), remote_peer());
        if (!with_socket)
            return;
        // The map takes any AF_XDP socket; test runs look it up and send it nothing.
        socket_ = socket(AF_XDP, SOCK_RAW, 0);
        update(maps().xsks, host_port * MRC_MAX_QUEUES, socket_);
    }

    host_rx_bpf *skeleton_;
    int socket_ = -1;
    bool loaded_ = false;
};

class host_rx : public testing::Test
{
protected:
    void SetUp() override
    {
        if (!may_load_bpf())
            GTEST_SKIP() << "needs root to load BPF programs";
        program_ = std::make_unique<rx_program>(settings_);
        ASSERT_TRUE(program_->loaded());
    }

    // Runs one frame and checks the action, that exactly this verdict was counted, and returns what came out.
    prog_run_result expect(const frame &packet, mrc_verdict verdict, std::uint32_t action)
    {
        const verdict_counts counts = program_->verdicts();
        const std::int64_t all_before = counts.total();
        const std::int64_t before = counts.of(verdict);
        prog_run_result result = run_prog(program_->fd(), packet);

        EXPECT_EQ(result.error, 0);
        EXPECT_EQ(result.verdict, action);
        EXPECT_EQ(counts.of(verdict) - before, 1) << "verdict " << verdict;
        EXPECT_EQ(counts.total() - all_before, 1);
        return result;
    }

    void expect_untouched(const frame &packet, mrc_verdict verdict)
    {
        const prog_run_result result = expect(packet, verdict, XDP_PASS);

        EXPECT_TRUE(same_bytes(packet, result.packet));
    }

    // A steered frame: metadata in front, then `inner` as it was behind the outer header.
    mrc_rx_meta expect_steered(const frame &packet, const frame &without_outer)
    {
        const prog_run_result result = expect(packet, MRC_RX_STEERED, XDP_REDIRECT);
        mrc_rx_meta meta{};

        EXPECT_EQ(result.packet.size(), without_outer.size() + meta_bytes);
        if (result.packet.size() < meta_bytes)
            return meta;
        std::memcpy(&meta, result.packet.data(), meta_bytes);
        EXPECT_TRUE(same_bytes(without_outer, std::span(result.packet).subspan(meta_bytes)));
        EXPECT_EQ(meta.magic, MRC_RX_META_MAGIC);
        EXPECT_EQ(meta.length, without_outer.size());
        EXPECT_EQ(meta.port, host_port);
        EXPECT_EQ(meta.queue, 0);
        EXPECT_LT(monotonic_ns() - meta.arrival_ns, 1'000'000'000U);
        return meta;
    }

    rx_settings settings_;
    std::unique_ptr<rx_program> program_;
};

class host_rx_without_socket : public host_rx
{
protected:
    host_rx_without_socket() { settings_.socket = false; }
};

class host_rx_on_foreign_port : public host_rx
{
protected:
    host_rx_on_foreign_port() { settings_.fabric = false; }
};

class host_rx_multi_buffer : public host_rx
{
protected:
    host_rx_multi_buffer() { settings_.multi_buffer = true; }
};

struct mrc_packet {
    bth_layer bth{.opcode = MRC_OP_WRITE_ONLY, .dqp = host_qpn, .psn = 0x10, .control = MRC_BTH_TS};
    std::uint32_t ev = ev_plane2_uplink1;
    ip6_address source = peer_address;
    ip6_address destination = host_address;
    std::uint16_t port = MRC_UDP_PORT_ROCE;
    ipv6_layer outer{.source = peer_plane_address, .destination = host_usid, .ecn = MRC_ECN_ECT0};
    std::uint8_t inner_dscp = MRC_DSCP_TRIMMABLE;
    std::uint8_t inner_ecn = MRC_ECN_ECT0;
    std::size_t payload = 64;
};

// Everything behind BTH that the opcode asks for; payload on data only.
void append_body(packet_builder &builder, const mrc_packet &packet)
{
    const std::uint8_t opcode = packet.bth.opcode;

    switch (opcode) {
    case MRC_OP_ACKNOWLEDGE:
        builder.fill(sizeof(mrc_aeth));
        break;
    case MRC_OP_SACK:
        builder.fill(sizeof(mrc_seth) + sizeof(mrc_cc_state));
        break;
    case MRC_OP_NACK:
        builder.fill(sizeof(mrc_neth));
        break;
    case MRC_OP_PROBE_REQUEST:
    case MRC_OP_ENDPOINT_REQUEST:
        builder.fill(sizeof(mrc_peth));
        break;
    case MRC_OP_ENDPOINT_RESPONSE:
        builder.fill(sizeof(mrc_eeth));
        break;
    default:
        builder.fill(sizeof(mrc_meth) + (packet.bth.control & MRC_BTH_TS ? sizeof(mrc_tseth) : 0) + sizeof(mrc_reth));
        builder.fill(opcode == MRC_OP_WRITE_LAST_IMM || opcode == MRC_OP_WRITE_ONLY_IMM ? sizeof(mrc_immdt) : 0);
        builder.fill(packet.payload);
    }
    builder.be32(0xAABBCCDD); // ICRC: the agent's business
}

void append_inner(packet_builder &builder, const mrc_packet &packet)
{
    builder
        .ipv6({.source = packet.source,
               .destination = packet.destination,
               .next_header = IPPROTO_UDP,
               .dscp = packet.inner_dscp,
               .ecn = packet.inner_ecn,
               .flow_label = 0xF0000 | packet.ev >> 16})
        .udp({.source = static_cast<std::uint16_t>(packet.ev), .destination = packet.port})
        .bth(packet.bth);
    append_body(builder, packet);
}

frame encapsulated(const mrc_packet &packet)
{
    packet_builder builder;

    append_inner(builder.ethernet().ipv6(packet.outer), packet);
    return builder.build();
}

frame plain(const mrc_packet &packet)
{
    packet_builder builder;

    append_inner(builder.ethernet(), packet);
    return builder.build();
}

TEST_F(host_rx, steers_data_with_metadata_and_counts_its_path)
{
    const frame packet = encapsulated({});
    const mrc_rx_meta meta = expect_steered(packet, plain({}));

    EXPECT_EQ(meta.ev, ev_plane2_uplink1);
    EXPECT_EQ(meta.path, row_of(2, 1));
    EXPECT_EQ(meta.qp_row, host_qp_row);
    EXPECT_EQ(meta.kind, MRC_KIND_DATA);
    EXPECT_EQ(meta.flags, MRC_RX_ENCAPSULATED);

    const mrc_signal signal = program_->signal(row_of(2, 1));
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

TEST_F(host_rx, steers_inner_ipv4_whose_ev_is_the_source_port)
{
    mrc_qp qp{};
    qp.qpn = host_qpn;
    qp.peer = to_ip(peer_address4);
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
        frame with_outer = encapsulated(packet);
        frame inner = plain(packet);
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
    const frame whole = encapsulated({.payload = 8});
    const std::size_t opcode_present = 14 + 40 + 40 + 8 + 1;
    const std::size_t headers_present = 14 + 40 + 40 + 8 + 12 + 4 + 4 + 16 + 4;

    for (std::size_t length = 14; length <= whole.size(); length++) {
        SCOPED_TRACE(length);
        const frame cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
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
        frame packet = encapsulated({.bth = {.opcode = opcode, .dqp = endpoint ? MRC_QPN_ENDPOINT : host_qpn}});
        packet.pop_back();
        expect(packet, MRC_RX_DROP_BAD_MRC, XDP_DROP);
    }
}

TEST_F(host_rx, drops_what_no_qp_or_peer_of_ours_sent)
{
    mrc_packet stranger{.source = ip6("fd6d:7263::9:9")};
    expect(encapsulated(stranger), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
    // Same row, other number: all 24 bits count.
    expect(encapsulated({.bth = {.dqp = host_qpn + MRC_MAX_QPS}}), MRC_RX_DROP_UNKNOWN_QP, XDP_DROP);
    expect(encapsulated({.bth = {.dqp = 0}}), MRC_RX_DROP_UNKNOWN_QP, XDP_DROP);
    expect(encapsulated({.bth = {.dqp = MRC_QPN_MASK}}), MRC_RX_DROP_UNKNOWN_QP, XDP_DROP);
    stranger.bth = {.opcode = MRC_OP_ENDPOINT_REQUEST, .dqp = MRC_QPN_ENDPOINT};
    expect(encapsulated(stranger), MRC_RX_DROP_UNKNOWN_PEER, XDP_DROP);
    expect(encapsulated({.bth = {.opcode = MRC_OP_ENDPOINT_REQUEST, .dqp = host_qpn}}), MRC_RX_DROP_BAD_MRC, XDP_DROP);
    expect(encapsulated({.bth = {.opcode = 0xC0, .dqp = host_qpn}}), MRC_RX_DROP_BAD_MRC, XDP_DROP);
    EXPECT_EQ(program_->signal(row_of(2, 1)).packets, 0U);
}

TEST_F(host_rx, drops_carriers_that_do_not_end_here_or_carry_no_ip)
{
    mrc_packet next_usid;
    next_usid.outer.destination = ip6("fcbb:bb00:8201:2000::");
    mrc_packet argument;
    argument.outer.destination = ip6("fcbb:bb00:8201::1");
    mrc_packet routing_header;
    routing_header.outer.next_header = IPPROTO_ROUTING;
    mrc_packet wrong_family;
    wrong_family.outer.next_header = IPPROTO_IPIP;

    expect(encapsulated(next_usid), MRC_RX_DROP_CARRIER_LEFT, XDP_DROP);
    expect(encapsulated(argument), MRC_RX_DROP_CARRIER_LEFT, XDP_DROP);
    expect(encapsulated(routing_header), MRC_RX_DROP_INNER, XDP_DROP);
    expect(encapsulated(wrong_family), MRC_RX_DROP_INNER, XDP_DROP);
}

TEST_F(host_rx, leaves_foreign_traffic_untouched)
{
    mrc_packet other_usid;
    other_usid.outer.destination = ip6("fcbb:bb00:8202::");
    const mrc_packet roce{.bth = {.opcode = 0x0A, .dqp = host_qpn}};

    expect_untouched(encapsulated(other_usid), MRC_RX_PASS_NOT_OURS);
    expect_untouched(plain(roce), MRC_RX_PASS_NOT_OURS);
    expect_untouched(plain({.destination = ip6("fd6d:7263::0:3")}), MRC_RX_PASS_NOT_OURS);
    expect_untouched(plain({.port = 4793}), MRC_RX_PASS_NOT_OURS);
    expect_untouched(packet_builder().ethernet({.type = ETH_P_ARP}).fill(46).build(), MRC_RX_PASS_NOT_OURS);
    expect_untouched(
        packet_builder().ethernet().ipv6({.destination = host_address, .next_header = 58}).fill(24).build(),
        MRC_RX_PASS_NOT_OURS);
    expect_untouched(packet_builder().ethernet({.type = ETH_P_IP}).fill(8).build(), MRC_RX_PASS_MALFORMED);
    expect_untouched(packet_builder().ethernet().ipv6({.version = 5}).fill(24).build(), MRC_RX_PASS_MALFORMED);
    EXPECT_EQ(program_->port().rx_packets, 0U);
}

TEST_F(host_rx, pops_foreign_traffic_for_the_kernel)
{
    const mrc_packet roce{.bth = {.opcode = 0x0A, .dqp = host_qpn}};
    const prog_run_result result = expect(encapsulated(roce), MRC_RX_PASS_POPPED, XDP_PASS);

    EXPECT_TRUE(same_bytes(plain(roce), result.packet));
    EXPECT_EQ(program_->port().rx_packets, 1U);
}

// RFC 6040, figure 4: rows are the inner field, columns the outer one, both in the order Not-ECT, ECT(1), ECT(0), CE.
constexpr int dropped = -1;
constexpr int ecn_figure4[4][4] = {
    {MRC_ECN_NOT_ECT, MRC_ECN_NOT_ECT, MRC_ECN_NOT_ECT, dropped},
    {MRC_ECN_ECT1, MRC_ECN_ECT1, MRC_ECN_ECT1, MRC_ECN_CE},
    {MRC_ECN_ECT0, MRC_ECN_ECT1, MRC_ECN_ECT0, MRC_ECN_CE},
    {MRC_ECN_CE, MRC_ECN_CE, MRC_ECN_CE, MRC_ECN_CE},
};

frame ipv6_ping(packet_builder builder, std::uint8_t ecn)
{
    return builder
        .ipv6({.source = peer_address,
               .destination = host_address,
               .next_header = 58,
               .dscp = 46,
               .ecn = ecn,
               .flow_label = 0x12345})
        .fill(64)
        .build();
}

frame ipv4_ping(packet_builder builder, std::uint8_t ecn)
{
    return builder.ipv4({.source = peer_address4, .destination = host_address4, .protocol = 1, .dscp = 46, .ecn = ecn})
        .fill(64)
        .build();
}

TEST_F(host_rx, ecn_of_popped_packets_follows_rfc6040)
{
    for (std::uint8_t inner = 0; inner < 4; inner++) {
        for (std::uint8_t outer = 0; outer < 4; outer++) {
            SCOPED_TRACE(std::to_string(inner) + " under " + std::to_string(outer));
            const int ecn = ecn_figure4[inner][outer];
            const frame six =
                ipv6_ping(packet_builder().ethernet().ipv6({.destination = host_usid, .ecn = outer}), inner);
            const frame four = ipv4_ping(
                packet_builder().ethernet().ipv6({.destination = host_usid, .next_header = IPPROTO_IPIP, .ecn = outer}),
                inner);
            if (ecn == dropped) {
                expect(six, MRC_RX_DROP_CE_NOT_ECT, XDP_DROP);
                expect(four, MRC_RX_DROP_CE_NOT_ECT, XDP_DROP);
                continue;
            }
            // The builder computes the IPv4 checksum afresh, the program updates it.
            const frame six_popped = ipv6_ping(packet_builder().ethernet(), static_cast<std::uint8_t>(ecn));
            const frame four_popped =
                ipv4_ping(packet_builder().ethernet({.type = ETH_P_IP}), static_cast<std::uint8_t>(ecn));
            EXPECT_TRUE(same_bytes(six_popped, expect(six, MRC_RX_PASS_POPPED, XDP_PASS).packet));
            EXPECT_TRUE(same_bytes(four_popped, expect(four, MRC_RX_PASS_POPPED, XDP_PASS).packet));
        }
    }
}

TEST_F(host_rx_on_foreign_port, drops_mrc_and_the_usid_block_only)
{
    mrc_packet other_usid;
    other_usid.outer.destination = ip6("fcbb:bb00:2000:1000::");

    expect(encapsulated({}), MRC_RX_DROP_NOT_FABRIC, XDP_DROP);
    expect(encapsulated(other_usid), MRC_RX_DROP_NOT_FABRIC, XDP_DROP);
    expect(plain({}), MRC_RX_DROP_NOT_FABRIC, XDP_DROP);
    expect_untouched(ipv6_ping(packet_builder().ethernet(), 0), MRC_RX_PASS_NOT_OURS);
}

TEST_F(host_rx_without_socket, counts_the_missing_socket)
{
    expect(encapsulated({}), MRC_RX_DROP_NO_SOCKET, XDP_DROP);
}

std::uint16_t ticks_ago(std::uint64_t ns)
{
    return static_cast<std::uint16_t>((monotonic_ns() - ns) >> MRC_TS_TICK_SHIFT);
}

frame sack(std::uint32_t reflected_ev, std::uint16_t flags, std::uint16_t timestamp)
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

frame nack(std::uint32_t reflected_ev, std::uint8_t reason, std::uint16_t timestamp)
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

TEST_F(host_rx, acknowledgements_feed_the_row_of_the_reflected_ev)
{
    constexpr std::uint64_t sent_ago_ns = 100'000;
    const std::uint32_t row = row_of(0, 1);
    const std::uint64_t started = monotonic_ns();
    expect(sack(mrc_ev_make(0, 1, 77), 0, ticks_ago(sent_ago_ns)), MRC_RX_STEERED, XDP_REDIRECT);
    const std::uint64_t slack = monotonic_ns() - started;

    mrc_signal signal = program_->signal(row);
    EXPECT_EQ(signal.acks, 1U);
    EXPECT_EQ(signal.packets, 0U);
    EXPECT_EQ(signal.ce_echoes, 0U);
    EXPECT_GE(signal.rtt_ns, sent_ago_ns - 128);
    EXPECT_LE(signal.rtt_ns, sent_ago_ns + slack + 128);
    EXPECT_EQ(signal.rtt_min_ns, signal.rtt_ns);
    EXPECT_EQ(signal.rtt_smoothed_ns, signal.rtt_ns);
    EXPECT_EQ(program_->signal(row_of(2, 1)).packets, 1U);

    const mrc_signal first = signal;
    expect(sack(mrc_ev_make(0, 1, 78), MRC_SACK_M_SKIP_ONCE << MRC_SETH_M_SHIFT, ticks_ago(2'000'000)), MRC_RX_STEERED,
           XDP_REDIRECT);
    expect(nack(mrc_ev_make(0, 1, 79), MRC_NACK_TRIMMED, 0), MRC_RX_STEERED, XDP_REDIRECT);
    expect(nack(mrc_ev_make(0, 1, 80), MRC_NACK_NO_BITMAP, 0), MRC_RX_STEERED, XDP_REDIRECT);
    signal = program_->signal(row);
    EXPECT_EQ(signal.acks, 4U);
    EXPECT_EQ(signal.ce_echoes, 1U);
    EXPECT_EQ(signal.trim_echoes, 1U);
    EXPECT_EQ(signal.rtt_min_ns, first.rtt_ns);
    EXPECT_GE(signal.rtt_ns, 2'000'000U - 128);
    EXPECT_EQ(signal.rtt_smoothed_ns, first.rtt_ns - (first.rtt_ns >> 3) + (signal.rtt_ns >> 3));
    EXPECT_GE(signal.last_ack_ns, first.last_ack_ns);
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
        frame packet = random() % 2 ? encapsulated({}) : sack(ev_plane2_uplink1, 0, 1);
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
    const frame small = encapsulated({});
    const frame large = encapsulated({.payload = 3072});
    const frame ack = sack(mrc_ev_make(0, 1, 77), 0, 1);
    const frame foreign = ipv6_ping(packet_builder().ethernet(), 0);

    std::printf("host_rx: data %u ns, data of 3072 bytes %u ns, SACK %u ns, foreign %u ns\n",
                timed_ns_per_run(program_->fd(), small), timed_ns_per_run(program_->fd(), large),
                timed_ns_per_run(program_->fd(), ack), timed_ns_per_run(program_->fd(), foreign));
}

} // namespace
} // namespace mrc::test
