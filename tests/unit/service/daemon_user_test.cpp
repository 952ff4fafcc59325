// SPDX-License-Identifier: Apache-2.0
#include "service/daemon_user.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

namespace mrc::service
{
namespace
{

TEST(daemon_user, is_the_one_that_is_named)
{
    daemon_config config;
    config.daemon.user = "root";
    const auto found = user_for(config);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->who.name, "root");
    EXPECT_EQ(found->who.uid, 0U);
    EXPECT_FALSE(found->is_lacking);
}

TEST(daemon_user, must_exist)
{
    daemon_config config;
    config.origin.file = "mrcd.toml";
    config.daemon.user = "no-such-user";
    const auto found = user_for(config);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().find("daemon.user"), std::string::npos) << found.error();
    EXPECT_NE(found.error().find("\"no-such-user\""), std::string::npos) << found.error();
}

TEST(daemon_user, is_mrc_where_there_is_one_and_who_starts_it_elsewhere)
{
    const auto found = user_for(daemon_config{});
    ASSERT_TRUE(found);
    const passwd *usual = ::getpwnam("mrc");
    const bool becomes_it = ::geteuid() == 0 && usual != nullptr;
    EXPECT_EQ(found->who.uid, becomes_it ? usual->pw_uid : ::geteuid());
    EXPECT_EQ(found->is_lacking, ::geteuid() == 0 && usual == nullptr);
}

} // namespace
} // namespace mrc::service
