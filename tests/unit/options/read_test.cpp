// SPDX-License-Identifier: Apache-2.0
// What a program gets for a table of options: values, errors that help, and the configuration in force. Programs'
// own tests go through their tables.
#include "options/read.h"

#include <optional>
#include <string>
#include <vector>

#include "options/kinds.h"
#include "options/print.h"
#include <gtest/gtest.h>

namespace mrc::options
{
namespace
{

struct lamp {
    std::string name;
    std::uint32_t watts = 7;
    std::optional<std::uint32_t> hue;
};
struct switches {
    bool on = false;
    std::vector<std::int64_t> hours{6, 18};
};
struct house {
    std::string street = "none";
    switches all;
    std::optional<switches> cellar;
    std::vector<lamp> lamps;
    std::vector<lamp> spares; // begin as the first lamp
};

const table_of<house> &house_options()
{
    static const auto lamp_table = table_of<lamp>{}
                                       .add("name", string_value{}, &lamp::name, required)
                                       .add("watts", whole{1, 100}, &lamp::watts)
                                       .add("hue", automatic{whole{0, 359}}, &lamp::hue);
    static const auto switch_table = table_of<switches>{}
                                         .add("on", flag{}, &switches::on)
                                         .add("hours", list_of{whole{0, 23}, "hours from 0 to 23"}, &switches::hours);
    static const auto all =
        table_of<house>{}
            .add("street", string_value{}, &house::street)
            .add_rows("spare", lamp_table, &house::spares, {.one_per = "spare lamp"},
                      [](const house &in) { return in.lamps.at(0); })
            .add_table("all", switch_table, &house::all)
            .add_table("cellar", switch_table, &house::cellar)
            .add_rows("lamp", lamp_table, &house::lamps, {.one_per = "lamp of the house", .least = 1, .most = 2});
    return all;
}

std::string error_of(const std::string &text)
{
    house found;
    const auto origin = read(text, "h.toml", house_options(), found);
    return origin ? "accepted" : origin.error().text();
}

const std::string one_lamp = "[[lamp]]\nname = \"a\"\n";

TEST(options_read, reads_keys_tables_and_rows)
{
    house found;
    const auto origin = read("street = \"s\"\n[cellar]\non = true\n" + one_lamp + "hue = 3\n[all]\nhours = [1]\n",
                             "h.toml", house_options(), found);
    ASSERT_TRUE(origin) << origin.error().text();
    EXPECT_EQ(found.street, "s");
    ASSERT_TRUE(found.cellar);
    EXPECT_TRUE(found.cellar->on);
    EXPECT_EQ(found.all.hours, std::vector<std::int64_t>{1});
    ASSERT_EQ(found.lamps.size(), 1U);
    EXPECT_EQ(found.lamps[0].hue, 3U);
    EXPECT_EQ(found.lamps[0].watts, 7U);
    EXPECT_TRUE(origin->has("lamp[0].hue"));
    EXPECT_FALSE(origin->has("lamp[0].watts"));
}

TEST(options_read, rows_of_a_file_take_the_place_of_those_before)
{
    house found;
    found.lamps.resize(5);
    ASSERT_TRUE(read(one_lamp, "h.toml", house_options(), found));
    EXPECT_EQ(found.lamps.size(), 1U);
}

TEST(options_read, a_row_that_begins_as_its_parent_is_read_after_the_rest)
{
    house found;
    ASSERT_TRUE(read("[[spare]]\nname = \"b\"\n" + one_lamp + "watts = 40\n", "h.toml", house_options(), found));
    EXPECT_EQ(found.spares.at(0).name, "b");
    EXPECT_EQ(found.spares.at(0).watts, 40U);
}

struct refusal {
    std::string text;
    std::string error;
};

TEST(options_read, errors_name_file_line_column_key_and_what_is_allowed)
{
    const refusal refusals[] = {
        {"street = 3\n", "h.toml:1:10: street: found 3, allowed is text in quotes"},
        {"stret = 3\n", "h.toml:1:1: stret: unknown key; the closest known one is \"street\""},
        {"x = 3\n", "h.toml:1:1: x: unknown key; known are street, spare, all, cellar, lamp"},
        {"[al]\n", "h.toml:1:2: al: unknown key; the closest known one is \"all\""},
        {"[[all]]\n", "h.toml:1:3: all: found an array, allowed is one table [all]"},
        {"all = 1\n", "h.toml:1:1: all: found 1, allowed is one table [all]"},
        {"[all]\nhours = [24]\n", "h.toml:2:9: all.hours: found [24], allowed is a list of hours from 0 to 23"},
        {"[all]\nhours = [\"x\", [1]]\n",
         "h.toml:2:9: all.hours: found [\"x\", [1]], allowed is a list of hours from 0 to 23"},
        {"[all]\non = 1979-05-27\n", "h.toml:2:6: all.on: found a date or time, allowed is true or false"},
        {"[lamp]\n", "h.toml:1:2: lamp: found a table, allowed is one [[lamp]] per lamp of the house"},
        {one_lamp + one_lamp + one_lamp, "h.toml:1:3: lamp: found 3, allowed are at most 2"},
        {"", "h.toml: lamp: missing; required is one [[lamp]] per lamp of the house"},
        {"[[lamp]]\n", "h.toml:1:1: lamp[0].name: missing; required is text in quotes"},
        {one_lamp + one_lamp + "wats = 1\n",
         "h.toml:5:1: lamp[1].wats: unknown key; the closest known one is \"watts\""},
        {"[all]\n[all]\n", "h.toml:2:"},
        {"street = \n", "h.toml:1:"},
    };
    for (const auto &[text, error] : refusals)
        EXPECT_TRUE(error_of(text).starts_with(error)) << error_of(text) << "\n" << error;
}

TEST(options_read, errors_between_options_stand_at_the_key_or_its_table)
{
    house found;
    const auto origin = read(one_lamp, "h.toml", house_options(), found);
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->error_at("lamp[0].name", "p").text(), "h.toml:2:1: lamp[0].name: p");
    EXPECT_EQ(origin->error_at("lamp[0].watts", "p").text(), "h.toml:1:1: lamp[0].watts: p");
    EXPECT_EQ(origin->error_at("all.on", "p").text(), "h.toml: all.on: p");
}

TEST(options_read, a_file_that_cannot_be_read_is_named)
{
    EXPECT_EQ(read_file("/nonexistent/h.toml").error().text(),
              "/nonexistent/h.toml: cannot read: No such file or directory");
}

struct pair_of_numbers {
    std::uint32_t first = 1;
    std::uint32_t second = 2;
};
struct pair_file {
    pair_of_numbers one;
    std::vector<pair_of_numbers> more;
};

TEST(options_print, shows_each_value_with_its_origin)
{
    const auto pair = table_of<pair_of_numbers>{}
                          .add("first", whole{0, 9}, &pair_of_numbers::first)
                          .add("second", whole{0, 99}, &pair_of_numbers::second);
    const auto all =
        table_of<pair_file>{}.add_table("one", pair, &pair_file::one).add_rows("more", pair, &pair_file::more, {});
    pair_file found;
    const auto origin = read("[one]\nsecond = 10\n[[more]]\nfirst = 3\n", "p.toml", all, found);
    ASSERT_TRUE(origin);
    EXPECT_EQ(print(all, *origin, &found), "[one]\n"
                                           "first = 1    # default\n"
                                           "second = 10  # p.toml:2\n"
                                           "\n"
                                           "[[more]]\n"
                                           "first = 3   # p.toml:4\n"
                                           "second = 2  # default\n");
}

} // namespace
} // namespace mrc::options
