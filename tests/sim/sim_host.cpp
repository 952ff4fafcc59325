// SPDX-License-Identifier: Apache-2.0
#include "sim_host.h"

#include <algorithm>
#include <cstring>

namespace mrc::sim
{

using namespace protocol;

std::expected<void, write_refusal> host_memory::write(std::uint32_t rkey, std::uint64_t va,
                                                      std::span<const std::byte> payload)
{
    if (payload.empty())
        return {};
    if (rkey != key)
        return std::unexpected{write_refusal::unknown_key};
    if (va < base || va - base > bytes_.size() || bytes_.size() - (va - base) < payload.size())
        return std::unexpected{write_refusal::out_of_bounds};
    if (busy_one_in_ != 0 && random_.below(busy_one_in_) == 0) {
        ++refused_busy_;
        return std::unexpected{write_refusal::busy};
    }
    std::ranges::copy(payload, bytes_.begin() + static_cast<std::ptrdiff_t>(va - base));
    return {};
}

namespace
{

path_group_config group_config(const network_config &network, std::uint64_t seed)
{
    path_group_config config;
    config.planes = network.planes;
    config.uplinks = network.uplinks;
    config.active_per_plane = network.active_per_plane;
    config.base = path_index{1};
    config.seed = seed;
    return config;
}

} // namespace

host::host(const network_config &network, std::size_t memory_bytes, std::uint64_t seed)
    : ports{plane_mask{(1u << network.planes) - 1}}, paths{group_config(network, seed), ports},
      memory{memory_bytes, seed}, source(memory_bytes), out(std::size_t{network.planes} * network.uplinks),
      frames(network.planes)
{
    if (network.port_status)
        status.emplace(port_status_config{.first = static_cast<std::uint16_t>(seed)}, paths);
    if (network.shared_planes)
        peer.emplace(probe_config{}, paths);
    random_source random{seed};
    for (std::size_t offset = 0; offset < source.size(); offset += sizeof(std::uint64_t)) {
        const std::uint64_t word = random.next();
        std::memcpy(source.data() + offset, &word, std::min(sizeof(word), source.size() - offset));
    }
}

instant host::next_deadline() const
{
    instant next = never;
    for (const auto &end : ends)
        next = std::min(next, end->qp.next_deadline());
    return next;
}

void host::receive(instant now)
{
    (void)pool.replenish();
    for (const arrived_frame &frame : unread) {
        if (std::holds_alternative<endpoint_response_packet>(frame.content) ||
            std::holds_alternative<endpoint_request_packet>(frame.content)) {
            receive_endpoint(frame, now);
            continue;
        }
        const qpn to = std::visit(
            [](const auto &content) {
                if constexpr (requires { content.destination; })
                    return content.destination;
                else
                    return qpn{};
            },
            frame.content);
        const auto end = std::ranges::find_if(ends, [to](const auto &each) { return each->config.local == to; });
        if (end != ends.end() && !(*end)->gone)
            (*end)->qp.on_packet(frame.content, frame.payload, frame.how, now);
    }
    unread.clear();
}

void host::receive_endpoint(const arrived_frame &frame, instant now)
{
    if (const auto *request = std::get_if<endpoint_request_packet>(&frame.content)) {
        if (status)
            status->on_request(*request, frame.how, now);
        return;
    }
    const auto &response = std::get<endpoint_response_packet>(frame.content);
    const bool of_update = port_status_ids.contains(response.request_id);
    if (of_update && status)
        status->on_response(response);
    if (!of_update && !paths.on_packet(response, frame.how) && peer)
        peer->on_packet(response, frame.how);
}

void host::report()
{
    for (const auto &end : ends) {
        while (const auto done = end->qp.next_completion())
            end->completions.push_back(*done);
        while (const auto done = end->qp.next_receive_completion())
            end->receives.push_back(*done);
        while (end->posts_receives && end->qp.post_receive(end->receives_posted))
            ++end->receives_posted;
        if (end->qp.outstanding() == 0 && end->qp.next_deadline() == never)
            end->qp.rest(); // at once: what comes later finds nothing
    }
}

} // namespace mrc::sim
