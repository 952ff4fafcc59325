// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/paths/plane_suspension.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr plane_index first{1};
constexpr plane_index second{3};

// What is due until then, looked at when it is: "?" a question, "!" the blame; with the plane and the time.
std::vector<std::string> follow(plane_suspension &suspension, instant until)
{
    std::vector<std::string> steps;
    for (instant now = suspension.next_deadline(); now <= until; now = suspension.next_deadline())
        while (const auto step = suspension.next_step(now))
            steps.push_back(std::to_string(step->plane.value) + (step->blame ? "!" : "?") +
                            std::to_string((now - start) / 1ms));
    return steps;
}

using list = std::vector<std::string>;

TEST(plane_suspension, silent_plane_is_asked_twice_and_then_blamed)
{
    plane_suspension suspension{10ms};
    EXPECT_EQ(suspension.next_deadline(), never);
    suspension.begin(first, start - 1ms, start);
    EXPECT_TRUE(suspension.planes().has(first));
    EXPECT_EQ(follow(suspension, start + 1s), (list{"1?0", "1?5", "1!10"}));
    EXPECT_TRUE(suspension.planes().empty());
    EXPECT_EQ(suspension.next_deadline(), never);
}

TEST(plane_suspension, what_got_through_since_the_silence_began_ends_it)
{
    plane_suspension suspension{10ms};
    suspension.begin(first, start, start + 1ms);
    suspension.on_delivered(first, start - 1us);
    suspension.on_delivered(second, start + 1ms);
    EXPECT_TRUE(suspension.planes().has(first));
    suspension.on_delivered(first, start);
    EXPECT_TRUE(suspension.planes().empty());
    EXPECT_TRUE(follow(suspension, start + 1s).empty());
}

TEST(plane_suspension, planes_are_followed_each_by_itself)
{
    plane_suspension suspension{10ms};
    suspension.begin(first, start, start);
    EXPECT_EQ(follow(suspension, start + 3ms), (list{"1?0"}));
    suspension.begin(second, start, start + 4ms);
    suspension.begin(first, start, start + 4ms); // as before
    EXPECT_EQ(follow(suspension, start + 1s), (list{"3?4", "1?5", "3?9", "1!10", "3!14"}));
}

TEST(plane_suspension, host_that_was_off_its_cpu_asks_anew)
{
    plane_suspension suspension{10ms};
    suspension.begin(first, start, start);
    EXPECT_EQ(follow(suspension, start + 5ms), (list{"1?0", "1?5"}));
    const auto step = suspension.next_step(start + 16ms);
    ASSERT_TRUE(step);
    EXPECT_FALSE(step->blame) << "the answer may wait unread";
    EXPECT_EQ(follow(suspension, start + 1s), (list{"1?21", "1!26"}));
}

} // namespace
} // namespace mrc::protocol
