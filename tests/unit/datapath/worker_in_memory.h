// SPDX-License-Identifier: Apache-2.0
// What a worker without thread and sockets stands on: maps in memory, and an engine that takes every packet of every
// port.
#pragma once

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "codec/frame_codec.h"
#include "datapath/worker.h"
#include "unit/datapath/queue_pair_in_memory.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::test
{

// Outlives the worker.
struct worker_surroundings {
    kernel::mapped_array<mrc_path_row> paths = table_in_memory<mrc_path_row>(MRC_USUAL_PATHS);
    kernel::mapped_array<mrc_qp_row> qps = table_in_memory<mrc_qp_row>(MRC_MAX_QPS);
    kernel::mapped_array<mrc_overlay_row> overlay = table_in_memory<mrc_overlay_row>(MRC_MAX_GROUPS);
    std::vector<std::unique_ptr<kernel::xsk_socket_pair>> sockets;
    counting_engine engine;

    // Nobody is told of anything.
    [[nodiscard]] datapath::worker::resources resources()
    {
        return {.sockets = &sockets,
                .engines = std::vector<datapath::transmit_engine *>(MRC_MAX_PORTS, &engine),
                .paths = &paths,
                .qps = &qps,
                .overlay = &overlay,
                .write_verdict = [](std::uint32_t, std::uint64_t) { return false; },
                .on_peer_change = {},
                .on_path_state = {},
                .on_batch_done = {}};
    }
};

// The options of a worker for which no time passes: nothing is sent again.
[[nodiscard]] inline datapath::worker_options standing_still()
{
    return {.clock = [] { return protocol::instant{std::chrono::hours{1}}; }};
}

// Of `count` queue pairs with these numbers.
[[nodiscard]] inline unsigned taking_turns(datapath::worker &at, std::uint32_t first, std::uint32_t count)
{
    unsigned active = 0;
    for (std::uint32_t n = 0; n < count; ++n)
        active += at.find_qp(protocol::qpn{first + n})->active ? 1 : 0;
    return active;
}

// A packet for queue pair `number` from the host, as host_rx steers it; every byte of its payload is `fill`.
inline void arrive(datapath::worker &at, const protocol::packet &content, const remote_host &from, std::uint32_t number,
                   std::byte fill = {})
{
    constexpr std::size_t ethernet_bytes = 14;
    std::array<std::byte, 8192> frame;
    frame.fill(fill);
    const std::span packet = std::span{frame}.subspan(sizeof(mrc_rx_meta) + ethernet_bytes);
    const auto size = codec::encode(content, {.ip = {.source = from.address, .destination = {}}}, packet);
    ASSERT_TRUE(size);
    mrc_rx_meta meta{};
    meta.magic = MRC_RX_META_MAGIC;
    meta.path = 1;
    meta.qp_row = MRC_QPN_ROW(number);
    std::memcpy(frame.data(), &meta, sizeof(meta));
    at.on_frame(frame.data(), static_cast<std::uint32_t>(sizeof(meta) + ethernet_bytes + *size),
                protocol::instant{std::chrono::seconds{1}});
}

} // namespace mrc::test
