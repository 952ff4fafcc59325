// SPDX-License-Identifier: Apache-2.0
// A worker without thread, sockets or engines: which queue pairs it knows.
#include <memory>

#include <gtest/gtest.h>

#include "protocol/congestion/fixed_window.h"
#include "unit/datapath/worker_in_memory.h"

namespace mrc::datapath
{
namespace
{

class no_memory final : public protocol::memory_sink
{
public:
    std::expected<void, protocol::write_refusal> write(std::uint32_t, std::uint64_t,
                                                       std::span<const std::byte>) override
    {
        return std::unexpected{protocol::write_refusal::unknown_key};
    }
};

class worker_queue_pairs_test : public testing::Test
{
protected:
    static protocol::path_group_config one_path()
    {
        protocol::path_group_config config;
        config.base = protocol::path_index{1};
        return config;
    }
    static protocol::qpn number(std::uint32_t n) { return protocol::qpn{n + 1}; }
    void add(std::uint32_t n)
    {
        auto qp = std::make_unique<worker_qp>();
        qp->number = number(n);
        qp->client = client_;
        qp->bell = n;
        qp->peer_number = protocol::qpn{100 + n};
        qp->peer = {.paths = &paths_, .ports = &ports_, .planes = &planes_};
        protocol::qp_config config;
        config.local = qp->number;
        qp->protocol =
            std::make_unique<protocol::queue_pair>(config, protocol::qp_surroundings{paths_, memory_, control_});
        worker_.add_qp(std::move(qp));
    }

    test::worker_surroundings around_;
    protocol::local_ports local_{protocol::plane_mask{1}};
    protocol::path_group paths_{one_path(), local_};
    protocol::port_status ports_{{}, paths_};
    protocol::peer_planes planes_{{}, paths_};
    protocol::fixed_window control_{1 << 20};
    no_memory memory_;
    worker worker_{test::standing_still(), around_.resources()};
    worker_client *client_ = [this] {
        auto client = std::make_unique<worker_client>();
        client->by_bell.resize(4);
        worker_client *raw = client.get();
        worker_.add_client(std::move(client));
        return raw;
    }();
};

TEST_F(worker_queue_pairs_test, removing_one_leaves_the_others_in_their_places)
{
    for (std::uint32_t n = 0; n < 4; ++n)
        add(n);
    EXPECT_EQ(worker_.connected().peers().size(), 1u);
    for (const std::uint32_t gone : {1u, 3u, 0u, 2u}) { // from the middle, the last, the first, the only one
        const auto removed = worker_.remove_qp(number(gone));
        ASSERT_TRUE(removed);
        EXPECT_EQ(removed->number, number(gone));
        EXPECT_EQ(worker_.find_qp(number(gone)), nullptr);
        EXPECT_EQ(worker_.connected().client_of(removed->peer, removed->peer_number), nullptr);
        EXPECT_FALSE(worker_.remove_qp(number(gone)));
        for (std::uint32_t n = 0; n < 4; ++n)
            if (const worker_qp *left = worker_.find_qp(number(n))) {
                EXPECT_EQ(left->number, number(n));
                EXPECT_EQ(client_->by_bell[n], left);
            }
    }
    EXPECT_TRUE(worker_.connected().peers().empty());
}

} // namespace
} // namespace mrc::datapath
