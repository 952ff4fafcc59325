// SPDX-License-Identifier: Apache-2.0
//
// What programs drop is counted by port and reason, and its beginning is an event that they write themselves.
#include <cstring>
#include <string>

#include "kernel/event_history.h"
#include "kernel/mapped_array.h"

#include "host_rx_fixture.h"
#include "host_tx_fixture.h"

namespace mrc::test
{
namespace
{

constexpr std::uint64_t second_ns = MRC_DROP_QUIET_NS;

constexpr std::uint32_t drop_row_of(std::uint32_t port, mrc_verdict verdict)
{
    return port * MRC_DROP_VERDICTS + verdict;
}

class drops : public host_rx
{
protected:
    void SetUp() override
    {
        host_rx::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        mrc_port_row port{};
        std::strcpy(port.device, "eth2");
        update(program_->maps().ports, host_port, port);
        mrc_host_row host{};
        host.real_ahead_ns = 1000 * second_ns;
        update(program_->maps().host, 0U, host);
    }

    // As if the last drop of this kind had been so long ago.
    void age(mrc_verdict verdict, std::uint64_t by_ns)
    {
        const std::uint32_t at = drop_row_of(host_port, verdict);
        auto row = lookup<mrc_drop_row>(program_->maps().drops, at);
        row.last_ns -= by_ns;
        update(program_->maps().drops, at, row);
    }

    [[nodiscard]] mrc_drop_row row(mrc_verdict verdict) const
    {
        return lookup<mrc_drop_row>(program_->maps().drops, drop_row_of(host_port, verdict));
    }

    [[nodiscard]] std::uint64_t told() const { return lookup<mrc_host_row>(program_->maps().host, 0U).drop_events; }

    [[nodiscard]] mrc_event_row event(std::uint64_t number) const
    {
        const auto at = static_cast<std::uint32_t>(std::uint64_t{MRC_EVENTS_OF_DROPS} * MRC_EVENT_ROWS +
                                                   (number - 1) % MRC_EVENT_ROWS);
        return lookup<mrc_event_row>(program_->maps().events, at);
    }

