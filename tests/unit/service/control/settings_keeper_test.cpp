// SPDX-License-Identifier: Apache-2.0
// A daemon's settings come back in the next daemon; what is refused lies beside.
#include "service/control/settings_keeper.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "kernel/startup_error.h"
#include "unit/service/daemon_in_memory.h"
#include "unit/service/log_text.h"

namespace mrc::service
{
namespace
{

namespace files = std::filesystem;

class settings_keeper_test : public testing::Test
{
protected:
    settings_keeper_test()
    {
        std::string name = files::temp_directory_path() / "mrc-settings-XXXXXX";
        folder_ = ::mkdtemp(name.data());
    }
    ~settings_keeper_test() override { files::remove_all(folder_); }

    [[nodiscard]] std::string text() const
    {
        std::ifstream file{folder_ / "controller.toml"};
        return {std::istreambuf_iterator<char>{file}, {}};
    }
    void write(const std::string &text) const { std::ofstream{folder_ / "controller.toml"} << text; }

    files::path folder_;
    kernel::user_identity self_{.name = "self", .uid = ::geteuid(), .gid = ::getegid(), .groups = {}};
};

struct instance {
    test::daemon_in_memory daemon{0};
    boost::asio::io_context context;
    settings_keeper keeper{context, daemon.resources().control};
};

TEST_F(settings_keeper_test, nothing_is_written_that_has_not_changed)
{
    instance one;
    one.keeper.save_soon();
    one.context.run();
    one.keeper.restore(folder_, self_);
    one.keeper.save();
    EXPECT_FALSE(files::exists(folder_ / "controller.toml"));
}

TEST_F(settings_keeper_test, what_has_changed_is_written_soon_and_at_the_end)
{
    instance one;
    one.keeper.restore(folder_, self_);
    one.keeper.save_soon();
    EXPECT_EQ(text(), "") << "it is put off";
    one.context.run();
    const std::string written = text();
    EXPECT_NE(written, "");
    files::remove(folder_ / "controller.toml");

    instance other;
    other.keeper.restore(folder_, self_);
    other.keeper.save_soon();
    other.keeper.save();
    EXPECT_EQ(text(), written);
}

TEST_F(settings_keeper_test, a_file_that_is_refused_is_set_aside_and_the_daemon_starts_without)
{
    write("nothing of the kind");
    const test::log_text log;
    instance one;
    one.keeper.restore(folder_, self_);
    EXPECT_EQ(log.count("nothing of it is restored"), 1U);
    EXPECT_FALSE(files::exists(folder_ / "controller.toml"));
    EXPECT_TRUE(files::exists(folder_ / "controller.toml.refused"));
}

TEST_F(settings_keeper_test, a_folder_that_others_may_have_written_is_refused)
{
    files::permissions(folder_, files::perms::all);
    instance one;
    EXPECT_THROW(one.keeper.restore(folder_ / "below", self_), kernel::startup_error);
}

} // namespace
} // namespace mrc::service
