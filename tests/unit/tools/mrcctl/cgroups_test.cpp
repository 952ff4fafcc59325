// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/cgroups.h"

#include <gtest/gtest.h>

namespace mrc::ctl
{
namespace
{

TEST(cgroups, version_2_is_found_alone_and_beside_version_1)
{
    EXPECT_EQ(cgroup_root("26 22 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"),
              "/sys/fs/cgroup");
    EXPECT_EQ(cgroup_root("30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                          "31 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"),
              "/sys/fs/cgroup/unified");
    EXPECT_EQ(cgroup_root("30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"), "");
    EXPECT_EQ(cgroup_root("30 25 0:26 / /mnt rw - ext4 cgroup2 rw\n"), "") << "a device of that name";
}

TEST(cgroups, a_process_is_in_one_of_version_2)
{
    EXPECT_EQ(cgroup_path("0::/system.slice/a.service\n"), "/system.slice/a.service");
    EXPECT_EQ(cgroup_path("3:cpu:/a\n1:name=systemd:/b\n0::/c\n"), "/c");
    EXPECT_EQ(cgroup_path("3:cpu:/a\n"), "");
}

} // namespace
} // namespace mrc::ctl
