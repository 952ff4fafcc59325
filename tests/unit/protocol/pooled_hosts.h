// SPDX-License-Identifier: Apache-2.0
// Two hosts whose queue pairs borrow from one pool each, with nothing between them that loses a packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "protocol/congestion/fixed_window.h"
#include "protocol/queue_pair.h"
#include "protocol/slab_pool.h"

namespace mrc::protocol
{

// Takes every write.
class counting_memory final : public memory_sink
{
public:
    std::expected<void, write_refusal> write(std::uint32_t, std::uint64_t, std::span<const std::byte> payload) override
    {
        bytes += payload.size();
        return {};
    }
    std::uint64_t bytes = 0;
};

struct pooled_host {
    explicit pooled_host(const slab_limits &limits) : pool{limits} {}

    [[nodiscard]] static path_group_config four_planes()
    {
        path_group_config config;
        config.planes = 4;
        config.uplinks = 32;
        config.base = path_index{1};
        return config;
    }
    [[nodiscard]] queue_pair &add(const qp_config &config)
    {
        qps.push_back(std::make_unique<queue_pair>(config, qp_surroundings{.paths = paths,
                                                                           .memory = memory,
                                                                           .control = control,
                                                                           .peer = &planes,
                                                                           .pool = &pool,
                                                                           .proofs = &proofs}));
        qps.back()->announce();
        return *qps.back();
    }

    slab_pool pool;
    local_ports ports{plane_mask{0xF}};
    path_group paths{four_planes(), ports};
    peer_planes planes{{}, paths};
    sack_proofs proofs{paths.size()};
    counting_memory memory;
    fixed_window control{std::uint64_t{1} << 40};
    std::vector<std::unique_ptr<queue_pair>> qps;
};

// Queue pair n of one is connected to queue pair n of the other.
struct pooled_hosts {
    static constexpr std::uint32_t payload_bytes = 1024;

    explicit pooled_hosts(const slab_limits &limits = {}) : left{limits}, right{limits} {}

    void connect(std::uint32_t window = 1024)
    {
        qp_config config;
        config.local = qpn{static_cast<std::uint32_t>(0x100 + left.qps.size())};
        config.peer = qpn{static_cast<std::uint32_t>(0x100000 + left.qps.size())};
        config.payload_bytes = payload_bytes;
        config.window_psns = window;
        config.receive_window_psns = window;
        config.seed = left.qps.size() + 1;
        (void)left.add(config);
        std::swap(config.local, config.peer);
        (void)right.add(config);
    }
    [[nodiscard]] bool post(std::size_t number, std::uint32_t bytes)
    {
        return left.qps[number]->post_write({.id = number, .source = {1, 0, bytes}, .rkey = 1}, now).has_value();
    }
    // All that may leave one end, in order; it does not arrive.
    [[nodiscard]] std::vector<outgoing> depart(queue_pair &from) const
    {
        std::vector<outgoing> packets;
        while (auto next = from.next_packet(now))
            packets.push_back(*next);
        return packets;
    }
    void arrive(queue_pair &at, const std::vector<outgoing> &packets)
    {
        for (const outgoing &each : packets) {
            arrival how;
            how.entropy = each.entropy;
            how.path = each.path;
            how.at = now;
            at.on_packet(each.content, std::span{payload}.first(each.payload.bytes), how, now);
        }
    }
    // There and back, and what is due by then. True when something moved.
    bool exchange(std::size_t number)
    {
        queue_pair &from = *left.qps[number];
        queue_pair &to = *right.qps[number];
        now += std::chrono::microseconds{10};
        const auto there = depart(from);
        arrive(to, there);
        const auto back = depart(to);
        arrive(from, back);
        if (from.next_deadline() <= now)
            from.on_timer(now);
        return !there.empty() || !back.empty();
    }
    void replenish()
    {
        (void)left.pool.replenish();
        (void)right.pool.replenish();
    }

    pooled_host left;
    pooled_host right;
    instant now{std::chrono::seconds{1}};
    std::vector<std::byte> payload = std::vector<std::byte>(payload_bytes);
};

} // namespace mrc::protocol
