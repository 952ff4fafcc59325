// SPDX-License-Identifier: Apache-2.0
//
// host_rx copies packets for `mrcctl capture`: while a lease lasts, those that are wanted, and never more than fit.
#include <functional>

#include "host_rx_fixture.h"

namespace mrc::test
{
namespace
{

class host_rx_capture : public host_rx
{
protected:
    // A capture of everything that has just begun, but for what `change` makes of it.
    void capture(const std::function<void(mrc_capture_ring &)> &change = [](mrc_capture_ring &) {})
    {
        mrc_capture_ring wanted{};
        wanted.lease_ns = ~0ULL;
        wanted.sample = 1;
        wanted.snap_bytes = MRC_CAPTURE_SNAP_MAX;
        wanted.planes = 0xFF;
        change(wanted);
        update(program_->maps().capture_ring, std::uint32_t{0}, wanted);
    }

    [[nodiscard]] mrc_capture_ring ring() const
    {
        return lookup<mrc_capture_ring>(program_->maps().capture_ring, std::uint32_t{0});
    }

    // The copy of this number, which must be whole.
    [[nodiscard]] mrc_capture_slot copy(std::uint64_t number) const
    {
        const auto slot = lookup<mrc_capture_slot>(program_->maps().capture_slots,
                                                   static_cast<std::uint32_t>((number - 1) % MRC_CAPTURE_SLOTS));
        EXPECT_EQ(slot.number, number);
        return slot;
    }

    void expect_copy(std::uint64_t number, mrc_capture_point point, mrc_verdict verdict,
                     std::span<const std::uint8_t> packet)
    {
        const mrc_capture_slot slot = copy(number);

        EXPECT_EQ(slot.point, point);
        EXPECT_EQ(slot.verdict, verdict);
        EXPECT_EQ(slot.port, host_port);
        EXPECT_EQ(slot.length, packet.size());
        EXPECT_LT(monotonic_ns() - slot.time_ns, 1'000'000'000U);
        EXPECT_TRUE(same_bytes(packet, std::span(slot.bytes).first(slot.captured)));
    }
};

TEST_F(host_rx_capture, copies_nothing_while_nobody_captures)
{
    expect_steered(encapsulated({}), plain({}));
    EXPECT_EQ(ring().producer, 0U);
    EXPECT_EQ(ring().chosen, 0U);
}

TEST_F(host_rx_capture, copies_before_and_after_the_pop_with_the_verdict)
{
    capture();
    expect_steered(encapsulated({}), plain({}));
    EXPECT_EQ(ring().producer, 2U);
    EXPECT_EQ(ring().chosen, 1U);
    expect_copy(1, MRC_CAPTURE_ARRIVED, MRC_RX_STEERED, encapsulated({}));
    expect_copy(2, MRC_CAPTURE_POPPED, MRC_RX_STEERED, plain({}));
    expect_steered(plain({}), plain({}));
    EXPECT_EQ(ring().producer, 3U) << "nothing is popped";
    expect_copy(3, MRC_CAPTURE_ARRIVED, MRC_RX_STEERED, plain({}));
}

TEST_F(host_rx_capture, copies_what_is_dropped_and_leaves_the_kernels_own_alone)
{
    capture();
    const packet_bytes unknown = encapsulated({.bth = {.dqp = host_qpn + 1}});
    expect(unknown, MRC_RX_DROP_UNKNOWN_QP, XDP_DROP);
    expect_copy(1, MRC_CAPTURE_ARRIVED, MRC_RX_DROP_UNKNOWN_QP, unknown);
    expect_untouched(ipv6_ping(packet_builder().ethernet(), 0), MRC_RX_PASS_NOT_OURS);
    EXPECT_EQ(ring().producer, 1U);
}

TEST_F(host_rx_capture, copies_what_goes_to_the_kernel)
{
    capture();
    packet_builder outside;
    const packet_bytes ping =
        ipv6_ping(outside.ethernet().ipv6({.source = peer_plane_address, .destination = host_usid}), 0);
    const prog_run_result popped = expect(ping, MRC_RX_PASS_POPPED, XDP_PASS);
    expect_copy(1, MRC_CAPTURE_ARRIVED, MRC_RX_PASS_POPPED, ping);
    expect_copy(2, MRC_CAPTURE_POPPED, MRC_RX_PASS_POPPED, popped.packet);
}

TEST_F(host_rx_capture, chooses_by_queue_pair_psn_and_plane)
{
    capture([](mrc_capture_ring &wanted) { wanted.qpn = host_qpn; });
    expect_steered(encapsulated({}), plain({}));
    EXPECT_EQ(ring().chosen, 1U);
    capture([](mrc_capture_ring &wanted) { wanted.qpn = host_qpn + 1; });
    expect_steered(encapsulated({}), plain({}));
    EXPECT_EQ(ring().chosen, 0U);
    capture([](mrc_capture_ring &wanted) {
        wanted.psn_first = 0x10;
        wanted.psn_count = 1;
    });
    expect_steered(encapsulated({}), plain({}));
    EXPECT_EQ(ring().chosen, 1U);
    capture([](mrc_capture_ring &wanted) {
        wanted.psn_first = 0x11;
        wanted.psn_count = 0xFFFFFF;
    });
    expect_steered(encapsulated({}), plain({}));
    EXPECT_EQ(ring().chosen, 0U);
    capture([](mrc_capture_ring &wanted) { wanted.planes &= ~(1U << host_port); });
    expect_steered(encapsulated({}), plain({}));
    EXPECT_EQ(ring().chosen, 0U);
}

TEST_F(host_rx_capture, copies_the_beginning_of_a_packet)
{
    capture([](mrc_capture_ring &wanted) { wanted.snap_bytes = 100; });
    expect_steered(encapsulated({}), plain({}));
    const packet_bytes packet = encapsulated({});
    const mrc_capture_slot slot = copy(1);
    EXPECT_EQ(slot.captured, 100);
    EXPECT_EQ(slot.length, packet.size());
    EXPECT_TRUE(same_bytes(std::span(packet).first(100), std::span(slot.bytes).first(100)));
    EXPECT_EQ(slot.bytes[100], 0);
}

TEST_F(host_rx_capture, a_full_ring_loses_copies_and_no_packets)
{
    capture();
    for (int i = 0; i < MRC_CAPTURE_SLOTS / 2 + 3; i++)
        expect_steered(encapsulated({}), plain({}));
    EXPECT_EQ(ring().producer, MRC_CAPTURE_SLOTS);
    EXPECT_EQ(ring().no_room, 3U) << "where the first copy finds no room, the second is not tried";
    expect_copy(MRC_CAPTURE_SLOTS, MRC_CAPTURE_POPPED, MRC_RX_STEERED, plain({}));
}

TEST_F(host_rx_capture, the_first_packet_behind_a_lease_ends_it)
{
    capture([](mrc_capture_ring &wanted) { wanted.lease_ns = monotonic_ns(); });
    expect_steered(encapsulated({}), plain({}));
    EXPECT_EQ(ring().lease_ns, 0U);
    EXPECT_EQ(ring().producer, 0U);
}

} // namespace
} // namespace mrc::test
