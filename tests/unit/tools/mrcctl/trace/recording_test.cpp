// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/recording.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "tools/mrcctl/error.h"
#include "unit/tools/mrcctl/trace/recorded.h"

namespace mrc::ctl
{
namespace
{

using protocol::trace_kind;
using protocol::trace_reason;
using test::recorded;

const trace_source here{.instance = "default", .host = "h0", .to_real_ns = 1'795'661'220'000'000'001};

std::vector<traced_row> one_of_each()
{
    using enum trace_reason;
    return {recorded(trace_kind::send, first, 10, 16, 32, 7, 0x35fd, 3072),
            recorded(trace_kind::probe, tail, 11, 16, 32, 0, 0x35fd, 3),
            recorded(trace_kind::arrive, fresh, 12, 16, 32, 0xffffff, 0x35fd, 3072),
            recorded(trace_kind::arrive, probe, 12, 16, 32, 0, 0x35fd, 3),
            recorded(trace_kind::answer, sack, 13, 16, 32, 7, 0x35fd, 0xffff'ffff'ffff'ffff),
            recorded(trace_kind::sack, accepted, 14, 16, 32, 7, 0x35fd, 0x8000'0000'0000'0001),
            recorded(trace_kind::nack, stale, 15, 16, 32, 7, 0x35fd, 1),
            recorded(trace_kind::ack, ack, 16, 16, 32, 7, 0, 5),
            recorded(trace_kind::loss, same_ev, 17, 16, 32, 7, 0x35fd, 12'345),
            recorded(trace_kind::timer, time_out, 18, 16, 32, 7, 0x35fd, 12'345),
            recorded(trace_kind::timer, quiet, 18, 16, 32),
            recorded(trace_kind::path, losses, 19, 0, 0, 0, 0x35fd, 2),
            recorded(trace_kind::state, none, 20, 16, 32, 0, 0, 5)};
}

std::string line_of_row(const traced_row &row, const trace_source &from)
{
    text_buffer line;
    add_row_fields(line, row, from);
    return fmt::format("{{{}}}", std::string_view{line.data(), line.size()});
}

std::string words_of(const mrc_trace_row &row)
{
    text_buffer words;
    add_words(words, row);
    return fmt::to_string(words);
}

std::string text_of(const std::vector<traced_row> &rows, std::uint64_t lost = 0)
{
    std::string text = first_line(here) + "\n";
    for (const traced_row &row : rows)
        text += line_of_row(row, here) + "\n";
    return text + last_line(rows.size(), lost) + "\n";
}

std::string complaint_of(const std::string &text)
{
    try {
        (void)parse_recording(text, "a.jsonl");
    } catch (const ctl_error &error) {
        return error.what();
    }
    return "";
}

TEST(trace_recording, is_read_as_it_was_written)
{
    const auto rows = one_of_each();
    const recording read = parse_recording(text_of(rows, 4), "a.jsonl");
    EXPECT_EQ(read.from.instance, "default");
    EXPECT_EQ(read.from.host, "h0");
    EXPECT_EQ(read.from.to_real_ns, here.to_real_ns);
    EXPECT_EQ(read.lost, 4U);
    EXPECT_TRUE(read.is_whole);
    ASSERT_EQ(read.rows.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const mrc_trace_row &found = read.rows[i];
        const mrc_trace_row &written = rows[i];
        EXPECT_EQ(std::memcmp(&found, &written, sizeof(written)), 0) << line_of_row(rows[i], here);
        EXPECT_EQ(read.rows[i].number, rows[i].number);
    }
}

TEST(trace_recording, has_both_clocks_and_the_words_of_its_kind)
{
    EXPECT_EQ(line_of_row(one_of_each().front(), here),
              R"({"number":1,"time_ns":10,"real_time_ns":1795661220000000011,"event":"send","qpn":16,"peer_qpn":32,)"
              R"("reason":"first","psn":7,"ev":13821,"bytes":3072})");
    const std::string path = line_of_row(recorded(trace_kind::path, trace_reason::losses, 1, 0, 0, 0, 0x35fd, 2), here);
    EXPECT_NE(path.find(R"("qpn":null)"), std::string::npos) << path;
    EXPECT_NE(path.find(R"("state":"assumed_bad")"), std::string::npos) << path;
    const std::string state = line_of_row(recorded(trace_kind::state, trace_reason::none, 1, 16, 32, 0, 0, 5), here);
    EXPECT_NE(state.find(R"("state":"ERROR")"), std::string::npos) << state;
    EXPECT_EQ(words_of(one_of_each().front()), "send   first         qp 16 of 32  psn 0x7  ev 0x35fd  3072 bytes");
}

TEST(trace_recording, of_a_killed_mrcctl_ends_early_and_is_read_so_far)
{
    std::string text = text_of(one_of_each());
    text.resize(text.find(R"("event":"timer")")); // in the middle of a line
    const recording read = parse_recording(text, "a.jsonl");
    EXPECT_FALSE(read.is_whole);
    EXPECT_EQ(read.rows.size(), 9U);
}

TEST(trace_recording, what_is_none_is_refused_by_its_line)
{
    const std::string head = first_line(here) + "\n";
    EXPECT_EQ(complaint_of(head + "{\"event\":\"dance\"}\n"),
              "line 2 of 'a.jsonl' is no trace; allowed: what `mrcctl trace --json` prints");
    EXPECT_EQ(complaint_of("hello\nworld\n"),
              "line 1 of 'a.jsonl' is no trace; allowed: what `mrcctl trace --json` prints");
    EXPECT_EQ(complaint_of(line_of_row(one_of_each().front(), here) + "\n"),
              "line 1 of 'a.jsonl' is no trace; allowed: what `mrcctl trace --json` prints")
        << "an event before it is known whose";
    EXPECT_EQ(complaint_of(head + "{\"event\":\"send\",\"psn\":\"x\"}\n"),
              "line 2 of 'a.jsonl' is no trace; allowed: what `mrcctl trace --json` prints");
    EXPECT_EQ(complaint_of(""),
              "'a.jsonl' has no line that begins a trace; allowed: what `mrcctl trace --json` prints");
}

TEST(trace_recording, passes_a_filter_by_kind_and_by_either_end)
{
    const traced_row row = recorded(trace_kind::send, trace_reason::first, 10, 16, 32);
    EXPECT_TRUE(passes({}, row));
    EXPECT_TRUE(passes({.qpn = 16}, row));
    EXPECT_TRUE(passes({.qpn = 32}, row));
    EXPECT_FALSE(passes({.qpn = 17}, row));
    EXPECT_FALSE(passes({.kinds = 1U << static_cast<unsigned>(trace_kind::loss)}, row));
    EXPECT_TRUE(passes({.qpn = 17}, recorded(trace_kind::path, trace_reason::losses, 1, 0, 0)));
}

} // namespace
} // namespace mrc::ctl
