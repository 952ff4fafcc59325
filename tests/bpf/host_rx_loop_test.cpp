// SPDX-License-Identifier: Apache-2.0
//
// Loops of the fabric map end in host_rx: those of this daemon are counted in the row of their way, nobody else's are.
#include <numeric>

#include "host_rx_fixture.h"

namespace mrc::test
{
namespace
{

constexpr std::uint64_t cookie = 0x0123456789ABCDEF;
constexpr std::uint32_t only_row = 0; // that the object has as it is

struct loop_packet {
    std::uint64_t cookie = test::cookie;
    std::uint32_t row = only_row;
    std::uint32_t number = 1;
    std::uint64_t age_ns = 0;
    std::uint16_t port = MRC_LOOP_UDP_PORT;
    ip6_address carrier = host_usid;
};

packet_bytes bytes_of(const loop_packet &packet)
{
    const mrc_loop loop{
        .cookie = packet.cookie, .sent_ns = monotonic_ns() - packet.age_ns, .row = packet.row, .number = packet.number};
    packet_builder builder;
    builder.ethernet()
        .ipv6({.source = host_plane_address, .destination = packet.carrier, .next_header = IPPROTO_UDP})
        .udp({.source = MRC_LOOP_UDP_PORT, .destination = packet.port});
    packet_bytes bytes = builder.build();
    const auto *const raw = reinterpret_cast<const std::uint8_t *>(&loop);
    bytes.insert(bytes.end(), raw, raw + sizeof(loop));
    return bytes;
}

class host_rx_loop : public host_rx
{
protected:
    host_rx_loop() { settings_.loop_cookie = cookie; }

    void SetUp() override
    {
        host_rx::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        set_plane(host_port);
    }

    void set_plane(std::uint32_t plane)
    {
        mrc_loop_row row{};
        row.plane = static_cast<std::uint16_t>(plane);
        update(program_->maps().loops, only_row, row);
    }

    [[nodiscard]] mrc_loop_row row() const { return lookup<mrc_loop_row>(program_->maps().loops, only_row); }
    [[nodiscard]] std::uint64_t arrival(std::uint32_t slot) const
    {
        return lookup<mrc_loop_arrival>(program_->maps().loop_arrivals, slot).what;
    }
    void expect_dropped(const loop_packet &packet, mrc_verdict verdict)
    {
        expect(bytes_of(packet), verdict, XDP_DROP);
        EXPECT_EQ(row().arrived, 0U);
    }
};

class host_rx_without_a_map : public host_rx_loop
{
protected:
    host_rx_without_a_map() { settings_.loop_cookie = 0; }
};

TEST_F(host_rx_loop, is_counted_with_its_round_trip_and_goes_no_further)
{
    constexpr std::uint64_t age_ns = 5'000'000;
    const std::uint64_t before = monotonic_ns();
    expect(bytes_of({.number = MRC_LOOP_SLOTS + 7, .age_ns = age_ns}), MRC_RX_LOOP, XDP_DROP);
    const mrc_loop_row counted = row();
    EXPECT_EQ(counted.arrived, 1U);
    EXPECT_GE(counted.last_arrival_ns, before);
    EXPECT_GE(counted.rtt_ns, age_ns);
    EXPECT_EQ(counted.rtt_min_ns, counted.rtt_ns);
    EXPECT_EQ(counted.rtt_sum_ns, counted.rtt_ns);
    EXPECT_EQ(arrival(7) >> 32, MRC_LOOP_SLOTS + 7U);
    EXPECT_EQ(static_cast<std::uint32_t>(arrival(7)), counted.rtt_ns);
    EXPECT_EQ(program_->port().rx_packets, 0U) << "it is no traffic of the port";
}

TEST_F(host_rx_loop, stands_in_the_bucket_of_its_round_trip)
{
    constexpr std::uint64_t years_ns = std::uint64_t{1} << 40;
    expect(bytes_of({.number = 1, .age_ns = years_ns}), MRC_RX_LOOP, XDP_DROP);
    const mrc_loop_row counted = row();
    EXPECT_EQ(counted.rtt_ns, 0xFFFFFFFFU) << "the longest that is told";
    EXPECT_EQ(counted.rtt_log2[MRC_RTT_BUCKETS - 1], 1U);
    constexpr std::uint64_t age_ns = std::uint64_t{3} << 24; // 50 ms: between 2^25 and 2^26
    expect(bytes_of({.number = 2, .age_ns = age_ns}), MRC_RX_LOOP, XDP_DROP);
    const mrc_loop_row both = row();
    EXPECT_EQ(both.rtt_log2[26 - MRC_RTT_SHIFT], 1U);
    EXPECT_EQ(std::accumulate(std::begin(both.rtt_log2), std::end(both.rtt_log2), std::uint64_t{0}), 2U);
    EXPECT_LT(both.rtt_min_ns, 0xFFFFFFFFU);
}

TEST_F(host_rx_loop, counts_once_however_often_it_comes)
{
    expect(bytes_of({}), MRC_RX_LOOP, XDP_DROP);
    expect(bytes_of({}), MRC_RX_LOOP, XDP_DROP);
    EXPECT_EQ(row().arrived, 1U);
}

TEST_F(host_rx_loop, of_another_run_of_the_daemon_counts_nothing)
{
    expect_dropped({.cookie = cookie + 1}, MRC_RX_DROP_LOOP);
}

TEST_F(host_rx_loop, of_a_row_that_does_not_exist_counts_nothing)
{
    expect_dropped({.row = 1}, MRC_RX_DROP_LOOP);
    expect_dropped({.row = 0xFFFFFFFF}, MRC_RX_DROP_LOOP);
    expect_dropped({.number = 0}, MRC_RX_DROP_LOOP);
}

TEST_F(host_rx_loop, that_comes_back_on_another_plane_counts_nothing)
{
    set_plane(host_port + 1);
    expect_dropped({}, MRC_RX_DROP_LOOP);
}

TEST_F(host_rx_loop, is_no_other_udp)
{
    expect_dropped({.port = MRC_UDP_PORT_ROCE}, MRC_RX_DROP_INNER);
    expect_dropped({.port = 53}, MRC_RX_DROP_INNER);
}

TEST_F(host_rx_loop, that_is_cut_short_is_dropped)
{
    packet_bytes bytes = bytes_of({});
    bytes.pop_back();
    expect(bytes, MRC_RX_DROP_INNER, XDP_DROP);
}

TEST_F(host_rx_loop, with_a_carrier_left_is_not_forwarded)
{
    expect_dropped({.carrier = ip6("fcbb:bb00:8201:8202::")}, MRC_RX_DROP_CARRIER_LEFT);
}

TEST_F(host_rx_without_a_map, a_loop_counts_nothing)
{
    expect_dropped({.cookie = 0}, MRC_RX_DROP_LOOP);
}

} // namespace
} // namespace mrc::test
