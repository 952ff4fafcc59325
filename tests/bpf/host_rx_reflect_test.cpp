// SPDX-License-Identifier: Apache-2.0
//
// host_rx answers EV probes in place: byte for byte what the agent's codec would send, and nothing to anybody else.
#include <iostream>

#include "codec/frame_builder.h"

#include "host_rx_fixture.h"

namespace mrc::test
{
namespace
{

constexpr std::uint16_t request_id = 0x4242;
constexpr std::uint16_t probe_timestamp = 0xBEEF;
constexpr std::uint16_t peer_host_usid = 0x8003;

class host_rx_reflect : public host_rx
{
protected:
    void SetUp() override
    {
        host_rx::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        mrc_port_row port{};
        port.flags = MRC_PORT_USABLE;
        port.mtu = 3400;
        port.address = to_ip(host_plane_address);
        std::ranges::copy(port_mac, std::begin(port.mac));
        update(program_->maps().next_hops, host_port, next_hop_at(gateway_mac));
        update(program_->maps().ports, host_port, port);
        set_path(host_port);
        mrc_peer_row peer = remote_peer();
        peer.host_usid = peer_host_usid;
        update(program_->maps().peers, to_ip(peer_address), peer);
    }

    void set_path(std::uint32_t port)
    {
        mrc_path_row path{};
        path.carrier = to_ip(ip6("fcbb:bb00:2200:1201:2201:200::"));
        path.host_usid_at = 10;
        path.state = MRC_PATH_ASSUMED_BAD; // what probes are for
        path.plane = 2;
        path.port = static_cast<std::uint8_t>(port);
        path.next_hop = host_port;
        update(program_->maps().paths, row_of(2, 1), path);
    }