    const mrc_packet unknown_{.source = ip6("fd6d:7263::9:9")};
};

TEST_F(drops, the_first_is_an_event_with_all_that_is_known_of_it)
{
    const std::uint64_t before = monotonic_ns();
    expect(encapsulated(unknown_), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
    ASSERT_EQ(told(), 1U);
    const mrc_event_row seen = event(1);
    EXPECT_EQ(seen.number, 1U);
    EXPECT_EQ(seen.kind, MRC_EVENT_DROPS_BEGIN);
    EXPECT_EQ(seen.verdict, static_cast<std::uint32_t>(MRC_RX_DROP_WRONG_PEER));
    EXPECT_EQ(seen.plane, host_port);
    EXPECT_STREQ(seen.name, "eth2");
    EXPECT_EQ(std::memcmp(&seen.peer, unknown_.source.data(), sizeof(seen.peer)), 0);
    EXPECT_EQ(seen.qpn, host_qpn);
    EXPECT_EQ(seen.losses, 1U);
    EXPECT_EQ(seen.quiet_us, 0U) << "there was none before";
    EXPECT_GE(seen.time_ns, before);
    EXPECT_EQ(seen.real_time_ns, seen.time_ns + 1000 * second_ns);
    EXPECT_EQ(row(MRC_RX_DROP_WRONG_PEER).packets, 1U);
    EXPECT_EQ(row(MRC_RX_DROP_WRONG_PEER).last_ns, seen.time_ns);
}

TEST_F(drops, those_that_follow_are_counted_and_no_event_until_a_second_was_quiet)
{
    for (unsigned i = 0; i < 5; ++i)
        expect(encapsulated(unknown_), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
    EXPECT_EQ(told(), 1U);
    EXPECT_EQ(row(MRC_RX_DROP_WRONG_PEER).packets, 5U);
    age(MRC_RX_DROP_WRONG_PEER, second_ns / 2); // it lasts until the last one is a second old
    expect(encapsulated(unknown_), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
    EXPECT_EQ(told(), 1U);
    age(MRC_RX_DROP_WRONG_PEER, 3 * second_ns);
    expect(encapsulated(unknown_), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
    ASSERT_EQ(told(), 2U);
    EXPECT_EQ(event(2).losses, 7U);
    EXPECT_GE(event(2).quiet_us, 3'000'000U);
}

TEST_F(drops, each_reason_has_events_of_its_own)
{
    mrc_qp_row nobody{};
    expect(encapsulated(unknown_), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
    update(program_->maps().qps, host_qp_row, nobody);
    expect(encapsulated({}), MRC_RX_DROP_UNKNOWN_QP, XDP_DROP);
    ASSERT_EQ(told(), 2U);
    EXPECT_EQ(event(2).verdict, static_cast<std::uint32_t>(MRC_RX_DROP_UNKNOWN_QP));
}

TEST_F(drops, what_is_not_dropped_writes_nothing)
{
    expect_steered(encapsulated({}), plain({}));
    EXPECT_EQ(told(), 0U);
    EXPECT_EQ(row(MRC_RX_STEERED).packets, 0U);
}

// As the daemon and mrcctl read them, also those who come late.
TEST_F(drops, readers_take_each_once_and_count_what_was_replaced)
{
    const kernel::mapped_array<mrc_event_row> rows{bpf_map__fd(program_->maps().events),
                                                   std::size_t{MRC_EVENT_CLASSES} * MRC_EVENT_ROWS, "events"};
    const auto row_at = [&](std::uint64_t at) -> const mrc_event_row & { return rows[at]; };
    kernel::drop_reader reader;
    EXPECT_TRUE(reader.take(told(), row_at).empty());
    constexpr unsigned more = 3;
    for (unsigned i = 0; i < MRC_EVENT_ROWS + more; ++i) {
        age(MRC_RX_DROP_WRONG_PEER, 2 * second_ns);
        run_prog(program_->fd(), encapsulated(unknown_));
    }
    const std::vector<mrc_event_row> seen = reader.take(told(), row_at);
    ASSERT_EQ(seen.size(), std::size_t{MRC_EVENT_ROWS});
    EXPECT_EQ(seen.front().number, more + 1U);
    EXPECT_EQ(seen.back().number, std::uint64_t{MRC_EVENT_ROWS} + more);
    EXPECT_EQ(reader.missed(), more);
    EXPECT_TRUE(reader.take(told(), row_at).empty());
}

class overlay_drops : public host_tx
{
};

TEST_F(overlay_drops, are_of_no_port_and_say_where_the_packet_was_to_go)
{
    const packet_bytes unknown = packet_builder()
                                     .ethernet()
                                     .ipv6({.source = host_address, .destination = ip6("fd6d:7263::9:9")})
                                     .udp({})
                                     .build();
    EXPECT_EQ(run_prog(fd(), unknown).verdict, static_cast<std::uint32_t>(TC_ACT_SHOT));
    const auto told = lookup<mrc_host_row>(skeleton_->maps.host, 0U).drop_events;
    ASSERT_EQ(told, 1U);
    const auto seen =
        lookup<mrc_event_row>(skeleton_->maps.events, std::uint32_t{MRC_EVENTS_OF_DROPS * MRC_EVENT_ROWS});
    EXPECT_EQ(seen.verdict, static_cast<std::uint32_t>(MRC_TX_DROP_NO_PEER));
    EXPECT_EQ(seen.plane, std::uint32_t{MRC_DROP_NO_PORT});
    EXPECT_STREQ(seen.name, "");
    EXPECT_EQ(std::memcmp(&seen.peer, ip6("fd6d:7263::9:9").data(), sizeof(seen.peer)), 0);
    EXPECT_EQ(lookup<mrc_drop_row>(skeleton_->maps.drops, drop_row_of(MRC_DROP_NO_PORT, MRC_TX_DROP_NO_PEER)).packets,
              1U);
}

} // namespace
} // namespace mrc::test
