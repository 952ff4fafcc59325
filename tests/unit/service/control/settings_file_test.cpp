// SPDX-License-Identifier: Apache-2.0
#include "service/control/settings_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mrc::service::control
{
namespace
{

class settings_file_test : public testing::Test
{
protected:
    settings_file_test()
    {
        std::string name = testing::TempDir() + "settings-XXXXXX";
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        folder = name;
    }
    ~settings_file_test() override { std::filesystem::remove_all(folder); }

    [[nodiscard]] std::string content(const std::string &name) const
    {
        std::ifstream stream{folder + "/" + name};
        return {std::istreambuf_iterator<char>{stream}, {}};
    }
    [[nodiscard]] ino_t inode() const
    {
        struct stat about{};
        EXPECT_EQ(::stat((folder + "/controller.toml").c_str(), &about), 0);
        return about.st_ino;
    }

    std::string folder;
};

TEST_F(settings_file_test, there_is_none_at_first)
{
    const auto text = settings_file{folder}.read();
    ASSERT_TRUE(text);
    EXPECT_FALSE(*text);
}

TEST_F(settings_file_test, what_is_written_is_read_by_the_next)
{
    ASSERT_TRUE(settings_file{folder}.write("first"));
    ASSERT_TRUE(settings_file{folder}.write(std::string(100'000, 'x')));
    EXPECT_EQ(**settings_file{folder}.read(), std::string(100'000, 'x'));
    EXPECT_FALSE(std::filesystem::exists(folder + "/controller.toml.new"));
}

// A reader that has the old one open keeps it, whole: the new one is another file.
TEST_F(settings_file_test, the_old_one_is_replaced_not_overwritten)
{
    settings_file file{folder};
    ASSERT_TRUE(file.write("old"));
    std::ifstream reader{folder + "/controller.toml"};
    const ino_t old = inode();
    ASSERT_TRUE(file.write("new"));
    EXPECT_NE(inode(), old);
    std::string seen;
    reader >> seen;
    EXPECT_EQ(seen, "old");
}

TEST_F(settings_file_test, the_same_again_costs_no_write)
{
    ASSERT_TRUE(settings_file{folder}.write("text"));
    const ino_t first = inode();
    settings_file file{folder};
    ASSERT_TRUE(file.read());
    ASSERT_TRUE(file.write("text"));
    EXPECT_EQ(inode(), first);
}

TEST_F(settings_file_test, the_rest_of_a_write_that_was_cut_short_is_nobodys)
{
    settings_file file{folder};
    ASSERT_TRUE(file.write("whole"));
    std::ofstream{folder + "/controller.toml.new"} << "hal";
    EXPECT_EQ(**file.read(), "whole");
    ASSERT_TRUE(file.write("next"));
    EXPECT_EQ(content("controller.toml"), "next");
}

TEST_F(settings_file_test, set_aside_it_stays_to_be_looked_at)
{
    settings_file file{folder};
    ASSERT_TRUE(file.write("damaged"));
    ASSERT_TRUE(file.set_aside());
    EXPECT_FALSE(*file.read());
    EXPECT_EQ(content("controller.toml.refused"), "damaged");
    ASSERT_TRUE(file.write("damaged")) << "which is no reason not to write the same anew";
    EXPECT_EQ(content("controller.toml"), "damaged");
}

TEST_F(settings_file_test, what_cannot_be_written_is_said)
{
    settings_file file{folder + "/nowhere"};
    EXPECT_EQ(file.write("text").error(), std::errc::no_such_file_or_directory);
}

} // namespace
} // namespace mrc::service::control