    // Steered to the agent as any other packet, not answered here.
    void expect_left_to_the_agent(const packet_bytes &packet) { expect(packet, MRC_RX_STEERED, XDP_REDIRECT); }
};

class host_rx_that_leaves_probes : public host_rx_reflect
{
protected:
    host_rx_that_leaves_probes() { settings_.agent_answers = true; }
};

class host_rx_that_redirects : public host_rx_reflect
{
protected:
    host_rx_that_redirects() { settings_.redirect_answers = true; }
};

class host_rx_on_an_unserved_queue : public host_rx_reflect
{
protected:
    host_rx_on_an_unserved_queue() { settings_.socket = false; }
};

struct probe {
    std::uint32_t ev = ev_plane2_uplink1;
    std::uint8_t operation = MRC_EP_EV_PROBE;
    ip6_address source = peer_address;
    ip6_address destination = host_address;
    std::uint16_t udp_port = MRC_UDP_PORT_ROCE;
};

packet_bytes encoded(const protocol::packet &content, const codec::encode_options &options)
{
    packet_bytes bytes(codec::encoded_size(content, false));

    EXPECT_TRUE(codec::encode(content, options, std::as_writable_bytes(std::span(bytes))).has_value());
    return bytes;
}

packet_bytes request(const probe &probe)
{
    const packet_bytes inner = encoded(protocol::endpoint_request_packet{.request_id = request_id,
                                                                         .operation = probe.operation,
                                                                         .tx_timestamp = probe_timestamp},
                                       {.ip = {.source = to_ip(probe.source), .destination = to_ip(probe.destination)},
                                        .udp_port = probe.udp_port,
                                        .dscp = MRC_DSCP_TRIMMABLE,
                                        .ecn = MRC_ECN_ECT0,
                                        .hop_limit = 61,
                                        .entropy = {probe.ev}});
    return packet_builder()
        .ethernet()
        .ipv6({.source = peer_plane_address, .destination = host_usid, .dscp = MRC_DSCP_TRIMMABLE, .ecn = MRC_ECN_ECT0})
        .bytes(inner)
        .build();
}

packet_bytes response(const probe &probe)
{
    const packet_bytes inner =
        encoded(protocol::endpoint_response_packet{.request_id = request_id, .tx_timestamp = probe_timestamp},
                {.ip = {.source = to_ip(probe.destination), .destination = to_ip(probe.source)},
                 .udp_port = probe.udp_port,
                 .dscp = MRC_DSCP_CONTROL,
                 .entropy = {probe.ev}});
    return packet_builder()
        .ethernet({.destination = gateway_mac, .source = port_mac})
        .ipv6({.source = host_plane_address,
               .destination = ip6("fcbb:bb00:2200:1201:2201:8203::"),
               .dscp = MRC_DSCP_CONTROL,
               .flow_label = probe.ev >> 16})
        .bytes(inner)
        .build();
}

TEST_F(host_rx_reflect, answers_as_the_codec_would)
{
    probe to_plane_address;
    to_plane_address.destination = host_plane_address;
    to_plane_address.udp_port = MRC_UDP_PORT_SPEC;

    for (const probe &each : {probe{}, to_plane_address}) {
        const prog_run_result result = expect(request(each), MRC_RX_REFLECTED, XDP_TX);
        EXPECT_TRUE(same_bytes(response(each), result.packet));
    }
    const auto path = lookup<mrc_path_row>(program_->maps().paths, row_of(2, 1));
    EXPECT_EQ(path.tx_packets, 2U);
    EXPECT_EQ(path.tx_bytes, response({}).size() * 2);
    EXPECT_EQ(program_->port().tx_packets, 2U);
    EXPECT_EQ(program_->port().rx_bytes, request({}).size() * 2);
    EXPECT_EQ(program_->signal(row_of(2, 1)).packets, 2U);
}

// And what comes from any source is answered: nobody looks at it.
TEST_F(host_rx_reflect, the_outer_source_of_an_answer_is_the_paths)
{
    constexpr std::size_t at = 14 + 8 + MRC_SOURCE_AT;
    auto path = lookup<mrc_path_row>(program_->maps().paths, row_of(2, 1));
    path.source = 7;
    update(program_->maps().paths, row_of(2, 1), path);
    packet_bytes asked = request({});
    asked[at] = 9;
    packet_bytes expected = response({});
    expected[at] = 7;
    EXPECT_TRUE(same_bytes(expected, expect(asked, MRC_RX_REFLECTED, XDP_TX).packet));
}

// Addresses change places, the EV stays where it was, and the frame goes to the neighbour on the way to the peer.
TEST_F(host_rx_reflect, a_direct_path_is_answered_without_an_outer_header)
{
    const mac_address neighbour_mac{0x02, 0, 0, 0, 0, 0x33};
    const probe direct{.source = peer_plane_address, .destination = host_plane_address};
    const auto without_outer = [](packet_bytes frame) {
        frame.erase(frame.begin() + ETH_HLEN, frame.begin() + MRC_OUTER_BYTES);
        return frame;
    };
    mrc_path_row path = lookup<mrc_path_row>(program_->maps().paths, row_of(2, 1));
    path.kind = MRC_CARRIER_DIRECT;
    path.carrier = to_ip(peer_plane_address);
    path.next_hop = MRC_NEXT_HOP_ROW(0, 2);
    update(program_->maps().paths, row_of(2, 1), path);
    update(program_->maps().next_hops, MRC_NEXT_HOP_ROW(0, 2), next_hop_at(neighbour_mac));
    update(program_->maps().peers, to_ip(peer_plane_address), remote_peer());

    const prog_run_result result = expect(without_outer(request(direct)), MRC_RX_REFLECTED, XDP_TX);
    packet_bytes expected = without_outer(response(direct));
    std::ranges::copy(neighbour_mac, expected.begin());
    EXPECT_TRUE(same_bytes(expected, result.packet));
    EXPECT_EQ(lookup<mrc_path_row>(program_->maps().paths, row_of(2, 1)).tx_bytes, expected.size());

    expect_left_to_the_agent(request({.source = peer_plane_address})); // what comes by SRv6 does not go back so
    update(program_->maps().next_hops, MRC_NEXT_HOP_ROW(0, 2), mrc_next_hop_row{});
    expect_left_to_the_agent(without_outer(request(direct)));
}

TEST_F(host_rx_reflect, a_wrong_icrc_is_never_answered)
{
    const packet_bytes right = request({});

    // Every bit under the ICRC, and the ICRC itself; the fields it does not cover stand in the next test.
    for (std::size_t at = 54 + 40 + 8; at < right.size(); at++) {
        if (at == 54 + 40 + 8 + 4)
            continue;
        packet_bytes wrong = right;
        wrong[at] ^= 0x01;
        const prog_run_result result = run_prog(program_->fd(), wrong);
        EXPECT_NE(result.verdict, static_cast<std::uint32_t>(XDP_TX)) << "byte " << at;
    }
    EXPECT_EQ(program_->verdicts().of(MRC_RX_REFLECTED), 0);
}

TEST_F(host_rx_reflect, fields_outside_the_icrc_may_change_on_the_way)
{
    packet_bytes changed = request({});
    changed[54 + 1] |= 0x30;        // inner CE
    changed[54 + 7] = 3;            // inner hop limit
    changed[54 + 40 + 6] = 0x12;    // UDP checksum
    changed[54 + 40 + 8 + 4] = 0x7; // BTH variant reserved
    const prog_run_result result = expect(changed, MRC_RX_REFLECTED, XDP_TX);

    EXPECT_TRUE(same_bytes(response({}), result.packet));
}

TEST_F(host_rx_reflect, everything_else_is_left_to_the_agent)
{
    expect_left_to_the_agent(request({.operation = MRC_EP_PORT_STATUS_UPDATE}));
    expect_left_to_the_agent(request({.ev = mrc_ev_make(2, 7, 0)})); // unknown path
    expect_left_to_the_agent(request({.ev = mrc_ev_make(1, 1, 0)})); // known, but no such row yet
    packet_bytes padded = request({});
    padded.push_back(0);
    expect_left_to_the_agent(padded);
    set_path(host_port + 1);
    expect_left_to_the_agent(request({}));
    packet_bytes unencapsulated = request({});
    unencapsulated.erase(unencapsulated.begin() + 14, unencapsulated.begin() + 54);
    expect_left_to_the_agent(unencapsulated);
    expect(request({.source = ip6("fd6d:7263::9:9")}), MRC_RX_DROP_UNKNOWN_PEER, XDP_DROP);
}

TEST_F(host_rx_that_redirects, sends_the_same_answer_and_nothing_else_so)
{
    const prog_run_result result = expect(request({}), MRC_RX_REFLECTED, XDP_REDIRECT);
    EXPECT_TRUE(same_bytes(response({}), result.packet));
    expect(request({.source = ip6("fd6d:7263::9:9")}), MRC_RX_DROP_UNKNOWN_PEER, XDP_DROP);
}

TEST_F(host_rx_that_leaves_probes, to_the_agent)
{
    expect_left_to_the_agent(request({}));
    EXPECT_EQ(program_->port().tx_packets, 0U);
}

// An answer would speak for data that is dropped.
TEST_F(host_rx_on_an_unserved_queue, probes_are_dropped_as_data_is)
{
    expect(request({}), MRC_RX_DROP_NO_SOCKET, XDP_DROP);
    EXPECT_EQ(program_->port().tx_packets, 0U);
}

TEST_F(host_rx_reflect, a_flood_is_answered_at_the_configured_rate)
{
    // The bucket holds 10 ms of 50,000 a second; the flood is shorter than a second.
    constexpr std::int64_t flood = 5000;
    const packet_bytes packet = request({});
    const std::uint64_t start = monotonic_ns();
    for (std::int64_t i = 0; i < flood; i++)
        run_prog(program_->fd(), packet);
    const std::uint64_t took = monotonic_ns() - start;
    const std::int64_t answered = program_->verdicts().of(MRC_RX_REFLECTED);
    const auto refilled = static_cast<std::int64_t>(took / (1'000'000'000U / MRC_RX_PROBES_PER_SECOND));
    const std::int64_t bucket = 1 + MRC_RX_PROBE_BURST_NS / (1'000'000'000 / MRC_RX_PROBES_PER_SECOND);
    // Per CPU: the test may have moved between all of them.
    EXPECT_LE(answered, (bucket + refilled) * libbpf_num_possible_cpus());
    EXPECT_GE(answered, std::min(flood, bucket));
    EXPECT_EQ(program_->verdicts().of(MRC_RX_DROP_PROBE_RATE), flood - answered) << "the agent would answer them, too";
}

TEST_F(host_rx_reflect, cost)
{
    std::cout << "host_rx: probe answered in " << timed_ns_per_run(program_->fd(), request({}), 400) << " ns\n";
}

} // namespace
} // namespace mrc::test
