// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/names.h"

#include <gtest/gtest.h>

#include "tools/setup/config_text.h"

namespace mrc::setup
{
namespace
{

const std::vector<std::string> one_device{"eth0"};

// Host 1, and others on one network with it.
heard_so_far heard_of(const std::vector<std::string> &names)
{
    heard_so_far heard;
    heard.own = {.host = 1, .run = 1, .plan = 0, .port = 0, .ports = 1, .name = "own", .heard = {}};
    std::uint64_t host = 1;
    for (const std::string &name : names) {
        hello other{.host = ++host, .run = host, .plan = 0, .port = 0, .ports = 1, .name = name, .heard = {}};
        other.heard = {{.from = {.host = 1, .port = 0}, .by = 0}};
        take_hello(heard, other, 0);
    }
    return heard;
}

chosen_names chosen_for(const heard_so_far &heard, const std::string &known = {})
{
    return choose_names(heard, make_plan(heard), known);
}

std::string config_of(const heard_so_far &heard)
{
    return config_text(heard, make_plan(heard), one_device, "default", chosen_for(heard));
}

using names = std::map<std::uint64_t, std::string>;

TEST(names, are_those_that_hosts_say)
{
    const chosen_names chosen = chosen_for(heard_of({"b", "c"}));
    EXPECT_EQ(chosen.of, (names{{2, "b"}, {3, "c"}}));
    EXPECT_TRUE(chosen.remarks.empty());
}

TEST(names, nobody_has_one_that_several_say)
{
    const chosen_names chosen = chosen_for(heard_of({"b", "B", "c"}));
    EXPECT_EQ(chosen.of, (names{{4, "c"}}));
    ASSERT_EQ(chosen.remarks.size(), 2U);
    EXPECT_TRUE(chosen.remarks[0].contains("several hosts say it")) << chosen.remarks[0];
}

TEST(names, nobody_has_this_hosts)
{
    const chosen_names chosen = chosen_for(heard_of({"own"}));
    EXPECT_TRUE(chosen.of.empty());
    ASSERT_EQ(chosen.remarks.size(), 1U);
    EXPECT_TRUE(chosen.remarks[0].contains("it is this host's")) << chosen.remarks[0];
}

TEST(names, a_known_peer_keeps_its_own_and_no_stranger_gets_it)
{
    const std::string known = config_of(heard_of({"b", "c"}));
    const chosen_names renamed = chosen_for(heard_of({"x", "c"}), known);
    EXPECT_EQ(renamed.of, (names{{2, "b"}, {3, "c"}}));
    ASSERT_EQ(renamed.remarks.size(), 1U);
    EXPECT_TRUE(renamed.remarks[0].contains("says that it is x: it stays b")) << renamed.remarks[0];

    const chosen_names swapped = chosen_for(heard_of({"c", "b"}), known);
    EXPECT_EQ(swapped.of, (names{{2, "b"}, {3, "c"}}));

    const chosen_names stranger = chosen_for(heard_of({"b", "c", "B"}), known);
    EXPECT_EQ(stranger.of, (names{{2, "b"}, {3, "c"}}));
    ASSERT_EQ(stranger.remarks.size(), 1U);
    EXPECT_TRUE(stranger.remarks[0].contains("fd6d:7263:5e70:ff::2 had it before")) << stranger.remarks[0];
}

} // namespace
} // namespace mrc::setup
