// SPDX-License-Identifier: Apache-2.0
#include "kernel/trusted_folder.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mrc::kernel
{
namespace
{

constexpr uid_t daemons = 1234;
constexpr uid_t other_user = 4321;

class trusted_folder : public testing::Test
{
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root, to give folders away";
        std::string name = "/tmp/mrc-trusted-folder-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name;
        below_ = root_ / "mrc";
        std::filesystem::create_directory(below_);
    }
    void TearDown() override
    {
        if (!root_.empty())
            std::filesystem::remove_all(root_);
    }
    static void give(const std::filesystem::path &folder, uid_t user, mode_t mode)
    {
        ASSERT_EQ(::lchown(folder.c_str(), user, static_cast<gid_t>(-1)), 0);
        ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
    }
    static void expect_problem(const std::string &folder, const std::string &words)
    {
        const auto problem = find_folder_problem(folder, daemons);
        ASSERT_TRUE(problem);
        EXPECT_NE(problem->what.find(words), std::string::npos) << problem->what;
    }
    [[nodiscard]] std::string pins() const { return below_ / "default"; }

    std::filesystem::path root_;
    std::filesystem::path below_;
};

TEST_F(trusted_folder, takes_parents_of_root_and_of_the_user)
{
    EXPECT_FALSE(find_folder_problem(pins(), daemons));
    give(below_, daemons, 0755);
    EXPECT_FALSE(find_folder_problem(pins(), daemons));
}

TEST_F(trusted_folder, refuses_one_that_belongs_to_a_third)
{
    give(below_, other_user, 0700);
    expect_problem(pins(), "'" + below_.string() + "' belongs to user 4321");
    EXPECT_EQ(find_folder_problem(pins(), daemons)->remedy, "chown -h root " + below_.string());
}

TEST_F(trusted_folder, refuses_one_that_others_may_write)
{
    give(below_, 0, 0777);
    expect_problem(pins(), "may be written by others");
}

TEST_F(trusted_folder, takes_a_sticky_parent_as_bpffs_is_on_many_hosts)
{
    give(root_, 0, 01777);
    EXPECT_FALSE(find_folder_problem(pins(), daemons));
    EXPECT_FALSE(find_folder_problem(root_ / "not yet" / "there", daemons));
}

TEST_F(trusted_folder, judges_what_a_link_leads_to)
{
    const std::filesystem::path elsewhere = root_ / "elsewhere";
    std::filesystem::create_directory(elsewhere);
    std::filesystem::create_directory_symlink(elsewhere, below_ / "link");
    EXPECT_FALSE(find_folder_problem(below_ / "link" / "default", daemons));
    give(elsewhere, other_user, 0755);
    expect_problem(below_ / "link" / "default", "elsewhere' belongs to user 4321");
    give(elsewhere, 0, 0755);
    ASSERT_EQ(::lchown((below_ / "link").c_str(), other_user, static_cast<gid_t>(-1)), 0);
    expect_problem(below_ / "link" / "default", "link' belongs to user 4321");
}

TEST_F(trusted_folder, is_claimed_from_the_user_and_given_back)
{
    const std::string deep = below_ / "a" / "b";
    const auto owner = [&] {
        struct stat about{};
        EXPECT_EQ(::stat(deep.c_str(), &about), 0);
        EXPECT_EQ(about.st_mode & 0777, 0755U);
        return about.st_uid;
    };
    EXPECT_EQ(claim_folder(deep, daemons), true);
    EXPECT_EQ(owner(), 0U);
    give_folder(deep, {.name = "daemons", .uid = daemons, .gid = daemons, .groups = {}});
    EXPECT_EQ(owner(), daemons);
    EXPECT_EQ(claim_folder(deep, daemons), true);
    EXPECT_EQ(owner(), 0U) << "while it is prepared, its user changes nothing in it";
    EXPECT_EQ(claim_folder(deep, daemons), false) << "somebody else has made it";
}

} // namespace
} // namespace mrc::kernel
