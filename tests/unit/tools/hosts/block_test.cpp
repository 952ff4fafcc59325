// SPDX-License-Identifier: Apache-2.0
#include "tools/hosts/block.h"

#include <gtest/gtest.h>

namespace mrc::tools
{
namespace
{

const std::vector<session::named_host> two{{.address = "fd00::1", .name = "b", .known_by = "file"},
                                           {.address = "fd00::2", .name = "c", .known_by = "file"}};
const std::string block = "# begin: peers of mrcd 'default', kept by mrcctl hosts\nfd00::1 b\nfd00::2 c\n"
                          "# end: peers of mrcd 'default'\n";

std::string written(const std::string &text, std::span<const session::named_host> hosts = two, bool is_new = false)
{
    const auto change = with_block(text, is_new, "default", hosts);
    EXPECT_TRUE(change) << change.error();
    return change ? change->text : "";
}

TEST(block, stands_behind_what_is_there)
{
    EXPECT_EQ(written("127.0.0.1 localhost\n"), "127.0.0.1 localhost\n" + block);
}

TEST(block, takes_its_earlier_place_and_leaves_others_alone)
{
    const std::string around = "# mine\n" + written("10.0.0.9 a\n") + "10.0.0.1 after\n";
    const std::string fewer = written(around, std::span{two}.first(1));
    EXPECT_EQ(fewer, "# mine\n10.0.0.9 a\n# begin: peers of mrcd 'default', kept by mrcctl hosts\nfd00::1 b\n"
                     "# end: peers of mrcd 'default'\n10.0.0.1 after\n");
    const auto other = with_block(fewer, false, "second", {});
    ASSERT_TRUE(other);
    EXPECT_TRUE(other->text.starts_with(fewer));
}

TEST(block, is_taken_out_to_the_byte)
{
    for (const std::string text : {"", "127.0.0.1 localhost\n", "127.0.0.1 localhost", "\n\n", "a\r\n\tb "}) {
        const auto removed = without_block(written(written(text)), "default");
        ASSERT_TRUE(removed) << removed.error();
        EXPECT_EQ(removed->text, text);
        EXPECT_FALSE(removed->file_is_ours);
    }
    const auto made = without_block(written("", two, true), "default");
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->file_is_ours);
}

TEST(block, gives_no_name_that_the_file_has_for_another)
{
    const std::string file = "10.0.0.1 other C # b\nfd00::1 b\n";
    const auto change = with_block(file, false, "default", two);
    ASSERT_TRUE(change);
    EXPECT_EQ(change->written, 1U);
    ASSERT_EQ(change->left_out.size(), 1U);
    EXPECT_EQ(change->left_out[0], "c is left out: the name is that of 10.0.0.1 there");
    EXPECT_FALSE(change->text.contains("fd00::2"));
}

TEST(block, without_an_end_is_left_to_its_owner)
{
    const std::string cut = written("").substr(0, 60);
    EXPECT_FALSE(with_block(cut, false, "default", two));
    EXPECT_FALSE(without_block(cut, "default"));
    EXPECT_FALSE(without_block("127.0.0.1 localhost\n", "default")) << "there is none";
}

} // namespace
} // namespace mrc::tools
