// SPDX-License-Identifier: Apache-2.0
//
// A worker without thread, sockets or engines, and what it says of a peer's ports.
#include <chrono>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "codec/frame_builder.h"
#include "kernel/monotonic_clock.h"
#include "unit/datapath/worker_in_memory.h"

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;

constexpr std::size_t ethernet_bytes = 14;
constexpr mrc_ip here{{0xfd, 1}};
constexpr mrc_ip there{{0xfd, 2}};

protocol::path_group_config four_planes()
{
    protocol::path_group_config config;
    config.planes = 4;
    config.base = protocol::path_index{1};
    return config;
}

class worker_ports_test : public testing::Test
{
protected:
    // As it comes from a port's socket.
    void receive_update(std::uint32_t mask)
    {
        protocol::endpoint_request_packet update;
        update.request_id = protocol::port_status_ids.first;
        update.operation = MRC_EP_PORT_STATUS_UPDATE;
        update.port_status_mask = mask;
        const protocol::packet content{update};
        const std::size_t bytes = codec::encoded_size(content, false);
        constexpr std::size_t inner_at = sizeof(mrc_rx_meta) + ethernet_bytes;
        std::vector<std::byte> frame(inner_at + bytes);
        const codec::encode_options how{.ip = {.source = there, .destination = here}};
        ASSERT_TRUE(encode(content, how, std::span{frame}.subspan(inner_at)).has_value());
        mrc_rx_meta meta{};
        meta.magic = MRC_RX_META_MAGIC;
        meta.qp_row = MRC_NO_QP;
        meta.path = 1;
        std::memcpy(frame.data(), &meta, sizeof(meta));
        worker_.on_frame(frame.data(), static_cast<std::uint32_t>(frame.size()), kernel::monotonic_now());
    }

    test::worker_surroundings around_;
    protocol::local_ports local_{protocol::plane_mask{0b1111}};
    protocol::path_group group_{four_planes(), local_};
    protocol::port_status ports_{{.forget = 1ms}, group_};
    protocol::peer_planes planes_{{}, group_};
    std::vector<std::uint32_t> told_;
    worker worker_{{.marks = {.source = {.common = here}}, .turns = {}}, [this] {
                       worker::resources given = around_.resources();
                       given.on_peer_change = [this](const worker_peer &peer) {
                           told_.push_back(peer.ports->peer_ports().bits());
                       };
                       return given;
                   }()};
};

TEST_F(worker_ports_test, a_peers_lost_port_is_reported_and_so_is_its_expiry)
{
    worker_.add_peer({.address = there, .paths = &group_, .ports = &ports_, .planes = &planes_});
    receive_update(0b10110);
    EXPECT_EQ(told_, std::vector<std::uint32_t>{0b1011});
    const auto deadline = kernel::monotonic_now() + 5s;
    while (told_.size() < 2 && kernel::monotonic_now() < deadline)
        worker_.round();
    EXPECT_EQ(told_, (std::vector<std::uint32_t>{0b1011, 0b1111}));
}

} // namespace
} // namespace mrc::datapath
