// SPDX-License-Identifier: Apache-2.0
// Against the Trace Event Format: which fields an event of a phase must have.
#include "tools/mrcctl/trace/chrome_trace.h"

#include <array>
#include <map>
#include <string>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "unit/tools/mrcctl/trace/recorded.h"

namespace mrc::ctl
{
namespace
{

namespace json = boost::json;
using protocol::trace_kind;
using protocol::trace_reason;
using test::recorded;

class trace_of_two_hosts : public testing::Test
{
protected:
    [[nodiscard]] json::array events() const
    {
        const auto there = match_packets(both_[0], both_[1]);
        const std::array<packets_of, 1> flights{{{.packets = there, .from = 0}}};
        const json::value whole = json::parse(chrome_trace(both_, time_line(both_, 0, {}), 0, flights));
        EXPECT_EQ(whole.at("displayTimeUnit").as_string(), "ns");
        return whole.at("traceEvents").as_array();
    }

    std::array<recording, 2> both_{
        recording{.from = {.instance = "a", .host = "\"h\"", .to_real_ns = 0},
                  .rows = {recorded(trace_kind::send, trace_reason::first, 2'000, 16, 32, 7, 9, 3072),
                           recorded(trace_kind::path, trace_reason::losses, 9'500, 0, 0, 0, 9, 2)}},
        recording{.from = {.instance = "b", .host = "h", .to_real_ns = 0},
                  .rows = {recorded(trace_kind::arrive, trace_reason::fresh, 4'500, 32, 16, 7, 9, 3072)}}};
};

TEST_F(trace_of_two_hosts, has_the_fields_of_every_phase)
{
    std::map<std::string, int> phases;
    for (const json::value &each : events()) {
        const json::object &event = each.as_object();
        const std::string phase{event.at("ph").as_string().c_str()};
        ++phases[phase];
        EXPECT_TRUE(event.at("name").is_string());
        EXPECT_TRUE(event.at("pid").is_number() && event.at("tid").is_number());
        if (phase == "M") {
            EXPECT_TRUE(event.at("args").at("name").is_string());
            continue;
        }
        EXPECT_TRUE(event.at("ts").is_double());
        EXPECT_TRUE(event.at("cat").is_string());
        if (phase == "i")
            EXPECT_EQ(event.at("s").as_string(), "t");
        else
            EXPECT_TRUE(event.at("id").is_string());
    }
    EXPECT_EQ(phases, (std::map<std::string, int>{{"M", 5}, {"i", 3}, {"b", 1}, {"e", 1}}));
}

TEST_F(trace_of_two_hosts, begins_at_zero_and_counts_microseconds)
{
    std::map<std::string, double> at;
    for (const json::value &event : events())
        if (event.at("ph").as_string() != "M")
            at[std::string{event.at("ph").as_string().c_str()} + event.at("name").as_string().c_str()] =
                event.at("ts").as_double();
    EXPECT_EQ(at, (std::map<std::string, double>{{"isend first", 0},
                                                 {"iarrive fresh", 2.5},
                                                 {"ipath losses", 7.5},
                                                 {"bsend psn 0x7", 0},
                                                 {"esend psn 0x7", 2.5}}));
}

TEST_F(trace_of_two_hosts, of_nothing_is_valid_too)
{
    const json::value whole = json::parse(chrome_trace({}, {}, 0, {}));
    EXPECT_TRUE(whole.at("traceEvents").as_array().empty());
}

} // namespace
} // namespace mrc::ctl
