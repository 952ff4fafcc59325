// SPDX-License-Identifier: Apache-2.0
// Scenario files: what they may say, and what is answered when they are wrong.
#include <gtest/gtest.h>

#include <string>

#include "sim/scenario_file.h"

namespace mrc::sim
{
namespace
{

TEST(scenario_file, values_are_those_of_the_file)
{
    const scenario read = parse_scenario(R"(title = "t"
duration = "1.5ms"
[fabric]
planes = 2
host_gbps = 25
[[event]]
at = "1us"
what = "down"
links = [["h0", "p1t0-0"]]
restored = "10us"
[[variant]]
name = "a"
[[variant]]
name = "b"
[variant.transport]
kind = "roce"
[variant.sweep]
bytes = ["4K", "1M"]
[sweep]
loss = [0.0, 0.01]
[[bound]]
what = "w"
metric = "goodput"
between = [0.9, 1.1]
variant = "a"
in = ["10us", "1ms"]
over = { loss = 0.0 }
)",
                                         "dir/x.toml");
    EXPECT_EQ(read.id, "x");
    ASSERT_EQ(read.variants.size(), 2u);
    EXPECT_EQ(read.variants[0].config.duration, 1500 * microsecond);
    EXPECT_EQ(read.variants[1].config.fabric.planes, 2u) << "variants begin as the scenario";
    EXPECT_EQ(read.variants[1].config.transport.kind, transport_kind::roce);
    EXPECT_EQ(read.variants[0].config.transport.kind, transport_kind::mrc);
    EXPECT_EQ(read.variants[0].losses, (std::vector{0.0, 0.01}));
    EXPECT_EQ(read.variants[1].sizes, (std::vector<std::uint64_t>{4096, 1 << 20}));
    ASSERT_EQ(read.variants[1].config.events.size(), 1u);
    EXPECT_EQ(read.variants[1].config.events[0].restored, 10 * microsecond);
    ASSERT_EQ(read.bounds.size(), 1u);
    EXPECT_EQ(read.bounds[0].between.least, 0.9);
    EXPECT_EQ(read.bounds[0].between.most, 1.1);
    EXPECT_EQ(read.bounds[0].in->to, millisecond);
    EXPECT_EQ(read.bounds[0].over->loss, 0.0);
}

struct refused_text {
    const char *text;
    const char *answer; // all of it
};

class refused : public testing::TestWithParam<refused_text>
{
};

TEST_P(refused, names_file_line_key_and_what_is_allowed)
{
    try {
        (void)parse_scenario(std::string{"title = \"t\"\n"} + GetParam().text, "x.toml");
        FAIL() << "taken: " << GetParam().text;
    } catch (const scenario_error &error) {
        EXPECT_STREQ(error.what(), GetParam().answer);
    }
}

INSTANTIATE_TEST_SUITE_P(
    scenario_file, refused,
    testing::Values(
        refused_text{"[fabric]\nplanes = 9\n", "x.toml:3:10: fabric.planes: found 9, allowed is 1 to 8"},
        refused_text{"[fabric]\nplanes = \"two\"\n", "x.toml:3:10: fabric.planes: found \"two\", allowed is 1 to 8"},
        refused_text{"duration = 5\n",
                     "x.toml:2:12: duration: found 5, allowed is a time such as \"250us\", in ns, us, ms or s"},
        refused_text{
            "duration = \"5 minutes\"\n",
            "x.toml:2:12: duration: found \"5 minutes\", allowed is a time such as \"250us\", in ns, us, ms or "
            "s"},
        refused_text{"[transport]\nkind = \"tcp\"\n",
                     "x.toml:3:8: transport.kind: found \"tcp\", allowed is \"mrc\" or \"roce\""},
        refused_text{"[traffic]\nbytes = \"3G\"\n",
                     "x.toml:3:9: traffic.bytes: found \"3G\", allowed is bytes from 1 to 2G, such as 4096 or \"64M\""},
        refused_text{"[fabric]\nleaves = 64\nhosts_per_leaf = 17\n",
                     "x.toml:4:1: fabric.hosts_per_leaf: found 1088 hosts, allowed is at most 1024"},
        refused_text{"[[event]]\nwhat = \"cut\"\nlinks = [[\"h0\", \"p9t0-0\"]]\n",
                     "x.toml:4:1: event[0].links: found h0 and p9t0-0, allowed is p0t0-0 to p3t0-1"},
        refused_text{"[[event]]\nwhat = \"cut\"\n",
                     "x.toml:2:1: event[0].links: found nothing, allowed is one of links, node, watch, random_uplinks"},
        refused_text{"[[event]]\nwhat = \"cut\"\nwatch = \"A\"\n",
                     "x.toml:4:1: event[0].watch: found A, allowed is the name of a [[watch]]"},
        refused_text{"[[event]]\nlinks = [[\"h0\"]]\n",
                     "x.toml:3:9: event[0].links: found a list of lists, allowed is a list of pairs such as "
                     "[[\"p0t0-0\", \"p0t1-0\"]]"},
        refused_text{"[[event]]\nwatch = \"A\"\n",
                     "x.toml:2:1: event[0].what: missing; required is \"cut\", \"down\", \"up\" or \"loss\""},
        refused_text{"[[bound]]\nmetric = \"goodput\"\nbetween = [1.02, 0.95]\n",
                     "x.toml:4:11: bound[0].between: found [1.02, 0.95], allowed is two numbers in order, such as "
                     "[0.95, 1.02]"},
        refused_text{"[[bound]]\nwhat = \"w\"\nmetric = \"m\"\n",
                     "x.toml:2:1: bound[0].between: missing; required is two numbers in order, such as [0.95, 1.02]"},
        refused_text{"[measure]\nintervall = \"1us\"\n",
                     "x.toml:3:1: measure.intervall: unknown key; the closest known one is \"interval\""},
        refused_text{
            "[measure]\ninterval = \"10ns\"\n",
            "x.toml:3:12: measure.interval: found \"10ns\", allowed is a time such as \"250us\", in ns, us, ms "
            "or s, of 1 us or more"},
        refused_text{"[[bound]]\nwhat = \"w\"\nmetric = \"m\"\nbetween = [1, 1]\nin = [\"2ms\", \"1ms\"]\n",
                     "x.toml:6:6: bound[0].in: found [\"2ms\", \"1ms\"], allowed is two times in order, such as "
                     "[\"1ms\", \"2ms\"]"},
        refused_text{"[[variant]]\nname = \"a\"\n[variant.fabric]\nleaves = 64\nhosts_per_leaf = 20\n",
                     "x.toml:6:1: variant[0].fabric.hosts_per_leaf: found 1280 hosts, allowed is at most 1024"},
        // A variant that inherits an event is refused where the event stands.
        refused_text{"[[variant]]\nname = \"a\"\n[[event]]\nwhat = \"cut\"\nnode = \"p9t0-0\"\n",
                     "x.toml:6:1: event[0].node: found p9t0-0, allowed is p0t0-0 to p3t0-1"},
        refused_text{
            "[host]\nframe = \"1us\"\n",
            "x.toml:2:2: host.round: found nothing, allowed is a time of more than 0 where [host] says anything"},
        refused_text{"[host]\nround = \"1us\"\nstall_every = \"1ms\"\n",
                     "x.toml:2:2: host.stalls: found nothing, allowed is both or neither"},
        refused_text{"[host]\nround = \"1us\"\nstalls = [[0, \"1us\"], [1, \"2us\"]]\n",
                     "x.toml:2:2: host.stall_every: found nothing, allowed is both or neither"},
        refused_text{
            "[host]\nstalls = [[0, \"1us\"], [0.9, \"2us\"]]\n",
            "x.toml:3:10: host.stalls: found a list of lists, allowed is shares from 0 to 1, each with a time, "
            "both in order, such as [[0, \"20us\"], [0.5, \"4ms\"], [1, \"40ms\"]]"},
        refused_text{
            "[host]\nstalls = [[0, \"3us\"], [1, \"2us\"]]\n",
            "x.toml:3:10: host.stalls: found a list of lists, allowed is shares from 0 to 1, each with a time, "
            "both in order, such as [[0, \"20us\"], [0.5, \"4ms\"], [1, \"40ms\"]]"},
        refused_text{"[transport]\nkind = \"roce\"\n[host]\nround = \"1us\"\n",
                     "x.toml:5:1: host.round: found a time, allowed is 0 for RoCE, whose hosts are NICs"}));

TEST(scenario_file, one_variant_keeps_the_bounds_that_need_no_other)
{
    scenario read = parse_scenario(R"(title = "t"
[[variant]]
name = "a"
[[variant]]
name = "b"
[[bound]]
what = "of all"
metric = "m"
between = [0, 1]
[[bound]]
what = "of a"
metric = "m"
variant = "a"
between = [0, 1]
[[bound]]
what = "of b"
metric = "m"
variant = "b"
between = [0, 1]
[[bound]]
what = "of a over b"
metric = "m"
variant = "a"
over = { variant = "b" }
between = [0, 1]
)",
                                   "x.toml");
    const std::size_t all_bounds = read.bounds.size();
    scenario other = read;
    EXPECT_THROW(keep_variants(other, {"a", "c"}), scenario_error);
    keep_variants(other, {"b", "a"});
    EXPECT_EQ(other.variants.size(), 2u);
    EXPECT_EQ(other.bounds.size(), all_bounds);
    keep_variants(read, {"a"});
    ASSERT_EQ(read.variants.size(), 1u);
    EXPECT_EQ(read.variants[0].name, "a");
    ASSERT_EQ(read.bounds.size(), 2u);
    EXPECT_EQ(read.bounds[0].what, "of all");
    EXPECT_EQ(read.bounds[1].what, "of a");
}

TEST(scenario_file, syntax_errors_name_their_line)
{
    try {
        (void)parse_scenario("title = \"t\"\n[fabric\n", "x.toml");
        FAIL();
    } catch (const scenario_error &error) {
        EXPECT_EQ(std::string{error.what()}.find("x.toml:2:8: "), 0u) << error.what();
    }
}

TEST(scenario_file, a_missing_file_is_named)
{
    EXPECT_THROW((void)load_scenario("/nonexistent/x.toml"), scenario_error);
}

} // namespace
} // namespace mrc::sim
