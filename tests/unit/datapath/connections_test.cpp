// SPDX-License-Identifier: Apache-2.0
#include "datapath/connections.h"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

class connections_test : public testing::Test
{
protected:
    static protocol::path_group_config two_planes()
    {
        protocol::path_group_config config;
        config.planes = 2;
        config.base = protocol::path_index{1};
        return config;
    }
    // A queue pair of `client`, connected to number `far` of host `host`.
    worker_qp connected(worker_client &client, std::size_t host, std::uint32_t far)
    {
        worker_qp qp;
        qp.client = &client;
        qp.peer_number = protocol::qpn{far};
        qp.peer = {.number = static_cast<std::uint32_t>(host) + 1, .paths = &paths_, .ports = &hosts_[host]};
        return qp;
    }
    [[nodiscard]] std::size_t queue_pairs_of(const protocol::port_status *host) const
    {
        const auto used = std::ranges::find(known_.peers(), host, [](const auto &one) { return one.peer.ports; });
        return used == known_.peers().end() ? 0 : used->queue_pairs;
    }

    protocol::local_ports local_{protocol::plane_mask{0b11}};
    protocol::path_group paths_{two_planes(), local_};
    protocol::path_group profile_{two_planes(), local_};
    std::array<protocol::port_status, 3> hosts_{protocol::port_status{{}, paths_}, protocol::port_status{{}, paths_},
                                                protocol::port_status{{}, paths_}};
    worker_client ours_;
    worker_client theirs_;
    connections known_;
};

TEST_F(connections_test, host_is_listed_once_however_many_queue_pairs_it_has)
{
    std::vector<worker_qp> all;
    for (std::uint32_t n = 0; n < 900; ++n)
        known_.add(all.emplace_back(connected(ours_, n % 3, n)));
    ASSERT_EQ(known_.peers().size(), 3u);
    for (const protocol::port_status &host : hosts_)
        EXPECT_EQ(queue_pairs_of(&host), 300u);
    for (std::uint32_t n = 0; n < 900; ++n)
        if (n % 3 == 0) // the first host listed goes first
            known_.remove(all[n]);
    EXPECT_EQ(known_.peers().size(), 2u);
    EXPECT_EQ(queue_pairs_of(hosts_.data()), 0u);
    EXPECT_EQ(queue_pairs_of(&hosts_[1]), 300u);
    EXPECT_EQ(queue_pairs_of(&hosts_[2]), 300u);
    for (std::uint32_t n = 0; n < 900; ++n)
        if (n % 3 != 0)
            known_.remove(all[n]);
    EXPECT_TRUE(known_.peers().empty());
}

TEST_F(connections_test, profiles_of_one_host_have_their_own_paths)
{
    worker_qp plain = connected(ours_, 0, 1);
    worker_qp profiled = connected(ours_, 0, 2);
    profiled.peer.paths = &profile_;
    known_.add(plain);
    known_.add(profiled);
    ASSERT_EQ(known_.peers().size(), 2u);
    known_.remove(profiled);
    ASSERT_EQ(known_.peers().size(), 1u);
    EXPECT_EQ(known_.peers()[0].peer.paths, &paths_);
}

TEST_F(connections_test, far_queue_pair_belongs_to_a_client_until_its_last_connection_goes)
{
    const worker_qp first = connected(ours_, 0, 7);
    const worker_qp second = connected(ours_, 0, 7);
    const worker_qp elsewhere = connected(theirs_, 1, 7);
    EXPECT_EQ(known_.client_of(first.peer, first.peer_number), nullptr);
    for (const worker_qp *qp : {&first, &second, &elsewhere})
        known_.add(*qp);
    EXPECT_EQ(known_.client_of(first.peer, protocol::qpn{7}), &ours_);
    EXPECT_EQ(known_.client_of(elsewhere.peer, protocol::qpn{7}), &theirs_);
    EXPECT_EQ(known_.client_of(first.peer, protocol::qpn{8}), nullptr);
    known_.remove(first);
    EXPECT_EQ(known_.client_of(first.peer, protocol::qpn{7}), &ours_);
    known_.remove(second);
    EXPECT_EQ(known_.client_of(first.peer, protocol::qpn{7}), nullptr);
}

} // namespace
} // namespace mrc::datapath
