// SPDX-License-Identifier: Apache-2.0
#include "kernel/event_history.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "unit/datapath/table_in_memory.h"

namespace mrc::kernel
{
namespace
{

struct history {
    mapped_array<mrc_event_row> rows =
        test::table_in_memory<mrc_event_row>(std::size_t{MRC_EVENT_CLASSES} * MRC_EVENT_ROWS);
    mrc_host_row host{};
    event_history writer{rows, host};

    static constexpr std::chrono::system_clock::time_point told{std::chrono::seconds{1'795'661'220}};

    void add(mrc_event_kind kind, std::uint64_t value = 0)
    {
        mrc_event_row event{};
        event.kind = kind;
        event.time_ns = value;
        event.losses = value;
        writer.add(event, told);
    }

    // Numbers of the events that are there, in the order of the rows.
    [[nodiscard]] std::vector<std::uint64_t> numbers(mrc_event_class of) const
    {
        std::vector<std::uint64_t> found;
        for (std::size_t row = 0; row < MRC_EVENT_ROWS; ++row)
            if (const auto event = read_event(rows[of * std::size_t{MRC_EVENT_ROWS} + row]))
                found.push_back(event->number);
        return found;
    }
};

TEST(event_history, numbers_events_through_all_classes)
{
    history to;
    EXPECT_EQ(to.host.events, 0U);
    to.add(MRC_EVENT_PORT_OUT_OF_USE);
    to.add(MRC_EVENT_SESSION_OPENED);
    to.add(MRC_EVENT_PORT_USABLE);
    EXPECT_EQ(to.numbers(MRC_EVENTS_OF_PORTS), (std::vector<std::uint64_t>{1, 3}));
    EXPECT_EQ(to.numbers(MRC_EVENTS_OF_SESSIONS), (std::vector<std::uint64_t>{2}));
    EXPECT_EQ(to.host.events, 3U);
    EXPECT_EQ(to.rows[0].real_time_ns, 1'795'661'220'000'000'000U) << "by the clock that the writer was told";
}

TEST(event_history, every_kind_has_its_class)
{
    EXPECT_EQ(class_of(MRC_EVENT_PORT_USABLE), MRC_EVENTS_OF_PORTS);
    EXPECT_EQ(class_of(MRC_EVENT_PLANE_IN_USE), MRC_EVENTS_OF_PLANES);
    EXPECT_EQ(class_of(MRC_EVENT_PLANE_OUT_OF_USE), MRC_EVENTS_OF_PLANES);
    EXPECT_EQ(class_of(MRC_EVENT_PEER_PORT_USABLE), MRC_EVENTS_OF_PEERS);
    EXPECT_EQ(class_of(MRC_EVENT_PEER_SILENT), MRC_EVENTS_OF_PEERS);
    EXPECT_EQ(class_of(MRC_EVENT_LINK_GOOD), MRC_EVENTS_OF_LINKS);
    EXPECT_EQ(class_of(MRC_EVENT_LINK_DEAD), MRC_EVENTS_OF_LINKS);
    EXPECT_EQ(class_of(MRC_EVENT_DROPS_BEGIN), MRC_EVENTS_OF_DROPS);
    EXPECT_EQ(class_of(MRC_EVENT_PATH_GOOD), MRC_EVENTS_OF_PATHS);
    EXPECT_EQ(class_of(MRC_EVENT_PATH_DENIED), MRC_EVENTS_OF_PATHS);
    EXPECT_EQ(class_of(MRC_EVENT_SESSION_OPENED), MRC_EVENTS_OF_SESSIONS);
    EXPECT_EQ(class_of(MRC_EVENT_SESSION_CLOSED), MRC_EVENTS_OF_SESSIONS);
    EXPECT_EQ(class_of(MRC_EVENT_QP_CONNECTED), MRC_EVENTS_OF_QUEUE_PAIRS);
    EXPECT_EQ(class_of(MRC_EVENT_QP_CLOSED), MRC_EVENTS_OF_QUEUE_PAIRS);
    EXPECT_EQ(class_of(MRC_EVENT_QP_ERRORS_UNTOLD), MRC_EVENTS_OF_QUEUE_PAIRS);
}

TEST(event_history, what_flaps_drives_out_its_own_class_only)
{
    history to;
    to.add(MRC_EVENT_PLANE_OUT_OF_USE);
    for (unsigned i = 0; i < MRC_EVENT_ROWS + 3; ++i)
        to.add(MRC_EVENT_PATH_ASSUMED_BAD);
    EXPECT_EQ(to.numbers(MRC_EVENTS_OF_PLANES), (std::vector<std::uint64_t>{1}));
    const auto paths = to.numbers(MRC_EVENTS_OF_PATHS);
    ASSERT_EQ(paths.size(), MRC_EVENT_ROWS);
    EXPECT_EQ(paths[0], MRC_EVENT_ROWS + 2U) << "the newest are in the places of the oldest";
    EXPECT_EQ(paths[3], 5U) << "the oldest that is left";
}

TEST(event_history, a_row_that_is_being_written_is_not_read)
{
    history to;
    to.add(MRC_EVENT_PORT_USABLE);
    ASSERT_TRUE(read_event(to.rows[0]));
    to.rows[0].number = 0;
    EXPECT_FALSE(read_event(to.rows[0]));
    EXPECT_FALSE(read_event(to.rows[1])) << "nor is one that has not been used";
}

// Another thread reads the row that is written next.
TEST(event_history, no_reader_sees_half_of_an_event)
{
    history to;
    std::atomic<bool> ended = false;
    std::uint64_t read = 0;
    std::uint64_t torn = 0;
    std::thread reader{[&] {
        for (bool last = false; !last;) {
            last = ended.load();
            if (const auto event = read_event(to.rows[last_event(to.host) % MRC_EVENT_ROWS])) {
                ++read;
                torn += event->time_ns != event->losses || event->number != event->time_ns ? 1 : 0;
            }
        }
    }};
    constexpr std::uint64_t events = 2'000'000;
    for (std::uint64_t number = 1; number <= events; ++number)
        to.add(MRC_EVENT_PORT_USABLE, number);
    ended = true;
    reader.join();
    EXPECT_GT(read, 0U);
    EXPECT_EQ(torn, 0U);
}

} // namespace
} // namespace mrc::kernel
