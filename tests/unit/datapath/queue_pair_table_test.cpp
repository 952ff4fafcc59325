// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <memory>

#include <gtest/gtest.h>

#include "datapath/queue_pair_table.h"
#include "mrc/abi/maps.h"
#include "unit/datapath/queue_pair_in_memory.h"

namespace mrc::datapath
{
namespace
{

using test::remote_host;

std::unique_ptr<worker_qp> make_qp(std::uint32_t number, const worker_client *client, const worker_peer &peer)
{
    auto qp = std::make_unique<worker_qp>();
    qp->number = protocol::qpn{number};
    qp->peer_number = protocol::qpn{number + 100'000};
    qp->client = const_cast<worker_client *>(client);
    qp->peer = peer;
    return qp;
}

TEST(queue_pair_table, a_number_whose_row_was_reused_finds_nothing)
{
    queue_pair_table table;
    remote_host host{1};
    const worker_client client;
    const worker_qp &qp = table.add(make_qp(16, &client, host.peer()));
    EXPECT_EQ(table.find(protocol::qpn{16}), &qp);
    EXPECT_EQ(table.find(protocol::qpn{16 + MRC_MAX_QPS}), nullptr);
    EXPECT_EQ(table.remove(protocol::qpn{16 + MRC_MAX_QPS}), nullptr);
    EXPECT_EQ(table.find(protocol::qpn{16}), &qp);
}

TEST(queue_pair_table, thousands_of_queue_pairs_to_thousands_of_hosts_come_and_go)
{
    queue_pair_table table;
    std::deque<remote_host> hosts;
    for (unsigned n = 0; n < 1000; ++n)
        hosts.emplace_back(static_cast<std::uint8_t>(n));
    const worker_client client;
    for (std::uint32_t n = 0; n < MRC_MAX_QPS; ++n)
        table.add(make_qp(n, &client, hosts[n % hosts.size()].peer()));
    EXPECT_EQ(table.connected().peers().size(), hosts.size()) << "what is watched is hosts, not queue pairs";
    for (std::uint32_t n = 0; n < MRC_MAX_QPS; ++n)
        ASSERT_EQ(table.connected().client_of(hosts[n % hosts.size()].peer(), protocol::qpn{n + 100'000}), &client);
    for (std::uint32_t n = 0; n < MRC_MAX_QPS; n += 2)
        ASSERT_EQ(table.remove(protocol::qpn{n})->number, protocol::qpn{n});
    EXPECT_EQ(table.all().size(), MRC_MAX_QPS / 2);
    for (const auto &qp : table.all())
        ASSERT_EQ(table.find(qp->number), qp.get());
    for (std::uint32_t n = 1; n < MRC_MAX_QPS; n += 2)
        ASSERT_EQ(table.remove(protocol::qpn{n})->number, protocol::qpn{n});
    EXPECT_TRUE(table.all().empty());
    EXPECT_TRUE(table.connected().peers().empty());
}

} // namespace
} // namespace mrc::datapath
