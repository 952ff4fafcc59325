// SPDX-License-Identifier: Apache-2.0
#include "datapath/trace_ring.h"

#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/trace_rows.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::datapath
{
namespace
{

using protocol::trace_kind;
using protocol::trace_reason;

constexpr protocol::instant begin{std::chrono::seconds{10}};
constexpr __u64 second_ns = 1'000'000'000;

struct traced {
    kernel::mapped_array<mrc_trace_ring> ring = test::table_in_memory<mrc_trace_ring>(1);
    kernel::mapped_array<mrc_trace_row> rows = test::table_in_memory<mrc_trace_row>(MRC_TRACE_ROWS);
    mrc_trace_ring &asked = ring[0]; // the mapping moves, and stays where it is
    mrc_trace_row *row = &rows[0];
    trace_ring sink{std::move(ring), std::move(rows)};

    void ask(std::uint32_t kinds = UINT32_MAX, std::uint32_t qpn = 0)
    {
        asked.kinds = kinds;
        asked.qpn = qpn;
        asked.lease_ns = 11 * second_ns;
        sink.look(begin);
    }
    void tell(trace_kind kind, std::uint32_t qpn, std::uint64_t value = 0)
    {
        sink.record({.kind = kind,
                     .reason = trace_reason::again,
                     .at = begin,
                     .local = protocol::qpn{qpn},
                     .peer = protocol::qpn{0x20},
                     .sequence = protocol::psn{0xABCDEF},
                     .entropy = protocol::ev{0x1234},
                     .value = value});
    }
};

TEST(trace_ring, is_off_until_somebody_asks)
{
    traced to;
    to.sink.look(begin);
    EXPECT_FALSE(to.sink.is_on());
    to.ask();
    EXPECT_TRUE(to.sink.is_on());
    EXPECT_EQ(to.sink.now(), begin);
}

TEST(trace_ring, writes_what_an_event_says_and_counts)
{
    traced to;
    to.ask();
    to.tell(trace_kind::send, 0x10, 3072);
    const mrc_trace_row row = kernel::copy_traced(to.row[0]);
    EXPECT_EQ(row.time_ns, 10 * second_ns);
    EXPECT_EQ(row.value, 3072U);
    EXPECT_EQ(unsigned{row.qpn}, 0x10U);
    EXPECT_EQ(unsigned{row.peer_qpn}, 0x20U);
    EXPECT_EQ(unsigned{row.psn}, 0xABCDEFU);
    EXPECT_EQ(row.ev, 0x1234U);
    EXPECT_EQ(unsigned{row.kind}, static_cast<unsigned>(trace_kind::send));
    EXPECT_EQ(unsigned{row.reason}, static_cast<unsigned>(trace_reason::again));
    EXPECT_EQ(to.asked.newest, 1U);
}

TEST(trace_ring, writes_only_the_kinds_and_the_queue_pair_that_were_asked_for)
{
    traced to;
    to.ask(1U << static_cast<unsigned>(trace_kind::loss) | 1U << static_cast<unsigned>(trace_kind::path), 0x10);
    to.tell(trace_kind::send, 0x10);
    to.tell(trace_kind::loss, 0x11);
    EXPECT_EQ(to.asked.newest, 0U);
    to.tell(trace_kind::loss, 0x10);
    to.tell(trace_kind::path, 0);
    EXPECT_EQ(to.asked.newest, 2U) << "what happens to paths is no queue pair's";
}

TEST(trace_ring, the_newest_takes_the_place_of_the_oldest)
{
    traced to;
    to.ask();
    for (std::uint64_t i = 0; i < MRC_TRACE_ROWS + 2; ++i)
        to.tell(trace_kind::send, 0x10, i);
    EXPECT_EQ(to.asked.newest, MRC_TRACE_ROWS + 2U);
    EXPECT_EQ(to.row[1].value, MRC_TRACE_ROWS + 1U);
    EXPECT_EQ(to.row[2].value, 2U) << "the oldest that is left";
}

// Of an mrcctl that was killed.
TEST(trace_ring, ends_by_itself_when_the_lease_is_over)
{
    traced to;
    to.ask();
    to.sink.look(begin + std::chrono::seconds{2});
    EXPECT_FALSE(to.sink.is_on());
    EXPECT_EQ(to.asked.lease_ns, 0U) << "so that nobody looks at the time again";
}

TEST(trace_ring, no_probe_is_attached_in_a_test)
{
    EXPECT_FALSE(probes_attached());
    traced to;
    to.tell(trace_kind::send, 0x10);
    EXPECT_EQ(to.asked.newest, 0U) << "an event of a probe alone makes no row";
}

TEST(trace_ring, two_workers_write_each_event_into_a_row_of_its_own)
{
    constexpr std::uint64_t events = 10'000;
    traced at;
    at.ask();
    trace_ring second{&at.sink};
    second.look(begin);
    const auto write = [](trace_ring &to, std::uint32_t qpn) {
        for (std::uint64_t number = 0; number < events; ++number)
            to.record({.kind = trace_kind::send, .at = begin, .local = protocol::qpn{qpn}, .value = number});
    };
    std::thread other{[&] { write(second, 2); }};
    write(at.sink, 1);
    other.join();
    EXPECT_EQ(kernel::newest_traced(at.asked), 2 * events);
    std::map<std::uint32_t, std::uint64_t> next; // of each worker's, in its order
    for (std::uint64_t number = 1; number <= 2 * events; ++number) {
        const mrc_trace_row row = kernel::copy_traced(at.row[kernel::trace_place(number)]);
        ASSERT_EQ(row.value, next[row.qpn]++) << number;
    }
    EXPECT_EQ(next, (std::map<std::uint32_t, std::uint64_t>{{1, events}, {2, events}}));
}

} // namespace
} // namespace mrc::datapath
