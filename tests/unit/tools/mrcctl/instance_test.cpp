// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/instance.h"

#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tools/mrcctl/error.h"
#include "tools/mrcctl/process.h"

namespace mrc::ctl
{
namespace
{

class mrcctl_instance : public testing::Test
{
protected:
    void SetUp() override
    {
        char name[] = "/tmp/mrcctl-test-XXXXXX";
        ASSERT_NE(::mkdtemp(name), nullptr);
        root_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    void add(const std::string &name)
    {
        std::filesystem::create_directories(root_ / name);
        std::ofstream{root_ / name / "host"} << "a map";
    }

    [[nodiscard]] std::string complaint(const std::string &given, const std::string &environment) const
    {
        try {
            return "chose " + choose_instance(given, environment, root_).name;
        } catch (const ctl_error &error) {
            return error.what();
        }
    }

    std::filesystem::path root_;
};

TEST_F(mrcctl_instance, the_only_one_is_the_default)
{
    std::filesystem::create_directories(root_ / "lab" / "p0t0-0"); // a lab's switches
    add("h0");
    EXPECT_EQ(find_instances(root_), std::vector<std::string>{"h0"});
    EXPECT_EQ(complaint("", ""), "chose h0");
    EXPECT_EQ(choose_instance("", "", root_).pins, root_ / "h0");
}

TEST_F(mrcctl_instance, of_several_one_is_named)
{
    add("h1");
    add("h0");
    EXPECT_EQ(complaint("", ""), "several instances; name one with --instance or MRC_INSTANCE: h0, h1");
    EXPECT_EQ(complaint("", "h1"), "chose h1");
    EXPECT_EQ(complaint("h0", "h1"), "chose h0");
}

TEST_F(mrcctl_instance, an_unknown_instance_is_refused_with_a_list_of_those_there_are)
{
    EXPECT_EQ(complaint("x", ""), "no instance 'x'; none is running here");
    EXPECT_NE(complaint("", "").find("no mrcd has pinned its maps"), std::string::npos);
    add("h0");
    EXPECT_EQ(complaint("x", ""), "no instance 'x'; there is: h0");
    EXPECT_EQ(complaint("", "a,b"),
              "no instance 'a,b' (named by MRC_INSTANCE; one name is allowed here); there is: h0");
    EXPECT_EQ(complaint("../h0", ""), "no instance '../h0'; there is: h0");
}

TEST(mrcctl_process, a_name_may_contain_anything)
{
    std::string text = "42 (a) R (b) T";
    for (int field = 4; field <= 22; ++field)
        text += " " + std::to_string(field);
    const process_stat stat = parse_stat(text);
    EXPECT_EQ(stat.state, 'T');
    EXPECT_EQ(stat.start_ticks, 22U);
    EXPECT_EQ(parse_stat("").state, 'X');
    EXPECT_EQ(parse_stat("42 (cut) S 1 2").state, 'X');
}

TEST(mrcctl_process, a_process_that_started_later_is_another_one)
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    mrc_host_row host{};
    host.pid = static_cast<__u32>(::getpid());
    host.started_ns = static_cast<__u64>(now.tv_sec) * 1'000'000'000 + static_cast<__u64>(now.tv_nsec);
    EXPECT_TRUE(look_at_daemon(host).alive);
    EXPECT_EQ(look_at_daemon(host).state, "running");
    host.started_ns = 0; // this machine's start
    EXPECT_FALSE(look_at_daemon(host).alive);
    host.pid = 0;
    EXPECT_EQ(look_at_daemon(host).state, "dead");
}

} // namespace
} // namespace mrc::ctl
