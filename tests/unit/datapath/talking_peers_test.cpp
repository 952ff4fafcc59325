// SPDX-License-Identifier: Apache-2.0
#include "datapath/talking_peers.h"

#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;

TEST(talking_peers, each_is_listed_once_and_leaves_when_nothing_is_due)
{
    protocol::path_group_config config;
    config.base = protocol::path_index{1};
    const protocol::local_ports local{protocol::plane_mask{1}};
    protocol::path_group paths{config, local};
    protocol::port_status ports{{}, paths};
    protocol::peer_planes planes{{}, paths};
    const worker_peer peer{.paths = &paths, .ports = &ports, .planes = &planes};

    talking_peers talking;
    talking.add(peer);
    talking.add(peer);
    EXPECT_EQ(talking.size(), 1U);
    talking.forget_quiet();
    EXPECT_FALSE(talking.contains(peer));
    EXPECT_EQ(talking.size(), 0U);
    talking.add(peer); // again, when it is in use again
    EXPECT_TRUE(talking.contains(peer));
    EXPECT_EQ(talking.size(), 1U);
}

} // namespace
} // namespace mrc::datapath
