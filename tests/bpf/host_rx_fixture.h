// SPDX-License-Identifier: Apache-2.0
//
// One loaded instance of host_rx, what must come out of it, and the MRC packets that go in.
#ifndef MRC_TESTS_BPF_HOST_RX_FIXTURE_H
#define MRC_TESTS_BPF_HOST_RX_FIXTURE_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <utility>

#include "host_fixture.h"

#include "host_rx.skel.h"

namespace mrc::test
{

constexpr std::uint32_t ev_plane2_uplink1 = 2U | 1U << 3 | 0x0005A000U;
constexpr std::size_t meta_bytes = sizeof(mrc_rx_meta);

inline std::uint64_t monotonic_ns()
{
    timespec now{};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

struct rx_settings {
    bool fabric = true;
    bool multi_buffer = false;
    bool socket = true;
    bool agent_answers = false;
    bool redirect_answers = false;
    mrc_carrier_kind carrier = MRC_CARRIER_SRV6;
    unsigned workers = 1;
    std::uint64_t loop_cookie = 0;
    std::uint8_t block_bytes = MRC_USID_USUAL_BLOCK;
    ip6_address usid = host_usid;
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
        config.agent_answers = settings.agent_answers;
        config.redirect_answers = settings.redirect_answers;
        config.asker_mask = static_cast<__u8>(MRC_ASKER_MASK(settings.workers));
        config.loop_cookie = settings.loop_cookie;
        config.carrier = settings.carrier;
        config.block_bytes = settings.block_bytes;
        config.outer = to_ip(settings.carrier == MRC_CARRIER_DIRECT ? host_plane_address : settings.usid);
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
    [[nodiscard]] const bpf_program *program() const { return skeleton_->progs.host_rx; }
    [[nodiscard]] int fd() const { return bpf_program__fd(program()); }
    [[nodiscard]] auto &maps() const { return skeleton_->maps; }
    [[nodiscard]] verdict_counts verdicts() const { return verdict_counts(skeleton_->maps.verdicts); }
    [[nodiscard]] mrc_signal_row signal(std::uint32_t row) const { return lookup<mrc_signal_row>(maps().signals, row); }
    [[nodiscard]] mrc_port_row port() const { return lookup<mrc_port_row>(maps().ports, host_port); }

private:
    void fill_maps(bool with_socket)
    {
        mrc_qp_row qp{};

        qp.qpn = host_qpn;
        qp.peer = to_ip(peer_address);
        qp.sender = peer_sender;
        update(maps().qps, host_qp_row, qp);
        update(maps().peers, to_ip(peer_address), remote_peer());
        mrc_peer_row in_ipv4 = remote_peer();
        in_ipv4.sender = peer_sender4;
        update(maps().peers, to_ip(peer_address4), in_ipv4);
        if (!with_socket)
            return;
        // The map takes a socket that could receive (before Linux 7: any); test runs look it up and send it nothing.
        const int ring_size = 8;
        socket_ = socket(AF_XDP, SOCK_RAW, 0);
        ASSERT_EQ(setsockopt(socket_, SOL_XDP, XDP_RX_RING, &ring_size, sizeof ring_size), 0);
        update(maps().xsks, MRC_SOCKET_ROW(host_port, 0U, 0U), socket_);
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
    prog_run_result expect(const packet_bytes &packet, mrc_verdict verdict, std::uint32_t action)
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

    void expect_untouched(const packet_bytes &packet, mrc_verdict verdict)
    {
        const prog_run_result result = expect(packet, verdict, XDP_PASS);

        EXPECT_TRUE(same_bytes(packet, result.packet));
    }

    // A steered frame: metadata in front, then `inner` as it was behind the outer header.
    mrc_rx_meta expect_steered(const packet_bytes &packet, const packet_bytes &without_outer)
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
inline void append_body(packet_builder &builder, const mrc_packet &packet)
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

inline void append_inner(packet_builder &builder, const mrc_packet &packet)
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

inline packet_bytes encapsulated(const mrc_packet &packet)
{
    packet_builder builder;

    append_inner(builder.ethernet().ipv6(packet.outer), packet);
    return builder.build();
}

inline packet_bytes plain(const mrc_packet &packet)
{
    packet_builder builder;

    append_inner(builder.ethernet(), packet);
    return builder.build();
}

inline packet_bytes ipv6_ping(packet_builder builder, std::uint8_t ecn)
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

} // namespace mrc::test

#endif
